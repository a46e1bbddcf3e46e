// SPDX-License-Identifier: Apache-2.0
//
// What there is nothing of is not said.
#include "words/residence_words.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "words/heap_words.h"

#include <string.h>

#define USUAL_END_BYTES (256u << 10) // that malloc leaves at the end of its heap anyway

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

const struct tide_residence *tide_residence_highest(const struct tide_image *image)
{
  const struct tide_residence *last = NULL;
  uint64_t most = 0;
  for (size_t i = 0; i < image->n_residences; i++)
    most = image->residences[i].sum > most ? image->residences[i].sum : most;
  for (size_t i = 0; i < image->n_residences; i++)
    if (image->residences[i].sum >= most - most / 16)
      last = &image->residences[i];
  return last;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
  return a > b ? a - b : b - a;
}

const struct tide_residence *tide_residence_nearest(const struct tide_image *image,
                                                    uint64_t time_ns)
{
  const struct tide_residence *best = NULL;
  for (size_t i = 0; i < image->n_residences; i++)
    if (!best || distance(image->residences[i].time_ns, time_ns) < distance(best->time_ns, time_ns))
      best = &image->residences[i];
  return best;
}

char *tide_residence_none_words(const struct tide_image *image)
{
  if (tide_image_is_merged(image))
    return tide_strdup("where memory was is told of one process at a time, and this is the sum of "
                       "several: look at one of the captures that were merged");
  return tide_sprintf("nobody looked where the memory of this process was: %s. Of one that runs: "
                      "tidemark maps PID",
                      image->origin ? "another tool recorded it, and such files do not tell"
                                    : "it was recorded by an older tidemark, or it ended too soon");
}

char *tide_residence_when_words(const struct tide_image *image,
                                const struct tide_residence *residence, struct tide_style style)
{
  char time[TIDE_UNITS_MAX];
  uint64_t at = residence->time_ns, start = image->start_ns;
  return tide_sprintf("at %s", tide_units_time(time, at > start ? at - start : 0, style.utf8));
}

static const char *keeper(const struct tide_residence *residence)
{
  return residence->heap == TIDE_HEAP_GLIBC      ? "malloc"
         : residence->heap == TIDE_HEAP_JEMALLOC ? "jemalloc"
                                                 : "the allocator";
}

// Of blocks from before a process was attached to, glibc's lists alone tell.
static const char *unseen_words(const struct tide_image *image,
                                const struct tide_residence *residence)
{
  bool is_told = !(image->lacks & TIDE_LACK_BEFORE) || residence->heap == TIDE_HEAP_GLIBC;
  return is_told ? "" : ", or in blocks from before,";
}

static void say_band(struct tide_buf *text, const struct tide_image *image,
                     const struct tide_residence *residence, enum tide_residence_band band,
                     uint64_t n, struct tide_style style)
{
  char size[TIDE_UNITS_MAX], trim[TIDE_UNITS_MAX];
  uint64_t back = residence->trim + residence->trim_top;
  if (text->n)
    tide_buf_text(text, ", ");
  if (band != TIDE_RESIDENT_HELD) {
    tide_buf_printf(text, "%s %s", tide_residence_band_words(band), bytes(size, n, style));
    return;
  }
  tide_buf_printf(text, "freed but kept by %s%s %s", keeper(residence),
                  unseen_words(image, residence), bytes(size, n, style));
  if (residence->heap == TIDE_HEAP_GLIBC)
    tide_buf_printf(text, " (a trim would give back %s)",
                    back ? bytes(trim, back, style) : "nothing");
}

// The live first, then whatever is a twentieth at least of what is not the recorder's.
char *tide_residence_bands_words(const struct tide_image *image,
                                 const struct tide_residence *residence, struct tide_style style)
{
  struct tide_buf text = {0};
  uint64_t bands[TIDE_RESIDENT_BANDS];
  tide_residence_bands(residence, bands);
  uint64_t own = residence->sum - bands[TIDE_RESIDENT_RECORDER];
  say_band(&text, image, residence, TIDE_RESIDENT_LIVE, bands[TIDE_RESIDENT_LIVE], style);
  for (int i = TIDE_RESIDENT_LIVE + 1; i < TIDE_RESIDENT_RECORDER; i++)
    if (bands[i] && bands[i] >= own / 20)
      say_band(&text, image, residence, (enum tide_residence_band)i, bands[i], style);
  return finished(&text);
}

enum { LEAST_OWN_BYTES = 8 << 20 };

char *tide_residence_why_words(const struct tide_image *image, struct tide_style style)
{
  const struct tide_residence *most = tide_residence_highest(image);
  uint64_t bands[TIDE_RESIDENT_BANDS];
  if (!most)
    return NULL;
  tide_residence_bands(most, bands);
  uint64_t own = most->sum - bands[TIDE_RESIDENT_RECORDER];
  if (own < LEAST_OWN_BYTES || bands[TIDE_RESIDENT_LIVE] > own / 2)
    return NULL;
  TIDE_CLEANUP_FREE char *when = tide_residence_when_words(image, most, style);
  TIDE_CLEANUP_FREE char *words = tide_residence_bands_words(image, most, style);
  return tide_sprintf("in memory %s: %s", when, words);
}

char *tide_residence_sentence(const struct tide_image *image, struct tide_style style)
{
  char size[TIDE_UNITS_MAX];
  const struct tide_residence *most = tide_residence_highest(image);
  TIDE_CLEANUP_FREE char *words = tide_residence_why_words(image, style);
  if (!words)
    return NULL;
  uint64_t own = most->sum - most->rows[TIDE_RESIDENCE_RECORDER];
  return tide_sprintf("%s were %s", bytes(size, own, style), words);
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

// What settings of glibc's malloc, or another allocator, would do about it, as far as one table
// tells: findings know the heap's past, too. What is next to nothing is not told.
static void say_settings(struct tide_buf *text, const struct tide_residence *residence,
                         struct tide_style style)
{
  char n[TIDE_UNITS_MAX];
  uint64_t least = residence->sum / 20, all = 0, in_use = 0, largest = 0;
  uint64_t unused = residence->trim + residence->trim_top + residence->thread_tops;
  for (size_t i = 0; i < residence->n_arenas; i++) {
    const struct tide_residence_arena *arena = &residence->arenas[i];
    uint64_t resident = arena->in_use + arena->free + arena->top;
    all += resident;
    in_use += arena->in_use;
    largest = resident > largest ? resident : largest;
  }
  if (residence->heap != TIDE_HEAP_GLIBC)
    return;
  if (residence->trim_top > least && residence->trim_top > USUAL_END_BYTES)
    tide_buf_printf(text,
                    "; with MALLOC_TRIM_THRESHOLD_=131072 malloc would not keep %s at the end",
                    bytes(n, residence->trim_top, style));
  // One arena needs room for what the largest had at its fullest, and for what the others have now.
  if (residence->n_arenas > 1 && all > largest + in_use + least)
    tide_buf_printf(text, "; one arena for all (MALLOC_ARENA_MAX=1) would keep about %s less",
                    bytes(n, all - largest - in_use, style));
  if (unused > least)
    tide_buf_printf(text,
                    "; an allocator that gives back unused pages by itself (jemalloc, mimalloc) "
                    "would keep up to %s less: pages that hold no block in use",
                    bytes(n, unused, style));
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
  if (text.n)
    say_settings(&text, residence, style);
  return finished(&text);
}

char *tide_residence_untouched_words(const struct tide_residence *residence,
                                     struct tide_style style)
{
  char asked[TIDE_UNITS_MAX];
  if (!residence->untouched)
    return NULL;
  return tide_sprintf("not in memory, of %s asked for: never touched, or given back",
                      bytes(asked, residence->asked, style));
}

char *tide_residence_huge_words(const struct tide_residence *residence, struct tide_style style)
{
  char n[TIDE_UNITS_MAX];
  if (!residence->huge)
    return NULL;
  return tide_sprintf("%s of it came in huge pages, each in memory as a whole, however little of "
                      "it was touched",
                      bytes(n, residence->huge, style));
}

char *tide_residence_beside_words(const struct tide_residence *residence, struct tide_style style)
{
  struct tide_buf text = {0};
  char n[TIDE_UNITS_MAX];
  if (residence->swapped)
    tide_buf_printf(&text, "%s swapped out", bytes(n, residence->swapped, style));
  if (residence->swapped_blocks)
    tide_buf_printf(&text, " (%s of live blocks)", bytes(n, residence->swapped_blocks, style));
  if (residence->huge_pool)
    tide_buf_printf(&text, "%s%s of reserved huge pages", text.n ? ", " : "",
                    bytes(n, residence->huge_pool, style));
  if (residence->zeros)
    tide_buf_printf(&text, "%s%s read and never written (one page of zeros)", text.n ? ", " : "",
                    bytes(n, residence->zeros, style));
  return finished(&text);
}

char *tide_residence_missed_words(const struct tide_image *image, uint64_t own_bytes,
                                  struct tide_style style)
{
  char most[TIDE_UNITS_MAX];
  if (!image->rss_is_own || image->max_rss_bytes <= own_bytes + own_bytes / 8)
    return NULL;
  TIDE_CLEANUP_FREE char *when = tide_resident_high_words(style, image);
  return tide_sprintf("RSS was %s at its highest, without tidemark's own, %s",
                      bytes(most, image->max_rss_bytes, style), when);
}

char *tide_residence_limit_words(const struct tide_residence *residence, struct tide_style style)
{
  struct tide_buf text = {0};
  char n[TIDE_UNITS_MAX];
  if (residence->heap == TIDE_HEAP_UNKNOWN && !residence->has_recorder)
    tide_buf_text(&text, "no heap of glibc's: blocks of another allocator are in other anonymous "
                         "memory, unless it is recorded meanwhile");
  if (residence->skipped)
    tide_buf_printf(&text, "%s%s of the heap %s, and is told as in use", text.n ? "; " : "",
                    bytes(n, residence->skipped, style),
                    residence->swapped
                        ? "changed while it was read, or lies beside what is swapped out"
                        : "changed while it was read");
  if (residence->n_unread)
    tide_buf_printf(&text, "%ssome live blocks could not be read: their memory is told as free",
                    text.n ? "; " : "");
  if (residence->swapped && residence->has_recorder)
    tide_buf_printf(&text,
                    "%sblocks that the recorder noted on pages now swapped out may be missing",
                    text.n ? "; " : "");
  return finished(&text);
}

char *tide_residence_arena_words(const struct tide_residence *residence, size_t arena)
{
  return residence->arenas[arena].is_main ? tide_strdup("main arena")
                                          : tide_sprintf("thread arena %zu", arena);
}
