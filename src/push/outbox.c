// SPDX-License-Identifier: Apache-2.0
//
// See outbox.h. All is under the lock but the target, the options and the request that is being
// sent, which the thread has for itself.
#define _GNU_SOURCE
#include "push/outbox.h"

#include "base/alloc.h"
#include "push/debuginfo_upload.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_REQUESTS = 8,
  MAX_BYTES = 16 << 20,
  MAX_FILES = 1024,
  CONNECT_MS = 5000,
  ANSWER_MS = 30000,
  ANSWER_MAX_BYTES = 64 << 10, // servers have little to say
  FIRST_WAIT_MS = 500,
  LAST_WAIT_MS = 60000,
  END_WAIT_MS = 250, // between tries, at the end
  GRACE_MS = 2000,   // for the thread to notice the end
};

struct offered_file {
  char *build_id, *path; // owned
};

struct tide_outbox {
  struct tide_outbox_options options;
  char *tenant_header; // NULL: none
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t change;
  struct tide_outbox_request requests[MAX_REQUESTS]; // the oldest first
  size_t n;
  struct offered_file *files; // all that ever were
  size_t n_files, cap_files;
  size_t next_file; // that is to be brought
  bool is_sending;  // the oldest
  uint64_t end_ns;  // by the monotonic clock; 0: not yet
  bool has_left;
  struct tide_outbox_counts counts;
};

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// ---- the thread ----

static bool is_past_end(void *context)
{
  struct tide_outbox *outbox = context;
  pthread_mutex_lock(&outbox->lock);
  bool is_past = outbox->end_ns && now_ns() >= outbox->end_ns;
  pthread_mutex_unlock(&outbox->lock);
  return is_past;
}

static enum tide_push_verdict send_request(struct tide_outbox *outbox,
                                           const struct tide_buf *request, char *why, size_t max,
                                           uint32_t *ret_retry_s, uint64_t *ret_n_rejected)
{
  const struct tide_push_target *target = &outbox->options.target;
  const char *const *own = tide_push_headers(target->kind);
  const char *headers[8] = {0};
  size_t n = 0;
  for (; own[n] && n < 6; n++)
    headers[n] = own[n];
  headers[n] = outbox->tenant_header;
  const struct tide_exchange_ask ask = {
      .url = target->url,
      .token = outbox->options.token,
      .headers = headers,
      .body = request->data,
      .body_bytes = request->n,
      .connect_ms = CONNECT_MS,
      .all_ms = ANSWER_MS,
      .max_bytes = ANSWER_MAX_BYTES,
      .is_by_status = true,
      .is_over = is_past_end,
      .context = outbox,
  };
  struct tide_exchange answer = {0};
  struct tide_diag diag = {0};
  enum tide_err err = tide_exchange_run(&ask, &answer, &diag);
  if (err) {
    snprintf(why, max, "%.300s", diag.text);
    return TIDE_PUSH_AGAIN;
  }
  enum tide_push_verdict verdict = tide_push_judge(target->kind, &answer, why, max);
  *ret_n_rejected = tide_push_n_rejected(target->kind, &answer);
  *ret_retry_s = answer.retry_s;
  tide_exchange_done(&answer);
  return verdict;
}

// Under the lock.
static void remove_request(struct tide_outbox *outbox, size_t idx)
{
  struct tide_outbox_request *at = &outbox->requests[idx];
  tide_buf_done(&at->body);
  outbox->n--;
  memmove(at, at + 1, (outbox->n - idx) * sizeof *at);
}

// Under the lock, which is given up meanwhile. Ends early at the end, when waits are short.
static void wait_before_next(struct tide_outbox *outbox, uint32_t wait_ms)
{
  uint64_t from_ns = now_ns();
  for (;;) {
    uint64_t until_ns = from_ns + (outbox->end_ns ? END_WAIT_MS : wait_ms) * 1000000ull;
    if (outbox->end_ns && outbox->end_ns < until_ns)
      until_ns = outbox->end_ns;
    if (now_ns() >= until_ns)
      return;
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    pthread_cond_timedwait(&outbox->change, &outbox->lock, &until);
  }
}

static void note_failure(struct tide_outbox *outbox, const char *why)
{
  bool is_first = !outbox->counts.n_failures++;
  snprintf(outbox->counts.why, sizeof outbox->counts.why, "%s", why);
  if (is_first && outbox->options.failed && !outbox->end_ns)
    outbox->options.failed(outbox->options.target.shown, why);
}

// How long to wait before the next try: the server's wish, or twice the time of the one before.
static uint32_t next_wait_ms(uint32_t wait_ms, uint32_t retry_s)
{
  uint64_t next = wait_ms ? 2ull * wait_ms : FIRST_WAIT_MS;
  if (retry_s * 1000ull > next)
    next = retry_s * 1000ull;
  return next < LAST_WAIT_MS ? (uint32_t)next : LAST_WAIT_MS;
}

// Under the lock. A server counts the columns of a profile one by one, so fewer of ours may be
// meant than it rejects; what was allocated is told of the request as a whole.
static void count_refused(struct tide_outbox_counts *counts,
                          const struct tide_outbox_request *request, uint64_t n_rejected)
{
  uint64_t n = request->n_profiles;
  bool is_in_part = n_rejected && n_rejected < n;
  uint64_t n_refused = is_in_part ? n_rejected : n;
  counts->n_refused += n_refused;
  counts->n_taken += n - n_refused;
  counts->n_in_part += is_in_part;
  counts->lost_bytes += request->allocated_bytes;
}

// Under the lock, which is given up while it is sent. Gives how long to wait.
static uint32_t send_oldest(struct tide_outbox *outbox, uint32_t waited_ms)
{
  const struct tide_outbox_request request = outbox->requests[0];
  char why[320] = "";
  uint32_t retry_s = 0;
  uint64_t n_rejected = 0;
  outbox->is_sending = true;
  pthread_mutex_unlock(&outbox->lock);
  enum tide_push_verdict verdict =
      send_request(outbox, &request.body, why, sizeof why, &retry_s, &n_rejected);
  pthread_mutex_lock(&outbox->lock);
  outbox->is_sending = false;
  if (verdict != TIDE_PUSH_TAKEN)
    note_failure(outbox, why);
  if (verdict == TIDE_PUSH_AGAIN)
    return next_wait_ms(waited_ms, retry_s);
  if (verdict == TIDE_PUSH_TAKEN)
    outbox->counts.n_taken += request.n_profiles;
  else
    count_refused(&outbox->counts, &request, n_rejected);
  remove_request(outbox, 0);
  return 0;
}

// Likewise, of the next file.
static uint32_t bring_next_file(struct tide_outbox *outbox, uint32_t waited_ms)
{
  const struct offered_file file = outbox->files[outbox->next_file];
  const struct tide_upload upload = {
      .base_url = outbox->options.target.base,
      .token = outbox->options.token,
      .build_id = file.build_id,
      .path = file.path,
      .is_over = is_past_end,
      .context = outbox,
  };
  char why[320] = "";
  bool was_there = false;
  pthread_mutex_unlock(&outbox->lock);
  enum tide_push_verdict verdict = tide_upload_run(&upload, &was_there, why, sizeof why);
  pthread_mutex_lock(&outbox->lock);
  if (verdict != TIDE_PUSH_TAKEN)
    note_failure(outbox, why);
  if (verdict == TIDE_PUSH_AGAIN)
    return next_wait_ms(waited_ms, 0);
  outbox->counts.n_files_there += was_there;
  outbox->counts.n_files_sent += verdict == TIDE_PUSH_TAKEN && !was_there;
  outbox->counts.n_files_failed += verdict == TIDE_PUSH_REFUSED;
  outbox->next_file++;
  return 0;
}

// Connections are this thread's alone; nothing of the recording is held open by it. Where that is
// not to be had (Linux before 5.9, a filter of system calls) it goes on with everybody's.
static void leave_descriptors(void)
{
  (void)!close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE);
}

// Under the lock. What waits is lost.
static void count_left(const struct tide_outbox *outbox, struct tide_outbox_counts *counts)
{
  for (size_t i = 0; i < outbox->n; i++) {
    counts->n_left += outbox->requests[i].n_profiles;
    counts->lost_bytes += outbox->requests[i].allocated_bytes;
  }
  counts->n_files_left = outbox->n_files - outbox->next_file;
}

// Under the lock.
static bool has_work(const struct tide_outbox *outbox)
{
  return outbox->n || outbox->next_file < outbox->n_files;
}

static void *send_all(void *context)
{
  struct tide_outbox *outbox = context;
  uint32_t wait_ms = 0;
  leave_descriptors();
  pthread_mutex_lock(&outbox->lock);
  for (;;) {
    while (!has_work(outbox) && !outbox->end_ns)
      pthread_cond_wait(&outbox->change, &outbox->lock);
    if (!has_work(outbox) || (outbox->end_ns && now_ns() >= outbox->end_ns))
      break;
    wait_ms = outbox->n ? send_oldest(outbox, wait_ms) : bring_next_file(outbox, wait_ms);
    if (wait_ms)
      wait_before_next(outbox, wait_ms);
  }
  count_left(outbox, &outbox->counts);
  outbox->has_left = true;
  pthread_cond_broadcast(&outbox->change);
  pthread_mutex_unlock(&outbox->lock);
  return NULL;
}

// ---- the maker's ----

static void free_outbox(struct tide_outbox *outbox)
{
  while (outbox->n)
    remove_request(outbox, outbox->n - 1);
  for (size_t i = 0; i < outbox->n_files; i++) {
    free(outbox->files[i].build_id);
    free(outbox->files[i].path);
  }
  free(outbox->files);
  pthread_mutex_destroy(&outbox->lock);
  pthread_cond_destroy(&outbox->change);
  tide_push_target_done(&outbox->options.target);
  free(outbox->tenant_header);
  free(outbox);
}

struct tide_outbox *tide_outbox_new(const struct tide_outbox_options *options)
{
  struct tide_outbox *outbox = tide_alloc(sizeof *outbox);
  pthread_condattr_t attributes;
  sigset_t all, before;
  *outbox = (struct tide_outbox){.options = *options};
  if (options->tenant)
    outbox->tenant_header = tide_sprintf("X-Scope-OrgID: %s", options->tenant);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&outbox->change, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&outbox->lock, NULL);
  sigfillset(&all); // a connection that breaks must not end us by SIGPIPE
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&outbox->thread, NULL, send_all, outbox);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!failed)
    return outbox;
  free_outbox(outbox);
  return NULL;
}

const struct tide_push_target *tide_outbox_target(const struct tide_outbox *outbox)
{
  return &outbox->options.target;
}

// Under the lock.
static bool is_full(const struct tide_outbox *outbox, size_t more_bytes)
{
  uint64_t n_bytes = more_bytes;
  for (size_t i = 0; i < outbox->n; i++)
    n_bytes += outbox->requests[i].body.n;
  return outbox->n == MAX_REQUESTS || n_bytes > MAX_BYTES;
}

void tide_outbox_put(struct tide_outbox *outbox, struct tide_outbox_request *request)
{
  pthread_mutex_lock(&outbox->lock);
  while (outbox->n > (size_t)outbox->is_sending && is_full(outbox, request->body.n)) {
    const struct tide_outbox_request *oldest = &outbox->requests[outbox->is_sending];
    outbox->counts.n_dropped += oldest->n_profiles;
    outbox->counts.lost_bytes += oldest->allocated_bytes;
    remove_request(outbox, outbox->is_sending);
  }
  outbox->requests[outbox->n++] = *request;
  outbox->counts.n_put += request->n_profiles;
  *request = (struct tide_outbox_request){0};
  pthread_cond_broadcast(&outbox->change);
  pthread_mutex_unlock(&outbox->lock);
}

bool tide_outbox_was_offered(struct tide_outbox *outbox, const char *build_id)
{
  bool was = false;
  pthread_mutex_lock(&outbox->lock);
  for (size_t i = 0; i < outbox->n_files && !was; i++)
    was = strcmp(outbox->files[i].build_id, build_id) == 0;
  pthread_mutex_unlock(&outbox->lock);
  return was;
}

void tide_outbox_offer(struct tide_outbox *outbox, const char *build_id, const char *path)
{
  if (tide_outbox_was_offered(outbox, build_id))
    return;
  pthread_mutex_lock(&outbox->lock);
  if (outbox->n_files < MAX_FILES) {
    TIDE_GROW(outbox->files, outbox->n_files, outbox->cap_files);
    outbox->files[outbox->n_files++] =
        (struct offered_file){tide_strdup(build_id), tide_strdup(path)};
    pthread_cond_broadcast(&outbox->change);
  } else {
    outbox->counts.n_files_failed++;
  }
  pthread_mutex_unlock(&outbox->lock);
}

void tide_outbox_miss(struct tide_outbox *outbox, const struct tide_outbox_request *request,
                      const char *why)
{
  pthread_mutex_lock(&outbox->lock);
  outbox->counts.n_put += request->n_profiles;
  outbox->counts.n_refused += request->n_profiles;
  outbox->counts.lost_bytes += request->allocated_bytes;
  snprintf(outbox->counts.why, sizeof outbox->counts.why, "%s", why);
  pthread_mutex_unlock(&outbox->lock);
}

void tide_outbox_counts(struct tide_outbox *outbox, struct tide_outbox_counts *ret_counts)
{
  pthread_mutex_lock(&outbox->lock);
  *ret_counts = outbox->counts;
  pthread_mutex_unlock(&outbox->lock);
}

void tide_outbox_end(struct tide_outbox *outbox, uint32_t within_ms)
{
  pthread_mutex_lock(&outbox->lock);
  outbox->end_ns = now_ns() + within_ms * 1000000ull;
  pthread_cond_broadcast(&outbox->change);
  pthread_mutex_unlock(&outbox->lock);
}

void tide_outbox_finish(struct tide_outbox *outbox, struct tide_outbox_counts *ret_counts)
{
  pthread_mutex_lock(&outbox->lock);
  uint64_t until_ns = outbox->end_ns + GRACE_MS * 1000000ull;
  struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
  while (!outbox->has_left && pthread_cond_timedwait(&outbox->change, &outbox->lock, &until) == 0)
    continue;
  bool has_left = outbox->has_left;
  *ret_counts = outbox->counts;
  if (!has_left)
    count_left(outbox, ret_counts);
  pthread_mutex_unlock(&outbox->lock);
  if (!has_left)
    return; // it ends with the process
  pthread_join(outbox->thread, NULL);
  free_outbox(outbox);
}
