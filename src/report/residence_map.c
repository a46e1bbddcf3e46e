// SPDX-License-Identifier: Apache-2.0
//
// The map of the heap in signs: buckets by address, so many to a sign that two lines hold them all.
// A blank stands where nothing is in memory, however much that is, and between two heaps.
#include "report/residence.h"

#include "base/alloc.h"

#include <string.h>

enum { LINE_SIGNS = 64, MAX_SIGNS = 2 * LINE_SIGNS };

enum sign { SIGN_LIVE, SIGN_PINNED, SIGN_FREE, SIGN_NOTHING };
static const char *const signs[2][4] = {{"#", "+", ".", " "}, {"█", "▒", "░", " "}};

static const char *const words[TIDE_RESIDENCE_MAP_KINDS] = {
    [TIDE_RESIDENCE_MAP_LIVE] = "in use",
    [TIDE_RESIDENCE_MAP_PINNED] = "pinned: free, on pages that hold a block in use",
    [TIDE_RESIDENCE_MAP_FREE] = "free",
};

const char *tide_residence_map_words(enum tide_residence_map_kind kind)
{
  return words[kind];
}

// What most of it is.
static enum sign sign_of(const struct tide_residence_bucket *sum)
{
  if (!sum->live && !sum->free)
    return SIGN_NOTHING;
  if (sum->live >= sum->free)
    return SIGN_LIVE;
  return sum->pinned >= sum->free - sum->pinned ? SIGN_PINNED : SIGN_FREE;
}

static void add_bucket(struct tide_residence_bucket *sum,
                       const struct tide_residence_bucket *bucket)
{
  sum->live += bucket->live;
  sum->free += bucket->free;
  sum->pinned += bucket->pinned;
}

static bool is_behind_gap(const struct tide_residence *residence, size_t i)
{
  return i && residence->map[i].at != residence->map[i - 1].at + 1;
}

// With so many buckets to a sign, which ends at a gap. Returns how many signs that takes.
static size_t draw(const struct tide_residence *residence, size_t per_sign, bool utf8,
                   struct tide_buf *to)
{
  struct tide_residence_bucket sum = {0};
  size_t n_signs = 0, n_in = 0;
  for (size_t i = 0; i <= residence->n_map; i++) {
    bool is_end = i == residence->n_map, is_gap = !is_end && is_behind_gap(residence, i);
    if (n_in && (is_end || is_gap || n_in == per_sign)) {
      tide_buf_text(to, signs[utf8][sign_of(&sum)]);
      sum = (struct tide_residence_bucket){0};
      n_in = 0;
      n_signs++;
    }
    if (is_gap) {
      tide_buf_text(to, signs[utf8][SIGN_NOTHING]);
      n_signs++;
    }
    if (!is_end) {
      add_bucket(&sum, &residence->map[i]);
      n_in++;
    }
  }
  return n_signs;
}

char *tide_residence_map_title(const struct tide_residence *residence, struct tide_style style)
{
  char size[TIDE_UNITS_MAX];
  return tide_sprintf("map of the heap, by address: pieces of %s",
                      tide_units_bytes(size, tide_exact((int64_t)residence->bucket_bytes), style));
}

static const char *end_of_line(const char *at, const char *end)
{
  for (int n = 0; at < end && n < LINE_SIGNS; n++)
    for (at++; at < end && ((unsigned char)*at & 0xc0) == 0x80;)
      at++;
  return at;
}

void tide_residence_map_write(const struct tide_screen *screen,
                              const struct tide_residence *residence)
{
  struct tide_buf drawn = {0};
  const char *const *sign = signs[screen->utf8];
  size_t per_sign = 1;
  if (!residence->n_map)
    return;
  while (draw(residence, per_sign, screen->utf8, &drawn) > MAX_SIGNS &&
         per_sign < residence->n_map) {
    per_sign *= 2;
    tide_buf_done(&drawn);
  }
  struct tide_style style = tide_screen_style(screen);
  TIDE_CLEANUP_FREE char *title = tide_residence_map_title(residence, style);
  TIDE_CLEANUP_FREE char *key =
      tide_sprintf("%s, %zu to a sign: %s in use, %s pinned, %s free", title, per_sign,
                   sign[SIGN_LIVE], sign[SIGN_PINNED], sign[SIGN_FREE]);
  tide_sink_text(screen->sink, "\n");
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", "", key);
  const char *at = tide_buf_cstr(&drawn), *end = at + strlen(at);
  for (int line = 0; at < end && line < MAX_SIGNS / LINE_SIGNS; line++) {
    const char *stop = end_of_line(at, end);
    tide_sink_printf(screen->sink, "  %.*s\n", (int)(stop - at), at);
    at = stop;
  }
  tide_buf_done(&drawn);
}
