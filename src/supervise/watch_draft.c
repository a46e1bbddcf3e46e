// SPDX-License-Identifier: Apache-2.0
//
// The run so far, every image that has ended and every living one as it is now: for checkpoints,
// and for whoever asks (control.h). See watch_inside.h.
#include "supervise/watch_inside.h"

#include "base/alloc.h"
#include "observe/store_read.h"
#include "tide/file.h"

#include <stdlib.h>
#include <sys/eventfd.h>

struct tide_capture *tide_watch_new_capture(const struct tide_watch *watch, uint64_t now_ns)
{
  struct tide_capture *capture = tide_capture_new_here();
  capture->start_realtime_ns = watch->start_realtime_ns;
  capture->duration_ns = tide_watch_since_origin(watch, now_ns);
  tide_absents_fill(watch->absents, capture->duration_ns, &capture->roll);
  return capture;
}

// Of the living, as of the last look at each, and of those that have ended.
static uint64_t n_cells_of(const struct tide_watch *watch)
{
  uint64_t n = watch->kept_cells;
  for (size_t i = 0; i < watch->n_living; i++)
    n += watch->living[i]->view.header.n_cells;
  return n;
}

// Of those that have ended, too, what they held at earlier moments is left out. They are the
// gallery's: only this capture's own copies of them are changed. Packed ones stay as they are.
static void shorten(struct tide_capture *capture)
{
  for (size_t i = 0; i < capture->n_images; i++) {
    struct tide_image *image = &capture->images[i];
    image->n_snapshots = image->n_late_frees = image->n_residences = 0;
    image->has_late_frees = false;
  }
}

enum tide_err tide_watch_make_draft(struct tide_watch *watch, bool is_brief, const char *taken,
                                    struct tide_draft **ret_draft, struct tide_diag *diag)
{
  // Who asks knows of every process that was let in before: one may have come since this round
  // began, and a round may be long.
  tide_watch_take_arrivals(watch);
  uint64_t before_ns = tide_monotonic_ns();
  struct tide_capture *capture = tide_watch_new_capture(watch, before_ns);
  struct tide_gallery_entry *more = tide_alloc_array(watch->n_living, sizeof *more);
  size_t n_more = 0;
  if (taken) { // whole as it is, and no checkpoint
    capture->taken = tide_strdup(taken);
    capture->finished = true;
  }
  uint32_t n_left_out = 0;
  for (size_t i = 0; i < watch->n_living; i++) {
    struct tide_watched *w = watch->living[i];
    if (!tide_watched_is_ready(watch, w, before_ns))
      continue;
    if (n_more == TIDE_WATCH_MAX_DRAFTED) {
      n_left_out++;
      continue;
    }
    more[n_more].number = w->number;
    tide_watched_read(watch, w, before_ns, is_brief ? TIDE_READ_BRIEF : TIDE_READ_WHOLE,
                      &more[n_more].image);
    if (watch->options.is_attached) // our end, however it comes, lets it go
      more[n_more].image.end_kind = TIDE_END_DETACHED;
    n_more++;
  }
  tide_gallery_hang(&watch->gallery, more, n_more, capture);
  capture->n_images_left_out += n_left_out;
  capture->roll.n_recorded += n_more + n_left_out; // the roll has those that have ended
  if (is_brief)
    shorten(capture);
  enum tide_err err = capture->n_images
                          ? tide_draft_new(capture, watch->n_drafts + 1, ret_draft, diag)
                          : tide_fail(diag, TIDE_ERR_EMPTY, "nothing has been recorded yet");
  watch->n_drafts += !err;
  for (size_t i = 0; i < n_more; i++)
    tide_image_done(&more[i].image);
  free(more);
  capture->n_images = 0; // shared with the gallery, or gone
  tide_capture_free(capture);
  tide_pace_note(&watch->pace, before_ns, tide_monotonic_ns(), n_cells_of(watch));
  return err;
}

// ---- what is asked ----

uint32_t tide_watch_take_snapshots(struct tide_watch *watch, bool is_mark)
{
  uint32_t n = 0;
  for (size_t i = 0; i < watch->n_living; i++) {
    struct tide_watched *w = watch->living[i];
    uint64_t now_ns = tide_monotonic_ns();
    if (!tide_watched_is_ready(watch, w, now_ns))
      continue;
    tide_store_view_nodes(&w->view);
    if (!tide_sampler_snapshot(&w->sampler, &w->view, tide_watch_since_origin(watch, now_ns)))
      continue;
    if (is_mark)
      tide_sampler_mark_snapshot(&w->sampler);
    n++;
  }
  return n;
}

// A draft of its own: it says why it was taken, and is whole.
static void answer_dump(struct tide_watch *watch, const char *taken, struct tide_answer *told)
{
  told->err = tide_watch_make_draft(watch, false, taken, &told->draft, &told->diag);
}

static void answer_asked(struct tide_watch *watch, struct tide_asked *asked,
                         struct tide_draft *draft, enum tide_err draft_err,
                         const struct tide_diag *draft_diag)
{
  const struct tide_ask *ask = tide_asked_ask(asked);
  struct tide_answer told = {
      .is_running = true,
      .n_living = (uint32_t)watch->n_living,
      .n_cells = n_cells_of(watch),
  };
  switch (ask->kind) {
  case TIDE_ASK_STATE: break;
  case TIDE_ASK_SNAPSHOT: told.n_snapshots = tide_watch_take_snapshots(watch, false); break;
  case TIDE_ASK_DRAFT:
    if (ask->taken) {
      answer_dump(watch, ask->taken, &told);
      break;
    }
    told.err = draft_err;
    told.diag = *draft_diag;
    told.draft = draft ? tide_draft_share(draft) : NULL;
    break;
  case TIDE_ASK_INTERVAL: watch->pace.look_ns = ask->interval_ns; break;
  case TIDE_ASK_FINISH: eventfd_write(watch->options.finish_fd, 1); break;
  }
  told.time_ns =
      told.draft ? told.draft->time_ns : tide_watch_since_origin(watch, tide_monotonic_ns());
  tide_control_answer(watch->options.control, asked, &told);
}

struct batch {
  struct tide_asked *asked[2 * TIDE_CONTROL_MAX_WAITING];
  size_t n;
};

// Those who asked before the draft was begun get one of now.
static void take_batch(const struct tide_watch *watch, bool is_paced, struct batch *batch)
{
  for (size_t i = 0; watch->options.control && i < TIDE_CONTROL_MAX_WAITING; i++) {
    struct tide_asked *asked = tide_control_take(watch->options.control, is_paced);
    if (!asked)
      break;
    batch->asked[batch->n++] = asked;
  }
}

// Any draft that others may share, or one that is not brief.
static bool wants_draft(const struct batch *batch, bool is_whole)
{
  for (size_t i = 0; i < batch->n; i++) {
    const struct tide_ask *ask = tide_asked_ask(batch->asked[i]);
    if (ask->kind == TIDE_ASK_DRAFT && !ask->taken && !(is_whole && ask->is_brief))
      return true;
  }
  return false;
}

// A failure is not an error: the final write will tell.
static void write_checkpoint(struct tide_watch *watch, const struct tide_draft *draft)
{
  uint64_t before_ns = tide_monotonic_ns();
  if (draft)
    (void)!tide_file_put(&draft->bytes, watch->options.output_path, NULL);
  uint64_t after_ns = tide_monotonic_ns();
  watch->pace.cost_ns += after_ns - before_ns;
  watch->pace.since_ns = after_ns;
  tide_pace_note_checkpoint(&watch->pace, after_ns);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

uint64_t tide_watch_serve_drafts(struct tide_watch *watch)
{
  struct tide_control *control = watch->options.control;
  bool has_paced = control && tide_control_has_paced(control), saves = watch->options.output_path;
  uint64_t now_ns = tide_monotonic_ns(), n_cells = n_cells_of(watch);
  bool saves_now = saves && now_ns >= tide_pace_checkpoint_ns(&watch->pace, n_cells);
  bool looks_now = has_paced && now_ns >= tide_pace_look_ns(&watch->pace, n_cells);
  struct batch batch = {.n = 0};
  struct tide_draft *draft = NULL;
  struct tide_diag diag = {0};
  enum tide_err err = TIDE_ERR_OK;
  take_batch(watch, false, &batch);
  bool is_whole = saves_now || looks_now || wants_draft(&batch, true);
  if (is_whole || wants_draft(&batch, false))
    err = tide_watch_make_draft(watch, !is_whole, NULL, &draft, &diag);
  if (saves_now)
    write_checkpoint(watch, draft);
  // What is not empty and cannot be made will not be made a second later.
  if ((draft && is_whole) || (looks_now && err != TIDE_ERR_EMPTY))
    take_batch(watch, true, &batch);
  for (size_t i = 0; i < batch.n; i++)
    answer_asked(watch, batch.asked[i], draft, err, &diag);
  tide_draft_free(draft);
  n_cells = n_cells_of(watch);
  uint64_t next_ns = UINT64_MAX;
  if (saves)
    next_ns = tide_pace_checkpoint_ns(&watch->pace, n_cells);
  if (control && tide_control_has_paced(control))
    next_ns = earlier(next_ns, tide_pace_look_ns(&watch->pace, n_cells));
  return next_ns;
}
