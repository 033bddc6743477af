/*
** Accumulators as BLOBs:
**
**   magic[4] version[1] tag[1] argument_count[1] parameter* payload checksum[4]
**
** The parameters are the shape arguments in their order, as values (codec.h). In the empty
** accumulator of an unbound binding they are all NULL, and the payload is empty.
**
** The checksum is the low 32 bits, lowest byte first, of the MurmurHash3 of everything before it.
** It is checked before the version, the tag and what follows, so that a flipped bit is reported as
** such and not as something else.
*/
#include "combine/accumulator.h"

#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "combine/codec.h"

/* No text begins with the first byte, whatever its encoding. */
static const uint8_t magic[4] = {0xFE, 'T', 'R', 'A'};

enum { VERSION = 1, FIXED_SIZE = 7, CHECKSUM_SIZE = 4 };

static uint32_t checksum_of(tr_bytes bytes) {
  return (uint32_t)tr_hash128_of(bytes, 0).low;
}

static tr_code write_header(const tr_combine *combine, tr_buffer *blob, tr_error *err) {
  int count = tr_combine_accumulator_arguments(combine);
  uint8_t fixed[FIXED_SIZE] = {[4] = VERSION, combine->fn->tag, (uint8_t)count};
  memcpy(fixed, magic, sizeof magic);
  tr_code code = tr_buffer_append(blob, (tr_bytes){fixed, sizeof fixed}, err);
  for (int i = 0; i < count && code == TR_OK; i++) {
    if (combine->fn->arguments[i].role != TR_ARGUMENT_SHAPE) continue;
    code = tr_put_value(blob, &combine->parameters[i], err);
  }
  return code;
}

static tr_code write_checksum(tr_buffer *blob, size_t start, tr_error *err) {
  return tr_put_u32(blob, checksum_of((tr_bytes){blob->data + start, blob->size - start}), err);
}

tr_code tr_accumulator_write(const tr_combine *combine, const void *state, tr_buffer *blob,
                             tr_error *err) {
  size_t start = blob->size;
  tr_code code = write_header(combine, blob, err);
  if (code == TR_OK && tr_combine_is_bound(combine)) {
    code = combine->fn->write_accumulator(combine, state, blob, err);
  }
  if (code == TR_OK) code = write_checksum(blob, start, err);
  if (code != TR_OK) blob->size = start;
  return code;
}

static tr_code corrupt(tr_error *err, const char *defect) {
  return tr_error_set(err, TR_CORRUPT, "not an accumulator: %s", defect);
}

static tr_code check_frame(tr_bytes blob, tr_error *err) {
  size_t same = blob.size < sizeof magic ? blob.size : sizeof magic;
  if (same > 0 && memcmp(blob.data, magic, same) != 0) return corrupt(err, "it has another magic");
  if (blob.size < FIXED_SIZE + CHECKSUM_SIZE) return corrupt(err, "it is cut short");
  size_t size = blob.size - CHECKSUM_SIZE;
  if (tr_load_u32(blob.data + size) != checksum_of((tr_bytes){blob.data, size})) {
    return corrupt(err, "its checksum is wrong: it is cut short or was changed");
  }
  if (blob.data[4] != VERSION) {
    return tr_error_set(err, TR_CORRUPT,
                        "not an accumulator: its format is %d, this version reads %d", blob.data[4],
                        VERSION);
  }
  return TR_OK;
}

/* Takes the parameters and binds them: all or none of them are there. */
static tr_code read_parameters(const tr_combine_fn *fn, int count, tr_decoder *from,
                               tr_combine *combine, tr_error *err) {
  tr_value arguments[TR_COMBINE_MAX_ARGUMENTS] = {{0}};
  int nulls = 0, shapes = 0;
  for (int i = 0; i < count && i < TR_COMBINE_MAX_ARGUMENTS && fn->arguments[i].name; i++) {
    if (fn->arguments[i].role != TR_ARGUMENT_SHAPE) continue;
    tr_code code = tr_take_value(from, fn->arguments[i].name, &arguments[i], err);
    if (code != TR_OK) return code;
    shapes++;
    nulls += arguments[i].type == TR_NULL;
  }
  tr_combine bound;
  tr_error reason;
  int least, most;
  tr_combine_argument_counts(fn, 1, &least, &most);
  if (nulls > 0 && nulls == shapes && count >= least && count <= most) {
    if (from->rest.size > 0) return corrupt(err, "it has a state but no parameters");
    *combine = tr_combine_unbound(fn, count);
    return TR_OK;
  }
  if (tr_combine_bind_accumulator(fn, arguments, count, &bound, &reason) != TR_OK) {
    return corrupt(err, reason.message);
  }
  for (int i = 0; i < count; i++) {
    if (arguments[i].type != bound.parameters[i].type) {
      return corrupt(err, "a whole parameter stands as a REAL");
    }
  }
  *combine = bound;
  return TR_OK;
}

tr_code tr_accumulator_open(tr_bytes blob, tr_combine *combine, tr_bytes *payload, tr_error *err) {
  tr_code code = check_frame(blob, err);
  if (code != TR_OK) return code;
  const tr_combine_fn *fn = tr_combine_fn_by_tag(blob.data[5]);
  if (fn == NULL) {
    return tr_error_set(err, TR_CORRUPT, "not an accumulator: no function has the tag %d",
                        blob.data[5]);
  }
  tr_bytes rest = {blob.data + FIXED_SIZE, blob.size - FIXED_SIZE - CHECKSUM_SIZE};
  tr_decoder from = {rest, fn->name};
  code = read_parameters(fn, blob.data[6], &from, combine, err);
  if (code == TR_OK) *payload = from.rest;
  return code;
}

/* --- in memory ------------------------------------------------------------------------------ */

static tr_code make_state(const tr_combine *combine, void **state, tr_error *err) {
  *state = tr_malloc(combine->fn->state_size);
  if (*state == NULL) return tr_error_no_memory(err);
  memset(*state, 0, combine->fn->state_size);
  return TR_OK;
}

static void free_state(const tr_combine *combine, void *state) {
  if (state != NULL && combine->fn->free_accumulator != NULL) {
    combine->fn->free_accumulator(state);
  }
  tr_free(state);
}

void tr_accumulator_free(tr_accumulator *accumulator) {
  if (accumulator->combine.fn != NULL) free_state(&accumulator->combine, accumulator->state);
  *accumulator = (tr_accumulator){0};
}

/* Reads a BLOB into `read`, which then owns what it has; on failure it owns nothing. */
static tr_code read_blob(tr_bytes blob, tr_accumulator *read, tr_error *err) {
  tr_bytes payload;
  *read = (tr_accumulator){0};
  tr_code code = tr_accumulator_open(blob, &read->combine, &payload, err);
  if (code != TR_OK || !tr_combine_is_bound(&read->combine)) return code;
  code = make_state(&read->combine, &read->state, err);
  if (code != TR_OK) return code;
  code = read->combine.fn->read_accumulator(&read->combine, read->state, payload, err);
  if (code != TR_OK) {
    tr_free(read->state);
    read->state = NULL;
  }
  return code;
}

/* `name(x, 10)`: a binding in an error's text. */
static void describe_binding(const tr_combine *combine, char *text, size_t size) {
  tr_buffer line = {0};
  tr_error *ignored = NULL;
  tr_buffer_printf(&line, ignored, "%s(", combine->fn->name);
  for (int i = 0; i < tr_combine_accumulator_arguments(combine); i++) {
    const tr_combine_argument *argument = &combine->fn->arguments[i];
    if (i > 0) tr_buffer_append_text(&line, ", ", ignored);
    if (argument->role == TR_ARGUMENT_INPUT)
      tr_buffer_append_text(&line, argument->name, ignored);
    else
      tr_json_append_value(&line, &combine->parameters[i], ignored);
  }
  tr_buffer_append_text(&line, ")", ignored);
  size_t shown = line.size < size ? line.size : size - 1;
  if (shown > 0) memcpy(text, line.data, shown);
  text[shown] = '\0';
  tr_buffer_free(&line);
}

static tr_code refuse_shape(const tr_combine *have, const tr_combine *other, tr_error *err) {
  char one[128], two[128];
  describe_binding(have, one, sizeof one);
  describe_binding(other, two, sizeof two);
  return tr_error_set(err, TR_INVALID_ARGUMENT, "an accumulator of %s cannot be merged with %s",
                      two, one);
}

/* Whether the two may be merged, one of which is unbound. */
static int is_same_function(const tr_combine *a, const tr_combine *b) {
  return a->fn == b->fn &&
         tr_combine_accumulator_arguments(a) == tr_combine_accumulator_arguments(b);
}

tr_code tr_accumulator_merge(tr_accumulator *accumulator, tr_bytes blob, tr_error *err) {
  tr_accumulator other;
  tr_combine *mine = &accumulator->combine;
  tr_code code = read_blob(blob, &other, err);
  if (code != TR_OK) return code;
  int takes_other = mine->fn == NULL;
  if (mine->fn != NULL) {
    int is_unbound = accumulator->state == NULL || other.state == NULL;
    int may_merge = is_unbound ? is_same_function(mine, &other.combine)
                               : tr_combine_is_same_shape(mine, &other.combine);
    if (!may_merge)
      code = refuse_shape(mine, &other.combine, err);
    else if (accumulator->state == NULL)
      takes_other = 1;
    else if (other.state != NULL) {
      code = mine->fn->merge_accumulators(mine, accumulator->state, other.state, err);
    }
  }
  if (code == TR_OK && takes_other)
    *accumulator = other;
  else
    tr_accumulator_free(&other);
  return code;
}

tr_code tr_accumulator_extract(const tr_accumulator *accumulator, const tr_value *extract,
                               int count, tr_combine_output *output, tr_error *err) {
  tr_combine combine = accumulator->combine;
  tr_code code = tr_combine_bind_extract(&combine, extract, count, err);
  if (code != TR_OK) return code;
  if (accumulator->state != NULL) {
    return combine.fn->extract_output(&combine, accumulator->state, output, err);
  }
  return tr_accumulator_extract_empty(combine.fn, combine.argument_count, output, err);
}

/* --- without a row -------------------------------------------------------------------------- */

tr_code tr_accumulator_extract_empty(const tr_combine_fn *fn, int argument_count,
                                     tr_combine_output *output, tr_error *err) {
  tr_combine combine = tr_combine_unbound(fn, argument_count);
  void *zeros;
  tr_code code = make_state(&combine, &zeros, err);
  if (code != TR_OK) return code;
  code = fn->extract_output(&combine, zeros, output, err);
  tr_free(zeros);
  return code;
}

tr_code tr_accumulator_write_empty(const tr_combine_fn *fn, int argument_count, tr_buffer *blob,
                                   tr_error *err) {
  tr_combine combine = tr_combine_unbound(fn, argument_count);
  if (!tr_combine_is_bound(&combine)) return tr_accumulator_write(&combine, NULL, blob, err);
  void *empty;
  tr_code code = make_state(&combine, &empty, err);
  if (code != TR_OK) return code;
  if (fn->create_accumulator != NULL) code = fn->create_accumulator(&combine, empty, err);
  if (code == TR_OK) code = tr_accumulator_write(&combine, empty, blob, err);
  free_state(&combine, empty);
  return code;
}

/* --- describing ----------------------------------------------------------------------------- */

static tr_code append_parameters(const tr_combine *combine, tr_buffer *json, tr_error *err) {
  tr_code code = tr_buffer_append_text(json, "{", err);
  const char *separator = "";
  for (int i = 0; i < tr_combine_accumulator_arguments(combine) && code == TR_OK; i++) {
    const tr_combine_argument *argument = &combine->fn->arguments[i];
    if (argument->role != TR_ARGUMENT_SHAPE) continue;
    code = tr_buffer_printf(json, err, "%s\"%s\":", separator, argument->name);
    if (code == TR_OK) code = tr_json_append_value(json, &combine->parameters[i], err);
    separator = ",";
  }
  return code == TR_OK ? tr_buffer_append_text(json, "}", err) : code;
}

tr_code tr_accumulator_describe(tr_bytes blob, tr_buffer *json, tr_error *err) {
  tr_accumulator read;
  size_t before = json->size;
  tr_code code = read_blob(blob, &read, err);
  if (code != TR_OK) return code;
  code = tr_buffer_printf(json, err, "{\"function\":\"%s\",\"arguments\":%d,\"parameters\":",
                          read.combine.fn->name, tr_combine_accumulator_arguments(&read.combine));
  if (code == TR_OK) code = append_parameters(&read.combine, json, err);
  if (code == TR_OK) {
    code =
        tr_buffer_printf(json, err, ",\"canonical\":%s,\"version\":%d,\"bytes\":%zu}",
                         read.combine.fn->is_canonical ? "true" : "false", blob.data[4], blob.size);
  }
  if (code != TR_OK) json->size = before;
  tr_accumulator_free(&read);
  return code;
}
