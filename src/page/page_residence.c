// SPDX-License-Identifier: Apache-2.0
//
// Where the resident memory was, table by table: the lines that "tidemark maps" has of each. Names
// have no limit, a page has: a line that is longer than any screen is cut.
#include "page/page_data.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "report/residence.h"
#include "words/growth_words.h"
#include "words/image_text.h"
#include "words/residence_words.h"

#include <stdlib.h>

enum { MAX_ROWS = 10, MAX_COLUMNS = 400, MAX_BUCKETS = 1024 };

#define BETWEEN_LOOKS                                                                              \
  "Columns are moments at which somebody looked. Pale areas join two of them where RSS went "      \
  "straight meanwhile; elsewhere nobody knows, and nothing is drawn."

static const struct tide_style style = {.utf8 = true};

static void put_words(struct tide_json *json, const char *words)
{
  TIDE_CLEANUP_FREE char *fitting = tide_utf8_fit(words, MAX_COLUMNS, true);
  tide_json_put_text(json, "words", fitting);
}

static void write_line(struct tide_json *json, const struct tide_residence_line *line)
{
  tide_json_open_object(json);
  tide_json_put_i64(json, "bytes", line->bytes);
  tide_json_put_bool(json, "share", line->has_share);
  put_words(json, line->words);
  tide_json_close_object(json);
}

static void write_lines(struct tide_json *json, const struct tide_residence_list *list)
{
  tide_json_open_array(json);
  for (size_t i = 0; i < list->n; i++)
    write_line(json, &list->lines[i]);
  tide_json_close_array(json);
}

static void write_lists(struct tide_json *json, const struct tide_residence_told *told)
{
  tide_json_key(json, "lists");
  tide_json_open_array(json);
  for (int i = TIDE_RESIDENCE_LIST_ROWS + 1; i < TIDE_RESIDENCE_LISTS; i++) {
    const struct tide_residence_list *list = &told->lists[i];
    if (!list->n)
      continue;
    tide_json_open_object(json);
    tide_json_put_text(json, "key", tide_residence_list_key((enum tide_residence_list_kind)i));
    tide_json_put_text(json, "title", tide_residence_list_title((enum tide_residence_list_kind)i));
    tide_json_key(json, "lines");
    write_lines(json, list);
    tide_json_put_u64(json, "left", list->n_left);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void write_notes(struct tide_json *json, const struct tide_residence_told *told)
{
  tide_json_key(json, "notes");
  tide_json_open_array(json);
  for (int i = 0; i < TIDE_RESIDENCE_NOTES; i++) {
    if (!told->notes[i])
      continue;
    tide_json_open_object(json);
    tide_json_put_text(json, "label", tide_residence_note_label((enum tide_residence_note)i));
    tide_json_put_text(json, "text", told->notes[i]);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void write_told(struct tide_json *json, const struct tide_residence_told *told)
{
  tide_json_put_text(json, "title", told->title);
  tide_json_key(json, "rows");
  write_lines(json, &told->lists[TIDE_RESIDENCE_LIST_ROWS]);
  tide_json_key(json, "sum");
  write_line(json, &told->sum);
  tide_json_key(json, "absent");
  if (told->absent.words)
    write_line(json, &told->absent);
  else
    tide_json_text(json, NULL);
  write_notes(json, told);
  write_lists(json, told);
}

// Columns, as they take less room: each address by its distance from the one before.
static void write_map(struct tide_json *json, const struct tide_residence *table)
{
  TIDE_CLEANUP_FREE char *title = tide_residence_map_title(table, style);
  static const char *const keys[] = {"step", "live", "free", "pinned"};
  tide_json_key(json, "map");
  if (!table->n_map) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  tide_json_put_text(json, "title", title);
  tide_json_put_u64(json, "bucket_bytes", table->bucket_bytes);
  for (int k = 0; k < 4; k++) {
    tide_json_key(json, keys[k]);
    tide_json_open_array(json);
    for (size_t i = 0; i < table->n_map && i < MAX_BUCKETS; i++) {
      const struct tide_residence_bucket *bucket = &table->map[i];
      const uint64_t fields[] = {bucket->at - (i ? table->map[i - 1].at : 0), bucket->live,
                                 bucket->free, bucket->pinned};
      tide_json_u64(json, fields[k]);
    }
    tide_json_close_array(json);
  }
  tide_json_close_object(json);
}

static void write_table(struct tide_json *json, const struct tide_image *image,
                        struct tide_view *view, const struct tide_residence *table)
{
  uint64_t bands[TIDE_RESIDENT_BANDS];
  struct tide_residence_told told;
  struct tide_residence_subject subject = {
      .residence = table,
      .pid = image->pid,
      .name = tide_image_program(image),
      .image = image,
      .view = view,
      .n_rows = MAX_ROWS,
  };
  TIDE_CLEANUP_FREE char *when = tide_residence_when_words(image, table, style);
  tide_residence_bands(table, bands);
  tide_residence_told_make(&subject, style, &told);
  tide_json_open_object(json);
  tide_json_put_i64(json, "time_ns", (int64_t)(table->time_ns - image->start_ns));
  tide_json_put_text(json, "when", when);
  tide_json_key(json, "parts");
  tide_json_open_array(json);
  for (int i = 0; i < TIDE_RESIDENT_BANDS; i++)
    tide_json_u64(json, bands[i]);
  tide_json_close_array(json);
  write_told(json, &told);
  write_map(json, table);
  tide_json_close_object(json);
  tide_residence_told_done(&told);
}

static void write_parts(struct tide_json *json)
{
  tide_json_key(json, "parts");
  tide_json_open_array(json);
  for (int i = 0; i < TIDE_RESIDENT_BANDS; i++) {
    tide_json_open_object(json);
    tide_json_put_text(json, "key", tide_residence_band_key((enum tide_residence_band)i));
    tide_json_put_text(json, "words", tide_residence_band_words((enum tide_residence_band)i));
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void write_map_words(struct tide_json *json)
{
  tide_json_key(json, "map_words");
  tide_json_open_array(json);
  for (int i = 0; i < TIDE_RESIDENCE_MAP_KINDS; i++)
    tide_json_text(json, tide_residence_map_words((enum tide_residence_map_kind)i));
  tide_json_close_array(json);
}

static void write_choice(struct tide_json *json, const char *key, const char *what,
                         const struct tide_image *image, const struct tide_residence *table)
{
  TIDE_CLEANUP_FREE char *when = tide_residence_when_words(image, table, style);
  TIDE_CLEANUP_FREE char *words = tide_sprintf("%s, %s", what, when);
  tide_json_open_object(json);
  tide_json_put_text(json, "key", key);
  put_words(json, words);
  tide_json_put_u64(json, "table", (uint64_t)(table - image->residences));
  tide_json_close_object(json);
}

// Which tables are asked for by what they are of; any other by its time.
static void write_choices(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "choices");
  tide_json_open_array(json);
  if (image->n_residences) {
    write_choice(json, "rss", "most in memory", image, tide_residence_highest(image));
    write_choice(json, "peak", "nearest the heap's peak", image,
                 tide_residence_nearest(image, image->peak_ns));
  }
  tide_json_close_array(json);
}

static int own_max_order(const void *a, const void *b)
{
  const struct tide_profile_site *x = *(const struct tide_profile_site *const *)a;
  const struct tide_profile_site *y = *(const struct tide_profile_site *const *)b;
  int64_t most_x = TIDE_OF_SITE(x, high_bytes), most_y = TIDE_OF_SITE(y, high_bytes);
  return most_x != most_y ? (most_x < most_y ? 1 : -1)
                          : (x->stack > y->stack) - (x->stack < y->stack);
}

static void write_grown_site(struct tide_json *json, struct tide_view *view,
                             const struct tide_profile_site *site)
{
  struct tide_growth growth;
  const struct tide_image *image = view->profile->image;
  tide_growth_init(&growth, image, &site->stack, 1);
  TIDE_CLEANUP_FREE char *words = tide_growth_words(&growth, image, style);
  tide_growth_done(&growth);
  if (!words)
    return;
  TIDE_CLEANUP_FREE char *place = tide_place_of_stack(view, site->stack);
  TIDE_CLEANUP_FREE char *text = tide_sprintf("%s: %s", place, words);
  tide_json_open_object(json);
  tide_json_put_i64(json, "bytes", TIDE_OF_SITE(site, high_bytes));
  put_words(json, text);
  tide_json_close_object(json);
}

// How what the program mapped itself grew, by stack: those that had most at once.
static void write_grown(struct tide_json *json, struct tide_view *view)
{
  const struct tide_profile *profile = view->profile;
  size_t n = 0;
  TIDE_CLEANUP_FREE const struct tide_profile_site **sites =
      tide_alloc_array(profile->n_sites + 1, sizeof *sites);
  for (size_t i = 0; i < profile->n_sites; i++)
    if (profile->sites[i].kind == TIDE_SITE_PAGES)
      sites[n++] = &profile->sites[i];
  if (n)
    qsort(sites, n, sizeof *sites, own_max_order);
  tide_json_key(json, "grown");
  tide_json_open_array(json);
  for (size_t i = 0; i < n && i < MAX_ROWS; i++)
    write_grown_site(json, view, sites[i]);
  tide_json_close_array(json);
}

void tide_page_residence_write(struct tide_json *json, const struct tide_image *image,
                               struct tide_view *view)
{
  TIDE_CLEANUP_FREE char *why = image->n_residences ? NULL : tide_residence_none_words(image);
  TIDE_CLEANUP_FREE char *none = why ? tide_as_sentence(why) : NULL;
  tide_json_open_object(json);
  tide_json_put_text(json, "none", none);
  tide_json_put_text(json, "between", BETWEEN_LOOKS);
  tide_json_put_bool(json, "rss_is_own", image->rss_is_own);
  write_choices(json, image);
  write_parts(json);
  write_map_words(json);
  write_grown(json, view);
  tide_json_key(json, "tables");
  tide_json_open_array(json);
  for (size_t i = 0; i < image->n_residences; i++)
    write_table(json, image, view, &image->residences[i]);
  tide_json_close_array(json);
  tide_json_close_object(json);
}
