// SPDX-License-Identifier: Apache-2.0
//
// The parts of the block put together. The facts name the offsets of the columns, which depend on
// the length of the facts: they are filled up to the most they could take.
#include "page/page_data.h"

#include "base/alloc.h"
#include "base/units.h"
#include "model/capture.h"
#include "page/page_sites.h"
#include "report/info.h"
#include "report/profile_json.h"
#include "report/report_cells.h"
#include "report/site_json.h"
#include "view/blame.h"
#include "view/terms.h"
#include "words/completeness_text.h"
#include "words/culprit_words.h"
#include "words/question_words.h"

#include <stdlib.h>
#include <string.h>

// ---- facts ----
//
// Most of the facts are those of the report for machines, written by the same code.

static void write_host(struct tide_json *json, const struct tide_capture *capture)
{
  tide_json_key(json, "host");
  tide_json_open_object(json);
  tide_json_put_text(json, "name", capture->hostname ? capture->hostname : "");
  tide_json_put_text(json, "kernel", capture->kernel ? capture->kernel : "");
  tide_json_put_u64(json, "start_realtime_ns", capture->start_realtime_ns);
  tide_json_close_object(json);
}

static void write_threads(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "threads");
  tide_json_open_array(json);
  for (size_t i = 0; i < image->n_threads_known; i++) {
    const struct tide_thread_row *thread = &image->threads[i];
    tide_json_open_object(json);
    tide_json_put_u64(json, "tid", thread->tid);
    tide_json_key(json, "name");
    tide_json_text_n(json, thread->name, strnlen(thread->name, sizeof thread->name));
    tide_json_put_u64(json, "owners", thread->n_owners);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void write_marks(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "marks");
  tide_json_open_array(json);
  for (size_t i = 0; i < image->n_marks; i++) {
    const struct tide_mark *mark = &image->marks[i];
    tide_json_open_object(json);
    tide_json_put_i64(json, "time_ns", (int64_t)(mark->time_ns - image->start_ns));
    tide_json_put_text(json, "name", mark->name ? mark->name : "");
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

// Each program that ran unrecorded, as "info" lists it.
static void write_unrecorded(struct tide_json *json, const struct tide_profile *profile)
{
  const struct tide_style style = {.utf8 = true};
  const struct tide_roll *roll = &profile->capture->roll;
  tide_json_key(json, "unrecorded");
  tide_json_open_array(json);
  for (size_t i = 0; i < roll->n_rows; i++) {
    const struct tide_unrecorded *row = &roll->rows[i];
    TIDE_CLEANUP_FREE char *name = tide_roll_name(row, style);
    TIDE_CLEANUP_FREE char *reason = tide_roll_reason(row, style);
    TIDE_CLEANUP_FREE char *way_out = tide_why_way_out(row->why, row->detail);
    tide_json_open_object(json);
    tide_json_put_text(json, "name", name);
    tide_json_put_text(json, "reason", reason);
    tide_json_put_text(json, "way_out", way_out);
    tide_json_put_text(json, "exe", row->exe);
    tide_json_put_text(json, "parent", row->parent);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

// What "info" tells of the capture and of the image.
static void write_info(struct tide_json *json, const struct tide_profile *profile)
{
  struct tide_info_rows rows = {.style = {.utf8 = true}};
  tide_info_add_capture(&rows, profile->capture);
  tide_info_add_image(&rows, profile);
  tide_json_key(json, "info");
  tide_json_open_array(json);
  for (size_t i = 0; i < rows.n; i++) {
    tide_json_open_object(json);
    tide_json_put_text(json, "label", rows.items[i].label);
    tide_json_put_text(json, "text", rows.items[i].text);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
  tide_info_rows_done(&rows);
}

// Sums are exact whatever was gathered; where single functions are not, that comes first.
static void write_gathered(struct tide_json *json, bool by_place)
{
  TIDE_CLEANUP_FREE char *note = tide_sprintf(
      by_place ? "the callers of small stacks are left out to keep the file small, “%s” standing "
                 "for them; every function is exact"
               : "stacks are gathered into “%s” to keep the file small: totals are exact, changes "
                 "of single functions may lie in there",
      tide_term(TIDE_TERM_OTHER_STACKS));
  tide_json_text(json, note);
}

// One side of a comparison: what to beware of in it, most important first.
static void write_side_notes(struct tide_json *json, const struct tide_profile *profile,
                             const struct tide_statements *verdict,
                             const struct tide_page_options *options,
                             const struct tide_page_data *data)
{
  TIDE_CLEANUP_FREE char *note = tide_diff_side_note(profile, (struct tide_style){.utf8 = true});
  tide_json_key(json, "notes");
  tide_json_open_array(json);
  if (note)
    tide_json_text(json, note);
  if (data->n_gathered && !options->is_first)
    write_gathered(json, options->by_place);
  for (size_t i = 0; i < verdict->n; i++)
    if (verdict->items[i].is_of_names)
      tide_json_text(json, verdict->items[i].text);
  tide_json_close_array(json);
}

static void write_compared(struct tide_json *json, const char *key, enum tide_measure measure,
                           bool of_part, bool goes_on)
{
  struct tide_question question = {
      .measure = measure, .window.to.given = of_part, .goes_on = goes_on};
  tide_json_key(json, key);
  tide_json_open_object(json);
  tide_json_key(json, "bytes");
  tide_json_text(json, tide_diff_measure_words(&question));
  question.unit = TIDE_UNIT_BLOCKS;
  tide_json_key(json, "blocks");
  tide_json_text(json, tide_diff_measure_words(&question));
  tide_json_close_object(json);
}

// What a comparison is told with. Of two moments only what is held is compared.
static void write_diff(struct tide_json *json, const struct tide_profile *profile,
                       const struct tide_statements *verdict,
                       const struct tide_page_options *options, const struct tide_page_data *data)
{
  tide_json_key(json, "diff");
  tide_json_open_object(json);
  write_side_notes(json, profile, verdict, options, data);
  tide_json_key(json, "measures");
  tide_json_open_object(json);
  for (int measure = 0; measure < TIDE_MEASURES_N; measure++)
    write_compared(json, tide_measure_words[measure], (enum tide_measure)measure, false,
                   profile->image->end_kind == TIDE_END_DETACHED);
  tide_json_close_object(json);
  write_compared(json, "moments", TIDE_MEASURE_LIVE, true, false);
  tide_json_put_text(json, "unchanged", TIDE_DIFF_UNCHANGED);
  tide_json_close_object(json);
}

static void write_has(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "has");
  tide_json_open_object(json);
  tide_json_put_bool(json, "temporary_bytes", image->has_temp_bytes);
  tide_json_put_bool(json, "counts", image->has_counts);
  tide_json_put_bool(json, "late_frees", image->has_late_frees);
  tide_json_close_object(json);
}

static void write_pruned(struct tide_json *json, const struct tide_page_options *options,
                         const struct tide_page_data *data)
{
  tide_json_key(json, "pruned");
  if (!data->n_gathered) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  tide_json_put_u64(json, "stacks", data->n_gathered);
  tide_json_put_u64(json, "of", data->n_stacks);
  tide_json_put_bool(json, "by_place", options->by_place || options->is_first);
  tide_json_put_u64(json, "limit_bytes", options->limit_bytes);
  tide_json_put_bool(json, "first", options->is_first);
  tide_json_close_object(json);
}

// "To stay below 15.0 MiB, 912 of 4,204 stacks are gathered into “(other stacks)”; tidemark view
// shows all."
static bool note_pruned(struct tide_statements *statements, const struct tide_page_options *options,
                        const struct tide_page_data *data)
{
  char limit[TIDE_UNITS_MAX], some[TIDE_UNITS_MAX], all[TIDE_UNITS_MAX];
  if (!data->n_gathered || options->is_first)
    return false;
  TIDE_CLEANUP_FREE char *into = tide_sprintf("into “%s”", tide_term(TIDE_TERM_OTHER_STACKS));
  TIDE_CLEANUP_FREE char *text = tide_sprintf(
      "to stay below %s, %s of %s stacks are gathered %s; tidemark view shows all",
      tide_units_bytes(limit, tide_exact((int64_t)options->limit_bytes), TIDE_STYLE_PLAIN),
      tide_units_plain(some, data->n_gathered), tide_units_plain(all, data->n_stacks),
      options->by_place ? "without their callers; every place is exact" : into);
  tide_statements_add_note(statements, text);
  return true;
}

static void begin_apart(struct tide_sink *sink, struct tide_json *json)
{
  tide_sink_init(sink, NULL);
  tide_json_init(json, sink);
  json->break_depth = 0;
}

static struct tide_buf make_residence(struct tide_profile *profile, struct tide_naming *naming)
{
  struct tide_sink sink;
  struct tide_json json;
  struct tide_view view;
  begin_apart(&sink, &json);
  tide_view_init(&view, profile, naming, NULL, false);
  tide_page_residence_write(&json, profile->image, &view);
  tide_view_done(&view);
  return sink.buf;
}

static struct tide_buf make_findings(struct tide_profile *profile, struct tide_naming *naming)
{
  struct tide_sink sink;
  struct tide_json json;
  begin_apart(&sink, &json);
  tide_page_findings_write(&json, profile, naming);
  return sink.buf;
}

// Of a run that has not ended, or whose end was not written, what is said while it goes on: whether
// it does, the server knows.
void tide_page_told_init(struct tide_page_told *told, const struct tide_profile *profile,
                         struct tide_naming *naming)
{
  const struct tide_capture *capture = profile->capture;
  struct tide_statements_options how = {.style = {.utf8 = true}, .module_notes = true};
  *told = (struct tide_page_told){0};
  struct tide_profile *own = tide_profile_new(capture, profile->image_idx); // it will be asked
  told->verdict = tide_statements_new(own, naming, &how);
  how.is_running = true;
  if (!capture->finished && !profile->image->origin)
    told->so_far = tide_statements_new(own, naming, &how);
  told->residence = make_residence(own, naming);
  told->findings = make_findings(own, naming);
  tide_profile_free(own);
}

void tide_page_told_done(struct tide_page_told *told)
{
  tide_statements_free(told->verdict);
  tide_statements_free(told->so_far);
  tide_buf_done(&told->residence);
  tide_buf_done(&told->findings);
}

void tide_page_facts_write(struct tide_json *json, const struct tide_profile *profile,
                           const struct tide_naming *naming,
                           const struct tide_page_options *options,
                           const struct tide_page_data *data, const struct tide_page_told *told)
{
  tide_json_put_text(json, "schema", "tidemark-page-2");
  tide_json_put_text(json, "tool_version", TIDE_VERSION);
  tide_lacking_leave_out(json, profile->image);
  tide_profile_json_facts(json, profile, options->file);
  tide_statements_json(json, "verdict", told->verdict);
  tide_statements_json(json, "verdict_so_far", told->so_far);
  write_host(json, profile->capture);
  write_threads(json, profile->image);
  write_marks(json, profile->image);
  write_unrecorded(json, profile);
  write_info(json, profile);
  tide_json_put_text(json, "blame", tide_blamed_words[tide_naming_blamed(naming)]);
  tide_wrappers_json(json, naming);
  TIDE_CLEANUP_FREE char *wrappers = tide_wrappers_words(naming, (struct tide_style){.utf8 = true});
  tide_json_put_text(json, "wrappers_told", wrappers);
  write_diff(json, profile, told->verdict, options, data);
  tide_page_words_write(json, profile->image);
  write_has(json, profile->image);
  write_pruned(json, options, data);
  tide_json_key(json, "residence");
  tide_json_raw(json, told->residence.data, told->residence.n);
  tide_json_key(json, "findings");
  tide_json_raw(json, told->findings.data, told->findings.n);
}

void tide_page_compared_write(struct tide_json *json, const struct tide_page_capture *own,
                              const struct tide_page_capture *other, bool is_after)
{
  tide_json_key(json, "compared");
  tide_json_open_array(json);
  for (size_t i = 0; i < own->capture->n_images && other->largest < other->capture->n_images; i++) {
    const struct tide_image *mine = &own->capture->images[i];
    const struct tide_image *theirs = &other->capture->images[other->largest];
    char *notes[TIDE_DIFF_PAIR_NOTES_MAX];
    size_t n = tide_diff_pair_notes(is_after ? theirs : mine, is_after ? mine : theirs,
                                    (struct tide_style){.utf8 = true}, notes);
    tide_json_open_array(json);
    for (size_t k = 0; k < n; k++) {
      tide_json_text(json, notes[k]);
      free(notes[k]);
    }
    tide_json_close_array(json);
  }
  tide_json_close_array(json);
}

static void write_held(struct tide_json *json, const struct tide_page_capture *capture)
{
  if (!capture->held)
    return;
  tide_json_key(json, "held");
  tide_json_open_array(json);
  for (size_t i = 0; i < capture->n_held; i++)
    tide_json_u64(json, capture->held[i]);
  tide_json_close_array(json);
}

static void write_captures(struct tide_json *json, const struct tide_page_offer *offer)
{
  tide_json_key(json, "captures");
  tide_json_open_array(json);
  for (size_t i = 0; i < offer->n_captures; i++) {
    tide_json_open_object(json);
    tide_json_put_text(json, "file", offer->captures[i].file);
    tide_capture_json_images(json, offer->captures[i].capture);
    tide_json_put_u64(json, "largest", offer->captures[i].largest);
    write_held(json, &offer->captures[i]);
    if (offer->captures[i].capture->n_images > 1)
      tide_page_processes_write(json, offer->captures[i].capture);
    if (offer->n_captures == 2)
      tide_page_compared_write(json, &offer->captures[i], &offer->captures[!i], i == 1);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

// Only strings may hold one, and there it can be written otherwise.
static void write_without_tags(struct tide_sink *sink, const struct tide_buf *text)
{
  for (size_t i = 0, run; i < text->n; i += run) {
    const uint8_t *tag = memchr(text->data + i, '<', text->n - i);
    run = tag ? (size_t)(tag - (text->data + i)) : text->n - i;
    tide_sink_bytes(sink, text->data + i, run);
    if (tag) {
      tide_sink_text(sink, "\\u003c");
      run++;
    }
  }
}

void tide_page_offer_write(struct tide_sink *sink, const struct tide_page_offer *offer)
{
  struct tide_sink plain;
  struct tide_json json;
  tide_sink_init(&plain, NULL);
  tide_json_init(&json, &plain);
  json.break_depth = 0;
  tide_json_open_object(&json);
  write_captures(&json, offer);
  tide_json_put_bool(&json, "live", offer->live);
  tide_json_put_u64(&json, "version", offer->version);
  tide_json_put_bool(&json, "sources", offer->sources);
  tide_json_put_text(&json, "editor", offer->editor);
  tide_json_close_object(&json);
  write_without_tags(sink, &plain.buf);
  tide_sink_done(&plain);
}

// ---- the block ----

enum { MAGIC_BYTES = 8, HEAD_BYTES = 12, ALIGNMENT = 8 };

static uint64_t aligned(uint64_t n)
{
  return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void write_columns(struct tide_json *json, const struct tide_page_column *columns,
                          uint64_t offset)
{
  tide_json_key(json, "columns");
  tide_json_open_object(json);
  for (size_t i = 0; i < TIDE_PAGE_COLUMNS_N; i++) {
    const struct tide_page_column *column = &columns[i];
    tide_json_key(json, tide_page_column_names[i]);
    tide_json_open_object(json);
    tide_json_put_text(json, "type", tide_page_type_words[column->type]);
    tide_json_put_u64(json, "offset", offset);
    tide_json_put_u64(json, "count", column->n);
    tide_json_close_object(json);
    offset = aligned(offset + column->bytes.n);
  }
  tide_json_close_object(json);
}

// With the columns beginning at an offset.
static struct tide_buf make_facts(const struct tide_page_data *data,
                                  const struct tide_profile *profile,
                                  const struct tide_naming *naming,
                                  const struct tide_page_options *options,
                                  const struct tide_page_told *told, uint64_t offset)
{
  struct tide_sink sink;
  struct tide_json json;
  tide_sink_init(&sink, NULL);
  tide_json_init(&json, &sink);
  json.break_depth = 0;
  tide_json_open_object(&json);
  tide_page_facts_write(&json, profile, naming, options, data, told);
  json.is_absent = NULL;
  write_columns(&json, data->columns, offset);
  tide_json_close_object(&json);
  return sink.buf;
}

// Written with an offset of as many digits as any has, they are as long as they can be.
static void fit_facts(struct tide_page_data *data, const struct tide_profile *profile,
                      struct tide_naming *naming, const struct tide_page_options *options)
{
  struct tide_page_told own = {0}, *told = options->told ? options->told : &own;
  if (!told->verdict)
    tide_page_told_init(told, profile, naming);
  bool is_noted = note_pruned(told->verdict, options, data);
  struct tide_buf longest = make_facts(data, profile, naming, options, told, 1ull << 62);
  uint64_t columns_at = aligned(HEAD_BYTES + longest.n);
  tide_buf_done(&longest);
  data->facts = make_facts(data, profile, naming, options, told, columns_at);
  if (is_noted)
    tide_statements_drop_last(told->verdict);
  tide_page_told_done(&own);
  while (HEAD_BYTES + data->facts.n < columns_at)
    tide_buf_u8(&data->facts, ' ');
}

struct tide_page_data *tide_page_data_new(const struct tide_profile *profile,
                                          struct tide_naming *naming,
                                          const struct tide_page_options *options)
{
  struct tide_page_data *data = tide_alloc(sizeof *data);
  struct tide_page_sites sites;
  struct tide_page_names names;
  const struct tide_page_choice choice = {options->n_keep, options->by_place, options->is_first};
  tide_page_sites_init(&sites, profile, naming, choice);
  tide_page_names_init(&names, profile->image, naming);
  tide_page_sites_write(&sites, profile, &names, data->columns);
  tide_page_names_write(&names, data->columns);
  tide_page_names_done(&names);
  tide_page_rows_write(&sites, profile, data->columns);
  tide_page_cells_write(&sites, profile->image, data->columns);
  tide_page_late_frees_write(&sites, profile->image, data->columns);
  tide_page_ticks_write(profile->image, data->columns);
  tide_page_kinds_write(profile->image, data->columns);
  tide_page_held_write(&sites, profile->image, data->columns);
  data->n_stacks = sites.n_of;
  data->n_gathered = sites.n_gathered;
  tide_page_sites_done(&sites);
  fit_facts(data, profile, naming, options);
  return data;
}

void tide_page_data_free(struct tide_page_data *data)
{
  if (!data)
    return;
  tide_buf_done(&data->facts);
  for (size_t i = 0; i < TIDE_PAGE_COLUMNS_N; i++)
    tide_page_column_done(&data->columns[i]);
  free(data);
}

void tide_page_data_hand_out(const struct tide_page_data *data, tide_page_taker *take,
                             void *context)
{
  static const uint8_t padding[ALIGNMENT];
  struct tide_buf head = {0};
  tide_buf_append(&head, "TidePage", MAGIC_BYTES);
  tide_buf_u32(&head, (uint32_t)data->facts.n);
  take(context, head.data, head.n);
  tide_buf_done(&head);
  take(context, data->facts.data, data->facts.n);
  for (size_t i = 0; i < TIDE_PAGE_COLUMNS_N; i++) {
    const struct tide_buf *bytes = &data->columns[i].bytes;
    if (!bytes->n)
      continue;
    take(context, bytes->data, bytes->n);
    take(context, padding, (size_t)(aligned(bytes->n) - bytes->n));
  }
}

static void take_into_sink(void *context, const void *bytes, size_t n)
{
  tide_sink_bytes(context, bytes, n);
}

void tide_page_data_write(const struct tide_page_data *data, struct tide_sink *sink)
{
  tide_page_data_hand_out(data, take_into_sink, sink);
}

uint64_t tide_page_data_bytes(const struct tide_page_data *data)
{
  uint64_t n = HEAD_BYTES + data->facts.n;
  for (size_t i = 0; i < TIDE_PAGE_COLUMNS_N; i++)
    n += aligned(data->columns[i].bytes.n);
  return n;
}

static bool is_file(const struct tide_page_data *data, uint32_t text)
{
  const struct tide_page_column *files = &data->columns[TIDE_PAGE_FRAME_FILE];
  for (size_t i = 0; i < files->n; i++)
    if (tide_page_column_get(files, i) == text)
      return true;
  return false;
}

char *tide_page_data_file(const struct tide_page_data *data, uint32_t text)
{
  const struct tide_page_column *ends = &data->columns[TIDE_PAGE_TEXT_END];
  if (!text || text >= ends->n || !is_file(data, text))
    return NULL;
  size_t start = (size_t)tide_page_column_get(ends, text - 1);
  size_t end = (size_t)tide_page_column_get(ends, text);
  return tide_strndup((const char *)data->columns[TIDE_PAGE_TEXT].bytes.data + start, end - start);
}
