/*
** Keys and restrictions as SQL: pure functions over src/range.
**
**   byte_key(v, ...)          -> BLOB whose memcmp order is SQLite's order of the tuples
**   byte_key_values(key)      -> rows (ordinal, value): the tuple back
**   byte_key_range(start,end) -> restriction over byte keys; end '' or x'' = no upper bound
**   offset_range(from, to)    -> restriction over integers
**   range_contains(r, k)      -> 1 or 0
**   range_interpolate(r, f)   -> the key or integer at fraction f of r
**   range_fraction(r, k)      -> how far k lies into r, 0 to 1
**   range_split(r, n)         -> rows (ordinal, restriction): up to n pieces that are r together
**
** For a NULL argument they return NULL (or no rows). Only byte_key takes NULL as a value like any
** other. A key is a BLOB, or TEXT, which means its UTF-8 bytes. In a restriction of integers a key
** is an integer.
*/
#include "surfaces.h"

#include "host/interrupt.h"
#include "host/range_arguments.h"
#include "host/table_function.h"
#include "range/byte_key.h"

/* No restriction is cut into more pieces: each is a row held in memory. */
#define MAX_PIECES 1000000

/*
** The longest key that is measured. A longer one would take many milliseconds without a chance to
** interrupt. It can still be compared, claimed and scanned.
*/
#define MAX_MEASURED_SIZE 1048576

/* The time between two polls for an interrupt. */
#define POLL_NANOSECONDS 1000000

static tr_code check_measurable(const char *function, const char *argument, sqlite3_value *value,
                                size_t size, tr_error *err) {
  if (size <= MAX_MEASURED_SIZE) return TR_OK;
  tr_value refused = tr_value_of_sqlite(value);
  tr_argument_error(err, function, argument, &refused,
                    "keys of more than 1048576 bytes are not measured");
  return err->code = TR_TOO_BIG;
}

/* Reads a restriction for a function that does arithmetic with its keys. */
static tr_code measurable_restriction(const char *function, const char *argument,
                                      sqlite3_value *value, tr_restriction *restriction,
                                      tr_error *err) {
  tr_code code = tr_argument_restriction(function, argument, value, restriction, err);
  if (code != TR_OK || restriction->kind != TR_BYTES) return code;
  size_t start = restriction->bytes.start.size, end = restriction->bytes.end.size;
  code = check_measurable(function, argument, value, start > end ? start : end, err);
  if (code != TR_OK) tr_restriction_free(restriction);
  return code;
}

static int has_null(int argc, sqlite3_value **argv) {
  for (int i = 0; i < argc; i++) {
    if (sqlite3_value_type(argv[i]) == SQLITE_NULL) return 1;
  }
  return 0;
}

static void byte_key(sqlite3_context *context, int argc, sqlite3_value **argv) {
  tr_error err;
  tr_buffer key = {0};
  tr_code code = TR_OK;
  if (argc == 0) {
    code = tr_error_set(&err, TR_INVALID_ARGUMENT, "byte_key() takes at least one value");
  }
  for (int i = 0; i < argc && code == TR_OK; i++) {
    tr_value value = tr_value_of_sqlite(argv[i]);
    code = tr_value_lacks_bytes(&value) ? tr_error_no_memory(&err)
                                        : tr_byte_key_append(&key, &value, &err);
  }
  if (code == TR_OK) {
    tr_result_blob(context, &key);
  } else {
    tr_result_error(context, NULL, &err);
  }
  tr_buffer_free(&key);
}

static tr_code fill_byte_key_values(tr_host *host, sqlite3_value **arguments, tr_row_list *rows,
                                    tr_error *err) {
  (void)host;
  tr_bytes key;
  tr_code code = tr_argument_blob("byte_key_values", "key", arguments[0], &key, err);
  if (code != TR_OK) return code;
  tr_buffer scratch = {0};
  tr_value row[2];
  size_t offset = 0;
  int more = 0;
  for (int64_t ordinal = 0; code == TR_OK; ordinal++) {
    tr_error reason;
    more = tr_byte_key_next(key, &offset, &row[1], &scratch, &reason);
    if (more == 0) break;
    if (more < 0) {
      tr_value value = tr_value_blob(key);
      code = tr_argument_refused(err, "byte_key_values", "key", &value, &reason);
      break;
    }
    row[0] = tr_value_integer(ordinal);
    code = tr_row_list_append(rows, row, err);
  }
  tr_buffer_free(&scratch);
  return code;
}

static void byte_key_range(sqlite3_context *context, int argc, sqlite3_value **argv) {
  if (has_null(argc, argv)) return;
  tr_error err;
  tr_bytes start, end;
  tr_restriction restriction = {.kind = TR_BYTES};
  tr_buffer text = {0};
  tr_code code = tr_argument_key("byte_key_range", "start", argv[0], &start, &err);
  if (code == TR_OK) code = tr_argument_key("byte_key_range", "end", argv[1], &end, &err);
  if (code == TR_OK) {
    tr_error reason;
    if (tr_byte_key_range_init(&restriction.bytes, start, end, &reason) != TR_OK) {
      tr_value value = tr_value_of_sqlite(argv[0]);
      code = tr_argument_refused(&err, "byte_key_range", "start", &value, &reason);
    }
  }
  if (code == TR_OK) code = tr_restriction_text(&restriction, &text, &err);
  if (code == TR_OK) {
    tr_result_json(context, &text);
  } else {
    tr_result_error(context, NULL, &err);
  }
  tr_restriction_free(&restriction);
  tr_buffer_free(&text);
}

static void offset_range(sqlite3_context *context, int argc, sqlite3_value **argv) {
  if (has_null(argc, argv)) return;
  tr_error err;
  int64_t from, to;
  tr_restriction restriction = {.kind = TR_INTEGERS};
  tr_buffer text = {0};
  tr_code code = tr_argument_integer("offset_range", "from", argv[0], &from, &err);
  if (code == TR_OK) code = tr_argument_integer("offset_range", "to", argv[1], &to, &err);
  if (code == TR_OK) {
    tr_error reason;
    if (tr_offset_range_init(&restriction.integers, from, to, &reason) != TR_OK) {
      tr_value value = tr_value_integer(from);
      code = tr_argument_refused(&err, "offset_range", "from", &value, &reason);
    }
  }
  if (code == TR_OK) code = tr_restriction_text(&restriction, &text, &err);
  if (code == TR_OK) {
    tr_result_json(context, &text);
  } else {
    tr_result_error(context, NULL, &err);
  }
  tr_buffer_free(&text);
}

/*
** range_contains and range_fraction both read a restriction and a position in it. The function's
** data says which one is called.
*/
typedef struct position_question {
  const char *name;
  tr_code (*read)(const char *function, const char *argument, sqlite3_value *value,
                  tr_restriction *restriction, tr_error *err);
  int is_measured;
  tr_code (*answer)(const tr_restriction *restriction, tr_position position, tr_value *value,
                    tr_error *err);
} position_question;

static tr_code answer_contains(const tr_restriction *restriction, tr_position position,
                               tr_value *value, tr_error *err) {
  int contains = tr_restriction_contains(restriction, position, err);
  if (contains < 0) return err->code;
  *value = tr_value_integer(contains);
  return TR_OK;
}

static tr_code answer_fraction(const tr_restriction *restriction, tr_position position,
                               tr_value *value, tr_error *err) {
  double fraction;
  tr_code code = tr_restriction_fraction(restriction, position, &fraction, err);
  if (code == TR_OK) *value = tr_value_real(fraction);
  return code;
}

static const position_question contains_question = {"range_contains", tr_argument_restriction, 0,
                                                    answer_contains};
static const position_question fraction_question = {"range_fraction", measurable_restriction, 1,
                                                    answer_fraction};

static void ask_position(sqlite3_context *context, int argc, sqlite3_value **argv) {
  if (has_null(argc, argv)) return;
  const position_question *question = tr_function_data(context);
  tr_error err;
  tr_restriction restriction;
  if (question->read(question->name, "restriction", argv[0], &restriction, &err) != TR_OK) {
    tr_result_error(context, NULL, &err);
    return;
  }
  tr_position position;
  tr_value answer;
  tr_code code = tr_argument_position(question->name, argv[1], restriction.kind, &position, &err);
  if (code == TR_OK && question->is_measured && restriction.kind == TR_BYTES) {
    code = check_measurable(question->name, "key", argv[1], position.key.size, &err);
  }
  if (code == TR_OK) {
    tr_error reason;
    if (question->answer(&restriction, position, &answer, &reason) != TR_OK) {
      tr_value value = tr_value_of_sqlite(argv[1]);
      code = tr_argument_refused(&err, question->name, "key", &value, &reason);
    }
  }
  if (code == TR_OK) {
    tr_result_value(context, &answer);
  } else {
    tr_result_error(context, NULL, &err);
  }
  tr_restriction_free(&restriction);
}

static void range_interpolate(sqlite3_context *context, int argc, sqlite3_value **argv) {
  if (has_null(argc, argv)) return;
  tr_error err;
  tr_restriction restriction;
  if (measurable_restriction("range_interpolate", "restriction", argv[0], &restriction, &err) !=
      TR_OK) {
    tr_result_error(context, NULL, &err);
    return;
  }
  tr_buffer key = {0};
  int64_t offset = 0;
  double fraction;
  tr_code code = tr_argument_real("range_interpolate", "fraction", argv[1], &fraction, &err);
  if (code == TR_OK) {
    tr_error reason;
    if (tr_restriction_interpolate(&restriction, fraction, &key, &offset, &reason) != TR_OK) {
      tr_value value = tr_value_of_sqlite(argv[1]);
      code = tr_argument_refused(&err, "range_interpolate", "fraction", &value, &reason);
    }
  }
  if (code != TR_OK) {
    tr_result_error(context, NULL, &err);
  } else if (restriction.kind == TR_BYTES) {
    tr_result_blob(context, &key);
  } else {
    sqlite3_result_int64(context, offset);
  }
  tr_buffer_free(&key);
  tr_restriction_free(&restriction);
}

/* The state of emit_piece: it numbers the pieces, and can be interrupted if there are many. */
typedef struct split_rows {
  tr_row_list *rows;
  int64_t ordinal;
  tr_interrupt interrupt;
  int64_t last_poll;
} split_rows;

static tr_code emit_piece(void *context, const tr_restriction *piece, tr_error *err) {
  split_rows *split = context;
  int64_t now = tr_monotonic_now();
  if (now - split->last_poll > POLL_NANOSECONDS) {
    tr_code polled = tr_interrupt_poll(&split->interrupt, err);
    if (polled != TR_OK) return polled;
    split->last_poll = now;
  }
  tr_buffer text = {0};
  tr_code code = tr_restriction_text(piece, &text, err);
  if (code == TR_OK) {
    tr_value row[2] = {tr_value_integer(split->ordinal++), tr_value_text(tr_buffer_bytes(&text))};
    code = tr_row_list_append(split->rows, row, err);
  }
  tr_buffer_free(&text);
  return code;
}

static tr_code fill_range_split(tr_host *host, sqlite3_value **arguments, tr_row_list *rows,
                                tr_error *err) {
  int64_t count;
  tr_code code = tr_argument_integer("range_split", "n", arguments[1], &count, err);
  if (code != TR_OK) return code;
  if (count < 1 || count > MAX_PIECES) {
    tr_value value = tr_value_integer(count);
    return tr_argument_error(err, "range_split", "n", &value, "must be from 1 to 1000000");
  }
  tr_restriction restriction;
  code = measurable_restriction("range_split", "range", arguments[0], &restriction, err);
  if (code != TR_OK) return code;
  split_rows split = {
      .rows = rows, .interrupt = {.db = tr_host_db(host)}, .last_poll = tr_monotonic_now()};
  code = tr_restriction_split(&restriction, count, emit_piece, &split, err);
  tr_interrupt_close(&split.interrupt);
  tr_restriction_free(&restriction);
  return code;
}

int tr_register_keys(tr_host *host) {
  static const tr_function functions[] = {
      {.name = "byte_key", .argument_count = -1, .flags = TR_PURE, .call = byte_key},
      {.name = "byte_key_range",
       .argument_count = 2,
       .flags = TR_PURE | SQLITE_RESULT_SUBTYPE,
       .call = byte_key_range},
      {.name = "offset_range",
       .argument_count = 2,
       .flags = TR_PURE | SQLITE_RESULT_SUBTYPE,
       .call = offset_range},
      {.name = "range_contains",
       .argument_count = 2,
       .flags = TR_PURE,
       .call = ask_position,
       .data = &contains_question},
      {.name = "range_fraction",
       .argument_count = 2,
       .flags = TR_PURE,
       .call = ask_position,
       .data = &fraction_question},
      {.name = "range_interpolate",
       .argument_count = 2,
       .flags = TR_PURE,
       .call = range_interpolate},
  };
  static const tr_table_function tables[] = {
      {.name = "byte_key_values",
       .declaration = "CREATE TABLE x(ordinal INTEGER, value, key BLOB HIDDEN)",
       .column_count = 2,
       .risk = SQLITE_VTAB_INNOCUOUS,
       .required_count = 1,
       .arguments = {"key"},
       .fill = fill_byte_key_values},
      {.name = "range_split",
       .declaration = "CREATE TABLE x(ordinal INTEGER, restriction TEXT, range TEXT HIDDEN,"
                      " n INTEGER HIDDEN)",
       .column_count = 2,
       .json_columns = 1 << 1,
       .risk = SQLITE_VTAB_INNOCUOUS,
       .required_count = 2,
       .arguments = {"range", "n"},
       .fill = fill_range_split},
  };
  int rc = tr_host_register_functions(host, functions, sizeof functions / sizeof functions[0]);
  for (size_t i = 0; i < sizeof tables / sizeof tables[0] && rc == SQLITE_OK; i++) {
    rc = tr_host_register_table_function(host, &tables[i]);
  }
  return rc;
}
