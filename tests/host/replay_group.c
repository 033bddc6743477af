/*
** Replays group.jsonl: what the reference's Group and Select transforms and its parser of field
** paths answer. Checked are group_by_fields in SQL and our parser.
**
** For each line there are three answers: ours, the recorded one, and that of a model of what we
** document (SQLite's own GROUP BY over the same rows, or a plain statement of the rule). Ours must
** always be the model's. If it is not the recorded one, a line of the table of differences must say
** why. A line of that table that never applies is an error, too.
**
** A row is a row of a table here. Its nested fields are JSON in a column; the README of the vectors
** says how they are made from plain ones.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_path.h"
#include "database.h"
#include "jsonl.h"

#define VECTORS "tests/vectors/group.jsonl"
#define LINES 352

static jsonl *file;
static const char *line;
static sqlite3 *db;
static long equal, wrong, lines;

/* --- differences ------------------------------------------------------------------------- */

typedef enum difference {
  SYNTAX,
  TEXTS,
  MAPS,
  WHOLE,
  MERGED,
  KINDS,
  NULL_PARENT,
  NO_TYPE,
  OTHER_TYPE,
  NULL_INPUT,
  NULLS_COUNTED,
  NO_ROWS,
  OVERFLOWS,
  NO_NAN,
  ONE_ROW,
  DIFFERENCES
} difference;

static const char *const reasons[DIFFERENCES] = {
    [SYNTAX] = "the reference warns of wrong syntax and repairs it; we refuse it and point at it",
    [TEXTS] = "both refuse; the text is ours, and names the table and the way out",
    [MAPS] =
        "JSON cannot tell a map from an object: without {} it is an object, and has no such field",
    [WHOLE] = "JSON declares no fields: x.* is x as a whole, not its fields side by side",
    [MERGED] = "the reference gets its own columns in the wrong order and fails; we give them",
    [KINDS] = "what a value is, is known row by row: of another kind than the path says it is NULL",
    [NULL_PARENT] = "the reference fails below a null; what is below NULL is NULL",
    [NO_TYPE] = "the reference wants the type of the output declared; SQLite's values have theirs",
    [OTHER_TYPE] =
        "the reference fails on a value of another type; SQLite's sum() takes it as a number",
    [NULL_INPUT] = "the reference fails on a null; SQLite's aggregates skip it",
    [NULLS_COUNTED] = "the reference counts nulls; SQLite's count(x) does not, count(*) does",
    [NO_ROWS] = "of no rows the reference gives the function's identity; SQLite's aggregates NULL",
    [OVERFLOWS] = "the reference's integers wrap around; SQLite's sum() fails, and has 64 bits",
    [ONE_ROW] =
        "key and value are columns of one table here: a name in both is refused, AS gives another",
    [NO_NAN] = "SQLite has no NaN (it is NULL), and 0.0 and -0.0 are one group",
};
static long covered[DIFFERENCES];

/* Judges one line. `because` says which difference covers it if ours is not the recorded answer. */
static void judge(const char *recorded, const char *ours, const char *model, int because) {
  if (strcmp(ours, model) != 0) {
    fprintf(stderr, "%s:%ld: ours is\n%s\nwhich should be\n%s\n", VECTORS, jsonl_line_number(file),
            ours, model);
    wrong++;
  } else if (strcmp(ours, recorded) == 0) {
    equal++;
  } else if (because < 0 || because >= DIFFERENCES) {
    fprintf(stderr, "%s:%ld: ours is\n%s\nrecorded\n%s\n", VECTORS, jsonl_line_number(file), ours,
            recorded);
    wrong++;
  } else {
    covered[because]++;
  }
}

static char *take_text(sqlite3_str *text) {
  char *finished = sqlite3_str_finish(text);
  return finished == NULL ? sqlite3_mprintf("") : finished;
}

static int has_error(void) {
  return jsonl_has(file, line, "err");
}

/* Whether the line's error is of that class. */
static int is_error(const char *class) {
  return has_error() && strcmp(jsonl_text(file, line, "err"), class) == 0;
}

/* --- field paths ------------------------------------------------------------------------- */

/* A path as the vectors show it: a list with one object, or "*". */
static void append_tree(sqlite3_str *json, const tr_field_path *path, int step) {
  if (step == path->step_count) {
    sqlite3_str_appendall(json, "\"*\"");
    return;
  }
  sqlite3_str_appendf(json, "[{\"name\":\"%s\"", path->steps[step].name);
  const char *qualifiers = path->steps[step].qualifiers;
  for (int i = 0; qualifiers[i] != 0; i++) {
    sqlite3_str_appendf(json, "%s\"%s\"", i == 0 ? ",\"qualifiers\":[" : ",",
                        qualifiers[i] == '[' ? "[]" : "{}");
  }
  if (*qualifiers != 0) sqlite3_str_appendchar(json, 1, ']');
  if (step + 1 < path->step_count || path->takes_all) {
    sqlite3_str_appendall(json, ",\"nested\":");
    append_tree(json, path, step + 1);
  }
  sqlite3_str_appendall(json, "}]");
}

/* What we say to what the reference repairs or fails at. */
static const struct {
  const char *expression, *message;
} refusals[] = {
    {"", "at 1: a name or * must stand here"},
    {".a", "at 1: a name or * must stand here"},
    {"a b", "at 3: a dot, a qualifier or the end must stand here"},
    {"a,b", "at 2: a dot, a qualifier or the end must stand here"},
    {"a:b", "at 2: a dot, a qualifier or the end must stand here"},
    {"a]", "at 2: a dot, a qualifier or the end must stand here"},
    {"a[]b", "at 4: a dot, a qualifier or the end must stand here"},
    {"a[", "at 2: only [] and [*] are allowed"},
    {"a[0]", "at 2: only [] and [*] are allowed"},
    {"a[ ]", "at 2: only [] and [*] are allowed"},
    {"**", "at 2: nothing can follow *: x.* is allowed, x.*.y is not"},
    {"*.a", "at 2: nothing can follow *: x.* is allowed, x.*.y is not"},
    {"a.*.b", "at 4: nothing can follow *: x.* is allowed, x.*.y is not"},
};

static void replay_parse(void) {
  const char *expression = jsonl_text(file, line, "expr");
  const char *recorded = has_error() ? "refused" : jsonl_json(file, line, "tree");
  tr_field_path path;
  tr_error err;
  char *model = NULL, *ours;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    if (strcmp(refusals[i].expression, expression) != 0) continue;
    model = sqlite3_mprintf("field path '%s', %s", expression, refusals[i].message);
  }
  if (tr_field_path_parse(&path, tr_bytes_of_text(expression), &err) == TR_OK) {
    sqlite3_str *json = sqlite3_str_new(NULL);
    append_tree(json, &path, 0);
    ours = take_text(json);
    tr_field_path_free(&path);
    if (model == NULL) model = sqlite3_mprintf("%s", recorded);
  } else {
    ours = sqlite3_mprintf("%s", err.message);
    if (model == NULL) model = sqlite3_mprintf("(accepted)");
  }
  judge(recorded, ours, model, has_error() ? TEXTS : SYNTAX);
  sqlite3_free(ours);
  sqlite3_free(model);
}

/* --- rows -------------------------------------------------------------------------------- */

/* The nested columns are what the vectors' README says they are. */
static void make_table(void) {
  database_must(db, "DROP TABLE IF EXISTS t");
  database_must(db, "CREATE TABLE t(\"user\" TEXT, country TEXT, score INT, weight REAL, n INT, "
                    "loc, tags, items, attrs, grid, opt)");
}

static void insert_row(const char *json) {
  sqlite3_stmt *stmt;
  static const char sql[] =
      "INSERT INTO t SELECT u, c, s, nullif(w, 'NaN'), n, "
      "json_object('lat', s * 1.5, 'lon', -2.0, 'tag', c), json_array('t' || n, 'z'), "
      "json_array(json_object('sku', 'sku' || n, 'qty', n), json_object('sku', 'b', 'qty', 7)), "
      "json_object('k1', json_object('x', s, 'y', s + 1), 'k2', json_object('x', -s, 'y', 0)), "
      "'[[{\"x\":1,\"y\":2}],[]]', "
      "CASE WHEN n % 2 THEN json_object('x', s, 'y', 9) END FROM (SELECT ?1 ->> 0 AS u, ?1 ->> 1 "
      "AS c, "
      "?1 ->> 2 AS s, ?1 ->> 3 AS w, ?1 ->> 4 AS n)";
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK ||
      sqlite3_bind_text(stmt, 1, json, -1, SQLITE_TRANSIENT) != SQLITE_OK ||
      sqlite3_step(stmt) != SQLITE_DONE) {
    fprintf(stderr, "%s: %s\n", json, sqlite3_errmsg(db));
    exit(1);
  }
  sqlite3_finalize(stmt);
}

/* One value as text that shows its type; JSON is made canonical. */
static void append_value(sqlite3_str *row, int type, const char *text, double real) {
  if (type == SQLITE_NULL)
    sqlite3_str_appendall(row, "null|");
  else if (type == SQLITE_FLOAT && real == 0 && 1 / real < 0)
    sqlite3_str_appendall(row, "-0.0|");
  else if (type == SQLITE_FLOAT)
    sqlite3_str_appendf(row, "%!.17g|", real);
  else if (type == SQLITE_TEXT && (text[0] == '[' || text[0] == '{')) {
    char *minified = sqlite3_mprintf("SELECT json(%Q)", text);
    sqlite3_str_appendf(row, "%s|", database_text(db, minified));
    sqlite3_free(minified);
  } else {
    sqlite3_str_appendf(row, "%s%s|", type == SQLITE_TEXT ? "'" : "", text);
  }
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts rows and makes one text of them. */
static char *join(char **rows, size_t count) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  if (count > 0) qsort(rows, count, sizeof *rows, compare_texts);
  for (size_t i = 0; i < count; i++) {
    sqlite3_str_appendf(text, "%s\n", rows[i]);
    sqlite3_free(rows[i]);
  }
  return take_text(text);
}

#define MOST_ROWS 1000

/* All rows of a query, or "error: ...". */
static char *answer_of(const char *sql) {
  static char *rows[MOST_ROWS];
  size_t count = 0;
  sqlite3_stmt *stmt = NULL;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW && count < MOST_ROWS) {
    sqlite3_str *row = sqlite3_str_new(NULL);
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      append_value(row, sqlite3_column_type(stmt, i), (const char *)sqlite3_column_text(stmt, i),
                   sqlite3_column_double(stmt, i));
    }
    rows[count++] = take_text(row);
    rc = SQLITE_OK;
  }
  char *answer = join(rows, count);
  if (rc != SQLITE_DONE) {
    sqlite3_free(answer);
    answer = sqlite3_mprintf("error: %s", sqlite3_errmsg(db));
  }
  sqlite3_finalize(stmt);
  return answer;
}

/* A recorded value, in the same form. Doubles that JSON has not are strings. */
static void append_recorded(sqlite3_str *row, const char *json, const char *path) {
  char *sql = sqlite3_mprintf("SELECT json_type(%Q, '$.\"%w\"')", json, path);
  const char *type = database_text(db, sql);
  sqlite3_free(sql);
  if (strcmp(type, "null") == 0)
    sqlite3_str_appendall(row, "null|");
  else if (strcmp(type, "integer") == 0) {
    sqlite3_str_appendf(row, "%lld|", (long long)jsonl_integer(file, json, path));
  } else if (strcmp(type, "text") == 0) {
    const char *text = jsonl_text(file, json, path);
    int is_double =
        strcmp(text, "NaN") == 0 || strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0;
    if (is_double)
      sqlite3_str_appendf(row, "%s|", text);
    else
      append_value(row, SQLITE_TEXT, text, 0);
  } else if (strcmp(type, "real") == 0) {
    append_value(row, SQLITE_FLOAT, NULL, jsonl_double(file, json, path));
  } else {
    append_value(row, SQLITE_TEXT, jsonl_json(file, json, path), 0);
  }
}

/* --- selections -------------------------------------------------------------------------- */

/* The two rows of the vectors, which have ids 1 and 2 in their column n. */
static void make_sample_rows(void) {
  make_table();
  insert_row("[\"ann\",\"DE\",3,0.5,1]");
  insert_row("[\"bob\",null,4,null,2]");
}

/* Creates temp.ours by `clause` over the row with that n. Returns NULL, or the error. */
static char *create_ours(const char *clause, const char *aggregates, const char *where) {
  char *sql = sqlite3_mprintf(
      "CREATE VIRTUAL TABLE temp.ours USING group_by_fields(t, %s%s%s%s%s%s)", clause,
      aggregates[0] == 0 ? "" : ", ", aggregates, where == NULL ? "" : ", where(",
      where == NULL ? "" : where, where == NULL ? "" : ")");
  database_must(db, "DROP TABLE IF EXISTS temp.ours");
  int rc = database_run(db, sql);
  sqlite3_free(sql);
  return rc == SQLITE_OK ? NULL : sqlite3_mprintf("error: %s", sqlite3_errmsg(db));
}

/* The names of an object's members, in an order that does not depend on the object's. */
static char **member_names(const char *json, int *count) {
  static char *names[32];
  sqlite3_stmt *stmt;
  *count = 0;
  sqlite3_prepare_v2(db, "SELECT key FROM json_each(?1) ORDER BY key", -1, &stmt, NULL);
  sqlite3_bind_text(stmt, 1, json, -1, SQLITE_TRANSIENT);
  while (sqlite3_step(stmt) == SQLITE_ROW && *count < 32) {
    names[(*count)++] = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
  }
  sqlite3_finalize(stmt);
  return names;
}

static void free_names(char **names, int count) {
  for (int i = 0; i < count; i++) sqlite3_free(names[i]);
}

/* What we document where it is not what is recorded: by the expressions and the row. */
static const struct {
  const char *expressions; /* as JSON */
  difference because;
  const char *columns;     /* of our table, in the order of the answer */
  const char *row1, *row2; /* our answers */
} selections[] = {
    {"[\"loc.*\"]", WHOLE, "loc", "{\"lat\":4.5,\"lon\":-2.0,\"tag\":\"DE\"}|\n",
     "{\"lat\":6.0,\"lon\":-2.0,\"tag\":null}|\n"},
    {"[\"items.*\"]", WHOLE, "items", "[{\"sku\":\"sku1\",\"qty\":1},{\"sku\":\"b\",\"qty\":7}]|\n",
     "[{\"sku\":\"sku2\",\"qty\":2},{\"sku\":\"b\",\"qty\":7}]|\n"},
    {"[\"items[*].qty\",\"items.sku\"]", MERGED, "qty, sku", "[1,7]|[\"sku1\",\"b\"]|\n",
     "[2,7]|[\"sku2\",\"b\"]|\n"},
    {"[\"attrs.x\"]", MAPS, "x", "null|\n", "null|\n"},
    {"[\"attrs{*}.x\",\"attrs.y\"]", MAPS, "x, y", "{\"k1\":3,\"k2\":-3}|null|\n",
     "{\"k1\":4,\"k2\":-4}|null|\n"},
    {"[\"opt.x\"]", NULL_PARENT, "x", "3|\n", "null|\n"},
    {"[\"loc.lat\",\"opt.x\"]", NULL_PARENT, "lat, x", "4.5|3|\n", "6.0|null|\n"},
    {"[\"missing\"]", TEXTS, "", "error: group_by_fields: no such field: missing in main.t", NULL},
    {"[\"user.x\"]", KINDS, "x", "error: group_by_fields: malformed JSON", NULL},
    {"[\"tags.x\"]", KINDS, "x", "[null,null]|\n", "[null,null]|\n"},
    {"[\"attrs[].x\"]", KINDS, "x", "null|\n", "null|\n"},
    {"[\"items[][].sku\"]", KINDS, "sku", "[null,null]|\n", "[null,null]|\n"},
    {"[\"opt.x\",\"attrs.x\"]", TEXTS, "",
     "error: group_by_fields: x: two columns of that name; give one another (AS name)", NULL},
    {"[2,2]", TEXTS, "",
     "error: group_by_fields: score: two columns of that name; give one another (AS name)", NULL},
    {"[-1]", TEXTS, "",
     "error: group_by_fields: by_field_ids: -1 is no position of a column: 0 to 10", NULL},
};

/* Our answer for the row with that n, of the columns. */
static char *selected(const char *clause, const char *columns, int n) {
  char where[20];
  snprintf(where, sizeof where, "n = %d", n);
  char *answer = create_ours(clause, "", where);
  if (answer != NULL) return answer;
  char *sql = sqlite3_mprintf("SELECT %s FROM ours", columns);
  answer = answer_of(sql);
  sqlite3_free(sql);
  return answer;
}

static char *clause_of(const char *name, const char *array, int is_text) {
  sqlite3_str *clause = sqlite3_str_new(NULL);
  sqlite3_str_appendf(clause, "%s(", name);
  const char **items = jsonl_items(file, line, array);
  for (int i = 0; items[i] != NULL; i++) {
    const char *text = is_text ? jsonl_text(file, items[i], "$") : items[i];
    sqlite3_str_appendf(clause, is_text ? "%s%Q" : "%s%s", i == 0 ? "" : ", ", text);
  }
  sqlite3_str_appendchar(clause, 1, ')');
  return take_text(clause);
}

/* The recorded row's columns in the given order. */
static char *recorded_row(const char *row, char **names, int count) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  for (int i = 0; i < count; i++) append_recorded(text, row, names[i]);
  sqlite3_str_appendchar(text, 1, '\n');
  return take_text(text);
}

static void replay_select(const char *array, const char *by, int is_text) {
  char *clause = clause_of(by, array, is_text);
  const char *expressions = jsonl_json(file, line, array);
  make_sample_rows();
  size_t s = 0, count = sizeof selections / sizeof *selections;
  while (s < count && strcmp(selections[s].expressions, expressions) != 0) s++;
  for (int n = 1; n <= 2; n++) {
    char *recorded = NULL, *columns = NULL, *ours;
    const char *row = n == 1 ? "row" : "row2";
    if (!has_error() && jsonl_has(file, line, row)) {
      int names_count;
      char **names = member_names(jsonl_json(file, line, row), &names_count);
      recorded = recorded_row(jsonl_json(file, line, row), names, names_count);
      for (int i = 0; i < names_count; i++) {
        columns = sqlite3_mprintf("%z%s\"%w\"", columns, i == 0 ? "" : ", ", names[i]);
      }
      free_names(names, names_count);
    } else {
      recorded = sqlite3_mprintf("%s", has_error() ? "exception" : "no row");
    }
    ours = selected(clause, s < count ? selections[s].columns : columns != NULL ? columns : "*", n);
    if (s < count) {
      const char *model =
          n == 2 && selections[s].row2 != NULL ? selections[s].row2 : selections[s].row1;
      judge(recorded, ours, model, (int)selections[s].because);
    } else if (columns == NULL) {
      /* Only the type is recorded: that those are our columns. */
      judge(ours, ours, strncmp(ours, "error", 5) == 0 ? "" : ours, -1);
    } else {
      judge(recorded, ours, recorded, -1);
    }
    sqlite3_free(columns);
    sqlite3_free(recorded);
    sqlite3_free(ours);
  }
  sqlite3_free(clause);
}

/* By numbers the line records only the names: of the output's columns, sorted. */
static void replay_select_ids(void) {
  if (has_error()) {
    replay_select("ids", "by_field_ids", 0);
    return;
  }
  char *clause = clause_of("by_field_ids", "ids", 0);
  make_sample_rows();
  char *ours = create_ours(clause, "", NULL);
  if (ours == NULL) {
    ours = answer_of("SELECT name FROM pragma_table_info('ours') WHERE name <> 'rows'");
  }
  char *recorded = answer_of("SELECT value FROM json_each('[]')");
  const char *type = jsonl_text(file, line, "output_type");
  char *sql = sqlite3_mprintf(
      "WITH w(name) AS (VALUES ('user'), ('country'), ('score'), ('loc')) SELECT name FROM w "
      "WHERE instr(replace(%Q, 'ROW{', ','), ',' || name || ' ')",
      type);
  sqlite3_free(recorded);
  recorded = answer_of(sql);
  judge(recorded, ours, recorded, -1);
  sqlite3_free(sql);
  sqlite3_free(recorded);
  sqlite3_free(ours);
  sqlite3_free(clause);
}

/* --- groups ------------------------------------------------------------------------------ */

/* The functions: ours, and the same in SQLite's words over column %s of table t. */
static const struct {
  const char *name, *ours, *model;
} functions[] = {
    {"sum_long", "sum(%s)", "sum(%s)"},
    {"sum_int", "sum(%s)", "sum(%s)"},
    {"sum_double", "sum(%s)", "sum(%s)"},
    {"min_long", "min(%s)", "min(%s)"},
    {"max_long", "max(%s)", "max(%s)"},
    {"max_double", "max(%s)", "max(%s)"},
    {"max_natural", "max(%s)", "max(%s)"},
    {"mean", "mean(%s)", "avg(%s)"},
    {"count", "count(%s)", "count(%s)"},
    {"top2_long", "top_largest(%s, 2)", "ranked(%s, -1, 2)"},
    {"bottom2_long", "top_smallest(%s, 2)", "ranked(%s, 1, 2)"},
    {"quantiles3", "approx_quantiles(%s, 3)", "ranked(%s, 0, 3)"},
};

/* What stands for a field: a path is JSON below a column. Several fields, or all, are rows. */
static char *field_sql(const char *field) {
  if (strchr(field, ',') != NULL || strcmp(field, "*") == 0) return sqlite3_mprintf("*");
  if (strcmp(field, "loc.lat") == 0) return sqlite3_mprintf("loc ->> 'lat'");
  if (strcmp(field, "opt.x") == 0) return sqlite3_mprintf("opt ->> 'x'");
  if (strcmp(field, "items.qty") == 0) return sqlite3_mprintf("items");
  return sqlite3_mprintf("%s", field);
}

/*
** ranked(x, direction, n): the first n values of a group; for n = 0 its least, middle and greatest.
*/
typedef struct ranking {
  int count, direction, n;
  sqlite3_int64 values[200];
} ranking;

static int ranking_direction;

static int compare_integers(const void *a, const void *b) {
  sqlite3_int64 x = *(const sqlite3_int64 *)a, y = *(const sqlite3_int64 *)b;
  return ((x > y) - (x < y)) * (ranking_direction < 0 ? -1 : 1);
}

static void rank_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  ranking *r = sqlite3_aggregate_context(context, sizeof *r);
  if (r == NULL || r->count == 200) abort();
  r->direction = sqlite3_value_int(argv[1]);
  r->n = sqlite3_value_int(argv[2]);
  if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
    r->values[r->count++] = sqlite3_value_int64(argv[0]);
}

static void rank_final(sqlite3_context *context) {
  ranking *r = sqlite3_aggregate_context(context, 0);
  if (r == NULL || r->count == 0) {
    sqlite3_result_text(context, "[]", -1, SQLITE_STATIC);
    return;
  }
  ranking_direction = r->direction;
  qsort(r->values, (size_t)r->count, sizeof *r->values, compare_integers);
  sqlite3_str *json = sqlite3_str_new(NULL);
  for (int i = 0; i < r->n && (i < r->count || r->direction == 0); i++) {
    int at = r->direction != 0 ? i : i == 0 ? 0 : i == 2 ? r->count - 1 : (r->count - 1) / 2;
    sqlite3_str_appendf(json, "%s%lld", i == 0 ? "[" : ",", r->values[at]);
  }
  sqlite3_str_appendchar(json, 1, ']');
  char *text = take_text(json);
  sqlite3_result_text(context, text, -1, sqlite3_free);
}

/* What is known of a line for choosing among the differences. */
typedef struct facts {
  int has_rows, has_no_type, has_unknown_field, has_two_names, has_count_of_null, has_wide_sum,
      has_name_of_key;
} facts;

/* The texts of the aggregates in both forms, and the outputs' names. */
static facts read_aggregates(sqlite3_str *ours, sqlite3_str *model, char *outputs[8], int *count) {
  facts f = {.has_rows = jsonl_items(file, line, "rows")[0] != NULL};
  const char **aggregates = jsonl_items(file, line, "aggregates");
  for (*count = 0; aggregates[*count] != NULL && *count < 8; ++*count) {
    const char *aggregate = aggregates[*count];
    const char *name = jsonl_text(file, aggregate, "fn");
    const char *fields = jsonl_text(file, aggregate, "fields");
    char *field = field_sql(fields);
    size_t i = 0;
    while (i < sizeof functions / sizeof *functions && strcmp(functions[i].name, name) != 0) i++;
    if (i == sizeof functions / sizeof *functions) {
      fprintf(stderr, "%s: unknown function\n", name);
      exit(1);
    }
    const char *output = outputs[*count] =
        sqlite3_mprintf("%s", jsonl_text(file, aggregate, "output"));
    sqlite3_str_appendf(ours, *count == 0 ? "" : ", ");
    sqlite3_str_appendf(ours, functions[i].ours, field);
    sqlite3_str_appendf(ours, " AS \"%w\"", output);
    sqlite3_str_appendall(model, ", ");
    sqlite3_str_appendf(model, functions[i].model, field);
    sqlite3_str_appendf(model, " AS \"%w\"", output);
    f.has_no_type |= strcmp(name, "max_natural") == 0 || strcmp(name, "quantiles3") == 0;
    f.has_unknown_field |= strcmp(fields, "missing") == 0;
    f.has_count_of_null |= strcmp(name, "count") == 0 && strcmp(fields, "country") == 0;
    f.has_wide_sum |= strncmp(name, "sum_", 4) == 0 || strcmp(name, "mean") == 0;
    for (int j = 0; j < *count; j++) f.has_two_names |= strcmp(outputs[j], output) == 0;
    sqlite3_free(field);
  }
  return f;
}

/* Recorded groups, as rows of the columns: the keys, then the outputs. */
static char *recorded_groups(char **keys, int key_count, char **outputs, int output_count) {
  static char *rows[MOST_ROWS];
  size_t count = 0;
  if (has_error()) return sqlite3_mprintf("exception %s", jsonl_text(file, line, "err"));
  const char **groups = jsonl_items(file, line, "out");
  for (; groups[count] != NULL && count < MOST_ROWS; count++) {
    sqlite3_str *row = sqlite3_str_new(NULL);
    for (int i = 0; i < key_count; i++) {
      append_recorded(row, jsonl_json(file, groups[count], "key"), keys[i]);
    }
    for (int i = 0; i < output_count; i++) {
      append_recorded(row, jsonl_json(file, groups[count], "value"), outputs[i]);
    }
    rows[count] = take_text(row);
  }
  return join(rows, count);
}

static int because_of(const facts *f, const char *ours, int has_weight_key) {
  if (f->has_name_of_key && !has_error()) return ONE_ROW;
  if (is_error("IllegalArgumentException")) return TEXTS;
  if (is_error("RuntimeException")) return NO_TYPE;
  if (is_error("ClassCastException")) return OTHER_TYPE;
  if (is_error("NullPointerException")) return NULL_INPUT;
  if (!f->has_rows) return NO_ROWS;
  if (f->has_count_of_null) return NULLS_COUNTED;
  if (has_weight_key) return NO_NAN;
  if (f->has_wide_sum && strstr(ours, "integer overflow") != NULL) return OVERFLOWS;
  return f->has_wide_sum ? OVERFLOWS : -1;
}

static void replay_group(void) {
  make_table();
  const char **rows = jsonl_items(file, line, "rows");
  for (int i = 0; rows[i] != NULL; i++) insert_row(rows[i]);
  /* Of all fields as the key, the plain ones are compared: the others are made of them. */
  static char *plain[] = {"user", "country", "score", "weight", "n"};
  const char **keys = jsonl_items(file, line, "keys");
  char *names[8];
  int key_count = 0, is_all = keys[0] != NULL && strcmp(jsonl_text(file, keys[0], "$"), "*") == 0;
  sqlite3_str *columns = sqlite3_str_new(NULL), *grouped = sqlite3_str_new(NULL);
  int has_weight_key = is_all, has_unknown_key = 0;
  for (; is_all ? key_count < 5 : keys[key_count] != NULL; key_count++) {
    const char *path = is_all ? plain[key_count] : jsonl_text(file, keys[key_count], "$");
    const char *dot = strrchr(path, '.');
    names[key_count] = sqlite3_mprintf("%s", dot == NULL ? path : dot + 1);
    has_weight_key |= strcmp(path, "weight") == 0;
    has_unknown_key |= strcmp(path, "nope") == 0;
    sqlite3_str_appendf(columns, "%s\"%w\"", key_count == 0 ? "" : ", ", names[key_count]);
    if (dot == NULL)
      sqlite3_str_appendf(grouped, "%s\"%w\"", key_count == 0 ? "" : ", ", path);
    else
      sqlite3_str_appendf(grouped, "%sloc ->> 'tag'", key_count == 0 ? "" : ", ");
  }
  char *outputs[8];
  int output_count;
  sqlite3_str *our_aggregates = sqlite3_str_new(NULL), *model_aggregates = sqlite3_str_new(NULL);
  facts f = read_aggregates(our_aggregates, model_aggregates, outputs, &output_count);
  for (int i = 0; i < output_count; i++) {
    for (int k = 0; k < key_count; k++) f.has_name_of_key |= strcmp(names[k], outputs[i]) == 0;
    sqlite3_str_appendf(columns, "%s\"%w\"", key_count + i == 0 ? "" : ", ", outputs[i]);
  }
  char *column_text = take_text(columns), *group_text = take_text(grouped),
       *our_text = take_text(our_aggregates), *model_text = take_text(model_aggregates);
  char *clause =
      keys[0] == NULL ? sqlite3_mprintf("globally()") : clause_of("by_field_access", "keys", 1);
  char *ours = create_ours(clause, our_text, NULL);
  if (ours == NULL) {
    char *sql = sqlite3_mprintf("SELECT %s FROM ours", column_text);
    ours = answer_of(sql);
    sqlite3_free(sql);
  }
  char *model, *sql;
  if (has_unknown_key) {
    model = sqlite3_mprintf("error: group_by_fields: no such field: nope in main.t");
  } else if (f.has_two_names) {
    model = sqlite3_mprintf(
        "error: group_by_fields: x: two columns of that name; give one another (AS name)");
  } else if (f.has_name_of_key) {
    model = sqlite3_mprintf(
        "error: group_by_fields: n: two columns of that name; give one another (AS name)");
  } else if (f.has_unknown_field) {
    model = sqlite3_mprintf("error: group_by_fields: count(missing): no such column: missing");
  } else {
    sql = key_count == 0 ? sqlite3_mprintf("SELECT %s FROM t", model_text + 2)
                         : sqlite3_mprintf("SELECT %s%s FROM t GROUP BY %s", group_text, model_text,
                                           group_text);
    model = answer_of(sql);
    sqlite3_free(sql);
    /* SQLite's sum() says less about the sum that does not fit. */
    if (strcmp(model, "error: integer overflow") == 0 &&
        strncmp(ours, "error: group_by_fields: integer overflow: sum() is ", 51) == 0) {
      sqlite3_free(model);
      model = sqlite3_mprintf("%s", ours);
    }
  }
  char *recorded = recorded_groups(names, key_count, outputs, output_count);
  judge(recorded, ours, model, because_of(&f, ours, has_weight_key));
  for (int i = 0; i < key_count; i++) sqlite3_free(names[i]);
  free_names(outputs, output_count);
  char *texts[] = {column_text, group_text, our_text, model_text, clause, ours, model, recorded};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) sqlite3_free(texts[i]);
}

int main(void) {
  file = jsonl_open(VECTORS);
  db = database_open(":memory:", 0);
  sqlite3_create_function_v2(db, "ranked", 3, SQLITE_UTF8, NULL, NULL, rank_step, rank_final, NULL);
  while ((line = jsonl_next(file)) != NULL) {
    const char *op = jsonl_text(file, line, "op");
    lines++;
    if (strcmp(op, "parse_field_expr") == 0)
      replay_parse();
    else if (strcmp(op, "select") == 0)
      replay_select("exprs", "by_field_access", 1);
    else if (strcmp(op, "select_ids") == 0)
      replay_select_ids();
    else if (strcmp(op, "group") == 0)
      replay_group();
    else
      fprintf(stderr, "%s: unknown\n", op), wrong++;
  }
  sqlite3_close(db);
  jsonl_close(file);
  printf("replay_group: %ld lines, %ld answers equal\n", lines, equal);
  for (int i = 0; i < DIFFERENCES; i++) {
    printf("  %4ld  %s\n", covered[i], reasons[i]);
    if (covered[i] == 0)
      fprintf(stderr, "this difference never applies: %s\n", reasons[i]), wrong++;
  }
  if (lines != LINES) fprintf(stderr, "%ld lines instead of %d\n", lines, LINES), wrong++;
  return wrong == 0 ? 0 : 1;
}
