// SPDX-License-Identifier: Apache-2.0
//
// One list under one lock. What was posted belongs to the list until it is taken, then to the watch
// until it is answered, then to whoever posted it; who forgets it while the watch has it leaves it
// to the watch.
#define _GNU_SOURCE
#include "supervise/control.h"

#include "base/alloc.h"
#include "tide/format.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

// ---- drafts ----

enum tide_err tide_draft_new(const struct tide_capture *capture, uint64_t version,
                             struct tide_draft **ret_draft, struct tide_diag *diag)
{
  struct tide_draft *draft = tide_alloc(sizeof *draft);
  *draft = (struct tide_draft){.n_users = 1, .version = version, .time_ns = capture->duration_ns};
  enum tide_err err = tide_file_encode(capture, &draft->bytes, diag);
  if (err)
    tide_draft_free(draft);
  else
    *ret_draft = draft;
  return err;
}

struct tide_draft *tide_draft_share(struct tide_draft *draft)
{
  __atomic_fetch_add(&draft->n_users, 1, __ATOMIC_RELAXED);
  return draft;
}

// The last user must see all that the others did with it.
void tide_draft_free(struct tide_draft *draft)
{
  if (!draft || __atomic_fetch_sub(&draft->n_users, 1, __ATOMIC_ACQ_REL) > 1)
    return;
  tide_buf_done(&draft->bytes);
  free(draft);
}

// ---- the control ----

enum stage { WAITING, TAKEN, ANSWERED };

struct tide_asked {
  struct tide_ask ask;
  struct tide_answer answer;
  struct tide_asked *next; // in the list, while it waits
  enum stage stage;
  bool is_forgotten; // whoever answers it frees it
};

struct tide_control {
  pthread_mutex_t lock;
  pthread_cond_t answered;
  struct tide_asked *first, **last; // what waits, in the order it came
  size_t n_waiting;
  int wake_fd;
  bool is_closed;
};

void tide_answer_done(struct tide_answer *answer)
{
  tide_draft_free(answer->draft);
  *answer = (struct tide_answer){0};
}

struct tide_control *tide_control_new(void)
{
  struct tide_control *control = tide_alloc(sizeof *control);
  pthread_condattr_t attributes;
  *control = (struct tide_control){.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  control->last = &control->first;
  pthread_mutex_init(&control->lock, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&control->answered, &attributes);
  pthread_condattr_destroy(&attributes);
  return control;
}

static void asked_free(struct tide_asked *asked)
{
  tide_answer_done(&asked->answer);
  free(asked);
}

void tide_control_free(struct tide_control *control)
{
  if (!control)
    return;
  pthread_mutex_destroy(&control->lock);
  pthread_cond_destroy(&control->answered);
  close(control->wake_fd);
  free(control);
}

// Under the lock. Whoever posted it has it from now on.
static void set_answer(struct tide_control *control, struct tide_asked *asked,
                       const struct tide_answer *answer)
{
  asked->answer = *answer;
  asked->stage = ANSWERED;
  if (asked->ask.notify_fd > 0)
    eventfd_write(asked->ask.notify_fd, 1);
  pthread_cond_broadcast(&control->answered);
}

static void set_ended(struct tide_control *control, struct tide_asked *asked)
{
  struct tide_answer answer = {0};
  answer.err = tide_fail(&answer.diag, TIDE_ERR_EMPTY, "the recording has ended");
  set_answer(control, asked, &answer);
}

static void unlink_waiting(struct tide_control *control, struct tide_asked **at)
{
  struct tide_asked *asked = *at;
  *at = asked->next;
  if (control->last == &asked->next)
    control->last = at;
  asked->next = NULL;
  control->n_waiting--;
}

// ---- asking ----

enum tide_err tide_control_post(struct tide_control *control, const struct tide_ask *ask,
                                struct tide_asked **ret_asked, struct tide_diag *diag)
{
  struct tide_asked *asked = tide_alloc(sizeof *asked);
  asked->ask = *ask;
  pthread_mutex_lock(&control->lock);
  bool is_full = control->n_waiting == TIDE_CONTROL_MAX_WAITING;
  if (is_full) {
    free(asked);
  } else if (control->is_closed) {
    set_ended(control, asked);
  } else {
    *control->last = asked;
    control->last = &asked->next;
    control->n_waiting++;
    eventfd_write(control->wake_fd, 1);
  }
  pthread_mutex_unlock(&control->lock);
  if (is_full)
    return tide_fail(diag, TIDE_ERR_LIMIT, "too much is asked of the recording at once");
  *ret_asked = asked;
  return TIDE_ERR_OK;
}

static struct timespec after_ms(uint32_t ms)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += (long)(ms % 1000) * 1000000L;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_nsec -= 1000000000L;
    until.tv_sec++;
  }
  return until;
}

bool tide_control_collect(struct tide_control *control, struct tide_asked **asked, uint32_t wait_ms,
                          struct tide_answer *ret_answer)
{
  struct tide_asked *mine = *asked;
  struct timespec until = after_ms(wait_ms);
  pthread_mutex_lock(&control->lock);
  while (mine->stage != ANSWERED &&
         pthread_cond_timedwait(&control->answered, &control->lock, &until) == 0)
    continue;
  bool is_answered = mine->stage == ANSWERED;
  pthread_mutex_unlock(&control->lock);
  if (!is_answered)
    return false;
  *ret_answer = mine->answer;
  free(mine);
  *asked = NULL;
  return true;
}

void tide_control_forget(struct tide_control *control, struct tide_asked **asked)
{
  struct tide_asked *mine = *asked;
  if (!mine)
    return;
  pthread_mutex_lock(&control->lock);
  if (mine->stage == TAKEN) {
    mine->is_forgotten = true;
    mine = NULL;
  } else if (mine->stage == WAITING) {
    struct tide_asked **at = &control->first;
    while (*at != mine)
      at = &(*at)->next;
    unlink_waiting(control, at);
  }
  pthread_mutex_unlock(&control->lock);
  if (mine)
    asked_free(mine);
  *asked = NULL;
}

void tide_control_ask(struct tide_control *control, const struct tide_ask *ask, uint32_t wait_ms,
                      struct tide_answer *ret_answer)
{
  struct tide_asked *asked = NULL;
  struct tide_diag diag = {0};
  enum tide_err err = tide_control_post(control, ask, &asked, &diag);
  if (asked && tide_control_collect(control, &asked, wait_ms, ret_answer))
    return;
  if (!err)
    err = tide_fail(&diag, TIDE_ERR_SYSTEM, "the recording did not answer within %u ms", wait_ms);
  tide_control_forget(control, &asked);
  *ret_answer = (struct tide_answer){.err = err, .diag = diag};
}

// ---- answering ----

int tide_control_wake_fd(const struct tide_control *control)
{
  return control->wake_fd;
}

void tide_control_drain(struct tide_control *control)
{
  eventfd_t n;
  (void)!eventfd_read(control->wake_fd, &n);
}

struct tide_asked *tide_control_take(struct tide_control *control, bool is_paced)
{
  pthread_mutex_lock(&control->lock);
  struct tide_asked **at = &control->first;
  while (*at && (*at)->ask.is_paced != is_paced)
    at = &(*at)->next;
  struct tide_asked *asked = *at;
  if (asked) {
    unlink_waiting(control, at);
    asked->stage = TAKEN;
  }
  pthread_mutex_unlock(&control->lock);
  return asked;
}

const struct tide_ask *tide_asked_ask(const struct tide_asked *asked)
{
  return &asked->ask;
}

bool tide_control_has_paced(struct tide_control *control)
{
  bool has = false;
  pthread_mutex_lock(&control->lock);
  for (const struct tide_asked *asked = control->first; asked && !has; asked = asked->next)
    has = asked->ask.is_paced;
  pthread_mutex_unlock(&control->lock);
  return has;
}

void tide_control_answer(struct tide_control *control, struct tide_asked *asked,
                         const struct tide_answer *answer)
{
  pthread_mutex_lock(&control->lock);
  bool is_forgotten = asked->is_forgotten;
  if (is_forgotten)
    asked->answer = *answer;
  else
    set_answer(control, asked, answer);
  pthread_mutex_unlock(&control->lock);
  if (is_forgotten)
    asked_free(asked);
}

void tide_control_close(struct tide_control *control)
{
  if (!control)
    return;
  pthread_mutex_lock(&control->lock);
  control->is_closed = true;
  while (control->first) {
    struct tide_asked *asked = control->first;
    unlink_waiting(control, &control->first);
    set_ended(control, asked);
  }
  pthread_mutex_unlock(&control->lock);
}
