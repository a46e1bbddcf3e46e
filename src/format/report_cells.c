// SPDX-License-Identifier: Apache-2.0
//
// Words for numbers, functions and places. Every rank has its own heading, unit and, where one
// number does not tell the story, one more column.
#include "format/report_cells.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "format/shorten.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct tide_rank_text tide_rank_texts[TIDE_RANKS_N] = {
    [TIDE_RANK_PEAK] = {"top at the peak:", "nothing was held at the peak", "at the peak", NULL,
                        true},
    [TIDE_RANK_LIVE] = {"top at the end:", "nothing was held at the end", "at the end", NULL, true},
    [TIDE_RANK_TOTAL] = {"top by bytes allocated in all:", "nothing was allocated", "allocated",
                         NULL, true},
    [TIDE_RANK_COUNT] = {"top by allocations:", "nothing was allocated", "allocations", NULL,
                         false},
    [TIDE_RANK_TEMP] = {"top by blocks freed at once (share of the place's own blocks):",
                        "no block was freed at once", "freed at once", "of its blocks", false},
    [TIDE_RANK_LEAK] = {"never freed (blocks, mean age at the end):", "every block was freed",
                        "never freed", "blocks, mean age", true},
};

char *tide_cell_measure(const struct tide_screen *screen, enum tide_rank rank, int64_t measure)
{
  char text[TIDE_UNITS_MAX];
  return tide_strdup(tide_rank_texts[rank].in_bytes ? tide_units_bytes(text, measure, screen->units)
                                                    : tide_units_count(text, (uint64_t)measure));
}

char *tide_cell_extra(const struct tide_screen *screen, enum tide_rank rank,
                      const struct tide_place *place)
{
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX];
  if (rank == TIDE_RANK_TEMP)
    return tide_strdup(tide_units_percent(a, (uint64_t)place->measure, place->n_alloc));
  if (rank == TIDE_RANK_LEAK && place->live_blocks > 0 && !place->live_age_ns_sum)
    return tide_strdup(tide_units_count(a, (uint64_t)place->live_blocks));
  if (rank == TIDE_RANK_LEAK && place->live_blocks > 0)
    return tide_sprintf(
        "%s, %s", tide_units_count(a, (uint64_t)place->live_blocks),
        tide_units_time(b, place->live_age_ns_sum / (uint64_t)place->live_blocks, screen->utf8));
  return tide_strdup("");
}

char *tide_cell_name(const struct tide_screen *screen, const struct tide_naming *naming,
                     const struct tide_named_frame *frame, size_t width)
{
  if (!frame)
    return tide_utf8_fit("(stack not recorded)", width, screen->utf8);
  if (frame->function)
    return tide_shorten_function(frame->function, width, screen->utf8);
  if (!frame->pc)
    return tide_utf8_fit("(no frame)", width, screen->utf8);
  TIDE_CLEANUP_FREE char *address =
      tide_sprintf("0x%" PRIx64, tide_naming_elf_address(naming, frame));
  return tide_utf8_fit(address, width, screen->utf8);
}

char *tide_cell_location(const struct tide_naming *naming, const struct tide_named_frame *frame)
{
  if (!frame)
    return tide_strdup("");
  if (frame->file && frame->line)
    return tide_sprintf("%s:%" PRIu32, tide_shorten_path(frame->file), frame->line);
  if (frame->file)
    return tide_strdup(tide_shorten_path(frame->file));
  return tide_sprintf("in %s", tide_naming_module(naming, frame));
}

char *tide_cell_rest(const struct tide_screen *screen, const struct tide_places *places,
                     size_t n_shown, int64_t min_measure)
{
  char count[TIDE_UNITS_MAX], least[TIDE_UNITS_MAX];
  size_t n_stacks = places->n_stacks - places->n_stacks_placed, n_places = places->n - n_shown;
  bool small = n_places && places->items[n_shown].measure < min_measure;
  struct tide_buf out = {0};
  if (small)
    tide_buf_printf(&out, "in %s %s below %s", tide_units_count(count, n_places),
                    n_places == 1 ? "place" : "places",
                    tide_units_bytes(least, min_measure, screen->units));
  else if (n_places || !n_stacks)
    tide_buf_printf(&out, "in %s more %s", tide_units_count(count, n_places),
                    n_places == 1 ? "place" : "places");
  if (n_stacks)
    tide_buf_printf(&out, "%s %s small stacks", out.n ? " and" : "in",
                    tide_units_count(count, n_stacks));
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}
