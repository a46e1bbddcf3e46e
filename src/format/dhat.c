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
#include "format/exports.h"

#include "base/alloc.h"
#include "base/json.h"
#include "format/image_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_LIVED_US = 10 }; // below this mean life a reader calls a place short-lived

struct point {
  uint64_t tb, tbk, life_ns;
  int64_t mb, gb, gbk, eb, ebk;
  size_t first_frame, n_frames; // in the writer's frames
};

struct index { // open addressing: item + 1, 0 free
  uint32_t *slots;
  size_t n_slots; // a power of two
};

struct writer {
  const struct tide_profile *profile;
  struct tide_naming *naming;
  char **texts; // the frame table
  size_t n_texts, cap_texts;
  struct index text_index;
  uint32_t *first_text; // per address of the naming: where its texts start in by_address
  size_t n_addresses;
  uint32_t *by_address; // a count, then as many frame table indexes
  size_t n_by_address, cap_by_address;
  uint32_t *frames; // of all points, one after another
  size_t n_frames, cap_frames;
  struct point *points;
  size_t n_points, cap_points;
  struct index point_index;
};

static uint64_t hash(const void *data, size_t n)
{
  const uint8_t *p = data;
  uint64_t h = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < n; i++)
    h = (h ^ p[i]) * 0x100000001b3ull;
  return h ^ h >> 29;
}

static uint64_t hash_of_text(const struct writer *w, size_t i)
{
  return hash(w->texts[i], strlen(w->texts[i]));
}

static uint64_t hash_of_point(const struct writer *w, size_t i)
{
  return hash(w->frames + w->points[i].first_frame, w->points[i].n_frames * sizeof *w->frames);
}

static bool same_text(const struct writer *w, size_t a, size_t b)
{
  return strcmp(w->texts[a], w->texts[b]) == 0;
}

static bool same_point(const struct writer *w, size_t a, size_t b)
{
  const struct point *x = &w->points[a], *y = &w->points[b];
  if (!w->frames) // no stack has any frame
    return true;
  return x->n_frames == y->n_frames &&
         memcmp(w->frames + x->first_frame, w->frames + y->first_frame,
                x->n_frames * sizeof *w->frames) == 0;
}

// The item equal to `item`, which becomes it when there is none yet.
static size_t find_or_insert(const struct writer *w, struct index *index, size_t item,
                             uint64_t (*hash_of)(const struct writer *, size_t),
                             bool (*same)(const struct writer *, size_t, size_t))
{
  if (item * 2 >= index->n_slots) {
    free(index->slots);
    index->n_slots = index->n_slots ? index->n_slots * 4 : 1024;
    index->slots = tide_alloc_array(index->n_slots, sizeof *index->slots);
    for (size_t i = 0; i < item; i++)
      find_or_insert(w, index, i, hash_of, same);
  }
  for (size_t slot = (size_t)hash_of(w, item);; slot++) {
    uint32_t *held = &index->slots[slot & (index->n_slots - 1)];
    if (!*held)
      *held = (uint32_t)item + 1;
    if (same(w, *held - 1, item))
      return *held - 1;
  }
}

static uint32_t add_text(struct writer *w, char *text)
{
  TIDE_GROW(w->texts, w->n_texts, w->cap_texts);
  w->texts[w->n_texts] = text;
  size_t found = find_or_insert(w, &w->text_index, w->n_texts, hash_of_text, same_text);
  if (found == w->n_texts)
    w->n_texts++;
  else
    free(text);
  return (uint32_t)found;
}

static char *frame_text(const struct writer *w, const struct tide_named_frame *frame)
{
  if (frame->flags & TIDE_FRAME_CUT)
    return tide_strdup("[frames left out]");
  if (frame->flags & TIDE_FRAME_LOST)
    return tide_strdup("[stack not recorded]");
  const char *function = frame->function ? frame->function : "???";
  const char *module = w->profile->image->modules[frame->module].path;
  if (frame->file)
    return tide_sprintf("0x%" PRIX64 ": %s (%s:%" PRIu32 ")", frame->pc, function, frame->file,
                        frame->line);
  return tide_sprintf("0x%" PRIX64 ": %s (in %s)", frame->pc, function,
                      module && *module ? module : "???");
}

static void push_by_address(struct writer *w, uint32_t value)
{
  TIDE_GROW(w->by_address, w->n_by_address, w->cap_by_address);
  w->by_address[w->n_by_address++] = value;
}

// Frame table indexes of a node, made once per address. 0 marks one not made yet, so the list
// starts at 1.
static const uint32_t *texts_of_node(struct writer *w, uint32_t node, uint32_t *ret_n)
{
  size_t address = tide_naming_address(w->naming, node);
  if (address >= w->n_addresses) {
    size_t n = address * 2 + 1024;
    w->first_text = tide_realloc_array(w->first_text, n, sizeof *w->first_text);
    memset(w->first_text + w->n_addresses, 0, (n - w->n_addresses) * sizeof *w->first_text);
    w->n_addresses = n;
  }
  if (!w->first_text[address]) {
    size_t n;
    const struct tide_named_frame *frames = tide_naming_of_node(w->naming, node, &n);
    if (!w->n_by_address)
      push_by_address(w, 0);
    w->first_text[address] = (uint32_t)w->n_by_address;
    push_by_address(w, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
      push_by_address(w, add_text(w, frame_text(w, &frames[i])));
  }
  assert(w->by_address);
  const uint32_t *list = w->by_address + w->first_text[address];
  *ret_n = list[0];
  return list + 1;
}

static void add_frames(struct writer *w, uint32_t stack)
{
  const struct tide_image *image = w->profile->image;
  for (uint32_t node = stack; node; node = image->frames[node].parent) {
    uint32_t n;
    const uint32_t *texts = texts_of_node(w, node, &n);
    for (uint32_t i = 0; i < n; i++) {
      TIDE_GROW(w->frames, w->n_frames, w->cap_frames);
      w->frames[w->n_frames++] = texts[i];
    }
  }
}

static int64_t larger(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

// Sums in a point; a program that was killed between two counters may be one event off.
static void add_to_point(struct point *point, const struct tide_profile_site *site)
{
  point->tb += site->b_alloc;
  point->tbk += site->n_alloc;
  point->life_ns += site->life_ns_sum + site->live_age_ns_sum;
  point->gb += larger(site->peak_bytes, 0);
  point->gbk += larger(site->peak_blocks, 0);
  point->eb += larger(site->live_bytes, 0);
  point->ebk += larger(site->live_blocks, 0);
  point->mb += larger(site->own_max_bytes, larger(site->peak_bytes, site->live_bytes));
}

static void add_site(struct writer *w, const struct tide_profile_site *site)
{
  size_t first = w->n_frames;
  add_frames(w, site->stack);
  TIDE_GROW(w->points, w->n_points, w->cap_points);
  w->points[w->n_points] = (struct point){.first_frame = first, .n_frames = w->n_frames - first};
  size_t found = find_or_insert(w, &w->point_index, w->n_points, hash_of_point, same_point);
  if (found == w->n_points)
    w->n_points++;
  else
    w->n_frames = first;
  add_to_point(&w->points[found], site);
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

static void write_point(struct tide_json *json, const struct writer *w, const struct point *point)
{
  uint64_t mb = (uint64_t)point->mb > point->tb ? point->tb : (uint64_t)point->mb;
  tide_json_open_object(json);
  tide_json_put_u64(json, "tb", point->tb);
  tide_json_put_u64(json, "tbk", point->tbk);
  tide_json_put_u64(json, "tl", point->life_ns / 1000);
  tide_json_put_u64(json, "mb", mb);
  tide_json_put_u64(json, "mbk", blocks_at_maximum(point, mb));
  tide_json_put_i64(json, "gb", point->gb);
  tide_json_put_i64(json, "gbk", point->gbk);
  tide_json_put_i64(json, "eb", point->eb);
  tide_json_put_i64(json, "ebk", point->ebk);
  tide_json_key(json, "fs");
  tide_json_open_array(json);
  for (size_t i = 0; i < point->n_frames; i++)
    tide_json_u64(json, w->frames[point->first_frame + i]);
  tide_json_close_array(json);
  tide_json_close_object(json);
}

static uint64_t since_start_us(const struct tide_image *image, uint64_t time_ns)
{
  return time_ns > image->start_ns ? (time_ns - image->start_ns) / 1000 : 0;
}

static void write_document(struct tide_json *json, const struct writer *w)
{
  const struct tide_image *image = w->profile->image;
  TIDE_CLEANUP_FREE char *command = tide_image_command(image);
  tide_json_open_object(json);
  tide_json_put_u64(json, "dhatFileVersion", 2);
  tide_json_put_text(json, "mode", "tidemark-heap");
  tide_json_put_text(json, "verb", "Allocated");
  tide_json_put_bool(json, "bklt", true);
  tide_json_put_bool(json, "bkacc", false);
  tide_json_put_text(json, "tu", "µs");
  tide_json_put_text(json, "Mtu", "s");
  tide_json_put_u64(json, "tuth", SHORT_LIVED_US);
  tide_json_put_text(json, "cmd", command);
  tide_json_put_u64(json, "pid", image->pid);
  tide_json_put_u64(json, "te", since_start_us(image, image->end_ns));
  tide_json_put_u64(json, "tg", since_start_us(image, image->peak_ns));
  tide_json_key(json, "pps");
  tide_json_open_array(json);
  for (size_t i = 0; i < w->n_points; i++)
    write_point(json, w, &w->points[i]);
  tide_json_close_array(json);
  tide_json_key(json, "ftbl");
  tide_json_open_array(json);
  for (size_t i = 0; i < w->n_texts; i++)
    tide_json_text(json, w->texts[i]);
  tide_json_close_array(json);
  tide_json_close_object(json);
}

static void writer_done(struct writer *w)
{
  for (size_t i = 0; i < w->n_texts; i++)
    free(w->texts[i]);
  free(w->texts);
  free(w->text_index.slots);
  free(w->first_text);
  free(w->by_address);
  free(w->frames);
  free(w->points);
  free(w->point_index.slots);
}

// The heap of the view's image. Page-level stacks have no place in the format and are left out.
enum tide_err tide_dhat_write(struct tide_sink *sink, struct tide_view *view,
                              const struct tide_export_options *options, struct tide_diag *diag)
{
  const struct tide_profile *profile = view->profile;
  struct writer w = {.profile = profile, .naming = view->naming};
  struct tide_json json;
  add_text(&w, tide_strdup("[root]")); // readers count on it being the first
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(view, i) && profile->sites[i].n_alloc)
      add_site(&w, &profile->sites[i]);
  tide_json_init(&json, sink);
  write_document(&json, &w);
  tide_json_done(&json);
  writer_done(&w);
  return TIDE_ERR_OK;
}
