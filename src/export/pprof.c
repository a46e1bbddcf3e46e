// SPDX-License-Identifier: Apache-2.0
//
// pprof's profile.proto, gzip'ed: for google/pprof and the servers that took up its format.
//
// A message of protobuf is a row of fields in any order, and a nested one needs its length first.
// So everything is written as soon as it is met, a string before the function that has it and a
// location before the first sample; the numbers they refer to each other by are all that is kept.
// Of protobuf this needs varints and lengths, some thirty lines; the generated code of a library
// would want the whole profile as objects in memory.
//
//  1. Numbers of mappings, functions and locations are dense, from 1 up in the order of writing:
//     Parca takes nothing else. String 0 is "".
//  2. A location's address is the one in its file, of the call and not of the return; its mapping
//     is the whole file (0 .. UINT64_MAX, offset 0) by build id. That is the one way in which all
//     readers find names by themselves. A file loaded twice is one mapping; mapping 1 is the
//     program, which readers show as the profile's file.
//  3. A mapping says that it has names when it has one, so that readers look for no others.
//  4. What the capture does not hold is no column; it is never a column of zeros.
//  5. Under a limit the largest stacks stay, by the measure that was asked for, and all others are
//     one sample "[other]": the sums are those of the whole. How many fit is found by writing to
//     nowhere first.
//
// Columns: alloc_objects, alloc_space over the run, or over the range asked for; inuse_objects,
// inuse_space at the moment asked for, else at the end. Of a range they are the growth: what was
// allocated in it and held at its end. Where no moment is asked for, peak_objects and peak_space
// follow. The last is what readers show first: what the report shows first.
#include "export/exports.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "base/sink.h"
#include "base/utf8.h"
#include "base/wire.h"
#include "export/pprof_base.h"
#include "report/export_words.h"
#include "view/groups.h"
#include "words/completeness_text.h"
#include "words/image_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum profile_field {
  P_SAMPLE_TYPE = 1,
  P_SAMPLE = 2,
  P_MAPPING = 3,
  P_LOCATION = 4,
  P_FUNCTION = 5,
  P_STRING_TABLE = 6,
  P_TIME_NANOS = 9,
  P_DURATION_NANOS = 10,
  P_PERIOD_TYPE = 11,
  P_PERIOD = 12,
  P_COMMENT = 13,
  P_DEFAULT_SAMPLE_TYPE = 14,
};
enum value_type_field { VT_TYPE = 1, VT_UNIT = 2 };
enum sample_field { S_LOCATION_ID = 1, S_VALUE = 2, S_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_NUM_UNIT = 4 };
enum mapping_field { M_ID = 1, M_LIMIT = 3, M_FILENAME = 5, M_BUILD_ID = 6, M_HAS_FIRST = 7 };
enum location_field { L_ID = 1, L_MAPPING_ID = 2, L_ADDRESS = 3, L_LINE = 4 };
enum line_field { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum function_field { F_ID = 1, F_NAME = 2, F_SYSTEM_NAME = 3, F_FILENAME = 4 };
enum { COLUMNS_MAX = 6 };
enum { MAPPING_BYTES = 48, OTHER_BYTES = 160 }; // at most, for what is written last

struct column {
  const char *type, *unit;
  int64_t *values; // per site
};

struct mapping {
  uint32_t filename, build_id; // strings
  bool has_names;
};

struct writer {
  struct tide_view *view;
  const struct tide_image *image;
  const struct tide_export_options *options;
  struct tide_gzip *gzip;  // NULL: not packed
  struct tide_sink *plain; // likewise; both NULL: only count
  uint64_t n_bytes;        // so far
  uint64_t n_samples;      // likewise
  bool has_scopes;         // of any stack
  struct column columns[COLUMNS_MAX];
  size_t n_columns;
  struct tide_intern strings, functions, locations, files; // files: numbers of mappings
  uint32_t *mapping_of;                                    // module -> number; 0: not met yet
  struct mapping *mappings;
  size_t n_mappings, cap_mappings;
  struct tide_buf key, ids, message, inner; // scratch
};

static void emit_bytes(struct writer *w, const void *data, size_t n)
{
  w->n_bytes += n;
  if (w->gzip)
    tide_gzip_bytes(w->gzip, data, n);
  else if (w->plain)
    tide_sink_bytes(w->plain, data, n);
}

static void emit_field(struct writer *w, unsigned field, const void *data, size_t n)
{
  struct tide_buf head = {0};
  tide_buf_varint(&head, field << 3 | TIDE_WIRE_BYTES);
  tide_buf_varint(&head, n);
  emit_bytes(w, head.data, head.n);
  emit_bytes(w, data, n);
  tide_buf_done(&head);
}

static void emit_u64(struct writer *w, unsigned field, uint64_t v)
{
  struct tide_buf whole = {0};
  tide_wire_put_u64(&whole, field, v);
  emit_bytes(w, whole.data, whole.n);
  tide_buf_done(&whole);
}

static void emit_message(struct writer *w, unsigned field)
{
  emit_field(w, field, w->message.data, w->message.n);
  tide_buf_clear(&w->message);
}

// Readers of protobuf refuse text that is not UTF-8.
static uint32_t string_of(struct writer *w, const char *text)
{
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(text, true);
  size_t n_before = w->strings.n;
  uint32_t id = tide_intern_text(&w->strings, clean);
  if (w->strings.n > n_before)
    emit_field(w, P_STRING_TABLE, clean, strlen(clean));
  return id;
}

static uint32_t function_of(struct writer *w, const char *name, const char *file)
{
  const uint32_t key[] = {string_of(w, name), string_of(w, file ? file : "")};
  size_t n_before = w->functions.n;
  uint32_t id = tide_intern_add(&w->functions, key, sizeof key) + 1;
  if (w->functions.n > n_before) {
    tide_wire_put_u64(&w->message, F_ID, id);
    tide_wire_put_u64(&w->message, F_NAME, key[0]);
    tide_wire_put_u64(&w->message, F_SYSTEM_NAME, key[0]);
    tide_wire_put_u64(&w->message, F_FILENAME, key[1]);
    emit_message(w, P_FUNCTION);
  }
  return id;
}

static uint32_t build_id_string(struct writer *w, const struct tide_module *module)
{
  char hex[2 * sizeof module->build_id + 1] = "";
  for (uint32_t i = 0; i < module->build_id_len && i < sizeof module->build_id; i++)
    sprintf(hex + 2 * (size_t)i, "%02x", module->build_id[i]);
  return string_of(w, hex);
}

static uint32_t mapping_of(struct writer *w, uint32_t module)
{
  if (!module || w->mapping_of[module])
    return w->mapping_of[module];
  const struct tide_module *m = &w->image->modules[module];
  const uint32_t key[] = {string_of(w, m->path ? m->path : ""), build_id_string(w, m)};
  uint32_t id = tide_intern_add(&w->files, key, sizeof key) + 1;
  if (id > w->n_mappings) {
    TIDE_GROW(w->mappings, w->n_mappings, w->cap_mappings);
    w->mappings[w->n_mappings++] = (struct mapping){key[0], key[1], false};
  }
  return w->mapping_of[module] = id;
}

// Written last, when it is known which of them have names.
static void write_mappings(struct writer *w)
{
  for (size_t i = 0; i < w->n_mappings; i++) {
    tide_wire_put_u64(&w->message, M_ID, i + 1);
    tide_wire_put_u64(&w->message, M_LIMIT, UINT64_MAX);
    tide_wire_put_u64(&w->message, M_FILENAME, w->mappings[i].filename);
    tide_wire_put_u64(&w->message, M_BUILD_ID, w->mappings[i].build_id);
    for (unsigned k = 0; w->mappings[i].has_names && k < 4; k++)
      tide_wire_put_u64(&w->message, M_HAS_FIRST + k,
                        1); // functions, file names, lines, inlined frames
    emit_message(w, P_MAPPING);
  }
}

static void add_line(struct writer *w, uint32_t function, uint32_t line)
{
  tide_buf_clear(&w->inner);
  tide_wire_put_u64(&w->inner, LINE_FUNCTION_ID, function);
  if (line)
    tide_wire_put_u64(&w->inner, LINE_LINE, line);
}

static bool is_same_call(const struct tide_named_frame *a, const struct tide_named_frame *b)
{
  // Frames inlined at one address are neighbours in one array, the outer ones behind.
  return b > a && a->pc == b->pc && a->module == b->module && a->flags == b->flags;
}

// Whether names are to be written, or found by the reader.
static bool is_named_here(const struct writer *w, const struct tide_named_frame *frame)
{
  bool has_id = frame->module && w->image->modules[frame->module].build_id_len;
  return !w->options->no_symbols || frame->flags & TIDE_FRAME_CUT ||
         (w->options->names_without_id && !has_id);
}

static void write_location(struct writer *w, uint32_t id, const struct tide_view_frame *frames,
                           size_t n)
{
  const struct tide_named_frame *first = frames[0].frame;
  bool is_cut = first->flags & TIDE_FRAME_CUT;
  uint32_t mapping = is_cut ? 0 : mapping_of(w, first->module);
  struct tide_buf lines = {0};
  for (size_t i = 0; i < n && is_named_here(w, first); i++) {
    const char *name = is_cut ? "[frames left out]" : frames[i].frame->function;
    if (!name)
      continue;
    add_line(w, function_of(w, name, frames[i].frame->file), frames[i].frame->line);
    tide_wire_put_bytes(&lines, L_LINE, w->inner.data, w->inner.n);
  }
  tide_wire_put_u64(&w->message, L_ID, id);
  if (mapping) {
    tide_wire_put_u64(&w->message, L_MAPPING_ID, mapping);
    w->mappings[mapping - 1].has_names |= lines.n > 0;
  }
  uint64_t at = tide_naming_elf_address(w->view->naming, first);
  bool is_return = !(first->flags & TIDE_FRAME_IS_EXACT);
  tide_wire_put_u64(&w->message, L_ADDRESS, is_cut ? 0 : at - is_return);
  tide_buf_append(&w->message, lines.data, lines.n);
  emit_message(w, P_LOCATION);
  tide_buf_done(&lines);
}

// The location of n frames that are shown of one call.
static uint32_t location_of(struct writer *w, const struct tide_view_frame *frames, size_t n)
{
  tide_buf_clear(&w->key);
  for (size_t i = 0; i < n; i++)
    tide_buf_u64(&w->key, (uint64_t)(uintptr_t)frames[i].frame);
  size_t n_before = w->locations.n;
  uint32_t id = tide_intern_add(&w->locations, w->key.data, w->key.n) + 1;
  if (w->locations.n > n_before)
    write_location(w, id, frames, n);
  return id;
}

// A location that is nothing but a name, whose length is that of no list of pointers.
static uint32_t location_of_name(struct writer *w, const char *name)
{
  size_t n_before = w->locations.n;
  uint32_t id = tide_intern_text(&w->locations, name) + 1;
  if (w->locations.n > n_before) {
    add_line(w, function_of(w, name, NULL), 0);
    tide_wire_put_u64(&w->message, L_ID, id);
    tide_wire_put_bytes(&w->message, L_LINE, w->inner.data, w->inner.n);
    emit_message(w, P_LOCATION);
  }
  return id;
}

static void find_locations(struct writer *w, const struct tide_profile_site *site)
{
  size_t n, past;
  const struct tide_view_frame *frames = tide_view_stack(w->view, site->stack, &n);
  tide_buf_clear(&w->ids);
  if (n == 0)
    tide_buf_varint(&w->ids, location_of_name(w, tide_export_no_frames(site)));
  uint64_t max_locations = w->options->max_frames ? w->options->max_frames : UINT64_MAX;
  for (size_t i = 0, n_written = 0; i < n; i = past, n_written++) {
    if (n_written + 1 >= max_locations && i + 1 < n) {
      tide_buf_varint(&w->ids, location_of_name(w, "[frames left out]"));
      return;
    }
    for (past = i + 1; past < n && is_same_call(frames[past - 1].frame, frames[past].frame);)
      past++;
    tide_buf_varint(&w->ids, location_of(w, frames + i, past - i));
  }
}

// The mean size of a block, which readers can tell samples apart by.
static void put_mean_bytes(struct writer *w, const struct tide_profile_site *site)
{
  if (!TIDE_OF_SITE(site, n_alloc) || w->image->lacks & (TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS))
    return;
  uint32_t word = string_of(w, "bytes");
  tide_buf_clear(&w->inner);
  tide_wire_put_u64(&w->inner, LABEL_KEY, word);
  tide_wire_put_u64(&w->inner, LABEL_NUM,
                    TIDE_OF_SITE(site, b_alloc) / TIDE_OF_SITE(site, n_alloc));
  tide_wire_put_u64(&w->inner, LABEL_NUM_UNIT, word);
  tide_wire_put_bytes(&w->message, S_LABEL, w->inner.data, w->inner.n);
}

// What the program itself calls what it was at work on: readers select and group by labels.
static void put_scope(struct writer *w, const struct tide_profile_site *site)
{
  TIDE_CLEANUP_FREE char *scope = w->has_scopes ? tide_scope_path(w->view, site->stack) : NULL;
  if (!scope)
    return;
  uint32_t key = string_of(w, "scope"), value = string_of(w, scope);
  tide_buf_clear(&w->inner);
  tide_wire_put_u64(&w->inner, LABEL_KEY, key);
  tide_wire_put_u64(&w->inner, LABEL_STR, value);
  tide_wire_put_bytes(&w->message, S_LABEL, w->inner.data, w->inner.n);
}

static bool is_sample(const struct writer *w, size_t site_idx)
{
  bool any = false;
  for (size_t i = 0; i < w->n_columns; i++)
    any |= w->columns[i].values[site_idx] != 0;
  return any && tide_view_has(w->view, site_idx);
}

static void write_sample(struct writer *w, size_t site_idx)
{
  const struct tide_profile_site *site = &w->view->profile->sites[site_idx];
  struct tide_buf values = {0};
  for (size_t i = 0; i < w->n_columns; i++)
    tide_buf_varint(&values, (uint64_t)w->columns[i].values[site_idx]);
  find_locations(w, site);
  tide_wire_put_bytes(&w->message, S_LOCATION_ID, w->ids.data, w->ids.n);
  tide_wire_put_bytes(&w->message, S_VALUE, values.data, values.n);
  put_mean_bytes(w, site);
  put_scope(w, site);
  emit_message(w, P_SAMPLE);
  w->n_samples++;
  tide_buf_done(&values);
}

// The sum of all samples from the given site on; gives how many those are.
static uint64_t write_other(struct writer *w, size_t first_site)
{
  uint64_t sums[COLUMNS_MAX] = {0}, n = 0;
  struct tide_buf values = {0};
  for (size_t i = first_site; i < w->view->profile->n_sites; i++)
    if (is_sample(w, i)) {
      n++;
      for (size_t k = 0; k < w->n_columns; k++)
        sums[k] += (uint64_t)w->columns[k].values[i];
    }
  for (size_t k = 0; k < w->n_columns; k++)
    tide_buf_varint(&values, sums[k]);
  tide_buf_clear(&w->ids);
  if (n) {
    tide_buf_varint(&w->ids, location_of_name(w, "[other]"));
    tide_wire_put_bytes(&w->message, S_LOCATION_ID, w->ids.data, w->ids.n);
    tide_wire_put_bytes(&w->message, S_VALUE, values.data, values.n);
    emit_message(w, P_SAMPLE);
  }
  tide_buf_done(&values);
  return n;
}

static void add_column(struct writer *w, const char *type, const char *unit,
                       const struct tide_question *question)
{
  const struct tide_profile *profile = w->view->profile;
  int64_t *values = tide_alloc_array(profile->n_sites, sizeof *values);
  tide_profile_weigh(profile, question, values);
  bool is_since = !w->options->only_allocated_since || question->measure == TIDE_MEASURE_TOTAL;
  if (w->options->base && is_since)
    tide_pprof_base_subtract(w->options->base, profile, question, values);
  w->columns[w->n_columns++] = (struct column){type, unit, values};
}

static void add_columns(struct writer *w, const char *objects, const char *space,
                        struct tide_question question)
{
  question.unit = TIDE_UNIT_BLOCKS;
  if (!(w->image->lacks & TIDE_LACK_BLOCKS))
    add_column(w, objects, "count", &question);
  question.unit = TIDE_UNIT_BYTES;
  add_column(w, space, "bytes", &question);
}

static struct tide_question question_of_inuse(const struct writer *w, bool said)
{
  const struct tide_question *asked = &w->view->profile->question;
  struct tide_question question = {.measure = TIDE_MEASURE_LIVE};
  if (said)
    question.window = asked->window;
  if (question.window.to.given && asked->measure == TIDE_MEASURE_LEAK)
    question.measure = TIDE_MEASURE_LEAK;
  else if (question.window.from.given)
    question.measure = TIDE_MEASURE_GROWN;
  bool has_end = tide_measure_is_held(w->image, TIDE_MEASURE_LIVE);
  if (said ? asked->measure == TIDE_MEASURE_PEAK : !has_end)
    question.measure = TIDE_MEASURE_PEAK;
  return question;
}

// Whether it is known what was allocated in the part of the run that is asked for.
static bool allocations_are_held(const struct writer *w, const struct tide_question *question)
{
  return question->window.to.given ? w->image->has_counts
                                   : tide_measure_is_held(w->image, TIDE_MEASURE_TOTAL);
}

static void choose_columns(struct writer *w, const struct tide_question *inuse, bool said)
{
  const struct tide_question *asked = &w->view->profile->question;
  struct tide_question alloc = {.measure = TIDE_MEASURE_TOTAL};
  if (asked->window.from.given || asked->measure == TIDE_MEASURE_TOTAL)
    alloc.window = asked->window;
  enum tide_export_part part = w->options->part;
  if (part != TIDE_EXPORT_HELD && allocations_are_held(w, &alloc))
    add_columns(w, "alloc_objects", "alloc_space", alloc);
  bool has_inuse = inuse->window.to.given || tide_measure_is_held(w->image, inuse->measure);
  if (part != TIDE_EXPORT_ALLOCATED && has_inuse)
    add_columns(w, "inuse_objects", "inuse_space", *inuse);
  bool has_peak = tide_measure_is_held(w->image, TIDE_MEASURE_PEAK);
  if (!said && has_peak && inuse->measure != TIDE_MEASURE_PEAK)
    add_columns(w, "peak_objects", "peak_space",
                (struct tide_question){.measure = TIDE_MEASURE_PEAK});
}

static void emit_value_type(struct writer *w, unsigned field, const char *type, const char *unit)
{
  uint32_t type_id = string_of(w, type), unit_id = string_of(w, unit);
  tide_wire_put_u64(&w->message, VT_TYPE, type_id);
  tide_wire_put_u64(&w->message, VT_UNIT, unit_id);
  emit_message(w, field);
}

static void write_times(struct writer *w, const struct tide_question *inuse)
{
  const struct tide_window *window = &inuse->window;
  bool has_clock = !(w->image->lacks & TIDE_LACK_CLOCK);
  uint64_t at_ns = has_clock ? w->image->end_ns : 0; // then the date is all that is known
  if (has_clock && window->to.given)
    at_ns = w->image->start_ns + window->to.seen_ns;
  else if (has_clock && inuse->measure == TIDE_MEASURE_PEAK)
    at_ns = w->image->peak_ns;
  if (w->options->asked_realtime_ns)
    emit_u64(w, P_TIME_NANOS, w->options->asked_realtime_ns);
  else if (w->view->profile->capture->start_realtime_ns) // not all tools tell the date
    emit_u64(w, P_TIME_NANOS, w->view->profile->capture->start_realtime_ns + at_ns);
  if (w->options->since_ns)
    emit_u64(w, P_DURATION_NANOS, w->options->since_ns);
  else if (has_clock && window->from.given)
    emit_u64(w, P_DURATION_NANOS, window->to.seen_ns - window->from.seen_ns);
}

// What readers show first: the last column, or what was allocated.
static const char *default_type(const struct writer *w)
{
  bool has_allocated = strncmp(w->columns[0].type, "alloc", 5) == 0;
  size_t i = w->options->shows_allocated && has_allocated ? 0 : w->n_columns - 1;
  while (strcmp(w->columns[i].unit, "bytes") != 0)
    i++;
  return w->columns[i].type;
}

static void write_head(struct writer *w, const struct tide_question *inuse)
{
  TIDE_CLEANUP_FREE char *command = tide_image_command(w->image);
  TIDE_CLEANUP_FREE char *measure = tide_export_measure(inuse);
  bool is_change = w->options->base && !w->options->only_allocated_since;
  const char *when = is_change                       ? "what changed between two moments"
                     : w->options->asked_realtime_ns ? "held when it was asked"
                                                     : measure;
  TIDE_CLEANUP_FREE char *comment = tide_sprintf("inuse: %s", when);
  TIDE_CLEANUP_FREE char *inexact =
      tide_inexact_words(w->view->profile, (struct tide_style){.utf8 = true});
  string_of(w, "");
  for (size_t i = 0; i < w->n_columns; i++)
    emit_value_type(w, P_SAMPLE_TYPE, w->columns[i].type, w->columns[i].unit);
  emit_value_type(w, P_PERIOD_TYPE, "space", "bytes");
  if (w->image->sampled_every_bytes != TIDE_SAMPLED_SOMEHOW)
    emit_u64(w, P_PERIOD, w->image->has_samples ? w->image->sampled_every_bytes : 1);
  emit_u64(w, P_DEFAULT_SAMPLE_TYPE, string_of(w, default_type(w)));
  write_times(w, inuse);
  emit_u64(w, P_COMMENT, string_of(w, command));
  emit_u64(w, P_COMMENT, string_of(w, comment));
  if (inexact)
    emit_u64(w, P_COMMENT, string_of(w, inexact));
}

static void map_program(struct writer *w)
{
  for (size_t i = 1; i < w->image->n_modules; i++)
    if (w->image->exe && w->image->modules[i].path &&
        strcmp(w->image->modules[i].path, w->image->exe) == 0) {
      mapping_of(w, (uint32_t)i);
      return;
    }
}

static void forget_tables(struct writer *w)
{
  tide_intern_done(&w->strings);
  tide_intern_done(&w->functions);
  tide_intern_done(&w->locations);
  tide_intern_done(&w->files);
  free(w->mapping_of);
  free(w->mappings);
  w->mappings = NULL;
  w->n_mappings = w->cap_mappings = 0;
  w->n_bytes = w->n_samples = 0;
  w->mapping_of = tide_alloc_array(w->image->n_modules + 1, sizeof *w->mapping_of);
}

// What comes before the samples; whatever was written before is forgotten.
static void write_begin(struct writer *w, const struct tide_question *inuse)
{
  forget_tables(w);
  write_head(w, inuse);
  map_program(w);
}

static void writer_done(struct writer *w)
{
  for (size_t i = 0; i < w->n_columns; i++)
    free(w->columns[i].values);
  forget_tables(w);
  free(w->mapping_of);
  tide_buf_done(&w->key);
  tide_buf_done(&w->ids);
  tide_buf_done(&w->message);
  tide_buf_done(&w->inner);
}

// Up to which site the samples fit, with room for what is written behind them.
static enum tide_err fit_samples(struct writer *w, const struct tide_question *inuse,
                                 const struct tide_export_options *options, size_t *ret_past,
                                 struct tide_diag *diag)
{
  uint64_t max_bytes = options->max_bytes ? options->max_bytes : UINT64_MAX;
  uint64_t max_samples = options->max_stacks ? options->max_stacks : UINT64_MAX;
  size_t n_sites = w->view->profile->n_sites, fits = 0, fits_with_other = 0;
  write_begin(w, inuse);
  uint64_t least = w->n_bytes + w->n_mappings * MAPPING_BYTES + OTHER_BYTES;
  for (; fits < n_sites; fits++) {
    if (is_sample(w, fits))
      write_sample(w, fits);
    uint64_t n_bytes = w->n_bytes + w->n_mappings * MAPPING_BYTES;
    if (n_bytes > max_bytes || w->n_samples > max_samples)
      break;
    if (n_bytes + OTHER_BYTES <= max_bytes && w->n_samples < max_samples)
      fits_with_other = fits + 1;
  }
  if (least > max_bytes)
    return tide_fail(diag, TIDE_ERR_USAGE, "no profile is as small as %llu bytes",
                     (unsigned long long)max_bytes);
  *ret_past = fits == n_sites ? n_sites : fits_with_other;
  return TIDE_ERR_OK;
}

static void write_all(struct writer *w, const struct tide_question *inuse, struct tide_sink *sink,
                      size_t past, const struct tide_export_options *options)
{
  w->gzip = options->is_plain ? NULL : tide_gzip_new(sink);
  w->plain = options->is_plain ? sink : NULL;
  write_begin(w, inuse);
  for (size_t i = 0; i < past; i++)
    if (is_sample(w, i))
      write_sample(w, i);
  struct tide_export_left_out left_out = {.n_kept = w->n_samples};
  left_out.n_stacks = write_other(w, past);
  write_mappings(w);
  if (w->gzip)
    tide_gzip_finish(w->gzip);
  if (options->left_out)
    *options->left_out = left_out;
}

enum tide_err tide_pprof_write(struct tide_sink *sink, struct tide_view *view,
                               const struct tide_export_options *options, struct tide_diag *diag)
{
  const struct tide_image *image = view->profile->image;
  struct writer w = {.view = view, .image = image, .options = options};
  struct tide_question inuse = question_of_inuse(&w, options->measure_said);
  for (size_t i = 0; i < image->n_frames && !w.has_scopes; i++)
    w.has_scopes = image->frames[i].flags & TIDE_FRAME_SCOPE;
  choose_columns(&w, &inuse, options->measure_said);
  if (w.n_columns == 0)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "%s holds neither what was allocated nor what was held",
                     tide_image_source(image));
  size_t past = view->profile->n_sites;
  enum tide_err err = TIDE_ERR_OK;
  if (options->max_bytes || options->max_stacks)
    err = fit_samples(&w, &inuse, options, &past, diag);
  if (!err)
    write_all(&w, &inuse, sink, past, options);
  writer_done(&w);
  return err;
}
