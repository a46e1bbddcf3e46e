// SPDX-License-Identifier: Apache-2.0
//
// What there is nothing of is not said.
#include "words/residence_words.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <string.h>

static const char *bytes(char out[TIDE_UNITS_MAX], uint64_t n, struct tide_style style)
{
  return tide_units_bytes(out, tide_exact((int64_t)n), style);
}

// Takes the text over.
static char *finished(struct tide_buf *text)
{
  char *words = text->n ? tide_strdup(tide_buf_cstr(text)) : NULL;
  tide_buf_done(text);
  return words;
}

char *tide_residence_sum_words(const struct tide_residence *residence, struct tide_style style)
{
  char before[TIDE_UNITS_MAX], after[TIDE_UNITS_MAX], off[TIDE_UNITS_MAX];
  uint64_t low = residence->rss_before, high = residence->rss_after, sum = residence->sum;
  if (low > high) {
    low = residence->rss_after;
    high = residence->rss_before;
  }
  if (sum == low && sum == high)
    return tide_strdup("exactly what the kernel counts as resident");
  bytes(before, residence->rss_before, style);
  bytes(after, residence->rss_after, style);
  if (sum >= low && sum <= high)
    return tide_sprintf("it went on meanwhile: the kernel counted %s before and %s after", before,
                        after);
  bytes(off, sum > high ? sum - high : low - sum, style);
  return tide_sprintf("%s %s than the kernel counted (%s before, %s after)%s", off,
                      sum > high ? "more" : "less", before, after,
                      residence->is_bounded ? ": before Linux 6.7 pages of zeros cannot be told"
                                            : "");
}

static void say_pinned(struct tide_buf *text, const struct tide_residence *residence,
                       struct tide_style style)
{
  char one[TIDE_UNITS_MAX], two[TIDE_UNITS_MAX];
  if (!residence->pinned)
    return;
  tide_buf_printf(text, "%s%s is pinned: %s %s a block in use", text->n ? "; " : "",
                  bytes(one, residence->pinned, style),
                  tide_units_plain(two, residence->n_pinned_pages),
                  residence->n_pinned_pages == 1 ? "page holds" : "pages hold");
}

char *tide_residence_free_words(const struct tide_residence *residence, struct tide_style style)
{
  struct tide_buf text = {0};
  char one[TIDE_UNITS_MAX], two[TIDE_UNITS_MAX];
  uint64_t trim = residence->trim + residence->trim_top;
  if (residence->heap == TIDE_HEAP_GLIBC && trim)
    tide_buf_printf(&text, "malloc_trim(0) would give back %s", bytes(one, trim, style));
  else if (residence->heap == TIDE_HEAP_GLIBC &&
           residence->rows[TIDE_RESIDENCE_FREE] + residence->rows[TIDE_RESIDENCE_TOP] >
               residence->sum / 20)
    tide_buf_text(&text, "malloc_trim(0) would give back nothing");
  else if (residence->heap == TIDE_HEAP_RECORDED && residence->edges)
    tide_buf_printf(&text, "%s is on pages without a live block: its allocator may give it back",
                    bytes(one, residence->edges, style));
  else if (residence->heap == TIDE_HEAP_JEMALLOC && residence->purge)
    tide_buf_printf(&text, "jemalloc could give back %s at most: slabs without a live block",
                    bytes(one, residence->purge, style));
  say_pinned(&text, residence, style);
  if (residence->thread_tops)
    tide_buf_printf(&text, "%s%s at the ends of threads' arenas stays: a trim leaves those",
                    text.n ? "; " : "", bytes(two, residence->thread_tops, style));
  return finished(&text);
}

char *tide_residence_untouched_words(const struct tide_residence *residence,
                                     struct tide_style style)
{
  char untouched[TIDE_UNITS_MAX], asked[TIDE_UNITS_MAX];
  if (!residence->untouched)
    return NULL;
  return tide_sprintf("%s of the %s asked for is not in memory: never touched, or given back",
                      bytes(untouched, residence->untouched, style),
                      bytes(asked, residence->asked, style));
}

char *tide_residence_beside_words(const struct tide_residence *residence, struct tide_style style)
{
  struct tide_buf text = {0};
  char n[TIDE_UNITS_MAX];
  if (residence->swapped)
    tide_buf_printf(&text, "%s swapped out", bytes(n, residence->swapped, style));
  if (residence->huge_pool)
    tide_buf_printf(&text, "%s%s of reserved huge pages", text.n ? ", " : "",
                    bytes(n, residence->huge_pool, style));
  if (residence->zeros)
    tide_buf_printf(&text, "%s%s read and never written (one page of zeros)", text.n ? ", " : "",
                    bytes(n, residence->zeros, style));
  return finished(&text);
}

char *tide_residence_limit_words(const struct tide_residence *residence, struct tide_style style)
{
  struct tide_buf text = {0};
  char n[TIDE_UNITS_MAX];
  if (residence->heap == TIDE_HEAP_UNKNOWN && !residence->has_recorder)
    tide_buf_text(&text, "no heap of glibc's: blocks of another allocator are in other anonymous "
                         "memory, unless it is recorded meanwhile");
  if (residence->skipped)
    tide_buf_printf(&text, "%s%s of the heap changed while it was read, and is told as in use",
                    text.n ? "; " : "", bytes(n, residence->skipped, style));
  if (residence->n_unread)
    tide_buf_printf(&text, "%ssome live blocks could not be read: their memory is told as free",
                    text.n ? "; " : "");
  if (residence->swapped && residence->has_recorder)
    tide_buf_printf(&text, "%sblocks that the recorder noted on pages now swapped out are missing",
                    text.n ? "; " : "");
  return finished(&text);
}

char *tide_residence_arena_words(const struct tide_residence *residence, size_t arena)
{
  return residence->arenas[arena].is_main ? tide_strdup("main arena")
                                          : tide_sprintf("thread arena %zu", arena);
}
