/*
** The check of an input, for functions of numbers.
*/
#ifndef TR_COMBINE_NUMBER_INPUT_H
#define TR_COMBINE_NUMBER_INPUT_H

#include "combine/combine.h"

/* For an input that is no number: 0 if it is NULL, else -1 and TR_INVALID_ARGUMENT in `err`. */
int tr_number_input_other(const tr_combine *combine, const tr_value *input, tr_error *err);

/*
** 1: a number. 0: NULL, which is to be ignored. -1: text or a BLOB, which the host should have
** converted (combine.h, is_numeric); `err` is TR_INVALID_ARGUMENT.
*/
static inline int tr_number_input(const tr_combine *combine, const tr_value *input, tr_error *err) {
  if (input->type == TR_INTEGER || input->type == TR_REAL) return 1;
  return tr_number_input_other(combine, input, err);
}

#endif
