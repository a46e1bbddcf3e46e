// SPDX-License-Identifier: Apache-2.0
//
// See pushing.h. Until the end all of it is the maker's thread's but what is under the lock; then
// that has ended, and the last profile is made by the caller.
#define _GNU_SOURCE
#include "cli/pushing.h"

#include "base/alloc.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "export/exports.h"
#include "export/pprof_base.h"
#include "profile/completeness.h"
#include "profile/profile.h"
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

// One server, and from where on it wants to know what was allocated.
struct recipient {
  struct tide_push_target target; // until it has an outbox
  struct tide_outbox *outbox;
  struct tide_pprof_base *base, *base_before; // of the newest request; of the one before
  uint64_t time_ns, time_before_ns;           // likewise, realtime; 0: the start
};

struct tide_pushing {
  const struct tide_arguments *arguments;
  const struct tide_rules *rules;
  struct tide_control *control;
  bool owns_control;
  char *token, *name;
  char *labels_text;
  struct tide_push_label labels[TIDE_PUSH_MAX_LABELS];
  size_t n_labels;
  struct recipient recipients[TARGETS_MAX];
  size_t n_recipients;
  uint32_t pid;       // of whom profiles are; 0: none yet
  uint64_t latest_ns; // realtime: moments are told apart by it
  pthread_t thread;
  bool has_thread;
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
    if (p->n_recipients == TARGETS_MAX)
      return tide_fail(diag, TIDE_ERR_USAGE, "--push: at most %d servers", TARGETS_MAX);
    enum tide_err err = tide_push_target_parse(word, &p->recipients[p->n_recipients].target, diag);
    if (err)
      return err;
    p->n_recipients++;
  }
  return TIDE_ERR_OK;
}

static enum tide_err parse_labels(struct tide_pushing *p, struct tide_diag *diag)
{
  if (!p->arguments->push_labels)
    return TIDE_ERR_OK;
  p->labels_text = tide_strdup(p->arguments->push_labels);
  char *rest = p->labels_text;
  for (char *word; (word = strsep(&rest, "\n"));) {
    if (p->n_labels == TIDE_PUSH_MAX_LABELS)
      return tide_fail(diag, TIDE_ERR_USAGE, "--push-label: at most %d", TIDE_PUSH_MAX_LABELS);
    enum tide_err err = tide_push_label_parse(word, &p->labels[p->n_labels], diag);
    for (size_t i = 0; !err && i < p->n_labels; i++)
      if (strcmp(p->labels[i].name, p->labels[p->n_labels].name) == 0)
        err = tide_fail(diag, TIDE_ERR_USAGE, "--push-label: %s is given twice", p->labels[i].name);
    if (err)
      return err;
    p->n_labels++;
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
             arguments->push_tenant;
  const char *tenant = arguments->push_tenant ? arguments->push_tenant : "x";
  if (any && !arguments->push)
    return tide_fail(diag, TIDE_ERR_USAGE, "--push-every and its like go with --push");
  if (arguments->push_every_s > EVERY_MAX_S)
    return tide_fail(diag, TIDE_ERR_USAGE, "--push-every takes at most %d", EVERY_MAX_S);
  if (!*tenant || strlen(tenant) > 150 || strpbrk(tenant, "\r\n"))
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is no tenant", tenant);
  return TIDE_ERR_OK;
}

// ---- the moment ----

static uint64_t realtime_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool runs(const struct tide_image *image)
{
  return image->pid &&
         (image->end_kind == TIDE_END_UNKNOWN || image->end_kind == TIDE_END_DETACHED);
}

// The process that profiles were of, as long as it runs; else the one that the report shows, else
// the largest that runs. At the end those that ran count as well. False: there is none.
static bool choose_image(const struct tide_pushing *p, const struct tide_capture *capture,
                         bool is_end, size_t *ret_idx)
{
  size_t shown_idx = 0, n = capture->n_images;
  bool found = false;
  for (size_t i = 0; i < n; i++)
    if (p->pid && capture->images[i].pid == p->pid && (is_end || runs(&capture->images[i]))) {
      *ret_idx = i; // of several images of a process the latest
      found = true;
    }
  if (found)
    return true;
  if (!n || tide_profile_pick(capture, NULL, &shown_idx, NULL))
    return false;
  *ret_idx = shown_idx;
  if (is_end || runs(&capture->images[shown_idx]))
    return capture->images[shown_idx].pid;
  for (size_t i = 0; i < n; i++)
    if (runs(&capture->images[i]) &&
        (!found || capture->images[i].peak_bytes > capture->images[*ret_idx].peak_bytes)) {
      *ret_idx = i;
      found = true;
    }
  return found;
}

// ---- profiles ----

static enum tide_err write_profile(struct tide_view *view, const struct tide_pushing *p,
                                   const struct recipient *to, enum tide_export_part part,
                                   struct tide_buf *out, struct tide_diag *diag)
{
  bool is_apart = part == TIDE_EXPORT_ALLOCATED;
  struct tide_export_options options = {
      .file = p->name,
      .measure_said = true,
      .asked_realtime_ns = p->latest_ns,
      .base = part == TIDE_EXPORT_HELD ? NULL : to->base,
      .only_allocated_since = true,
      .part = part,
      .max_bytes = TIDE_PUSH_MAX_BYTES,
      .max_stacks = TIDE_PUSH_MAX_STACKS,
      .max_frames = TIDE_PUSH_MAX_FRAMES,
  };
  uint64_t from_ns = to->time_ns ? to->time_ns : view->profile->capture->start_realtime_ns;
  if (is_apart) // never 0, or it would not be a difference
    options.since_ns = p->latest_ns > from_ns ? p->latest_ns - from_ns : 1;
  struct tide_sink sink;
  tide_sink_init(&sink, NULL);
  enum tide_err err = tide_export_find("pprof")->write(&sink, view, &options, diag);
  if (err)
    tide_sink_done(&sink);
  else
    *out = sink.buf;
  return err;
}

// What the server is told of whom this is; the user's come before ours.
static size_t gather_labels(const struct tide_pushing *p, const struct tide_image *image,
                            const char *host, const char *pid, struct tide_push_label *out)
{
  const char *program = image->exe && *image->exe ? image->exe : "unknown";
  const char *slash = strrchr(program, '/');
  const struct tide_push_label own[] = {
      {"service_name", slash && slash[1] ? slash + 1 : program}, {"host", host}, {"pid", pid}};
  size_t n = p->n_labels;
  memcpy(out, p->labels, n * sizeof *out);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    bool is_given = false;
    for (size_t k = 0; k < p->n_labels; k++)
      is_given |= strcmp(p->labels[k].name, own[i].name) == 0;
    if (!is_given)
      out[n++] = own[i];
  }
  return n;
}

static enum tide_err make_request(struct tide_view *view, const struct tide_pushing *p,
                                  const struct recipient *to, struct tide_buf *body,
                                  struct tide_diag *diag)
{
  struct tide_push_label labels[TIDE_PUSH_MAX_LABELS + 4];
  struct tide_buf profiles[2] = {0};
  char host[256] = "", pid[16];
  enum tide_push_kind kind = tide_outbox_target(to->outbox)->kind;
  bool is_apart = kind == TIDE_PUSH_PARCA;
  if (gethostname(host, sizeof host - 1) || !*host)
    snprintf(host, sizeof host, "unknown");
  snprintf(pid, sizeof pid, "%" PRIu32, view->profile->image->pid);
  enum tide_err err =
      write_profile(view, p, to, is_apart ? TIDE_EXPORT_HELD : TIDE_EXPORT_ALL, &profiles[0], diag);
  if (!err && is_apart)
    err = write_profile(view, p, to, TIDE_EXPORT_ALLOCATED, &profiles[1], diag);
  if (!err) {
    size_t n = gather_labels(p, view->profile->image, host, pid, labels);
    tide_push_encode(kind, labels, n, profiles, is_apart ? 2 : 1, body);
  }
  tide_buf_done(&profiles[0]);
  tide_buf_done(&profiles[1]);
  return err;
}

// What was taken back is in the next one, as that begins where it began.
static void make_room(struct recipient *to)
{
  if (tide_outbox_has_room(to->outbox) || !tide_outbox_take_back(to->outbox))
    return;
  tide_pprof_base_free(to->base);
  to->base = to->base_before;
  to->base_before = NULL;
  to->time_ns = to->time_before_ns;
}

static void put_request(struct tide_view *view, const struct tide_pushing *p, struct recipient *to)
{
  struct tide_buf body = {0};
  struct tide_diag diag = {0};
  make_room(to);
  if (make_request(view, p, to, &body, &diag)) {
    tide_buf_done(&body);
    return;
  }
  tide_pprof_base_free(to->base_before);
  to->base_before = to->base;
  to->time_before_ns = to->time_ns;
  to->base = tide_pprof_base_take(view->profile);
  to->time_ns = p->latest_ns;
  tide_outbox_put(to->outbox, &body);
}

// Another process begins anew.
static void turn_to(struct tide_pushing *p, const struct tide_image *image)
{
  if (p->pid == image->pid)
    return;
  p->pid = image->pid;
  for (size_t i = 0; i < p->n_recipients; i++) {
    struct recipient *to = &p->recipients[i];
    tide_pprof_base_free(to->base);
    tide_pprof_base_free(to->base_before);
    to->base = to->base_before = NULL;
    to->time_ns = to->time_before_ns = 0;
  }
}

static void push_moment(struct tide_pushing *p, struct tide_capture *capture, bool is_end)
{
  size_t idx;
  if (!choose_image(p, capture, is_end, &idx))
    return;
  struct tide_capture moment = *capture;
  moment.finished = true; // as of now it is whole
  struct tide_profile *profile = tide_profile_new(&moment, idx);
  const struct tide_question question = {.measure = TIDE_MEASURE_LIVE};
  struct tide_view view;
  uint64_t now_ns = realtime_ns();
  p->latest_ns = now_ns > p->latest_ns ? now_ns : p->latest_ns + 1;
  turn_to(p, profile->image);
  tide_profile_ask(profile, &question);
  struct tide_naming *naming = tide_naming_open(p->arguments, profile->image, p->rules);
  tide_view_init(&view, profile, naming, NULL, true);
  for (size_t i = 0; i < p->n_recipients; i++)
    if (p->recipients[i].outbox)
      put_request(&view, p, &p->recipients[i]);
  tide_view_done(&view);
  tide_naming_free(naming);
  tide_profile_free(profile);
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
    push_moment(p, capture, false);
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
      .arguments = arguments, .rules = rules, .control = control, .owns_control = !control};
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
  for (size_t i = 0; i < p->n_recipients; i++) {
    tide_push_target_done(&p->recipients[i].target);
    tide_pprof_base_free(p->recipients[i].base);
    tide_pprof_base_free(p->recipients[i].base_before);
  }
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
  for (size_t i = 0; i < p->n_recipients; i++) {
    const struct tide_outbox_options options = {
        .target = p->recipients[i].target,
        .token = p->token,
        .tenant = p->arguments->push_tenant,
        .failed = say_failed,
    };
    p->recipients[i].target = (struct tide_push_target){0};
    p->recipients[i].outbox = tide_outbox_new(&options);
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
  for (size_t i = 0; i < p->n_recipients; i++) {
    struct tide_outbox_counts counts = {0};
    if (p->recipients[i].outbox)
      tide_outbox_counts(p->recipients[i].outbox, &counts);
    sums.n_taken += counts.n_taken;
    sums.n_refused += counts.n_refused + counts.n_thinned;
    sums.n_failures += counts.n_failures;
  }
  const struct {
    const char *name, *help;
    uint64_t value;
  } rows[] = {
      {"tidemark_push_profiles_total", "Profiles that servers took.", sums.n_taken},
      {"tidemark_push_dropped_profiles_total",
       "Profiles that servers refused, or that were left out while they did not answer.",
       sums.n_refused},
      {"tidemark_push_failures_total", "Requests to servers that failed.", sums.n_failures},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    tide_buf_printf(out, "# HELP %s %s\n# TYPE %s counter\n%s %" PRIu64 "\n", rows[i].name,
                    rows[i].help, rows[i].name, rows[i].name, rows[i].value);
}

static void say_counts(const char *shown, const struct tide_outbox_counts *counts, bool is_quiet)
{
  uint64_t n_lost = counts->n_refused + counts->n_left;
  uint64_t n_all = counts->n_put + counts->n_thinned;
  if (!n_lost && !counts->n_thinned && is_quiet)
    return;
  if (!n_lost && !counts->n_thinned)
    tide_say("%s has all %" PRIu64 " profiles of this run", shown, n_all);
  else
    tide_say("%s has %" PRIu64 " of %" PRIu64 " profiles: %" PRIu64 " were refused, %" PRIu64
             " not sent, %" PRIu64 " left out while it did not answer; the latest failure: %s",
             shown, counts->n_taken, n_all, counts->n_refused, counts->n_left, counts->n_thinned,
             *counts->why ? counts->why : "none");
}

void tide_pushing_finish(struct tide_pushing *p, const struct tide_run_result *result)
{
  pthread_mutex_lock(&p->lock);
  p->is_over = true;
  pthread_cond_broadcast(&p->change);
  pthread_mutex_unlock(&p->lock);
  if (p->has_thread)
    pthread_join(p->thread, NULL);
  push_moment(p, result->capture, true);
  tide_progress_stop();
  for (size_t i = 0; i < p->n_recipients; i++)
    if (p->recipients[i].outbox)
      tide_outbox_end(p->recipients[i].outbox, LAST_MS);
  for (size_t i = 0; i < p->n_recipients; i++) {
    struct tide_outbox_counts counts;
    if (!p->recipients[i].outbox)
      continue;
    TIDE_CLEANUP_FREE char *shown = tide_strdup(tide_outbox_target(p->recipients[i].outbox)->shown);
    tide_outbox_finish(p->recipients[i].outbox, &counts);
    say_counts(shown, &counts, p->arguments->quiet);
  }
  tide_pushing_free(p); // the token stays: a thread may have it yet
}
