// SPDX-License-Identifier: Apache-2.0
//
// Sums of leaks by fate, and a line per suppression that hid something.
#include "report/report_leaks.h"

#include "base/alloc.h"
#include "model/exactness.h"
#include "base/utf8.h"
#include "report/report_cells.h"

#include <stdlib.h>

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
