// SPDX-License-Identifier: Apache-2.0
//
// What the watch does when it is told to (desk.h): it concerns all processes of the recording.
// Those that come later begin as the recording is (tide_watch_receive()). See watch_inside.h.
#define _GNU_SOURCE
#include "supervise/watch_inside.h"

#include "observe/switches.h"
#include "store/weight.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_of_recording(const struct tide_watch *watch, uint32_t pid)
{
  if (pid == (uint32_t)getpid() || pid == watch->options.root_pid)
    return true;
  for (size_t i = 0; i < watch->n_living; i++)
    if (watch->living[i]->visit.pid == pid)
      return true;
  return false;
}

bool tide_watch_is_paused(struct tide_watch *watch)
{
  pthread_mutex_lock(&watch->lock);
  bool is_paused = watch->is_paused;
  pthread_mutex_unlock(&watch->lock);
  return is_paused;
}

// First what newcomers begin with, then all who came before that.
static uint32_t switch_all(struct tide_watch *watch, bool is_off)
{
  uint32_t n = 0;
  pthread_mutex_lock(&watch->lock);
  watch->is_paused = is_off;
  pthread_mutex_unlock(&watch->lock);
  tide_watch_take_arrivals(watch);
  for (size_t i = 0; i < watch->n_living; i++) {
    struct tide_watched *w = watch->living[i];
    uint64_t now_ns = tide_monotonic_ns();
    tide_watched_is_ready(watch, w, now_ns); // then it can be marked there, too
    n += !w->broken && tide_switch_pause(&w->view, is_off, now_ns);
  }
  return n;
}

// Of all processes that are sampled, and of those that come.
static enum tide_err sample_all(struct tide_watch *watch, uint32_t bits,
                                struct tide_desk_answer *answer, struct tide_diag *diag)
{
  if (bits < TIDE_SAMPLE_MIN_BITS || bits > TIDE_SAMPLE_MAX_BITS)
    return tide_fail(diag, TIDE_ERR_USAGE, "there is no such interval");
  uint32_t n_sampled = 0;
  tide_watch_take_arrivals(watch);
  for (size_t i = 0; i < watch->n_living; i++) {
    struct tide_watched *w = watch->living[i];
    uint64_t now_ns = tide_monotonic_ns();
    if (!tide_watched_is_ready(watch, w, now_ns) || w->broken || !w->view.header.sample_bits)
      continue;
    n_sampled++;
    answer->n_changed += tide_switch_sample(&w->view, bits, now_ns);
  }
  if (!n_sampled)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, TIDE_DESK_NOT_SAMPLED);
  pthread_mutex_lock(&watch->lock);
  watch->resampled = bits;
  pthread_mutex_unlock(&watch->lock);
  tide_watch_take_snapshots(watch, true);
  return TIDE_ERR_OK;
}

// With a snapshot, so that it can be asked for.
static uint32_t mark_all(struct tide_watch *watch, const char *name)
{
  uint32_t n = 0;
  for (size_t i = 0; i < watch->n_living; i++) {
    struct tide_watched *w = watch->living[i];
    uint64_t now_ns = tide_monotonic_ns();
    n += tide_watched_is_ready(watch, w, now_ns) && tide_switch_mark(&w->view, name, now_ns);
  }
  tide_watch_take_snapshots(watch, true);
  return n;
}

static enum tide_err mark_moment(struct tide_watch *watch, const struct tide_desk_ask *ask,
                                 struct tide_desk_answer *answer, struct tide_diag *diag)
{
  enum tide_err err = tide_mark_check(ask->name, diag);
  if (err)
    return err;
  answer->n_changed = mark_all(watch, ask->name);
  if (!answer->n_changed && answer->n_processes)
    return tide_fail(diag, TIDE_ERR_LIMIT,
                     "no mark: there are %d already, or nothing has been "
                     "recorded yet",
                     TIDE_MOMENTS);
  return TIDE_ERR_OK;
}

// All processes that are recorded now; those that come later begin at nothing anyway. What has
// ended is not told any more: it holds nothing, and counted before.
static enum tide_err reset_all(struct tide_watch *watch, struct tide_desk_answer *answer,
                               struct tide_diag *diag)
{
  uint32_t n_left = 0;
  for (size_t i = watch->n_living; i > 0; i--) {
    const struct tide_watched *w = watch->living[i - 1];
    if (w->visit.pid != watch->options.root_pid && tide_watched_has_ended(w)) // and nobody saw it
      tide_watch_finish_descendant(watch, i - 1, TIDE_END_EXITED, tide_monotonic_ns());
  }
  for (size_t i = 0; i < watch->n_living; i++) {
    struct tide_watched *w = watch->living[i];
    uint64_t now_ns = tide_monotonic_ns();
    if (!tide_watched_is_ready(watch, w, now_ns))
      continue;
    bool is_done =
        tide_sampler_reset(&w->sampler, &w->view, tide_watch_since_origin(watch, now_ns), now_ns) &&
        tide_switch_restart_peak(&w->view);
    answer->n_changed += is_done;
    n_left += !is_done;
  }
  if (n_left)
    return tide_fail(diag, TIDE_ERR_LIMIT,
                     "%u of %u processes could not be reset: so many moments of theirs are known "
                     "that there can be no more",
                     n_left, n_left + answer->n_changed);
  tide_gallery_forget(&watch->gallery);
  watch->kept_rows = 0;
  watch->kept_cells = 0;
  return TIDE_ERR_OK;
}

static enum tide_err dump_draft_now(struct tide_watch *watch, int *ret_fd, struct tide_diag *diag)
{
  struct tide_draft *draft = NULL;
  enum tide_err err = tide_watch_make_draft(watch, false, TIDE_DUMP_ASKED, &draft, diag);
  if (err)
    return err;
  int fd = memfd_create("tidemark-dump", MFD_CLOEXEC);
  size_t at = 0;
  while (fd >= 0 && at < draft->bytes.n) {
    ssize_t n = write(fd, draft->bytes.data + at, draft->bytes.n - at);
    if (n < 0 && errno != EINTR)
      break;
    at += n > 0 ? (size_t)n : 0;
  }
  if (fd < 0 || at < draft->bytes.n)
    err = tide_fail_errno(diag, "no memory for a dump of %zu bytes", draft->bytes.n);
  if (err && fd >= 0)
    close(fd);
  if (!err)
    *ret_fd = fd;
  tide_draft_free(draft);
  return err;
}

static uint64_t sample_bytes(const struct tide_watch *watch)
{
  for (size_t i = 0; i < watch->n_living; i++)
    if (watch->living[i]->view.header.sample_bits)
      return UINT64_C(1) << (watch->resampled ? watch->resampled
                                              : watch->living[i]->view.header.sample_bits % 64);
  return 0;
}

int tide_watch_answer(void *context, const struct tide_desk_ask *ask, bool is_allowed,
                      struct tide_desk_answer *answer)
{
  struct tide_watch *watch = context;
  struct tide_diag diag = {0};
  enum tide_err err = TIDE_ERR_OK;
  int fd = -1;
  tide_watch_take_arrivals(watch);
  if (!is_of_recording(watch, ask->pid))
    return -1;
  if (!is_allowed) {
    answer->status = TIDE_DESK_DENIED;
    return -1;
  }
  answer->n_processes = (uint32_t)watch->n_living;
  switch ((enum tide_desk_verb)ask->verb) {
  case TIDE_DESK_STATE: break;
  case TIDE_DESK_OFF:
  case TIDE_DESK_ON: answer->n_changed = switch_all(watch, ask->verb == TIDE_DESK_OFF); break;
  case TIDE_DESK_SAMPLE: err = sample_all(watch, ask->sample_bits, answer, &diag); break;
  case TIDE_DESK_MARK: err = mark_moment(watch, ask, answer, &diag); break;
  case TIDE_DESK_DUMP: err = dump_draft_now(watch, &fd, &diag); break;
  case TIDE_DESK_RESET: err = reset_all(watch, answer, &diag); break;
  case TIDE_DESK_SNAPSHOT: tide_watch_take_snapshots(watch, true); break;
  default: err = tide_fail(&diag, TIDE_ERR_UNSUPPORTED, "this recording cannot do that"); break;
  }
  answer->status = err ? TIDE_DESK_FAILED : TIDE_DESK_DONE;
  answer->is_paused = watch->is_paused;
  answer->sample_bytes = sample_bytes(watch);
  snprintf(answer->text, sizeof answer->text, "%s", err ? diag.text : "");
  return fd;
}
