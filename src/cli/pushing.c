// SPDX-License-Identifier: Apache-2.0
//
// See pushing.h. Until the end all of it is the maker's thread's but what is under the lock; then
// that has ended, and the last profile is made by the caller.
#define _GNU_SOURCE
#include "cli/pushing.h"

#include "base/alloc.h"
#include "base/units.h"
#include "cli/opening.h"
#include "cli/push_moment.h"
#include "cli/terminal.h"
#include "profile/completeness.h"
#include "push/outbox.h"
#include "tide/file.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  TARGETS_MAX = 4,
  EVERY_DEFAULT_S = 10,
  EVERY_MAX_S = 24 * 3600,
  DRAFT_MS = 5000,
  LAST_MS = 5000, // for servers, at the end
};

struct tide_pushing {
  const struct tide_arguments *arguments;
  struct tide_control *control;
  bool owns_control;
  char *token, *name;
  char *labels_text;
  struct tide_push_moments moments;
  struct tide_push_target targets[TARGETS_MAX]; // until there are …
  struct tide_outbox *outboxes[TARGETS_MAX];    // … these; NULL: not to be had
  size_t n_targets;
  pthread_t thread;
  bool has_thread;
  bool is_silent; // that nothing is pushed while recording is off was said
  pthread_mutex_t lock;
  pthread_cond_t change;
  bool is_over; // under the lock
};

// ---- what was asked for ----

static enum tide_err parse_targets(struct tide_pushing *p, struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE char *text = tide_strdup(p->arguments->push);
  char *rest = text;
  for (char *word; (word = strsep(&rest, "\n"));) {
    if (p->n_targets == TARGETS_MAX)
      return tide_fail(diag, TIDE_ERR_USAGE, "--push: at most %d servers", TARGETS_MAX);
    enum tide_err err = tide_push_target_parse(word, &p->targets[p->n_targets], diag);
    if (err)
      return err;
    p->n_targets++;
  }
  return TIDE_ERR_OK;
}

static enum tide_err parse_labels(struct tide_pushing *p, struct tide_diag *diag)
{
  struct tide_push_moments *m = &p->moments;
  if (!p->arguments->push_labels)
    return TIDE_ERR_OK;
  p->labels_text = tide_strdup(p->arguments->push_labels);
  char *rest = p->labels_text;
  for (char *word; (word = strsep(&rest, "\n"));) {
    if (m->n_labels == TIDE_PUSH_MAX_LABELS)
      return tide_fail(diag, TIDE_ERR_USAGE, "--push-label: at most %d", TIDE_PUSH_MAX_LABELS);
    enum tide_err err = tide_push_label_parse(word, &m->labels[m->n_labels], diag);
    for (size_t i = 0; !err && i < m->n_labels; i++)
      if (strcmp(m->labels[i].name, m->labels[m->n_labels].name) == 0)
        err = tide_fail(diag, TIDE_ERR_USAGE, "--push-label: %s is given twice", m->labels[i].name);
    if (err)
      return err;
    m->n_labels++;
  }
  return TIDE_ERR_OK;
}

static enum tide_err find_push_token(struct tide_pushing *p, struct tide_diag *diag)
{
  const char *given = getenv("TIDEMARK_PUSH_TOKEN");
  if (p->arguments->push_token_file)
    return tide_token_read(p->arguments->push_token_file, &p->token, diag);
  p->token = given && *given ? tide_strdup(given) : NULL;
  return TIDE_ERR_OK;
}

enum tide_err tide_pushing_check(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  bool any = arguments->push_every_s || arguments->push_labels || arguments->push_token_file ||
             arguments->push_tenant || arguments->push_debuginfo;
  const char *tenant = arguments->push_tenant ? arguments->push_tenant : "x";
  if (any && !arguments->push)
    return tide_fail(diag, TIDE_ERR_USAGE, "--push-every and its like go with --push");
  if (arguments->push_every_s > EVERY_MAX_S)
    return tide_fail(diag, TIDE_ERR_USAGE, "--push-every takes a day at most");
  if (!*tenant || strlen(tenant) > 150 || strpbrk(tenant, "\r\n"))
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is no tenant", tenant);
  return TIDE_ERR_OK;
}

// ---- the thread ----

// Its own, with the one that the recording is asked by, as in live_page.c.
static void take_own_files(const struct tide_pushing *p)
{
  int kept = tide_control_wake_fd(p->control);
  if (close_range((unsigned)kept + 1, ~0U, CLOSE_RANGE_UNSHARE))
    return;
  for (int fd = STDERR_FILENO + 1; fd < kept; fd++)
    close(fd);
}

// Once each time that it is switched off.
static void say_silence(struct tide_pushing *p)
{
  bool is_silent = p->moments.n_silent > 0;
  if (is_silent && !p->is_silent && !p->arguments->quiet)
    tide_say("recording is off: servers have what was recorded up to then, and nothing is pushed "
             "until it is on");
  p->is_silent = is_silent;
}

static void push_now(struct tide_pushing *p)
{
  const struct tide_ask ask = {.kind = TIDE_ASK_DRAFT, .is_brief = true};
  struct tide_answer answer = {0};
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  tide_control_ask(p->control, &ask, DRAFT_MS, &answer);
  if (answer.draft &&
      !tide_file_parse(answer.draft->bytes.data, answer.draft->bytes.n, p->name, &capture, &diag)) {
    tide_capture_complete(capture, p->name);
    tide_push_moments_tell(&p->moments, capture, false, p->outboxes, p->n_targets);
    say_silence(p);
    tide_capture_free(capture);
  }
  tide_answer_done(&answer);
}

// Until the next moment; false: it is over.
static bool await_moment(struct tide_pushing *p, struct timespec *next)
{
  uint64_t every_s = p->arguments->push_every_s ? p->arguments->push_every_s : EVERY_DEFAULT_S;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  next->tv_sec += (time_t)every_s;
  if (next->tv_sec <= now.tv_sec) // what took too long is left out
    next->tv_sec = now.tv_sec + (time_t)every_s;
  pthread_mutex_lock(&p->lock);
  while (!p->is_over && pthread_cond_timedwait(&p->change, &p->lock, next) == 0)
    continue;
  bool is_over = p->is_over;
  pthread_mutex_unlock(&p->lock);
  return !is_over;
}

static void *make_profiles(void *context)
{
  struct tide_pushing *p = context;
  struct timespec next;
  tide_progress_mute();
  take_own_files(p);
  clock_gettime(CLOCK_MONOTONIC, &next);
  while (await_moment(p, &next)) {
    push_now(p);
    malloc_trim(0); // a profile of 10,000 stacks takes 80 MB while it is made
  }
  return NULL;
}

// ---- the caller's ----

static void say_failed(const char *shown, const char *why)
{
  tide_say("%s: %s; it is tried again, and told at the end", shown, why);
}

enum tide_err tide_pushing_new(const struct tide_arguments *arguments,
                               const struct tide_rules *rules, struct tide_control *control,
                               struct tide_pushing **ret_pushing, struct tide_diag *diag)
{
  struct tide_pushing *p = tide_alloc(sizeof *p);
  pthread_condattr_t attributes;
  *p = (struct tide_pushing){
      .arguments = arguments,
      .control = control,
      .owns_control = !control,
      .moments = {.arguments = arguments, .rules = rules},
  };
  if (!control)
    p->control = tide_control_new();
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&p->change, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&p->lock, NULL);
  enum tide_err err = parse_targets(p, diag);
  if (!err)
    err = parse_labels(p, diag);
  if (!err)
    err = find_push_token(p, diag);
  if (err)
    tide_pushing_free(p);
  else
    *ret_pushing = p;
  return err;
}

struct tide_control *tide_pushing_control(struct tide_pushing *pushing)
{
  return pushing->control;
}

void tide_pushing_free(struct tide_pushing *p)
{
  if (!p)
    return;
  for (size_t i = 0; i < p->n_targets; i++)
    tide_push_target_done(&p->targets[i]);
  tide_push_moments_done(&p->moments);
  if (p->owns_control)
    tide_control_free(p->control);
  pthread_mutex_destroy(&p->lock);
  pthread_cond_destroy(&p->change);
  free(p->labels_text);
  free(p->name);
  free(p);
}

void tide_pushing_start(struct tide_pushing *p, const char *name)
{
  p->name = tide_strdup(name);
  p->moments.name = p->name;
  for (size_t i = 0; i < p->n_targets; i++) {
    const struct tide_outbox_options options = {
        .target = p->targets[i],
        .token = p->token,
        .tenant = p->arguments->push_tenant,
        .failed = say_failed,
    };
    p->targets[i] = (struct tide_push_target){0};
    p->outboxes[i] = tide_outbox_new(&options);
  }
  p->has_thread = !pthread_create(&p->thread, NULL, make_profiles, p);
}

uint64_t tide_pushing_spent_ns(const struct tide_pushing *p)
{
  struct timespec spent = {0};
  clockid_t clock;
  if (p->has_thread && !pthread_getcpuclockid(p->thread, &clock))
    clock_gettime(clock, &spent);
  return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

void tide_pushing_metrics(void *context, struct tide_buf *out)
{
  const struct tide_pushing *p = context;
  struct tide_outbox_counts sums = {0};
  for (size_t i = 0; i < p->n_targets; i++) {
    struct tide_outbox_counts counts = {0};
    if (p->outboxes[i])
      tide_outbox_counts(p->outboxes[i], &counts);
    sums.n_taken += counts.n_taken;
    sums.n_refused += counts.n_refused + counts.n_dropped;
    sums.lost_bytes += counts.lost_bytes;
    sums.n_failures += counts.n_failures;
  }
  const struct {
    const char *name, *help;
    uint64_t value;
  } rows[] = {
      {"tidemark_push_profiles_total", "Profiles that servers took.", sums.n_taken},
      {"tidemark_push_dropped_profiles_total",
       "Profiles that servers refused, or that were dropped while they did not answer.",
       sums.n_refused},
      {"tidemark_push_dropped_bytes_total", "Allocated bytes that only those profiles had.",
       sums.lost_bytes},
      {"tidemark_push_failures_total", "Requests to servers that failed.", sums.n_failures},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    tide_buf_printf(out, "# HELP %s %s\n# TYPE %s counter\n%s %" PRIu64 "\n", rows[i].name,
                    rows[i].help, rows[i].name, rows[i].name, rows[i].value);
}

static void say_counts(const char *shown, const struct tide_outbox_counts *counts, bool is_quiet)
{
  char lost[TIDE_UNITS_MAX];
  uint64_t n_lost = counts->n_refused + counts->n_left + counts->n_dropped;
  const char *at_least = counts->n_in_part ? "at least " : "";
  const char *at_most = counts->n_in_part ? "at most " : "";
  if (!n_lost && is_quiet)
    return;
  if (!n_lost)
    tide_say("%s has all %" PRIu64 " profiles of this run", shown, counts->n_put);
  else
    tide_say("%s has %s%" PRIu64 " of %" PRIu64 " profiles: %s%" PRIu64 " were refused, %" PRIu64
             " not sent, %" PRIu64 " dropped, the oldest, while it did not answer; its sums lack "
             "%s%s allocated bytes; the latest failure: %s",
             shown, at_least, counts->n_taken, counts->n_put, at_most, counts->n_refused,
             counts->n_left, counts->n_dropped, at_most,
             tide_units_digits(lost, counts->lost_bytes), *counts->why ? counts->why : "none");
}

static void say_files(const char *shown, const struct tide_outbox_counts *counts, bool is_quiet)
{
  uint64_t n_lost = counts->n_files_failed + counts->n_files_left;
  if (n_lost)
    tide_say("%s: %" PRIu64 " files with names were not uploaded (%" PRIu64 " were, %" PRIu64
             " it had); the latest failure: %s",
             shown, n_lost, counts->n_files_sent, counts->n_files_there,
             *counts->why ? counts->why : "it was over");
  else if (!is_quiet && counts->n_files_sent + counts->n_files_there)
    tide_say("%s: %" PRIu64 " files with names were uploaded, %" PRIu64 " it had", shown,
             counts->n_files_sent, counts->n_files_there);
}

void tide_pushing_finish(struct tide_pushing *p, const struct tide_run_result *result)
{
  pthread_mutex_lock(&p->lock);
  p->is_over = true;
  pthread_cond_broadcast(&p->change);
  pthread_mutex_unlock(&p->lock);
  if (p->has_thread)
    pthread_join(p->thread, NULL);
  tide_push_moments_tell(&p->moments, result->capture, true, p->outboxes, p->n_targets);
  tide_progress_stop();
  for (size_t i = 0; i < p->n_targets; i++)
    if (p->outboxes[i])
      tide_outbox_end(p->outboxes[i], LAST_MS);
  for (size_t i = 0; i < p->n_targets; i++) {
    struct tide_outbox_counts counts;
    if (!p->outboxes[i])
      continue;
    TIDE_CLEANUP_FREE char *shown = tide_strdup(tide_outbox_target(p->outboxes[i])->shown);
    tide_outbox_finish(p->outboxes[i], &counts);
    say_counts(shown, &counts, p->arguments->quiet);
    say_files(shown, &counts, p->arguments->quiet);
  }
  if (p->moments.n_left_out)
    tide_say("%" PRIu64
             " processes are not in what was pushed, or not to their end: of each moment "
             "the %d largest are",
             p->moments.n_left_out, TIDE_PUSH_MAX_PROCESSES);
  tide_pushing_free(p); // the token stays: a thread may have it yet
}
