// SPDX-License-Identifier: Apache-2.0
//
// A program point ("pp") per named stack. Readers refuse two points with the same frames, and two
// of our stacks may have equal names (an unloaded library mapped again at the same address, events
// without a stack), so points are merged after naming.
//
// Field by field, times in microseconds:
//   tb tbk    bytes and blocks allocated; a resize counts as one more block of the new size
//   tl        lifetimes summed, blocks live at the end counted up to the end
//   mb        own maximum in bytes: of several threads or merged points the sum of maxima, limited
//             by the bytes allocated
//   mbk       blocks at that moment are not recorded. Where mb is what was held at the global peak
//             we give gbk; else the blocks that mb would be at the point's mean size, never fewer
//             than at the peak or the end, never more than tbk: so every figure a reader derives
//             stays between what is known
//   gb gbk    at the global peak;  eb ebk  at the end
//
// Of ad hoc events (model/events.h) the format has a mode of its own, in which a point is tb and
// tbk alone: weights and events.
#include "export/exports.h"

#include "base/alloc.h"
#include "base/json.h"
#include "export/export_stacks.h"
#include "report/export_words.h"
#include "words/image_text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SHORT_LIVED_US = 10 }; // below this mean life a reader calls a place short-lived

struct point {
  uint64_t tb, tbk, life_ns;
  int64_t mb, gb, gbk, eb, ebk;
};

struct writer {
  const struct tide_profile *profile;
  struct tide_export_stacks stacks;
  struct point *points; // per list of the stacks
  size_t n_points, cap_points;
};

static char *frame_text(const struct tide_naming *naming, const struct tide_named_frame *frame)
{
  if (frame->flags & TIDE_FRAME_CUT)
    return tide_strdup("[frames left out]");
  const char *function = frame->function ? frame->function : "???";
  const char *module = tide_naming_module_path(naming, frame);
  if (frame->file)
    return tide_sprintf("0x%" PRIX64 ": %s (%s:%" PRIu32 ")", frame->pc, function, frame->file,
                        frame->line);
  return tide_sprintf("0x%" PRIX64 ": %s (in %s)", frame->pc, function, *module ? module : "???");
}

static int64_t larger(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

// Sums in a point; a program that was killed between two counters may be one event off.
static void add_to_point(struct point *point, const struct tide_profile_site *site)
{
  point->tb += TIDE_OF_SITE(site, b_alloc);
  point->tbk += TIDE_OF_SITE(site, n_alloc);
  point->life_ns += TIDE_OF_SITE(site, life_ns) + (uint64_t)TIDE_OF_SITE(site, age_ns);
  point->gb += larger(TIDE_OF_SITE(site, peak_bytes), 0);
  point->gbk += larger(TIDE_OF_SITE(site, peak_blocks), 0);
  point->eb += larger(tide_site_live_bytes(site), 0);
  point->ebk += larger(tide_site_live_blocks(site), 0);
  point->mb += larger(TIDE_OF_SITE(site, high_bytes),
                      larger(TIDE_OF_SITE(site, peak_bytes), tide_site_live_bytes(site)));
}

static void add_site(struct writer *w, const struct tide_profile_site *site)
{
  uint32_t list = tide_export_stacks_add(&w->stacks, site);
  if (list == w->n_points) {
    TIDE_GROW(w->points, w->n_points, w->cap_points);
    w->points[w->n_points++] = (struct point){0};
  }
  add_to_point(&w->points[list], site);
}

static uint64_t blocks_at_maximum(const struct point *point, uint64_t mb)
{
  if (mb == (uint64_t)point->gb)
    return (uint64_t)point->gbk;
  uint64_t least = (uint64_t)larger(point->gbk, point->ebk);
  double mean = point->tbk ? (double)point->tb / (double)point->tbk : 0;
  uint64_t blocks = mean > 0 ? (uint64_t)((double)mb / mean + 0.5) : least;
  if (blocks < least)
    blocks = least;
  return blocks > point->tbk ? point->tbk : blocks;
}

static void write_lives(struct tide_json *json, const struct point *point, uint64_t mb)
{
  tide_json_put_u64(json, "tl", point->life_ns / 1000);
  tide_json_put_u64(json, "mb", mb);
  tide_json_put_u64(json, "mbk", blocks_at_maximum(point, mb));
  tide_json_put_i64(json, "gb", point->gb);
  tide_json_put_i64(json, "gbk", point->gbk);
  tide_json_put_i64(json, "eb", point->eb);
  tide_json_put_i64(json, "ebk", point->ebk);
}

static void write_point(struct tide_json *json, struct writer *w, uint32_t list)
{
  size_t n;
  const uint32_t *texts = tide_export_stacks_get(&w->stacks, list, &n);
  const struct point *point = &w->points[list];
  uint64_t mb = (uint64_t)point->mb > point->tb ? point->tb : (uint64_t)point->mb;
  tide_json_open_object(json);
  tide_json_put_u64(json, "tb", point->tb);
  tide_json_put_u64(json, "tbk", point->tbk);
  if (!w->profile->image->of_events)
    write_lives(json, point, mb);
  tide_json_key(json, "fs");
  tide_json_open_array(json);
  for (size_t i = 0; i < n; i++)
    tide_json_u64(json, texts[i]);
  tide_json_close_array(json);
  tide_json_close_object(json);
}

static uint64_t since_start_us(const struct tide_image *image, uint64_t time_ns)
{
  return time_ns > image->start_ns ? (time_ns - image->start_ns) / 1000 : 0;
}

static void write_document(struct tide_json *json, struct writer *w)
{
  const struct tide_image *image = w->profile->image;
  bool of_events = image->of_events;
  TIDE_CLEANUP_FREE char *bare = tide_image_command(image);
  TIDE_CLEANUP_FREE char *command = tide_export_with_exactness(bare, w->profile);
  tide_json_open_object(json);
  tide_json_put_u64(json, "dhatFileVersion", 2);
  tide_json_put_text(json, "mode", of_events ? "ad-hoc" : "tidemark-heap");
  tide_json_put_text(json, "verb", of_events ? "Occurred" : "Allocated");
  tide_json_put_bool(json, "bklt", !of_events);
  tide_json_put_bool(json, "bkacc", false);
  if (of_events) {
    tide_json_put_text(json, "bu", "unit");
    tide_json_put_text(json, "bsu", "units");
    tide_json_put_text(json, "bksu", "events");
  }
  tide_json_put_text(json, "tu", "µs");
  tide_json_put_text(json, "Mtu", "s");
  if (!of_events)
    tide_json_put_u64(json, "tuth", SHORT_LIVED_US);
  tide_json_put_text(json, "cmd", command);
  tide_json_put_u64(json, "pid", image->pid);
  tide_json_put_u64(json, "te", since_start_us(image, image->end_ns));
  if (!of_events)
    tide_json_put_u64(json, "tg", since_start_us(image, image->peak_ns));
  tide_json_key(json, "pps");
  tide_json_open_array(json);
  for (uint32_t i = 0; i < w->n_points; i++)
    write_point(json, w, i);
  tide_json_close_array(json);
  tide_json_key(json, "ftbl");
  tide_json_open_array(json);
  for (uint32_t i = 0; i < w->stacks.texts.n; i++) {
    size_t n;
    const char *text = tide_intern_get(&w->stacks.texts, i, &n);
    tide_json_text_n(json, text, n);
  }
  tide_json_close_array(json);
  tide_json_close_object(json);
}

// Readers refuse a file that lacks any of these, and zeros would be lies.
static enum tide_err check_held(const struct tide_image *image, struct tide_diag *diag)
{
  static const struct {
    uint32_t lack;
    const char *words;
  } needs[] = {
      {TIDE_LACK_TOTAL, "what was allocated"},        {TIDE_LACK_BLOCKS, "numbers of blocks"},
      {TIDE_LACK_LIFETIMES, "how long blocks lived"}, {TIDE_LACK_PEAK, "what was held at the peak"},
      {TIDE_LACK_LIVE, "what was held at the end"},
  };
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (image->lacks & needs[i].lack && !image->of_events)
      return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                       "DHAT's format needs %s, which %s does not hold; pprof, folded and "
                       "speedscope do without",
                       needs[i].words, tide_image_source(image));
  return TIDE_ERR_OK;
}

// The heap of the view's image, or its events. Page-level stacks have no place in the format and
// are left out.
enum tide_err tide_dhat_write(struct tide_sink *sink, struct tide_view *view,
                              const struct tide_export_options *options, struct tide_diag *diag)
{
  const struct tide_profile *profile = view->profile;
  struct writer w = {.profile = profile};
  struct tide_json json;
  enum tide_err err = check_held(profile->image, diag);
  if (!err && (profile->question.window.from.given || profile->question.window.to.given))
    err = tide_fail_hint(diag, TIDE_ERR_UNSUPPORTED, TIDE_HINT_WHOLE_RUN,
                         "DHAT's format is of a whole run, its peak and its end; pprof, folded and "
                         "speedscope are of parts, too");
  if (err)
    return err;
  tide_export_stacks_init(&w.stacks, view, frame_text);
  tide_intern_text(&w.stacks.texts, "[root]"); // readers count on it being the first
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(view, i) && TIDE_OF_SITE(&profile->sites[i], n_alloc))
      add_site(&w, &profile->sites[i]);
  tide_json_init(&json, sink);
  write_document(&json, &w);
  tide_json_done(&json);
  tide_export_stacks_done(&w.stacks);
  free(w.points);
  return TIDE_ERR_OK;
}
