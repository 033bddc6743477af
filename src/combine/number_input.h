/*
** What functions of numbers share: the check of an input.
*/
#ifndef TR_COMBINE_NUMBER_INPUT_H
#define TR_COMBINE_NUMBER_INPUT_H

#include "combine/combine.h"

/* 0 for NULL, else -1 with the error of tr_number_input. */
int tr_number_input_other(const tr_combine *combine, const tr_value *input, tr_error *err);

/*
** 1: a number; 0: NULL, to be ignored; -1: text or a BLOB, which the host should have converted
** (combine.h, is_numeric), TR_INVALID_ARGUMENT.
*/
static inline int tr_number_input(const tr_combine *combine, const tr_value *input, tr_error *err) {
  if (input->type == TR_INTEGER || input->type == TR_REAL) return 1;
  return tr_number_input_other(combine, input, err);
}

#endif
