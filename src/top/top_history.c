// SPDX-License-Identifier: Apache-2.0
//
// A ring of looks, and columns of it.
#include "top/top_history.h"

const struct tide_top_sample *tide_top_history_at(const struct tide_top_history *history, size_t i)
{
  size_t first = history->next + TIDE_TOP_SAMPLES - history->n;
  return &history->items[(first + i) % TIDE_TOP_SAMPLES];
}

const struct tide_top_sample *tide_top_history_last(const struct tide_top_history *history)
{
  return history->n ? tide_top_history_at(history, history->n - 1) : NULL;
}

static struct tide_top_sample *last_place(struct tide_top_history *history)
{
  return &history->items[(history->next + TIDE_TOP_SAMPLES - 1) % TIDE_TOP_SAMPLES];
}

void tide_top_history_add(struct tide_top_history *history, const struct tide_top_sample *given)
{
  struct tide_top_sample sample[1] = {*given};
  if (history->n && !sample->rss_bytes) // nobody looked: it is as it was
    sample->rss_bytes = last_place(history)->rss_bytes;
  if (history->n && sample->time_ns <= last_place(history)->time_ns) {
    struct tide_top_sample *last = last_place(history);
    uint64_t time_ns = last->time_ns;
    uint32_t mark = last->mark;
    *last = *sample;
    last->time_ns = time_ns;
    last->mark = sample->mark ? sample->mark : mark;
    return;
  }
  history->items[history->next] = *sample;
  history->next = (history->next + 1) % TIDE_TOP_SAMPLES;
  history->n += history->n < TIDE_TOP_SAMPLES;
}

void tide_top_history_fill(struct tide_top_history *history, const struct tide_image *image)
{
  for (size_t i = 0; i < image->n_ticks; i++) {
    const struct tide_tick *tick = &image->ticks[i];
    tide_top_history_add(history, &(struct tide_top_sample){.time_ns = tick->time_ns,
                                                            .live_bytes = tick->live_bytes,
                                                            .rss_bytes = tick->rss_bytes,
                                                            .n_alloc = tick->n_alloc});
  }
}

bool tide_top_history_mark(struct tide_top_history *history, uint32_t number)
{
  if (!history->n)
    return false;
  last_place(history)->mark = number;
  return true;
}

void tide_top_history_columns(const struct tide_top_history *history, uint64_t end_ns,
                              uint64_t step_ns, size_t n, struct tide_top_column *ret_columns)
{
  struct tide_top_column before = {0};
  uint64_t all_ns = step_ns * n;
  uint64_t from_ns = end_ns > all_ns ? end_ns - all_ns : 0;
  // Where less time has passed than there is room for, the first columns stay empty.
  size_t n_empty = end_ns < all_ns ? (size_t)((all_ns - end_ns) / step_ns) : 0;
  size_t at = 0;
  while (at < history->n && tide_top_history_at(history, at)->time_ns <= from_ns) {
    const struct tide_top_sample *sample = tide_top_history_at(history, at++);
    before = (struct tide_top_column){true, sample->live_bytes, sample->rss_bytes, 0};
  }
  for (size_t i = 0; i < n; i++) {
    struct tide_top_column *column = &ret_columns[i];
    uint64_t to_ns = end_ns - step_ns * (n - 1 - i);
    *column = i < n_empty ? (struct tide_top_column){0} : before;
    bool is_first = true;
    while (i >= n_empty && at < history->n && tide_top_history_at(history, at)->time_ns <= to_ns) {
      const struct tide_top_sample *sample = tide_top_history_at(history, at++);
      bool is_more = is_first || sample->live_bytes > column->live_bytes;
      column->is_known = true;
      column->live_bytes = is_more ? sample->live_bytes : column->live_bytes;
      column->rss_bytes =
          is_first || sample->rss_bytes > column->rss_bytes ? sample->rss_bytes : column->rss_bytes;
      column->mark = sample->mark ? sample->mark : column->mark;
      before = (struct tide_top_column){true, sample->live_bytes, sample->rss_bytes, 0};
      is_first = false;
    }
  }
}
