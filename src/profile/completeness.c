// SPDX-License-Identifier: Apache-2.0
//
// One image's losses, and the roll of the run.
#include "profile/completeness.h"

#include "base/alloc.h"
#include "model/capture.h"

#include <errno.h>
#include <stdlib.h>

#define SMALL_BYTES (INT64_C(16) << 20)

// What was loaded later is the matter of the processes that did, which say so; in files from before
// they do, of the row's one, or of all if there are several.
static bool is_others_matter(const struct tide_capture *capture, const struct tide_unrecorded *row,
                             const struct tide_image *image)
{
  if (row->why != TIDE_WHY_LOADED_LATER || image->lacks & TIDE_LACK_LATER)
    return false;
  for (size_t i = 0; i < capture->n_images; i++)
    if (capture->images[i].lacks & TIDE_LACK_LATER)
      return true;
  return row->n_processes == 1 && row->pid != image->pid;
}

const struct tide_unrecorded *tide_image_on_roll(const struct tide_capture *capture,
                                                 const struct tide_image *image)
{
  for (size_t i = 0; i < capture->roll.n_rows; i++) {
    const struct tide_unrecorded *row = &capture->roll.rows[i];
    bool was_seen =
        image->by_agent && row->why == TIDE_WHY_OWN_ALLOCATOR && !tide_why_is_go(row->detail);
    if (tide_why_is_partial(row->why) && !was_seen && image->exe &&
        strcmp(row->exe, image->exe) == 0 && !is_others_matter(capture, row, image))
      return row;
  }
  return NULL;
}

// Of files before the roll: its malloc comes before ours for everybody, and nothing came to us.
static bool has_own_malloc(const struct tide_profile *profile)
{
  const char *allocator = profile->image->allocator, *exe = profile->image->exe;
  return !profile->totals.n_alloc && allocator && exe && *exe && !strcmp(allocator, exe);
}

uint64_t tide_image_unseen(const struct tide_image *image)
{
  bool from_beginning = image->by_agent && !image->by_fork && !tide_image_is_merged(image) &&
                        !(image->lacks & TIDE_LACK_BEFORE) && !image->n_pauses;
  return from_beginning ? image->loss.n_unknown_free : 0;
}

bool tide_image_is_whole(const struct tide_image *image)
{
  const struct tide_loss *loss = &image->loss;
  return !loss->n_lost_busy && !loss->n_lost_full && !loss->n_cut && !loss->n_broken &&
         !loss->n_fork_lost && !image->off_reason && !image->n_pauses &&
         !tide_image_unseen(image) && !(image->lacks & TIDE_LACK_UNHOOKED);
}

static size_t count_partial(const struct tide_capture *capture, const struct tide_image *but)
{
  size_t n = 0;
  for (size_t i = 0; i < capture->n_images; i++)
    n += &capture->images[i] != but && !tide_image_is_whole(&capture->images[i]);
  return n;
}

void tide_completeness_judge(const struct tide_profile *profile,
                             struct tide_completeness *ret_completeness)
{
  const struct tide_capture *capture = profile->capture;
  *ret_completeness = (struct tide_completeness){
      .image_is_whole = tide_image_is_whole(profile->image) && capture->finished && !capture->cut,
      .n_partial = count_partial(capture, profile->image),
      .image_is_hollow = tide_image_on_roll(capture, profile->image) || has_own_malloc(profile),
      .run_is_known = capture->roll.is_known,
      .run_is_whole = capture->roll.n_rows == 0,
      .n_recorded = capture->roll.n_recorded,
      .n_unrecorded = tide_roll_processes(&capture->roll),
  };
}

bool tide_profile_is_pages_alone(const struct tide_profile *profile)
{
  const struct tide_unrecorded *row = tide_image_on_roll(profile->capture, profile->image);
  return row && row->why == TIDE_WHY_PAGES_ONLY;
}

bool tide_profile_is_complete(const struct tide_profile *profile)
{
  struct tide_completeness c;
  tide_completeness_judge(profile, &c);
  return c.image_is_whole && !c.image_is_hollow && c.run_is_whole && !c.n_partial;
}

bool tide_capture_is_complete(const struct tide_capture *capture)
{
  return capture->finished && !capture->cut && !capture->roll.n_rows &&
         !count_partial(capture, NULL);
}

// Memory in the sense of tide_lead.
static int64_t weight_of(uint64_t rss_bytes, int64_t heap_bytes)
{
  return (int64_t)rss_bytes >= SMALL_BYTES ? (int64_t)rss_bytes : heap_bytes;
}

static int64_t image_weight(const struct tide_image *image)
{
  return weight_of(image->max_rss_bytes, image->peak_bytes);
}

// The sum of several small processes is heavy because they are many: it comes behind any process.
static bool outweighs(const struct tide_capture *capture, const struct tide_image *a,
                      const struct tide_image *b)
{
  bool a_is_rest = tide_image_is_rest(capture, a), b_is_rest = tide_image_is_rest(capture, b);
  return a_is_rest != b_is_rest ? b_is_rest : image_weight(a) > image_weight(b);
}

// The heaviest image, of one process (pid 0: of all), among those with an allocator that was seen
// or among all; n_images when there is none.
static size_t heaviest(const struct tide_capture *capture, uint32_t pid, bool hollow_too)
{
  size_t best = capture->n_images;
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *image = &capture->images[i];
    if ((pid && image->pid != pid) || (!hollow_too && tide_image_on_roll(capture, image)))
      continue;
    if (best == capture->n_images || outweighs(capture, image, &capture->images[best]))
      best = i;
  }
  return best;
}

static const struct tide_unrecorded *heaviest_row(const struct tide_roll *roll)
{
  const struct tide_unrecorded *best = NULL;
  for (size_t i = 0; i < roll->n_rows; i++) {
    if (roll->rows[i].is_command)
      return &roll->rows[i];
    if (roll->rows[i].why == TIDE_WHY_OUTSIDE) // another user's may be as large as it likes
      continue;
    if (!best || roll->rows[i].max_rss_bytes > best->max_rss_bytes)
      best = &roll->rows[i];
  }
  return best;
}

void tide_lead_find(const struct tide_capture *capture, struct tide_lead *ret_lead)
{
  size_t none = capture->n_images;
  bool hollow_too = heaviest(capture, 0, false) == none;
  size_t largest = heaviest(capture, 0, hollow_too);
  size_t command =
      capture->roll.command_pid ? heaviest(capture, capture->roll.command_pid, hollow_too) : none;
  bool is_command = command < none && 2 * image_weight(&capture->images[command]) >=
                                          image_weight(&capture->images[largest]);
  const struct tide_image *shown = &capture->images[is_command ? command : largest];
  const struct tide_unrecorded *row = heaviest_row(&capture->roll);
  int64_t row_weight = row ? weight_of(row->max_rss_bytes, 0) : 0;
  bool is_heavier = row_weight > image_weight(shown) * (is_command ? 2 : 1);
  *ret_lead = (struct tide_lead){
      .image_idx = is_command ? command : largest,
      .unrecorded = row && (row->is_command || is_heavier) ? row : NULL,
  };
}

// The unrecorded program that the answer would be about.
static const struct tide_unrecorded *in_the_way(const struct tide_profile *profile)
{
  const struct tide_unrecorded *own = tide_image_on_roll(profile->capture, profile->image);
  struct tide_lead lead;
  tide_lead_find(profile->capture, &lead);
  bool is_lead = lead.image_idx == profile->image_idx;
  return own ? own : is_lead ? lead.unrecorded : NULL;
}

char *tide_completeness_gate(const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  const struct tide_unrecorded *row = in_the_way(profile);
  if (profile->capture->cut)
    return tide_strdup("its file is damaged");
  if (!profile->capture->finished)
    return tide_strdup("its recording was not ended properly");
  if (image->off_reason)
    return tide_strdup("the recorder stepped aside");
  if (image->n_pauses)
    return tide_strdup("recording was off for a part of it");
  if (image->loss.n_lost_busy)
    return tide_strdup("events were not recorded");
  if (row) {
    TIDE_CLEANUP_FREE char *what = tide_why_sentence(row->why, row->detail);
    const char *name = strrchr(row->exe, '/');
    return tide_sprintf("%s was not recorded: it %s", name ? name + 1 : row->exe, what);
  }
  if (image->loss.n_fork_lost)
    return tide_strdup("child processes of it were not recorded");
  if (has_own_malloc(profile))
    return tide_strdup("nothing was recorded: the program has an allocator of its own linked in");
  return NULL;
}

// ---- which image is meant ----

// The image with the largest peak among those of a pid. n_images when there is none.
static size_t largest(const struct tide_capture *capture, uint64_t pid)
{
  size_t best = capture->n_images;
  for (size_t i = 0; i < capture->n_images; i++) {
    if (capture->images[i].pid != pid)
      continue;
    if (best == capture->n_images ||
        capture->images[i].peak_bytes > capture->images[best].peak_bytes)
      best = i;
  }
  return best;
}

enum tide_err tide_profile_pick(const struct tide_capture *capture, const char *which,
                                size_t *ret_image_idx, struct tide_diag *diag)
{
  if (capture->n_images == 0)
    return tide_fail(diag, TIDE_ERR_EMPTY, "the capture holds no process");
  if (!which) {
    struct tide_lead lead;
    tide_lead_find(capture, &lead);
    *ret_image_idx = lead.image_idx;
    return TIDE_ERR_OK;
  }
  const char *digits = which[0] == '#' ? which + 1 : which;
  char *end;
  errno = 0;
  unsigned long long number = strtoull(digits, &end, 10);
  if (*digits < '0' || *digits > '9' || *end || errno)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "a process is told by its pid or an index such as #1, not by \"%s\"", which);
  size_t by_pid = number && digits == which ? largest(capture, number) : capture->n_images;
  size_t found = by_pid < capture->n_images ? by_pid : (size_t)number;
  if (found >= capture->n_images)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "the capture holds no process %s; 'tidemark info' lists its %zu", which,
                     capture->n_images);
  *ret_image_idx = found;
  return TIDE_ERR_OK;
}
