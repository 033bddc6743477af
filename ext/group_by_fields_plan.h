/*
** The plan of a group_by_fields: source, key fields, aggregates, conditions. It is made from the
** module's arguments or from those of the ad hoc form, and checked against the table and the
** combine functions, so that everything after it can rely on it.
**
** Ownership: a plan owns everything that it points to. Thread-safety: belongs to its connection's
** thread.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_PLAN_H
#define TR_EXT_GROUP_BY_FIELDS_PLAN_H

#include "combine/combine.h"
#include "combine/group_key.h"
#include "host/source_table.h"

/* A key field, which is a column of the output. */
typedef struct tr_group_field {
  char *name; /* of the output's column */
  char *sql;  /* the expression over the source's columns */
  int column; /* the column of the source, or -1: an expression */
  char *collation_name;
  tr_collation collation;
  int is_foreign; /* the collation is another one: only SQLite can compare by it */
} tr_group_field;

/* Where an argument of an aggregate comes from. */
typedef enum tr_group_input_kind {
  TR_GROUP_CONSTANT, /* no input: its value is in the binding */
  TR_GROUP_VALUE,    /* an expression, as it is */
  TR_GROUP_NUMBER,   /* an expression, made a number as SQLite's sum() does */
  TR_GROUP_ROW_KEY,  /* the row's byte key */
  TR_GROUP_ROW       /* the whole row as a JSON object */
} tr_group_input_kind;

typedef struct tr_group_input {
  tr_group_input_kind kind;
  char *sql; /* TR_GROUP_VALUE, TR_GROUP_NUMBER */
} tr_group_input;

typedef struct tr_group_output {
  char *name;
  char *filter; /* the condition for a row to be added; NULL: none */
  tr_combine combine;
  tr_group_input inputs[TR_COMBINE_MAX_ARGUMENTS]; /* one for each argument */
} tr_group_output;

typedef struct tr_group_plan {
  tr_source_table source;
  tr_group_field *keys; /* none: globally() */
  int key_count;
  tr_group_output *outputs;
  int output_count;
  char *where; /* NULL: all rows */
  int workers; /* 0: not given, so tranche decides */
  int emits_accumulators;
  uint64_t memory_limit; /* bytes; 0: none */
  int shows_progress;    /* a bar on the terminal, while threads work */
} tr_group_plan;

#define TR_GROUP_FUNCTION "group_by_fields"

/*
** Makes a plan from the arguments of CREATE VIRTUAL TABLE (argv[0] is xCreate's argv[3]).
** TR_INVALID_ARGUMENT: the message says what is wrong with which argument. TR_HOST, TR_NO_MEMORY.
** `*plan` is overwritten; on failure it is empty.
*/
tr_code tr_group_plan_of_module(tr_group_plan *plan, tr_host *host, int argc,
                                const char *const *argv, tr_error *err);

/* The arguments of the ad hoc form. The data of a text that was not given is NULL. */
typedef struct tr_group_call {
  tr_bytes source;
  tr_bytes by; /* field paths, or expressions with AS; blank: globally() */
  tr_bytes aggregates;
  tr_bytes where; /* blank: all rows */
  int64_t workers;
  int has_workers; /* else tranche decides */
} tr_group_call;

tr_code tr_group_plan_of_call(tr_group_plan *plan, tr_host *host, const tr_group_call *call,
                              tr_error *err);

/* Whether a key field has a collation that only SQLite can compare by. */
int tr_group_plan_has_foreign_collation(const tr_group_plan *plan);

void tr_group_plan_free(tr_group_plan *plan);

#endif
