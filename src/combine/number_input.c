/*
** The check of an input, for an input that is no number.
*/
#include "combine/number_input.h"

#include "base/argument.h"

int tr_number_input_other(const tr_combine *combine, const tr_value *input, tr_error *err) {
  if (input->type == TR_NULL) return 0;
  tr_argument_error(err, combine->fn->name, combine->fn->arguments[0].name, input,
                    "must be a number");
  return -1;
}
