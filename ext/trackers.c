/*
** Range trackers by name, as SQL.
**
**   tracker_open(name, restriction)      -> the restriction, in canonical form
**   tracker_try_claim(name, key)         -> 1 claimed, 0 outside: stop
**   tracker_try_split(name, fraction)    -> residual restriction, or NULL: refused, nothing changed
**   tracker_checkpoint(name)             -> residual restriction: all that is not claimed
**   tracker_current_restriction(name)    -> restriction
**   tracker_check_done(name)             -> 1, or an error that says what was not claimed
**   tracker_size(name), tracker_fraction_consumed(name), tracker_to_string(name)
**   tracker_close(name)                  -> 1
**   range_trackers                       -> a row for each tracker that the connection sees
**
** All are DIRECTONLY: they change or show what other statements and threads are doing. A name that
** begins with `shared:` is known to the whole process (ext/host/tracker_registry.h).
**
** Most functions are one call on an open tracker. The table `calls` lists them; on_tracker finds
** the tracker, calls and reports errors.
*/
#include "surfaces.h"

#include "base/memory.h"
#include "host/range_arguments.h"
#include "host/table_function.h"
#include "host/tracker_registry.h"

/* --- Calls on one tracker ------------------------------------------------------------------ */

/*
** A function on an open tracker. `call` sets the result of `context` or fills `err`, whose message
** need not name the function. `argument` is the second SQL argument, or NULL.
*/
typedef struct tracker_call {
  const char *name;
  int argument_count;
  tr_code (*call)(const char *function, tr_tracker *tracker, sqlite3_value *argument,
                  sqlite3_context *context, tr_error *err);
} tracker_call;

/* Reads the argument `name`. */
static tr_code name_argument(const char *function, sqlite3_value *value, tr_bytes *name,
                             tr_error *err) {
  return tr_argument_text(function, "name", value, name, err);
}

static void on_tracker(sqlite3_context *context, int argc, sqlite3_value **argv) {
  const tracker_call *function = tr_function_data(context);
  tr_error err;
  tr_bytes name;
  if (name_argument(function->name, argv[0], &name, &err) != TR_OK) {
    tr_result_error(context, NULL, &err);
    return;
  }
  tr_tracker_registry *registry = tr_host_trackers(tr_function_host(context));
  tr_named_tracker *named = tr_tracker_registry_find(registry, name, &err);
  tr_code code = named == NULL ? err.code
                               : function->call(function->name, named->tracker,
                                                argc > 1 ? argv[1] : NULL, context, &err);
  if (code != TR_OK) tr_result_error(context, function->name, &err);
  tr_named_tracker_release(named);
}

static tr_code give_restriction(const tr_restriction *restriction, sqlite3_context *context,
                                tr_error *err) {
  tr_buffer text = {0};
  tr_code code = tr_restriction_text(restriction, &text, err);
  if (code == TR_OK) tr_result_json(context, &text);
  tr_buffer_free(&text);
  return code;
}

static tr_code call_try_claim(const char *function, tr_tracker *tracker, sqlite3_value *argument,
                              sqlite3_context *context, tr_error *err) {
  tr_position position;
  tr_code code = tr_argument_position(function, argument, tr_tracker_kind(tracker), &position, err);
  if (code != TR_OK) return code;
  int is_claimed = tr_tracker_try_claim(tracker, position, err);
  if (is_claimed < 0) return err->code;
  sqlite3_result_int(context, is_claimed);
  return TR_OK;
}

static tr_code call_try_split(const char *function, tr_tracker *tracker, sqlite3_value *argument,
                              sqlite3_context *context, tr_error *err) {
  double fraction;
  tr_code code = tr_argument_real(function, "fraction", argument, &fraction, err);
  if (code != TR_OK) return code;
  if (!(fraction >= 0 && fraction < 1)) {
    tr_value value = tr_value_of_sqlite(argument);
    return tr_argument_error(err, function, "fraction", &value, "must be in the range [0, 1)");
  }
  tr_restriction residual;
  int is_split = tr_tracker_try_split(tracker, fraction, &residual, err);
  if (is_split < 0) return err->code;
  if (is_split == 0) return TR_OK; /* refused: the result stays NULL */
  code = give_restriction(&residual, context, err);
  tr_restriction_free(&residual);
  return code;
}

static tr_code call_checkpoint(const char *function, tr_tracker *tracker, sqlite3_value *argument,
                               sqlite3_context *context, tr_error *err) {
  (void)function, (void)argument;
  tr_restriction residual;
  tr_code code = tr_tracker_checkpoint(tracker, &residual, err);
  if (code != TR_OK) return code;
  code = give_restriction(&residual, context, err);
  tr_restriction_free(&residual);
  return code;
}

static tr_code call_current_restriction(const char *function, tr_tracker *tracker,
                                        sqlite3_value *argument, sqlite3_context *context,
                                        tr_error *err) {
  (void)function, (void)argument;
  tr_restriction restriction;
  tr_code code = tr_tracker_current_restriction(tracker, &restriction, err);
  if (code != TR_OK) return code;
  code = give_restriction(&restriction, context, err);
  tr_restriction_free(&restriction);
  return code;
}

static tr_code call_check_done(const char *function, tr_tracker *tracker, sqlite3_value *argument,
                               sqlite3_context *context, tr_error *err) {
  (void)function, (void)argument;
  tr_code code = tr_tracker_check_done(tracker, err);
  if (code == TR_OK) sqlite3_result_int(context, 1);
  return code;
}

static tr_code call_size(const char *function, tr_tracker *tracker, sqlite3_value *argument,
                         sqlite3_context *context, tr_error *err) {
  (void)function, (void)argument, (void)err;
  sqlite3_result_double(context, tr_tracker_size(tracker));
  return TR_OK;
}

static tr_code call_fraction_consumed(const char *function, tr_tracker *tracker,
                                      sqlite3_value *argument, sqlite3_context *context,
                                      tr_error *err) {
  (void)function, (void)argument, (void)err;
  sqlite3_result_double(context, tr_tracker_fraction_consumed(tracker));
  return TR_OK;
}

static tr_code call_to_string(const char *function, tr_tracker *tracker, sqlite3_value *argument,
                              sqlite3_context *context, tr_error *err) {
  (void)function, (void)argument;
  tr_buffer text = {0};
  tr_code code = tr_tracker_text(tracker, &text, err);
  if (code == TR_OK) tr_result_text(context, &text);
  tr_buffer_free(&text);
  return code;
}

static const tracker_call calls[] = {
    {"tracker_try_claim", 2, call_try_claim},
    {"tracker_try_split", 2, call_try_split},
    {"tracker_checkpoint", 1, call_checkpoint},
    {"tracker_current_restriction", 1, call_current_restriction},
    {"tracker_check_done", 1, call_check_done},
    {"tracker_size", 1, call_size},
    {"tracker_fraction_consumed", 1, call_fraction_consumed},
    {"tracker_to_string", 1, call_to_string},
};

/* --- Opening and closing -------------------------------------------------------------------- */

static void tracker_open(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  static const char function[] = "tracker_open";
  tr_error err;
  tr_bytes name;
  tr_restriction restriction;
  if (name_argument(function, argv[0], &name, &err) != TR_OK ||
      tr_argument_restriction(function, "restriction", argv[1], &restriction, &err) != TR_OK) {
    tr_result_error(context, NULL, &err);
    return;
  }
  tr_tracker_registry *registry = tr_host_trackers(tr_function_host(context));
  tr_named_tracker *named = tr_tracker_registry_open(registry, name, &restriction, &err);
  tr_code code = named == NULL ? err.code : give_restriction(&restriction, context, &err);
  if (code != TR_OK) tr_result_error(context, function, &err);
  tr_named_tracker_release(named);
  tr_restriction_free(&restriction);
}

static void tracker_close(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  static const char function[] = "tracker_close";
  tr_error err;
  tr_bytes name;
  if (name_argument(function, argv[0], &name, &err) != TR_OK) {
    tr_result_error(context, NULL, &err);
    return;
  }
  tr_tracker_registry *registry = tr_host_trackers(tr_function_host(context));
  if (tr_tracker_registry_close(registry, name, &err) != TR_OK) {
    tr_result_error(context, function, &err);
    return;
  }
  sqlite3_result_int(context, 1);
}

/* --- range_trackers -------------------------------------------------------------------------- */

/* A position as a column's value, NULL if there is none. A byte key is borrowed from `key`. */
static tr_value position_value(tr_restriction_kind kind, int has_position, const tr_buffer *key,
                               int64_t offset) {
  if (!has_position) return tr_value_null();
  return kind == TR_BYTES ? tr_value_blob(tr_buffer_bytes(key)) : tr_value_integer(offset);
}

static tr_code append_tracker(const tr_named_tracker *named, tr_row_list *rows, tr_error *err) {
  tr_tracker *tracker = named->tracker;
  tr_restriction_kind kind = tr_tracker_kind(tracker);
  tr_restriction restriction = {0};
  tr_buffer text = {0}, claimed = {0}, attempted = {0};
  int64_t claimed_offset = 0, attempted_offset = 0;
  tr_code code = tr_tracker_current_restriction(tracker, &restriction, err);
  if (code != TR_OK) return code;
  code = tr_restriction_text(&restriction, &text, err);
  if (code != TR_OK) goto done;
  int has_claimed = tr_tracker_last_claimed(tracker, &claimed, &claimed_offset, err);
  int has_attempted = tr_tracker_last_attempted(tracker, &attempted, &attempted_offset, err);
  if (has_claimed < 0 || has_attempted < 0) {
    code = err->code;
    goto done;
  }
  tr_value row[] = {
      tr_value_text(tr_bytes_of_text(named->name)),
      tr_value_text(tr_bytes_of_text(kind == TR_BYTES ? "byte_key" : "offset")),
      tr_value_text(tr_buffer_bytes(&text)),
      position_value(kind, has_claimed, &claimed, claimed_offset),
      position_value(kind, has_attempted, &attempted, attempted_offset),
      tr_value_real(tr_tracker_fraction_consumed(tracker)),
      tr_value_real(tr_tracker_size(tracker)),
      tr_value_integer(tr_tracker_is_done(tracker)),
  };
  code = tr_row_list_append(rows, row, err);
done:
  tr_restriction_free(&restriction);
  tr_buffer_free(&text);
  tr_buffer_free(&claimed);
  tr_buffer_free(&attempted);
  return code;
}

static tr_code fill_range_trackers(tr_host *host, sqlite3_value **arguments, tr_row_list *rows,
                                   tr_error *err) {
  (void)arguments;
  tr_named_tracker **list;
  int count;
  tr_code code = tr_tracker_registry_list(tr_host_trackers(host), &list, &count, err);
  if (code != TR_OK) return code;
  for (int i = 0; i < count && code == TR_OK; i++) code = append_tracker(list[i], rows, err);
  for (int i = 0; i < count; i++) tr_named_tracker_release(list[i]);
  tr_free(list);
  return code;
}

int tr_register_trackers(tr_host *host) {
  static const tr_function functions[] = {
      {.name = "tracker_open",
       .argument_count = 2,
       .flags = TR_DIRECT | SQLITE_RESULT_SUBTYPE,
       .call = tracker_open},
      {.name = "tracker_close", .argument_count = 1, .flags = TR_DIRECT, .call = tracker_close},
  };
  static const tr_table_function range_trackers = {
      .name = "range_trackers",
      .declaration = "CREATE TABLE x(name TEXT, kind TEXT, restriction TEXT, last_claimed,"
                     " last_attempted, fraction_consumed REAL, size REAL, done INTEGER)",
      .column_count = 8,
      .json_columns = 1 << 2,
      .risk = SQLITE_VTAB_DIRECTONLY,
      .fill = fill_range_trackers,
  };
  int rc = tr_host_register_functions(host, functions, sizeof functions / sizeof functions[0]);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0] && rc == SQLITE_OK; i++) {
    tr_function function = {.name = calls[i].name,
                            .argument_count = calls[i].argument_count,
                            .flags = TR_DIRECT | SQLITE_RESULT_SUBTYPE,
                            .call = on_tracker,
                            .data = &calls[i]};
    rc = tr_host_register_functions(host, &function, 1);
  }
  return rc == SQLITE_OK ? tr_host_register_table_function(host, &range_trackers) : rc;
}
