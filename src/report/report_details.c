// SPDX-License-Identifier: Apache-2.0
//
// Each line is a label and a sentence; histograms are drawn from their first count to their last,
// between the limits of those two buckets.
#include "report/report_cells.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "model/capture.h"
#include "model/image_sums.h"
#include "report/screen.h"
#include "view/groups.h"
#include "words/growth_words.h"
#include "words/heap_words.h"

#include <stdlib.h>

enum { LABEL = 9, COLUMNS_LEAST = 8 }; // the latter of a histogram; else it has a line of its own

struct details {
  const struct tide_screen *screen;
  const struct tide_image *image;
  const struct tide_group *group;
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lives[TIDE_LIFE_BUCKETS_N];
  uint64_t n_ended; // lives that ended; a block that a resize took over lives on
};

static void write_label(const struct details *d, const char *label)
{
  tide_sink_repeat(d->screen->sink, ' ', tide_screen_indent(d->screen));
  tide_screen_left(d->screen, TIDE_INK_FAINT, label, LABEL);
}

static void write_line(const struct details *d, const char *label, const char *text)
{
  write_label(d, label);
  tide_screen_wrap(d->screen, tide_screen_indent(d->screen) + LABEL, text);
}

// "sizes  mean 812 B: 16 B ▁▃█▅ 4.0 KiB": buckets from the first to the last that has any, several
// to a column where there is little room. limit(k) is what all before bucket k are below.
static void write_histogram(const struct details *d, const char *label, const char *mean,
                            const uint64_t *counts, size_t n,
                            const char *(*limit)(const struct details *, char *, size_t))
{
  size_t first = 0, last = n;
  while (first < n && !counts[first])
    first++;
  while (last > first && !counts[last - 1])
    last--;
  char low[TIDE_UNITS_MAX], high[TIDE_UNITS_MAX];
  const char *least = limit(d, low, first), *most = limit(d, high, last);
  size_t start = tide_screen_indent(d->screen) + LABEL, mean_columns = tide_utf8_width(mean) + 7;
  size_t limits = tide_utf8_width(least) + tide_utf8_width(most) + 2;
  bool below = start + mean_columns + limits + COLUMNS_LEAST > d->screen->width;
  size_t taken = start + limits + (below ? 0 : mean_columns);
  size_t room = d->screen->width > taken ? d->screen->width - taken : 1;
  size_t step = (last - first + room - 1) / room, columns = 0;
  int64_t sums[TIDE_LIFE_BUCKETS_N] = {0};
  for (size_t k = first; k < last; k++) {
    columns = (k - first) / step + 1;
    sums[columns - 1] += (int64_t)counts[k];
  }
  if (!columns)
    return;
  TIDE_CLEANUP_FREE char *bars = tide_spark_bars(sums, columns, d->screen->utf8);
  write_label(d, label);
  tide_sink_printf(d->screen->sink, "mean %s:%s", mean, below ? "\n" : " ");
  tide_sink_repeat(d->screen->sink, ' ', below ? start : 0);
  tide_sink_printf(d->screen->sink, "%s ", least);
  tide_screen_ink(d->screen, TIDE_INK_CURVE, bars);
  tide_sink_printf(d->screen->sink, " %s\n", most);
}

static const char *bytes_of(const struct details *d, char *out, enum tide_figure figure,
                            int64_t bytes)
{
  return tide_units_bytes(out, tide_image_bytes(d->image, figure, bytes),
                          tide_screen_cells(d->screen));
}

static const char *count_of(const struct details *d, char *out, enum tide_figure figure, uint64_t n)
{
  return tide_units_count(out, tide_image_blocks(d->image, figure, (int64_t)n),
                          tide_screen_cells(d->screen));
}

static const char *percent_of(const struct details *d, char *out, uint64_t part, uint64_t whole)
{
  return tide_units_percent(out, tide_image_blocks(d->image, TIDE_FIGURE_ALLOCATED, (int64_t)part),
                            whole, tide_screen_cells(d->screen));
}

static const char *size_limit(const struct details *d, char *out, size_t k)
{
  int64_t bytes = k == 0 ? 0 : k >= TIDE_SIZE_BUCKETS_N ? INT64_MAX : INT64_C(1) << (k + 1);
  return bytes == INT64_MAX
             ? "more"
             : tide_units_bytes(out, tide_exact((int64_t)bytes), tide_screen_style(d->screen));
}

// Buckets that the clock does not tell apart are one.
static const char *life_limit(const struct details *d, char *out, size_t k)
{
  size_t bucket = k ? k + TIDE_LIFE_CLASS_SHORTEST - 1 : 0;
  if (bucket >= TIDE_LIFE_BUCKETS_N)
    return "more";
  return k ? tide_units_time(out, UINT64_C(1) << (bucket - 1), d->screen->utf8) : "0";
}

static void write_made(const struct details *d)
{
  char count[TIDE_UNITS_MAX], size[TIDE_UNITS_MAX], from[TIDE_UNITS_MAX], to[TIDE_UNITS_MAX];
  const struct tide_group *g = d->group;
  struct tide_buf text = {0};
  tide_buf_printf(&text, "%s %s of %s%s", count_of(d, count, TIDE_FIGURE_ALLOCATED, g->n_alloc),
                  tide_units_plural(g->n_alloc, "allocation", "allocations"),
                  bytes_of(d, size, TIDE_FIGURE_ALLOCATED, (int64_t)g->b_alloc),
                  g->n_alloc == 1 ? "" : " in all");
  if (!(d->image->lacks & TIDE_LACK_TIMES) && g->n_alloc && g->first_ns >= d->image->start_ns) {
    tide_units_time(from, g->first_ns - d->image->start_ns, d->screen->utf8);
    tide_units_time(to, g->last_ns - d->image->start_ns, d->screen->utf8);
    if (g->last_ns > g->first_ns)
      tide_buf_printf(&text, ", from %s to %s", from, to);
    else
      tide_buf_printf(&text, ", at %s", from);
  }
  write_line(d, "made", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

static void write_sizes(const struct details *d)
{
  char mean[TIDE_UNITS_MAX];
  const struct tide_group *g = d->group;
  if (g->n_alloc < 2 || d->image->lacks & TIDE_LACK_SIZE_HIST)
    return;
  bytes_of(d, mean, TIDE_FIGURE_ALLOCATED, (int64_t)(g->b_alloc / g->n_alloc));
  write_histogram(d, "sizes", mean, d->sizes, TIDE_SIZE_BUCKETS_N, size_limit);
}

// DHAT sums up the lives of all blocks, those that have not ended up to the end.
static void write_mean_life(const struct details *d, const char *mean)
{
  TIDE_CLEANUP_FREE char *text = tide_sprintf(
      "mean %s%s", mean,
      d->group->live_blocks > 0 ? ", with blocks not freed counted up to the end" : "");
  write_line(d, "lived", text);
}

static void write_lives(const struct details *d)
{
  char mean[TIDE_UNITS_MAX];
  enum { N = TIDE_LIFE_BUCKETS_N - TIDE_LIFE_CLASS_SHORTEST + 1 };
  uint64_t counts[N] = {0};
  if (!d->n_ended || d->image->lacks & TIDE_LACK_LIFETIMES)
    return;
  for (size_t k = 0; k < TIDE_LIFE_BUCKETS_N; k++)
    counts[k < TIDE_LIFE_CLASS_SHORTEST ? 0 : k - TIDE_LIFE_CLASS_SHORTEST + 1] += d->lives[k];
  tide_units_time(mean, d->group->life_ns / d->n_ended, d->screen->utf8);
  if (d->image->lacks & TIDE_LACK_LIFE_HIST) {
    write_mean_life(d, mean);
    return;
  }
  write_histogram(d, "lived", mean, counts, N, life_limit);
}

// Where all blocks resized here began here, too, they are chains: what was asked for on the way,
// and what came of it.
static void write_resizes(const struct details *d)
{
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX], c[TIDE_UNITS_MAX];
  const struct tide_group *g = d->group;
  if (!g->n_resize || d->image->lacks & TIDE_LACK_RESIZES)
    return;
  struct tide_buf text = {0};
  tide_buf_printf(&text, "%s %s, %s moved", count_of(d, a, TIDE_FIGURE_ALLOCATED, g->n_resize),
                  tide_units_plural(g->n_resize, "time", "times"),
                  count_of(d, b, TIDE_FIGURE_ALLOCATED, g->n_moved));
  if (g->n_moved && d->image->has_temp_bytes)
    tide_buf_printf(&text, " with %s copied at most",
                    bytes_of(d, c, TIDE_FIGURE_ALLOCATED, (int64_t)g->b_moved));
  bool closed = g->n_free - d->n_ended == g->n_resize && g->n_alloc > g->n_resize;
  if (closed && g->b_alloc >= g->b_resize_old) {
    uint64_t n_chains = g->n_alloc - g->n_resize;
    tide_buf_printf(&text, "; %s %s asked for %s in all",
                    count_of(d, a, TIDE_FIGURE_ALLOCATED, n_chains),
                    tide_units_plural(n_chains, "block", "blocks"),
                    bytes_of(d, b, TIDE_FIGURE_ALLOCATED, (int64_t)g->b_alloc));
    tide_buf_printf(&text, " and ended at %s",
                    bytes_of(d, c, TIDE_FIGURE_ALLOCATED, (int64_t)(g->b_alloc - g->b_resize_old)));
  }
  write_line(d, "resized", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

static void write_freed(const struct details *d)
{
  char count[TIDE_UNITS_MAX], share[TIDE_UNITS_MAX], temp[TIDE_UNITS_MAX];
  const struct tide_group *g = d->group;
  if (!g->n_foreign && !g->n_temp)
    return;
  struct tide_buf text = {0};
  if (g->n_temp)
    tide_buf_printf(&text, "%s of the blocks within one further allocation",
                    percent_of(d, temp, g->n_temp, g->n_alloc));
  if (g->n_foreign)
    tide_buf_printf(&text, "%s%s (%s) by another thread", text.n ? ", " : "",
                    count_of(d, count, TIDE_FIGURE_ALLOCATED, g->n_foreign),
                    percent_of(d, share, g->n_foreign, g->n_free));
  write_line(d, "freed", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

static void write_fate(const struct details *d)
{
  const char *kept = d->group->before_blocks > 0 ? "held to the end, some from before the reset"
                                                 : tide_image_kept_words(d->image);
  const char *what = d->group->fate == TIDE_FATE_THROUGHOUT ? "held from start to end" : kept;
  const char *more = d->group->fate == TIDE_FATE_GROWING ? ", and growing" : "";
  char count[TIDE_UNITS_MAX], size[TIDE_UNITS_MAX];
  const struct tide_group *g = d->group;
  if (g->fate == TIDE_FATE_AT_END)
    write_line(d, "kept", "freed only at the end");
  if (g->live_blocks <= 0)
    return;
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%s in %s %s, %s%s", bytes_of(d, size, TIDE_FIGURE_LIVE, (int64_t)g->live_bytes),
                   count_of(d, count, TIDE_FIGURE_LIVE, (uint64_t)g->live_blocks),
                   tide_units_plural((uint64_t)g->live_blocks, "block", "blocks"), what, more);
  write_line(d, "kept", text);
}

// "64 large blocks asked for 256.0 KiB in the mean and had 4.0 KiB each in memory ..."
static void write_touched(const struct details *d)
{
  char n[TIDE_UNITS_MAX], asked[TIDE_UNITS_MAX], touched[TIDE_UNITS_MAX];
  const struct tide_group *g = d->group;
  if (!g->n_looked)
    return;
  bool is_one = g->n_looked == 1;
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%s large %s asked for %s%s and had %s%s in memory when %s freed or moved",
                   count_of(d, n, TIDE_FIGURE_LOOKED, g->n_looked),
                   tide_units_plural(g->n_looked, "block", "blocks"),
                   bytes_of(d, asked, TIDE_FIGURE_LOOKED, (int64_t)(g->b_looked / g->n_looked)),
                   is_one ? "" : " in the mean",
                   bytes_of(d, touched, TIDE_FIGURE_LOOKED, (int64_t)(g->b_touched / g->n_looked)),
                   is_one ? "" : " each", is_one ? "it was" : "they were");
  write_line(d, "touched", text);
}

// A container that grew from small to large has come past the size from which on each of its blocks
// has a mapping of its own.
static void write_mapped(const struct details *d)
{
  enum { MAPPED_BUCKET = 16 }; // more than 128 KiB
  char count[TIDE_UNITS_MAX];
  uint64_t n = 0;
  for (size_t k = MAPPED_BUCKET; k < TIDE_SIZE_BUCKETS_N; k++)
    n += d->sizes[k];
  if (!n || !tide_image_is_glibc(d->image) || d->image->lacks & TIDE_LACK_SIZE_HIST)
    return;
  TIDE_CLEANUP_FREE char *text = tide_sprintf(
      "%s of more than 128 KiB: malloc maps such apart until it has freed one as large",
      count_of(d, count, TIDE_FIGURE_ALLOCATED, n));
  write_line(d, "mapped", text);
}

static void write_grown(const struct details *d, const struct tide_groups *groups, size_t group_idx)
{
  struct tide_growth growth;
  tide_groups_growth(groups, d->image, group_idx, &growth);
  TIDE_CLEANUP_FREE char *words =
      tide_growth_words(&growth, d->image, tide_screen_style(d->screen));
  tide_growth_done(&growth);
  if (words)
    write_line(d, "grew", words);
}

void tide_details_write(const struct tide_screen *screen, const struct tide_view *view,
                        const struct tide_groups *groups, size_t group_idx)
{
  struct details d = {
      .screen = screen, .image = view->profile->image, .group = &groups->items[group_idx]};
  tide_groups_histograms(groups, view->profile, group_idx, d.sizes, d.lives);
  d.n_ended = tide_profile_n_ended(d.image, d.group->n_free, d.lives);
  if (d.group->n_alloc && !(d.image->lacks & (TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS)))
    write_made(&d);
  write_sizes(&d);
  write_lives(&d);
  write_resizes(&d);
  write_mapped(&d);
  write_touched(&d);
  write_grown(&d, groups, group_idx);
  write_freed(&d);
  write_fate(&d);
}

// ---- below a table of leaks ----

struct sum {
  int64_t weight;
  size_t n;
};

static struct sum sum_of(const struct tide_groups *groups, bool growing)
{
  struct sum sum = {0};
  for (size_t i = 0; i < groups->n; i++) {
    enum tide_fate fate = groups->items[i].fate;
    if (fate == TIDE_FATE_NONE || (fate == TIDE_FATE_GROWING) != growing)
      continue;
    sum.weight += groups->items[i].measure;
    sum.n++;
  }
  return sum;
}

static void add_sum(struct tide_buf *text, const struct tide_screen *screen,
                    const struct tide_view *view, const struct tide_groups *groups, struct sum sum,
                    const char *word)
{
  char count[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *size = tide_cell_measure(screen, &view->profile->question,
                                                   tide_profile_amount(view->profile, sum.weight));
  tide_buf_printf(text, "%s%s %s in %s %s", text->n ? tide_screen_dot(screen) : "", word, size,
                  tide_units_plain(count, sum.n), tide_group_noun(groups->kind, sum.n));
}

static void write_fates(const struct tide_screen *screen, const struct tide_view *view,
                        const struct tide_groups *groups)
{
  struct sum growing = sum_of(groups, true), held = sum_of(groups, false);
  if (!growing.n && !held.n)
    return;
  struct tide_buf text = {0};
  if (growing.n)
    add_sum(&text, screen, view, groups, growing, "growing:");
  if (held.n)
    add_sum(&text, screen, view, groups, held, "held:");
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", "", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

static void write_suppression(const struct tide_screen *screen, const struct tide_view *view,
                              const struct tide_suppression *one)
{
  char size[TIDE_UNITS_MAX], blocks[TIDE_UNITS_MAX], share[TIDE_UNITS_MAX];
  bool in_bytes = view->profile->question.unit == TIDE_UNIT_BYTES;
  const struct tide_image *image = view->profile->image;
  struct tide_style style = tide_screen_cells(screen);
  struct tide_amount bytes = tide_image_bytes(image, TIDE_FIGURE_LIVE, one->live_bytes);
  struct tide_amount n = tide_image_blocks(image, TIDE_FIGURE_LIVE, one->live_blocks);
  tide_units_bytes(size, bytes, style);
  tide_units_share(share, in_bytes ? bytes : n, view->whole, style);
  tide_sink_text(screen->sink, "  ");
  tide_screen_right(screen, TIDE_INK_PLAIN, share, 7);
  tide_sink_text(screen->sink, "  ");
  tide_screen_right(screen, TIDE_INK_PLAIN, size, 9);
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("in %s %s by leak:%s", tide_units_count(blocks, n, style),
                   one->live_blocks == 1 ? "block" : "blocks", one->pattern);
  tide_sink_text(screen->sink, "  ");
  tide_screen_wrap(screen, 22, text);
}

static void write_suppressed(const struct tide_screen *screen, const struct tide_view *view,
                             const struct tide_suppressions *suppressions)
{
  size_t n_idle = 0;
  struct tide_buf idle = {0};
  for (size_t i = 0; i < suppressions->n; i++) {
    if (suppressions->items[i].n_stacks)
      continue;
    tide_buf_printf(&idle, "%sleak:%s", n_idle++ ? ", " : "", suppressions->items[i].pattern);
  }
  struct tide_amount amount = tide_profile_amount(view->profile, suppressions->weight);
  TIDE_CLEANUP_FREE char *hidden = tide_cell_measure(screen, &view->profile->question, amount);
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX], share[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *words = tide_sprintf(
      "suppressed: %s, %s, by %s of %s %s%s",
      tide_units_share(share, amount, view->whole, tide_screen_cells(screen)), hidden,
      tide_units_plain(a, suppressions->n - n_idle), tide_units_plain(b, suppressions->n),
      suppressions->n == 1 ? "suppression" : "suppressions", suppressions->n > n_idle ? ":" : "");
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", "", words);
  for (size_t i = 0; i < suppressions->n; i++)
    if (suppressions->items[i].n_stacks)
      write_suppression(screen, view, &suppressions->items[i]);
  if (n_idle)
    tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", "matched nothing: ", tide_buf_cstr(&idle));
  tide_buf_done(&idle);
}

void tide_report_leaks_write(const struct tide_screen *screen, const struct tide_view *view,
                             const struct tide_groups *groups,
                             const struct tide_report_options *options)
{
  if (view->profile->question.measure == TIDE_MEASURE_LEAK)
    write_fates(screen, view, groups);
  if (options->suppressions)
    write_suppressed(screen, view, options->suppressions);
}
