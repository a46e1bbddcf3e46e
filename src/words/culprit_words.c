// SPDX-License-Identifier: Apache-2.0
//
// Rows of a report turned into sentences.
#include "words/culprit_words.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "profile/timeline.h"
#include "view/groups.h"
#include "view/paths.h"
#include "words/heap_words.h"
#include "words/shorten.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
  NAME_COLUMNS = 60, // of a function: what people read
  FEW = 20,          // a twentieth: less is not worth a word
  MOMENTS_LEAST = 4, // to tell a course by
  LOOKED_AT = 8,     // places that hold most at the end
};

char *tide_frame_words(const struct tide_naming *naming, const struct tide_named_frame *frame,
                       struct tide_style style)
{
  const char *module = tide_naming_module(naming, frame);
  if (!frame->function && !*tide_naming_module_path(naming, frame))
    return tide_sprintf("0x%" PRIx64, tide_naming_elf_address(naming, frame));
  TIDE_CLEANUP_FREE char *name =
      frame->function
          ? tide_shorten_function(frame->function, NAME_COLUMNS, style.utf8)
          : tide_sprintf("%s+0x%" PRIx64, module, tide_naming_elf_address(naming, frame));
  if (!frame->file)
    return frame->function ? tide_sprintf("%s, %s", name, module) : tide_strdup(name);
  const char *path = tide_shorten_path(frame->file);
  return frame->line ? tide_sprintf("%s, %s:%" PRIu32, name, path, frame->line)
                     : tide_sprintf("%s, %s", name, path);
}

// ", via serde_json::de::from_str, src/de.rs:2699, and 3 more"
static char *way_words(const struct tide_groups *groups, struct tide_view *view,
                       struct tide_style style)
{
  const struct tide_group_ways ways = tide_groups_ways(groups, view, 0);
  const struct tide_group_way *way = ways.caller.frame ? &ways.caller : &ways.via;
  if (!way->frame)
    return tide_strdup("");
  TIDE_CLEANUP_FREE char *frame = tide_frame_words(view->naming, way->frame, style);
  TIDE_CLEANUP_FREE char *more =
      way->n_more ? tide_sprintf(", and %zu more", way->n_more) : tide_strdup("");
  return tide_sprintf(", %s %s%s", ways.caller.frame ? "called by" : "via", frame, more);
}

static size_t peak_snapshot(const struct tide_image *image)
{
  size_t at = 0;
  while (at < image->n_snapshots && image->snapshots[at].kind != TIDE_SNAPSHOT_PEAK)
    at++;
  return at;
}

// Since when a place held half of what it held at the peak: many have allocated little all along.
static char *since_words(const struct tide_groups *groups, const struct tide_image *image,
                         struct tide_style style)
{
  size_t peak = peak_snapshot(image), at = peak;
  if (image->lacks & TIDE_LACK_CLOCK || peak == image->n_snapshots ||
      image->n_snapshots < MOMENTS_LEAST || !groups->first)
    return tide_strdup("");
  const uint32_t *stacks = groups->stacks + groups->first[0];
  size_t n_stacks = groups->first[1] - groups->first[0];
  struct tide_timeline *timeline = tide_timeline_new(image, stacks, n_stacks);
  TIDE_CLEANUP_FREE int64_t *live = tide_alloc_array(timeline->n_times, sizeof *live);
  tide_timeline_sum(timeline, stacks, n_stacks, TIDE_UNIT_BYTES, live, NULL);
  while (at > 0 && live[at - 1] >= groups->items[0].measure / 2)
    at--;
  uint64_t ns = timeline->times_ns[at];
  tide_timeline_free(timeline);
  char text[TIDE_UNITS_MAX];
  if (at == peak)
    return tide_strdup("");
  ns = ns > image->start_ns ? ns - image->start_ns : 0;
  return tide_sprintf(", half of that since %s", tide_units_time(text, ns, style.utf8));
}

static char *fate_words(const struct tide_group *place, const struct tide_image *image)
{
  int64_t left = place->live_bytes, most = place->measure;
  if (image->lacks & TIDE_LACK_LIVE)
    return tide_strdup("");
  if (left < most / FEW)
    return tide_sprintf(", and %sfreed by the end", left > 0 ? "nearly all " : "");
  // After a reset some may be from before, which is no leak.
  const char *kept = image->is_reset ? "held to the end" : tide_image_kept_words(image);
  return tide_sprintf(", and %s%s", left > most - most / FEW ? "" : "in part ", kept);
}

struct places { // the rows of a question, by place
  struct tide_view view;
  struct tide_groups *groups;
};

static void places_init(struct places *places, struct tide_profile *profile,
                        struct tide_naming *naming, enum tide_measure measure)
{
  const struct tide_question question = {.measure = measure};
  tide_profile_ask(profile, &question);
  tide_view_init(&places->view, profile, naming, NULL, false);
  places->groups = tide_groups_new(&places->view, TIDE_GROUP_PLACE);
}

static void places_done(struct places *places)
{
  tide_groups_free(places->groups);
  tide_view_done(&places->view);
}

static const struct tide_group *first_named(const struct places *places)
{
  const struct tide_groups *groups = places->groups;
  return groups->n && groups->items[0].frame ? &groups->items[0] : NULL;
}

static char *culprit_of(struct places *places, struct tide_style style,
                        const struct tide_named_frame **ret_culprit)
{
  char part[TIDE_UNITS_MAX], size[TIDE_UNITS_MAX];
  const struct tide_group *top = first_named(places);
  const struct tide_profile *profile = places->view.profile;
  *ret_culprit = top ? top->frame : NULL;
  if (!top)
    return NULL;
  int64_t all = tide_view_all(&places->view);
  struct tide_amount amount = tide_profile_amount(profile, top->measure);
  struct tide_style row = {style.units, style.utf8, .bounds_beside = true};
  bool of_peak = profile->question.measure == TIDE_MEASURE_PEAK;
  TIDE_CLEANUP_FREE char *frame = tide_frame_words(places->view.naming, top->frame, style);
  TIDE_CLEANUP_FREE char *way = way_words(places->groups, &places->view, style);
  TIDE_CLEANUP_FREE char *since =
      of_peak ? since_words(places->groups, profile->image, style) : tide_strdup("");
  TIDE_CLEANUP_FREE char *fate = of_peak ? fate_words(top, profile->image) : tide_strdup("");
  return tide_sprintf("%s of it (%s) was allocated in %s%s%s%s",
                      tide_units_share(part, amount, all > top->measure ? all : top->measure, row),
                      tide_units_bytes(size, amount, row), frame, way, since, fate);
}

char *tide_culprit_sentence(struct tide_profile *profile, struct tide_naming *naming,
                            enum tide_measure measure, struct tide_style style,
                            const struct tide_named_frame **ret_culprit)
{
  struct places places;
  *ret_culprit = NULL;
  if (!tide_measure_is_held(profile->image, measure))
    return NULL;
  places_init(&places, profile, naming, measure);
  char *text = culprit_of(&places, style, ret_culprit);
  places_done(&places);
  return text;
}

// The place that holds most of what is left at the end; and the largest that is still growing, if
// that is another.
static char *leaking_of(const struct places *places, const struct tide_named_frame *culprit,
                        struct tide_style style)
{
  const struct tide_groups *groups = places->groups;
  const struct tide_group *first = NULL, *growing = NULL;
  int64_t least = tide_profile_kept(places->view.profile, TIDE_UNIT_BYTES) / FEW;
  for (size_t i = 0; i < groups->n && i < LOOKED_AT; i++) {
    const struct tide_group *group = &groups->items[i];
    if (!group->frame || group->measure < least)
      continue;
    first = first ? first : group;
    if (!growing && group->fate == TIDE_FATE_GROWING)
      growing = group;
  }
  if (!growing)
    return tide_strdup("");
  const struct tide_group *named[] = {first, growing};
  char size[2][TIDE_UNITS_MAX];
  char *where[2];
  for (int i = 0; i < 2; i++) {
    bool is_said = culprit && !tide_place_compare(named[i]->frame, culprit);
    where[i] = is_said ? tide_strdup("that place")
                       : tide_frame_words(places->view.naming, named[i]->frame, style);
    tide_units_bytes(size[i], tide_profile_amount(places->view.profile, named[i]->measure), style);
  }
  char *text = growing == first
                   ? tide_sprintf("; %s of it, from %s, was still growing", size[0], where[0])
                   : tide_sprintf("; %s of it from %s, and %s from %s, which was still growing",
                                  size[0], where[0], size[1], where[1]);
  free(where[0]);
  free(where[1]);
  return text;
}

char *tide_leaking_words(struct tide_profile *profile, struct tide_naming *naming,
                         const struct tide_named_frame *culprit, struct tide_style style)
{
  int64_t left = tide_profile_kept(profile, TIDE_UNIT_BYTES);
  bool has_peak = tide_measure_is_held(profile->image, TIDE_MEASURE_PEAK);
  if (!tide_measure_is_held(profile->image, TIDE_MEASURE_LEAK) ||
      left < (has_peak ? profile->image->peak_bytes / FEW : 0))
    return tide_strdup("");
  struct places places;
  places_init(&places, profile, naming, TIDE_MEASURE_LEAK);
  tide_groups_tell_fates(places.groups, profile->image, LOOKED_AT);
  char *text = leaking_of(&places, culprit, style);
  places_done(&places);
  return text;
}

struct mapper {
  const struct tide_named_frame *frame;
  int64_t peak_bytes, live_bytes;
};

static int by_place(const void *left, const void *right)
{
  return tide_place_compare(((const struct mapper *)left)->frame,
                            ((const struct mapper *)right)->frame);
}

// The place that holds most pages, at the peak of the heap or at the end.
static struct mapper heaviest_mapper(struct mapper *all, size_t n)
{
  struct mapper best = {0};
  if (n)
    qsort(all, n, sizeof *all, by_place);
  for (size_t i = 0, next; i < n; i = next) {
    struct mapper sum = {.frame = all[i].frame};
    for (next = i; next < n && !by_place(&all[i], &all[next]); next++) {
      sum.peak_bytes += all[next].peak_bytes;
      sum.live_bytes += all[next].live_bytes;
    }
    int64_t held = sum.peak_bytes > sum.live_bytes ? sum.peak_bytes : sum.live_bytes;
    if (!best.frame || held > best.peak_bytes)
      best = (struct mapper){.frame = sum.frame, .peak_bytes = held};
  }
  return best;
}

char *tide_mapper_words(struct tide_profile *profile, struct tide_naming *naming,
                        struct tide_style style)
{
  struct tide_view view;
  size_t n = 0;
  TIDE_CLEANUP_FREE struct mapper *all = tide_alloc_array(profile->n_sites + 1, sizeof *all);
  tide_view_init(&view, profile, naming, NULL, false);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    size_t n_frames = 0;
    if (site->kind != TIDE_SITE_PAGES)
      continue;
    const struct tide_view_frame *frames = tide_view_stack(&view, site->stack, &n_frames);
    if (n_frames)
      all[n++] = (struct mapper){frames[0].frame, TIDE_OF_SITE(site, peak_bytes),
                                 tide_site_live_bytes(site)};
  }
  struct mapper best = heaviest_mapper(all, n);
  tide_view_done(&view);
  if (!best.frame || best.peak_bytes <= profile->image->page_peak_bytes / 2)
    return tide_strdup("");
  TIDE_CLEANUP_FREE char *frame = tide_frame_words(naming, best.frame, style);
  return tide_sprintf(", most of it in %s", frame);
}

// ---- wrappers ----

char *tide_wrappers_words(const struct tide_naming *naming, struct tide_style style)
{
  enum { NAMED_MOST = 4, WRAPPER_COLUMNS = 40 };
  char count[TIDE_UNITS_MAX];
  size_t n;
  const struct tide_wrapper *wrappers = tide_naming_wrappers(naming, &n);
  struct tide_buf words = {0};
  if (!n)
    return NULL;
  for (size_t i = 0; i < n && i < NAMED_MOST; i++) {
    TIDE_CLEANUP_FREE char *name =
        tide_shorten_function(wrappers[i].function, WRAPPER_COLUMNS, style.utf8);
    tide_buf_printf(&words, "%s%s (%s callers)", i ? ", " : "", name,
                    tide_units_plain(count, wrappers[i].n_callers));
  }
  if (n > NAMED_MOST)
    tide_buf_printf(&words, " and %zu more", n - NAMED_MOST);
  tide_buf_text(&words, ", folded by their shape");
  char *text = tide_strdup(tide_buf_cstr(&words));
  tide_buf_done(&words);
  return text;
}
