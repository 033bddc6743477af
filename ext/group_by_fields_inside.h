/*
** The inside of a run, shared by its files:
**
**   group_by_fields_layout.c     decides what is needed
**   group_by_fields_statement.c  asks SQLite for it
**   group_by_fields_take.c       takes one row in hand (its header is also for parallel runs)
**   group_by_fields_intake.c     takes rows in
**   group_by_fields_run.c        runs, and returns the result
**   group_by_fields_find.c       finds a group in the result
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_INSIDE_H
#define TR_EXT_GROUP_BY_FIELDS_INSIDE_H

#include "combine/row_batch.h"
#include "group_by_fields_intake.h"
#include "group_by_fields_parts.h"

/* One value of a row for the group table, and the arguments that it is made of. */
typedef struct tr_row_input {
  tr_group_input_kind kind;
  int first_argument;
  int argument_count;
  tr_buffer bytes; /* the row key or the JSON of the row in hand */
} tr_row_input;

/* Where a value of the row in hand comes from. */
typedef struct tr_row_value {
  int argument;
  int is_number;      /* read as the number that sum() would take */
  tr_row_input *made; /* NULL: the value is the argument itself */
} tr_row_value;

/* Where an output comes from. */
typedef struct tr_group_shown {
  const tr_combine *combine; /* NULL: it is not wanted */
  size_t offset;             /* of its state: tr_group_state_offset */
} tr_group_shown;

struct tr_group_result {
  const tr_group_plan *plan;
  tr_group_shape shape;
  tr_collation *collations;
  tr_group_aggregate *aggregates;
  tr_group_shown *outputs;
  /* for each key, the aggregate that keeps its first value; -1: the key shows itself */
  int *aggregate_of_key;
  tr_grouping *grouping;
  tr_host *uncounted; /* the host whose report still lacks the number of groups; NULL: none */
  int64_t began;      /* `began` of that report */
  /* For each key field, a bit for each tr_type that the groups have in it; 0: not known yet. */
  unsigned char *key_types;
};

/* What is only needed while rows come in. */
struct tr_group_intake {
  tr_group_result *result; /* a copy uses only its shape and plan */
  tr_grouping *grouping;   /* where rows go */
  char **arguments;        /* SQL expressions; owned */
  int argument_count;
  tr_group_input_kind *argument_kinds; /* what each is read as; 0 if it is not shared */
  tr_row_input *inputs;
  int is_taken;             /* the statement's aggregate has found this run */
  tr_row_value *row_values; /* one for each value of a row */
  int has_one_value;        /* there is only one, and it is the only argument */
  tr_row_batch rows;        /* of key_count + input_count values each */
  tr_buffer *names;         /* of the source's columns, as `"name":`, for rows as JSON */
  tr_error err;
};

/* Allocates `count` + 1 items, all zero. NULL: out of memory. */
void *tr_group_zeros(size_t count, size_t size);

/* Allocates all arrays, each as long as it can get. TR_NO_MEMORY. */
tr_code tr_group_intake_init(tr_group_intake *intake, const tr_group_plan *plan,
                             tr_group_result *result);
void tr_group_intake_release(tr_group_intake *intake);

/*
** Decides what the arguments, inputs and aggregates are. With `is_to_be_parallel` the rows of a
** group may come in any order, and its first row is the one with the lowest key.
*/
tr_code tr_group_intake_lay_out(tr_group_intake *intake, const tr_group_request *request,
                                int is_to_be_parallel, tr_error *err);

/* The affinity of a key field in the query. */
tr_affinity tr_group_affinity_of_key(const tr_group_plan *plan, int key);

/* Makes the batch that holds the rows in hand. TR_NO_MEMORY. */
tr_code tr_group_intake_make_batch(tr_group_intake *intake, tr_error *err);

#endif
