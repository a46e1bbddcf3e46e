// SPDX-License-Identifier: Apache-2.0
//
// Life and death of a capture, its roll, and what is taken out of it.
#include "model/capture.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "model/model.h"
#include "model/pack.h"
#include "model/rows.h"
#include "model/stored_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- life and death ----

struct tide_capture *tide_capture_new(void)
{
  return tide_alloc(sizeof(struct tide_capture));
}

struct tide_image *tide_image_unrecorded(uint32_t pid, const char *exe)
{
  struct tide_image *image = tide_alloc(sizeof *image);
  *image = (struct tide_image){
      .pid = pid,
      .exe = tide_strdup(exe),
      .cmdline = tide_strdup(""),
      .allocator = tide_strdup(""),
      .lacks = TIDE_LACK_NUMBERS,
      .n_modules = 1,
      .modules = tide_alloc(sizeof *image->modules),
      .n_frames = 1,
      .frames = tide_alloc(sizeof *image->frames),
      .n_threads_known = 1,
      .threads = tide_alloc(sizeof *image->threads),
  };
  image->modules->path = tide_strdup("");
  return image;
}

void tide_image_drop_pieces(struct tide_image *image)
{
  if (image->pieces) {
    tide_columns_free(image->pieces->changes);
    tide_columns_free(image->pieces->counts);
  }
  free(image->pieces);
  image->pieces = NULL;
}

void tide_image_drop_held(struct tide_image *image)
{
  for (size_t i = 0; i < image->n_held; i++)
    free(image->held[i].bytes);
  free(image->held);
  image->held = NULL;
  image->n_held = 0;
}

void tide_image_done(struct tide_image *image)
{
  for (size_t i = 0; i < image->n_modules; i++)
    free(image->modules[i].path);
  for (size_t i = 0; i < image->n_snapshots; i++)
    tide_snapshot_done(&image->snapshots[i]);
  for (size_t i = 0; i < image->n_marks; i++)
    free(image->marks[i].name);
  free(image->exe);
  free(image->cmdline);
  free(image->allocator);
  free(image->missed_later);
  free(image->unhooked);
  free(image->refused);
  free(image->allocators);
  for (size_t i = 0; i < image->n_residences; i++)
    tide_residence_done(&image->residences[i]);
  free(image->residences);
  free(image->origin);
  free(image->file);
  free(image->modules);
  free(image->frames);
  free(image->sites);
  tide_columns_free(image->packed_sites);
  free(image->counts.items);
  free(image->threads);
  tide_image_drop_held(image);
  free(image->rss_kinds);
  free(image->ticks);
  free(image->snapshots);
  tide_image_drop_pieces(image);
  free(image->late_frees);
  free(image->events);
  tide_pack_free(image->pack);
  free(image->marks);
  tide_stored_names_done(&image->names);
}

void tide_capture_free(struct tide_capture *capture)
{
  if (!capture)
    return;
  for (size_t i = 0; i < capture->n_images; i++)
    tide_image_done(&capture->images[i]);
  tide_roll_done(&capture->roll);
  free(capture->images);
  free(capture->tool_version);
  free(capture->hostname);
  free(capture->kernel);
  free(capture->taken);
  free(capture->cut_note);
  free(capture);
}

// ---- the roll ----
//
// Gathering unrecorded programs.

static const char *text_of(const char *text)
{
  return text ? text : "";
}

static bool is_same(const struct tide_unrecorded *a, const struct tide_unrecorded *b)
{
  return a->why == b->why && a->is_command == b->is_command &&
         strcmp(text_of(a->exe), text_of(b->exe)) == 0 &&
         strcmp(text_of(a->detail), text_of(b->detail)) == 0;
}

static void add_to(struct tide_unrecorded *row, const struct tide_unrecorded *more)
{
  row->n_processes += more->n_processes;
  if (more->max_rss_bytes > row->max_rss_bytes) {
    row->max_rss_bytes = more->max_rss_bytes;
    row->pid = more->pid;
  }
  if (more->recorded_bytes > row->recorded_bytes)
    row->recorded_bytes = more->recorded_bytes;
  row->start_ns = more->start_ns < row->start_ns ? more->start_ns : row->start_ns;
  row->end_ns = more->end_ns > row->end_ns ? more->end_ns : row->end_ns;
}

void tide_roll_add(struct tide_roll *roll, const struct tide_unrecorded *row)
{
  static char nothing[] = "";
  struct tide_unrecorded other = *row;
  if (roll->n_rows >= TIDE_ROLL_MAX_ROWS) { // the last row takes all further programs
    other.exe = other.detail = other.parent = nothing;
    other.why = TIDE_WHY_UNKNOWN;
    other.is_command = false;
  }
  for (size_t i = 0; i < roll->n_rows; i++)
    if (is_same(&roll->rows[i], row) || is_same(&roll->rows[i], &other)) {
      add_to(&roll->rows[i], row);
      return;
    }
  roll->rows = tide_realloc_array(roll->rows, roll->n_rows + 1, sizeof *roll->rows);
  other.exe = tide_strdup(text_of(other.exe));
  other.detail = tide_strdup(text_of(other.detail));
  other.parent = tide_strdup(text_of(other.parent));
  roll->rows[roll->n_rows++] = other;
}

void tide_roll_join(struct tide_roll *roll, const struct tide_roll *other)
{
  roll->is_known &= other->is_known;
  roll->at_least |= other->at_least;
  roll->n_recorded += other->n_recorded;
  roll->n_refused += other->n_refused;
  for (size_t i = 0; i < other->n_rows; i++)
    tide_roll_add(roll, &other->rows[i]);
}

void tide_roll_copy(struct tide_roll *roll, const struct tide_roll *from)
{
  *roll = *from;
  roll->rows = NULL;
  roll->n_rows = 0;
  for (size_t i = 0; i < from->n_rows; i++)
    tide_roll_add(roll, &from->rows[i]);
}

void tide_roll_done(struct tide_roll *roll)
{
  for (size_t i = 0; i < roll->n_rows; i++) {
    free(roll->rows[i].exe);
    free(roll->rows[i].detail);
    free(roll->rows[i].parent);
  }
  free(roll->rows);
  *roll = (struct tide_roll){0};
}

static int by_weight(const void *left, const void *right)
{
  const struct tide_unrecorded *a = left, *b = right;
  if (a->is_command != b->is_command)
    return a->is_command ? -1 : 1;
  if (a->max_rss_bytes != b->max_rss_bytes)
    return a->max_rss_bytes > b->max_rss_bytes ? -1 : 1;
  if (a->n_processes != b->n_processes)
    return a->n_processes > b->n_processes ? -1 : 1;
  int by_name = strcmp(a->exe, b->exe);
  return by_name ? by_name : (int)a->why - (int)b->why;
}

void tide_roll_sort(struct tide_roll *roll)
{
  if (roll->n_rows)
    qsort(roll->rows, roll->n_rows, sizeof *roll->rows, by_weight);
}

uint64_t tide_roll_processes(const struct tide_roll *roll)
{
  uint64_t n = 0;
  for (size_t i = 0; i < roll->n_rows; i++)
    n += roll->rows[i].n_processes;
  return n;
}

// ---- what a reader need not know ----
//
// A command line is argv joined by NULs, with or without one at its end.

enum { MAX_RECORDED_BYTES = 65536 }; // of a command line; what is longer was cut there

static uint64_t count_arguments(const char *at, const char *end)
{
  uint64_t n = 0;
  for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1)
    n++;
  return n;
}

static bool is_redacted(const char *argument)
{
  int n = 0;
  const char *at = strncmp(argument, "[at least ", 10) == 0 ? argument + 10 : argument + 1;
  sscanf(at, "%*u %*[a-z] left out]%n", &n);
  return argument[0] == '[' && n && !at[n];
}

bool tide_image_redact_args(struct tide_image *image)
{
  const char *line = image->cmdline, *end = line ? line + image->cmdline_len : NULL;
  const char *rest = line ? line + strnlen(line, image->cmdline_len) + 1 : NULL;
  uint64_t n = rest < end ? count_arguments(rest, end) : 0;
  if (!n || (n == 1 && is_redacted(rest)))
    return false;
  struct tide_buf text = {0};
  tide_buf_append(&text, line, (size_t)(rest - line));
  tide_buf_printf(&text, "[%s%" PRIu64 " argument%s left out]",
                  image->cmdline_len > MAX_RECORDED_BYTES ? "at least " : "", n, n == 1 ? "" : "s");
  tide_buf_u8(&text, 0);
  free(image->cmdline);
  image->cmdline_len = (uint32_t)text.n;
  tide_buf_u8(&text, 0); // one behind it, as everywhere
  image->cmdline = (char *)text.data;
  return true;
}

bool tide_capture_redact_args(struct tide_capture *capture)
{
  bool any = false;
  for (size_t i = 0; i < capture->n_images; i++)
    any |= tide_image_redact_args(&capture->images[i]);
  return any;
}

bool tide_image_is_glibc(const struct tide_image *image)
{
  for (size_t i = 0; i < image->n_allocators; i++)
    if (image->allocators[i].family != TIDE_FAMILY_LIBC)
      return false;
  for (size_t i = 0; (!image->allocator || !*image->allocator) && i < image->n_modules; i++) {
    const char *slash = strrchr(image->modules[i].path, '/');
    if (slash && !strcmp(slash, "/libc.so.6"))
      return true;
  }
  return false;
}
