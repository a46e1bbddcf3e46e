// SPDX-License-Identifier: Apache-2.0
//
// Schema tidemark-report-1, section by section in the order of the document. A capture has far
// fewer addresses than frames in stacks, so the JSON of an address is made once and then copied.
#include "format/report_json.h"

#include "base/alloc.h"
#include "base/json.h"
#include "format/groups_json.h"
#include "format/lacking.h"
#include "format/profile_json.h"
#include "view/fate.h"

#include <stdlib.h>
#include <string.h>

struct writer {
  struct tide_json json;
  const struct tide_profile *profile;
  struct tide_naming *naming;
  struct tide_buf *addresses; // rendered frames per address of the naming; empty: not yet
  size_t n_addresses;
};

static void write_timeline(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "timeline");
  tide_json_open_object(json);
  tide_json_put_u64(json, "ticks", image->n_ticks);
  tide_json_put_u64(json, "snapshots", image->n_snapshots);
  tide_json_close_object(json);
}

static void write_flags(struct tide_json *json, uint16_t flags)
{
  static const struct {
    uint16_t flag;
    const char *word;
  } words[] = {
      {TIDE_FRAME_IS_EXACT, "exact"}, {TIDE_FRAME_GUESSED, "guessed"}, {TIDE_FRAME_CUT, "cut"},
      {TIDE_FRAME_PAGES, "pages"},    {TIDE_FRAME_LOST, "lost"},
  };
  tide_json_key(json, "flags");
  tide_json_open_array(json);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (flags & words[i].flag)
      tide_json_text(json, words[i].word);
  tide_json_close_array(json);
}

static void write_frame(struct tide_json *json, const struct tide_image *image,
                        const struct tide_named_frame *frame)
{
  const char *module = image->modules[frame->module].path;
  tide_json_open_object(json);
  tide_json_put_text(json, "function", frame->function);
  tide_json_put_text(json, "file", frame->file);
  tide_json_put_u64(json, "line", frame->line);
  tide_json_put_text(json, "module", module ? module : "");
  tide_json_key(json, "address");
  tide_json_hex(json, frame->pc);
  tide_json_put_bool(json, "inlined", frame->inlined);
  tide_json_put_bool(json, "folded", tide_layer_is_folded(frame->layer));
  tide_json_put_bool(json, "library", frame->layer == TIDE_LAYER_LIBRARY);
  write_flags(json, frame->flags);
  tide_json_close_object(json);
}

// The frames of one node as array elements. A root that only says "pages" or "lost" is the site's
// kind, not a frame of it.
static struct tide_buf render_node(const struct writer *w, uint32_t node)
{
  struct tide_sink sink;
  struct tide_json json;
  size_t n;
  const struct tide_named_frame *frames = tide_naming_of_node(w->naming, node, &n);
  tide_sink_init(&sink, NULL);
  tide_json_init(&json, &sink);
  json.break_depth = 0;
  tide_json_open_array(&json);
  for (size_t i = 0; i < n; i++)
    if (!(frames[i].flags & (TIDE_FRAME_PAGES | TIDE_FRAME_LOST)))
      write_frame(&json, w->profile->image, &frames[i]);
  tide_json_close_array(&json);
  return sink.buf;
}

static void grow_addresses(struct writer *w, size_t address)
{
  size_t n = w->n_addresses ? w->n_addresses : 1024;
  while (n <= address)
    n *= 2;
  w->addresses = tide_realloc_array(w->addresses, n, sizeof *w->addresses);
  memset(w->addresses + w->n_addresses, 0, (n - w->n_addresses) * sizeof *w->addresses);
  w->n_addresses = n;
}

static void write_node(struct writer *w, uint32_t node)
{
  size_t address = tide_naming_address(w->naming, node);
  if (address >= w->n_addresses)
    grow_addresses(w, address);
  if (!w->addresses[address].n)
    w->addresses[address] = render_node(w, node);
  const struct tide_buf *text = &w->addresses[address];
  tide_json_raw(&w->json, text->data + 1, text->n - 2); // without the array's brackets
}

struct blamed_at { // indexes among the frames; SIZE_MAX: none
  size_t culprit, via;
};

// With recursion a frame may be there more than once: the culprit is the innermost one, and the one
// that it called the nearest inside of it.
static struct blamed_at find_blamed(const struct writer *w, uint32_t stack, struct tide_blame blame)
{
  struct blamed_at at = {SIZE_MAX, SIZE_MAX};
  size_t index = 0;
  for (uint32_t node = stack; blame.culprit && node;
       node = w->profile->image->frames[node].parent) {
    size_t n;
    const struct tide_named_frame *frames = tide_naming_of_node(w->naming, node, &n);
    for (size_t i = 0; i < n; i++) {
      if (&frames[i] == blame.via)
        at.via = index + i;
      if (&frames[i] == blame.culprit) {
        at.culprit = index + i;
        return at;
      }
    }
    index += frames->flags & (TIDE_FRAME_PAGES | TIDE_FRAME_LOST) ? 0 : n;
  }
  return at;
}

static void write_index(struct tide_json *json, const char *key, size_t index)
{
  tide_json_key(json, key);
  if (index == SIZE_MAX)
    tide_json_text(json, NULL);
  else
    tide_json_u64(json, index);
}

static void write_blame(struct writer *w, const struct tide_profile_site *site)
{
  struct tide_blame blame = {0};
  if (site->kind != TIDE_SITE_LOST)
    blame = tide_blame_stack(w->naming, site->stack);
  struct blamed_at at = find_blamed(w, site->stack, blame);
  write_index(&w->json, "culprit", at.culprit);
  write_index(&w->json, "via", at.via);
}

static void write_frames(struct writer *w, uint32_t stack)
{
  tide_json_key(&w->json, "frames");
  tide_json_open_array(&w->json);
  for (uint32_t node = stack; node; node = w->profile->image->frames[node].parent)
    write_node(w, node);
  tide_json_close_array(&w->json);
}

static void write_site(struct writer *w, const struct tide_profile_site *site)
{
  struct tide_json *json = &w->json;
  static const char *const kinds[] = {"heap", "pages", "lost"};
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lifetimes[TIDE_LIFE_BUCKETS_N];
  tide_profile_site_histograms(w->profile, site, sizes, lifetimes);
  tide_json_open_object(json);
  tide_json_put_text(json, "kind", kinds[site->kind]);
  tide_json_put_i64(json, "weight", site->weight);
  tide_json_put_u64(json, "allocations", site->n_alloc);
  tide_json_put_u64(json, "bytes", site->b_alloc);
  tide_json_put_u64(json, "frees", site->n_free);
  tide_json_put_u64(json, "freed_bytes", site->b_free);
  tide_json_put_u64(json, "resizes", site->n_resize);
  tide_json_put_u64(json, "moved", site->n_moved);
  tide_json_put_u64(json, "resized_old_bytes", site->b_resize_old);
  if (w->profile->image->has_resized_bytes)
    tide_json_put_u64(json, "resized_new_bytes", site->b_resize_new);
  tide_json_put_u64(json, "moved_bytes", site->b_moved);
  tide_json_put_u64(json, "temporary", site->n_temp);
  tide_json_put_u64(json, "temporary_bytes", site->b_temp);
  tide_json_put_u64(json, "foreign_frees", site->n_foreign);
  tide_json_put_i64(json, "live_blocks", site->live_blocks);
  tide_json_put_i64(json, "live_bytes", site->live_bytes);
  tide_json_put_i64(json, "peak_bytes", site->peak_bytes);
  tide_json_put_i64(json, "peak_blocks", site->peak_blocks);
  tide_json_put_i64(json, "own_max_bytes", site->own_max_bytes);
  tide_json_put_bool(json, "own_max_is_bound", tide_profile_own_max_is_bound(w->profile, site));
  tide_json_put_u64(json, "first_ns", site->first_ns);
  tide_json_put_u64(json, "last_ns", site->last_ns);
  tide_json_mean_life(json, site->life_ns_sum,
                      tide_profile_n_ended(w->profile->image, site->n_free, lifetimes));
  tide_json_mean_age(json, site->live_age_ns_sum, site->live_blocks);
  tide_json_put_u64(json, "thread_slots", site->n_rows);
  tide_json_put_u64s(json, "sizes", sizes, TIDE_SIZE_BUCKETS_N);
  tide_json_put_u64s(json, "lifetimes", lifetimes, TIDE_LIFE_BUCKETS_N);
  write_blame(w, site);
  write_frames(w, site->stack);
  tide_json_close_object(json);
}

static void write_groups(struct tide_json *json, struct tide_view *view,
                         const struct tide_report_json_options *options)
{
  if (!options->group)
    return;
  struct tide_groups *groups = tide_groups_new(view, *options->group);
  tide_groups_tell_fates(groups, view->profile->image);
  tide_groups_json(json, view, groups, options->n);
  tide_groups_free(groups);
}

static void write_sites(struct writer *w, const struct tide_view *view, size_t n_max)
{
  tide_json_key(&w->json, "sites");
  tide_json_open_array(&w->json);
  for (size_t i = 0, n = 0; i < view->profile->n_sites && (!n_max || n < n_max); i++) {
    bool of_pages = view->profile->question.of_pages; // those alone; else pages come last
    if (of_pages ? !tide_view_has(view, i) : view->unwanted && view->unwanted[i])
      continue;
    write_site(w, &view->profile->sites[i]);
    n++;
  }
  tide_json_close_array(&w->json);
}

void tide_report_json_write(struct tide_sink *sink, struct tide_view *view,
                            const struct tide_report_json_options *options)
{
  const struct tide_profile *profile = view->profile;
  struct writer w = {.profile = profile, .naming = view->naming};
  struct tide_json *json = &w.json;
  tide_json_init(json, sink);
  tide_lacking_leave_out(json, profile->image);
  tide_json_open_object(json);
  tide_json_put_text(json, "schema", "tidemark-report-1");
  tide_profile_json_facts(json, profile, options->file);
  write_timeline(json, profile->image);
  tide_question_json(json, &profile->question);
  tide_json_put_text(json, "blame", tide_blamed_words[tide_naming_blamed(view->naming)]);
  tide_wrappers_json(json, view->naming);
  tide_json_put_i64(json, "whole", view->whole);
  tide_json_put_i64(json, "wanted", view->wanted);
  if (options->suppressions)
    tide_suppressions_json(json, options->suppressions);
  write_groups(json, view, options);
  write_sites(&w, view, options->n);
  tide_json_close_object(json);
  tide_json_done(json);
  for (size_t i = 0; i < w.n_addresses; i++)
    tide_buf_done(&w.addresses[i]);
  free(w.addresses);
}
