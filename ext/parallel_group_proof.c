/*
** Proves that a worker's connection would run the statement just as the caller's connection does.
** The proof compares SQLite's own programs for it (EXPLAIN) on both. Only on the caller's
** connection do names mean what they mean to the caller, and only there an authorizer may have
** blanked a column.
**
** A worker's connection has the source's file alone, as main, and no functions but SQLite's own and
** those of automatic extensions. So the same steps do the same there if all tables are in that one
** file, and if each function is SQLite's own on both connections and always gives the same result
** for the same arguments. Functions of time do, unless they are asked for the present time. (A
** column of times that has the text 'now' is not noticed. A collation with one of SQLite's names is
** taken to be SQLite's, as everywhere in group_by_fields.)
*/
#include "parallel_group.h"

#include <string.h>

#include "base/memory.h"
#include "host/sql_tokens.h"

/* What the comparison has found out. */
typedef struct program {
  sqlite3 *caller, *worker;
  int64_t file; /* number of the caller's database that has the tables; -1: none seen so far */
  int reads;    /* how many tables and indexes are opened */
  int has_once; /* something is computed once for all rows */
  int has_now;  /* there is a text 'now', or a function of the clock without arguments */
  int has_clock;
  const char *defect;
  tr_code code; /* TR_INTERRUPTED, TR_NO_MEMORY: nothing was found out */
  tr_error *err;
} program;

/* Notes an error of `db`. Only an error that is not the statement's own fault is kept. */
static void note_failure(program *p, sqlite3 *db, int rc) {
  if (p->code != TR_OK) return;
  tr_code code = tr_error_of_sqlite(p->err, db, rc);
  if (code == TR_INTERRUPTED || code == TR_NO_MEMORY) p->code = code;
}

/* Prepares an EXPLAIN of `sql`. NULL if that fails. */
static sqlite3_stmt *explain(program *p, sqlite3 *db, const char *word, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  char *text = sqlite3_mprintf("%s %s", word, sql);
  int rc = text == NULL ? SQLITE_NOMEM : sqlite3_prepare_v2(db, text, -1, &stmt, NULL);
  if (rc != SQLITE_OK) note_failure(p, db, rc);
  sqlite3_free(text);
  return stmt;
}

/* A column of a row as text. NULL if it is NULL, or out of memory. */
static const char *text_of(program *p, sqlite3_stmt *stmt, int column) {
  int is_null = sqlite3_column_type(stmt, column) == SQLITE_NULL;
  const char *text = (const char *)sqlite3_column_text(stmt, column);
  if (text == NULL && !is_null) note_failure(p, sqlite3_db_handle(stmt), SQLITE_NOMEM);
  return text;
}

/*
** The reason if SQLite does not read the source from one end to the other, by the first line of the
** query plan. NULL: it does.
*/
static const char *scan_defect(program *p, const char *sql) {
  const char *defect = "the query plan could not be read";
  sqlite3_stmt *stmt = explain(p, p->caller, "EXPLAIN QUERY PLAN", sql);
  if (stmt == NULL) return defect;
  int rc = sqlite3_step(stmt);
  if (rc != SQLITE_ROW) {
    note_failure(p, p->caller, rc);
  } else {
    const char *line = text_of(p, stmt, 3);
    if (line == NULL || strncmp(line, "SCAN ", 5) != 0) {
      defect = "SQLite finds the rows by an index";
    } else if (strstr(line, " USING ") != NULL) {
      defect = "SQLite reads an index in place of the table";
    } else {
      defect = NULL;
    }
  }
  sqlite3_finalize(stmt);
  return defect;
}

/* Whether all functions of that name are SQLite's own and deterministic. */
static int is_plain_function(program *p, sqlite3 *db, const char *name, int size) {
  static const char sql[] =
      "SELECT min(builtin AND flags & 0x800 != 0) FROM pragma_function_list WHERE name = lower(?1)";
  sqlite3_stmt *stmt = NULL;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 1, name, size, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
  int is_plain = rc == SQLITE_ROW && sqlite3_column_int(stmt, 0) == 1;
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) note_failure(p, db, rc);
  sqlite3_finalize(stmt);
  return is_plain;
}

/* Whether the function reads the clock if it is given 'now' or no argument. */
static int reads_clock(const char *name, int size) {
  static const char *const names[] = {
      "date",      "time",     "datetime",     "julianday",    "strftime",
      "unixepoch", "timediff", "current_date", "current_time", "current_timestamp"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if ((int)strlen(names[i]) == size && sqlite3_strnicmp(names[i], name, size) == 0) return 1;
  }
  return 0;
}

/*
** Looks at a function call. `call` is `name(number of arguments)`; `first_register` is 0 if there
** are no arguments.
*/
static void look_at_function(program *p, const char *call, int first_register) {
  const char *end = strchr(call, '(');
  int size = end == NULL ? (int)strlen(call) : (int)(end - call);
  if (size == (int)strlen(TR_GROUP_INNER_FUNCTION) &&
      strncmp(call, TR_GROUP_INNER_FUNCTION, (size_t)size) == 0) {
    return;
  }
  if (reads_clock(call, size)) {
    p->has_clock = 1;
    if (first_register == 0) p->has_now = 1;
  }
  if (!is_plain_function(p, p->caller, call, size) ||
      !is_plain_function(p, p->worker, call, size)) {
    p->defect = "a function is the program's own, or not deterministic";
  }
}

static void look_at_step(program *p, sqlite3_stmt *stmt, const char *opcode) {
  const char *operand = text_of(p, stmt, 5);
  if (strcmp(opcode, "OpenRead") == 0) {
    int64_t file = sqlite3_column_int64(stmt, 4);
    if (p->file >= 0 && file != p->file) p->defect = "tables of several databases are read";
    p->file = file;
    p->reads++;
  } else if (strcmp(opcode, "Once") == 0) {
    p->has_once = 1;
  } else if (strcmp(opcode, "VOpen") == 0) {
    p->defect = "a virtual table is read";
  } else if (strncmp(opcode, "OpenWrite", 9) == 0) {
    p->defect = "the statement writes";
  } else if (operand != NULL &&
             (strstr(opcode, "Func") != NULL || strncmp(opcode, "Agg", 3) == 0)) {
    look_at_function(p, operand, sqlite3_column_int(stmt, 3));
  } else if (operand != NULL && strcmp(opcode, "String8") == 0) {
    if (sqlite3_stricmp(operand, "now") == 0) p->has_now = 1;
  }
}

static int is_same_text(program *p, sqlite3_stmt *a, sqlite3_stmt *b, int column) {
  const char *x = text_of(p, a, column);
  const char *y = text_of(p, b, column);
  return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

/* Whether two steps are the same, except for the number of the database. */
static int is_same_step(program *p, sqlite3_stmt *a, sqlite3_stmt *b, const char *opcode) {
  enum { P1 = 2, P3 = 4, P5 = 6 };
  if (!is_same_text(p, a, b, 1)) return 0;
  if (strcmp(opcode, "Transaction") == 0) return 1;
  int names_database = strcmp(opcode, "OpenRead") == 0 || strcmp(opcode, "ReopenIdx") == 0;
  for (int i = P1; i <= P5; i++) {
    if (!(names_database && i == P3) && !is_same_text(p, a, b, i)) return 0;
  }
  return 1;
}

/*
** Steps to the next line of a program. Skips the locks of a shared cache, which only a connection
** that shares its cache takes.
*/
static int next_step(program *p, sqlite3_stmt *stmt) {
  int rc;
  do {
    rc = sqlite3_step(stmt);
  } while (rc == SQLITE_ROW && sqlite3_stricmp(text_of(p, stmt, 1), "TableLock") == 0);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) note_failure(p, sqlite3_db_handle(stmt), rc);
  return rc;
}

/* Walks through both programs side by side. */
static void compare_programs(program *p, sqlite3_stmt *mine, sqlite3_stmt *others) {
  int rc;
  p->defect = "the statement could not be explained";
  if (mine == NULL || others == NULL) return;
  while ((rc = next_step(p, mine)) == SQLITE_ROW) {
    const char *opcode = text_of(p, mine, 1);
    p->defect = "another connection would run another program";
    if (opcode == NULL || next_step(p, others) != SQLITE_ROW) return;
    if (!is_same_step(p, mine, others, opcode)) return;
    p->defect = NULL;
    look_at_step(p, mine, opcode);
    if (p->defect != NULL) return;
  }
  if (rc != SQLITE_DONE || next_step(p, others) != SQLITE_DONE) {
    p->defect = "the statement could not be explained";
  }
}

/* Whether the arguments [from, to) begin with 'subsec' as a time: with the clock, in fractions. */
static int is_subsec(const tr_sql_tokens *list, int from, int to) {
  static const char *const words[] = {"'subsec'", "'subsecond'"};
  int is_alone = from + 1 == to || (from < to && tr_sql_is_character(list, from + 1, ','));
  if (!is_alone || list->tokens[from].kind != TR_SQL_LITERAL) return 0;
  const char *text = (const char *)list->text.data + list->tokens[from].start;
  size_t size = list->tokens[from].end - list->tokens[from].start;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strlen(words[i]) == size && sqlite3_strnicmp(text, words[i], (int)size) == 0) return 1;
  }
  return 0;
}

/*
** Whether a call has no time among its arguments [from, to) or has 'subsec' in its place. strftime
** has a format before the time, and timediff has two times.
*/
static int lacks_time(const tr_sql_tokens *list, const char *name, int from, int to) {
  int has_format = sqlite3_stricmp(name, "strftime") == 0;
  int has_two = sqlite3_stricmp(name, "timediff") == 0;
  int depth = list->tokens[from - 1].depth + 1;
  if (!has_format && (from == to || is_subsec(list, from, to))) return 1;
  if (!has_format && !has_two) return 0;
  while (from < to &&
         !(list->tokens[from].depth == depth && tr_sql_is_character(list, from, ','))) {
    from++;
  }
  return from == to || is_subsec(list, from + 1, to);
}

/*
** Whether the SQL calls a function of the clock without a time, as strftime('%Y') does, which then
** reads the clock. The program does not tell such a call from one with a time. 1 also if that is
** not known.
*/
static int may_lack_time(const char *sql) {
  tr_sql_tokens list;
  tr_bytes text = tr_bytes_of_text(sql);
  int may = tr_sql_tokens_read(&list, text, NULL) != TR_OK;
  for (int i = 0; i + 1 < list.count && !may; i++) {
    if (list.tokens[i].kind != TR_SQL_NAME || !tr_sql_is_character(&list, i + 1, '(')) continue;
    char *name = tr_sql_copy_unquoted(text, &list.tokens[i]);
    may = name == NULL || (reads_clock(name, (int)strlen(name)) &&
                           lacks_time(&list, name, i + 2, tr_sql_closing(&list, i + 1)));
    tr_free(name);
  }
  tr_sql_tokens_free(&list);
  return may;
}

tr_code tr_parallel_group_disproof(const tr_parallel_group *job, sqlite3 *worker,
                                   const char **defect, tr_error *err) {
  program p = {.caller = tr_host_db(job->host), .worker = worker, .file = -1, .err = err};
  const char *sql = sqlite3_sql(job->whole);
  sqlite3_stmt *others = NULL;
  *defect = scan_defect(&p, sql);
  if (*defect != NULL) return p.code;
  tr_code code = tr_group_intake_prepare(job->intake, worker, "main", job->request, &others, err);
  if (code == TR_NO_MEMORY || code == TR_INTERRUPTED) return code;
  if (code != TR_OK) {
    *defect = "another connection cannot prepare the statement";
    return TR_OK;
  }
  sqlite3_stmt *explained = explain(&p, p.caller, "EXPLAIN", sql);
  sqlite3_stmt *others_explained = explain(&p, worker, "EXPLAIN", sqlite3_sql(others));
  compare_programs(&p, explained, others_explained);
  sqlite3_finalize(explained);
  sqlite3_finalize(others_explained);
  sqlite3_finalize(others);
  /* A list of constants is also computed once, but reads no second table. */
  if (p.defect == NULL && p.has_once && p.reads > 1) {
    p.defect = "a subquery is worked out once, and would be for each piece";
  }
  if (p.defect == NULL && p.has_clock && (p.has_now || may_lack_time(sql))) {
    p.defect = "the present time is read";
  }
  *defect = p.defect;
  return p.code;
}
