// SPDX-License-Identifier: Apache-2.0
//
// Rows of share, measure, function and source line. Every rank has its own heading, unit and, where
// one number does not tell the story, one more column. The last row holds whatever the rows above
// it do not, so that shares always add up.
#include "format/report_table.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "format/shorten.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
  const char *heading, *nothing;
  bool in_bytes;
} ranks[] = {
    [TIDE_RANK_PEAK] = {"top at the peak:", "nothing was held at the peak", true},
    [TIDE_RANK_LIVE] = {"top at the end:", "nothing was held at the end", true},
    [TIDE_RANK_TOTAL] = {"top by bytes allocated in all:", "nothing was allocated", true},
    [TIDE_RANK_COUNT] = {"top by allocations:", "nothing was allocated", false},
    [TIDE_RANK_TEMP] = {"top by blocks freed at once (share of the place's own blocks):",
                        "no block was freed at once", false},
    [TIDE_RANK_LEAK] = {"never freed (blocks, mean age at the end):", "every block was freed",
                        true},
};

struct row { // all owned
  char *share, *measure, *extra, *location;
};

struct columns { // widths
  size_t share, measure, extra, location, name;
};

static char *measure_text(const struct tide_screen *screen, enum tide_rank rank, int64_t measure)
{
  char text[TIDE_UNITS_MAX];
  return tide_strdup(ranks[rank].in_bytes ? tide_units_bytes(text, measure, screen->units)
                                          : tide_units_count(text, (uint64_t)measure));
}

static char *extra_text(const struct tide_screen *screen, enum tide_rank rank,
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

static char *location_text(const struct tide_naming *naming, const struct tide_place *place)
{
  const struct tide_named_frame *frame = place->frame;
  if (!frame)
    return tide_strdup("");
  if (frame->file && frame->line)
    return tide_sprintf("%s:%" PRIu32, tide_shorten_path(frame->file), frame->line);
  if (frame->file)
    return tide_strdup(tide_shorten_path(frame->file));
  return tide_sprintf("in %s", tide_naming_module(naming, frame));
}

static char *name_text(const struct tide_screen *screen, const struct tide_naming *naming,
                       const struct tide_place *place, size_t width)
{
  if (!place->frame)
    return tide_utf8_fit("(stack not recorded)", width, screen->utf8);
  if (place->frame->function)
    return tide_shorten_function(place->frame->function, width, screen->utf8);
  if (!place->frame->pc)
    return tide_utf8_fit("(no frame)", width, screen->utf8);
  TIDE_CLEANUP_FREE char *address =
      tide_sprintf("0x%" PRIx64, tide_naming_elf_address(naming, place->frame));
  return tide_utf8_fit(address, width, screen->utf8);
}

static void widen(size_t *column, const char *text)
{
  size_t width = tide_utf8_width(text);
  if (*column < width)
    *column = width;
}

static size_t at_most(size_t value, size_t limit)
{
  return value < limit ? value : limit;
}

// The name gets what the others leave. Where both do not fit, the location gives way first, down to
// two fifths.
static void share_out(const struct tide_screen *screen, struct columns *c, size_t longest_name)
{
  size_t fixed = 2 + c->share + 2 + c->measure + 2 + (c->extra ? c->extra + 2 : 0);
  size_t left = screen->width > fixed + 20 ? screen->width - fixed : 20;
  size_t spare = left > longest_name + 2 ? left - longest_name - 2 : 0;
  c->location = at_most(c->location, spare > left * 2 / 5 ? spare : left * 2 / 5);
  c->name = left - c->location - (c->location ? 2 : 0);
}

static void write_row(const struct tide_screen *screen, const struct columns *c,
                      const struct row *row, const char *name)
{
  tide_sink_text(screen->sink, "  ");
  tide_screen_right(screen, TIDE_INK_PLAIN, row->share, c->share);
  tide_sink_text(screen->sink, "  ");
  tide_screen_right(screen, TIDE_INK_STRONG, row->measure, c->measure);
  tide_sink_text(screen->sink, "  ");
  if (c->extra) {
    tide_screen_right(screen, TIDE_INK_PLAIN, row->extra, c->extra);
    tide_sink_text(screen->sink, "  ");
  }
  TIDE_CLEANUP_FREE char *location = tide_utf8_fit(row->location, c->location, screen->utf8);
  if (*location) {
    tide_screen_left(screen, TIDE_INK_PLAIN, name, c->name + 2);
    tide_screen_ink(screen, TIDE_INK_FAINT, location);
  } else {
    tide_sink_text(screen->sink, name);
  }
  tide_sink_text(screen->sink, "\n");
}

static void row_done(struct row *row)
{
  free(row->share);
  free(row->measure);
  free(row->extra);
  free(row->location);
}

// What is not in the rows above: places past the last row, and stacks too small to be gathered.
static void write_rest(const struct tide_screen *screen, const struct columns *c,
                       const struct tide_places *places, size_t n_shown, enum tide_rank rank,
                       int64_t whole)
{
  size_t n_stacks = places->n_stacks - places->n_stacks_placed;
  int64_t measure = places->rest;
  for (size_t i = n_shown; i < places->n; i++)
    measure += places->items[i].measure;
  if (measure <= 0)
    return;
  char text[TIDE_UNITS_MAX];
  struct row row = {.share = tide_strdup(tide_units_share(text, measure, whole)),
                    .measure = measure_text(screen, rank, measure),
                    .extra = tide_strdup(""),
                    .location = tide_strdup("")};
  size_t n_places = places->n - n_shown;
  TIDE_CLEANUP_FREE char *name =
      !n_stacks ? tide_sprintf("in %s more %s", tide_units_count(text, n_places),
                               n_places == 1 ? "place" : "places")
                : tide_sprintf("in %zu more places and %s small stacks", n_places,
                               tide_units_count(text, n_stacks));
  write_row(screen, c, &row, name);
  row_done(&row);
}

static size_t longest_name(const struct tide_screen *screen, const struct tide_naming *naming,
                           const struct tide_places *places, size_t n_shown, size_t width)
{
  size_t longest = 0;
  for (size_t i = 0; i < n_shown; i++) {
    TIDE_CLEANUP_FREE char *name = name_text(screen, naming, &places->items[i], width);
    widen(&longest, name);
  }
  return longest;
}

static void write_places(const struct tide_screen *screen, const struct tide_places *places,
                         const struct tide_naming *naming, enum tide_rank rank, size_t n_shown,
                         int64_t whole)
{
  struct row *rows = tide_alloc_array(n_shown, sizeof *rows);
  struct columns c = {.share = 7};
  for (size_t i = 0; i < n_shown; i++) {
    char text[TIDE_UNITS_MAX];
    const struct tide_place *place = &places->items[i];
    rows[i].share = tide_strdup(tide_units_share(text, place->measure, whole));
    rows[i].measure = measure_text(screen, rank, place->measure);
    rows[i].extra = extra_text(screen, rank, place);
    rows[i].location = location_text(naming, place);
    widen(&c.share, rows[i].share);
    widen(&c.measure, rows[i].measure);
    widen(&c.extra, rows[i].extra);
    widen(&c.location, rows[i].location);
  }
  share_out(screen, &c, longest_name(screen, naming, places, n_shown, screen->width));
  c.name = longest_name(screen, naming, places, n_shown,
                        c.name); // no wider than needed: the locations stand close to the names
  for (size_t i = 0; i < n_shown; i++) {
    TIDE_CLEANUP_FREE char *name = name_text(screen, naming, &places->items[i], c.name);
    write_row(screen, &c, &rows[i], name);
    row_done(&rows[i]);
  }
  free(rows);
  write_rest(screen, &c, places, n_shown, rank, whole);
}

void tide_report_table_write(const struct tide_screen *screen, const struct tide_profile *profile,
                             const struct tide_naming *naming, const struct tide_places *places,
                             enum tide_rank rank, size_t n_places)
{
  tide_sink_printf(screen->sink, "  %s\n", places->n ? ranks[rank].heading : ranks[rank].nothing);
  size_t n_shown = at_most(places->n, n_places);
  if (n_shown)
    write_places(screen, places, naming, rank, n_shown, tide_profile_whole(profile, rank));
}
