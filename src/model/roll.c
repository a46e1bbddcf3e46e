// SPDX-License-Identifier: Apache-2.0
//
// Gathering unrecorded programs.
#include "model/roll.h"

#include "base/alloc.h"

#include <stdlib.h>

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
