// SPDX-License-Identifier: Apache-2.0
//
// The watch's thread: one loop over the living images, woken by a newcomer, an end, or the time
// for the next look. See watch.h.
#define _GNU_SOURCE
#include "supervise/watch_inside.h"

#include "base/alloc.h"
#include "base/proc.h"
#include "observe/switches.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define ROUND_NS                                                                                   \
  (1 * MS) // between two rounds: what comes and ends meanwhile is dealt with together
#define LATER_LOOK_NS (4 * MS) // most processes of a build or a script are over by then
#define FDS_PER_IMAGE 4        // store, pidfd, statm, pagemap
#define FDS_OF_OURS 64

static uint64_t realtime_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static size_t max_open_images(void)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < FDS_OF_OURS)
    return 1;
  return (limit.rlim_cur - FDS_OF_OURS) / FDS_PER_IMAGE;
}

struct tide_watch *tide_watch_new(const struct tide_watch_options *options)
{
  struct tide_watch *watch = tide_alloc(sizeof *watch);
  watch->options = *options;
  watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  watch->max_open = max_open_images();
  pthread_mutex_init(&watch->lock, NULL);
  tide_gallery_init(&watch->gallery, TIDE_WATCH_MAX_IMAGES, options->root_pid);
  watch->heart = tide_heart_new(options->objects_changed, options->objects_context);
  watch->lookout = tide_lookout_new();
  watch->absents = tide_absents_new(options->kin, options->root_pid, options->library);
  watch->desk = tide_desk_open();
  watch->is_paused = options->starts_paused;
  watch->start_realtime_ns = realtime_ns();
  watch->origin_ns = options->start.monotonic_ns;
  tide_pace_init(&watch->pace, options->start.monotonic_ns);
  return watch;
}

static void join_thread(struct tide_watch *watch)
{
  if (!watch->running)
    return;
  pthread_mutex_lock(&watch->lock);
  watch->stop = true;
  pthread_mutex_unlock(&watch->lock);
  eventfd_write(watch->wake_fd, 1);
  pthread_join(watch->thread, NULL);
  watch->running = false;
  tide_control_close(watch->options.control);
}

void tide_watch_free(struct tide_watch *watch)
{
  if (!watch)
    return;
  join_thread(watch);
  for (size_t i = 0; i < watch->n_living; i++)
    tide_watched_free(watch, watch->living[i]);
  for (size_t i = 0; i < watch->n_arrivals; i++) {
    const struct tide_door_visit *visit = &watch->arrivals[i].visit;
    if (visit->store_fd >= 0)
      close(visit->store_fd);
    if (visit->pid_fd >= 0)
      close(visit->pid_fd);
    free(watch->arrivals[i].exe);
    free(watch->arrivals[i].parent);
  }
  tide_desk_close(watch->desk);
  tide_heart_free(watch->heart);
  tide_lookout_free(watch->lookout);
  tide_absents_free(watch->absents);
  tide_gallery_done(&watch->gallery);
  tide_limits_free(watch->dumping.limits);
  free(watch->living);
  free(watch->arrivals);
  pthread_mutex_destroy(&watch->lock);
  close(watch->wake_fd);
  close(watch->epoll_fd);
  free(watch);
}

static char *program_of(uint32_t pid)
{
  char path[4096];
  return tide_strdup(tide_proc_exe(pid, path, sizeof path) ? path : "");
}

// Under the lock.
static void put_arrival(struct tide_watch *watch, const struct tide_door_visit *visit, char *exe)
{
  TIDE_GROW(watch->arrivals, watch->n_arrivals, watch->cap_arrivals);
  char *parent = exe ? tide_absent_parent(visit->pid, visit->teller_pid) : NULL;
  watch->arrivals[watch->n_arrivals++] = (struct tide_watch_arrival){*visit, exe, parent};
}

// One that goes without a store becomes a word about itself.
static void put_without_store(struct tide_watch *watch, const struct tide_door_visit *visit)
{
  struct tide_door_visit word = *visit;
  word.flags = TIDE_DOOR_ABSENT;
  bool has_left = visit->store_fd < 0 && !visit->store_errno;
  word.why = has_left ? TIDE_WHY_NO_ANSWER : TIDE_WHY_NO_STORE;
  word.store_fd = word.pid_fd = -1;
  word.teller_pid = visit->pid;
  put_arrival(watch, &word, program_of(visit->pid));
}

bool tide_watch_receive(void *context, const struct tide_door_visit *visit)
{
  struct tide_watch *watch = context;
  if (watch->options.root_only && visit->pid != watch->options.root_pid)
    return false;
  bool is_word = visit->flags & TIDE_DOOR_WORD_ONLY;
  pthread_mutex_lock(&watch->lock);
  bool room = !is_word && visit->store_fd >= 0 && watch->n_open < watch->max_open;
  if (!is_word && visit->store_fd < 0 && visit->store_errno)
    watch->store_errno = visit->store_errno;
  if (is_word) {
    put_arrival(watch, visit, tide_strdup(visit->exe ? visit->exe : ""));
  } else if (room) {
    if (watch->is_paused && !watch->options.is_attached)
      tide_switch_begin_paused(visit->store_fd, visit->time_ns);
    if (watch->resampled)
      tide_switch_begin_sampled(visit->store_fd, watch->resampled);
    put_arrival(watch, visit, NULL);
    watch->n_open++;
    watch->visited = true;
  } else {
    put_without_store(watch, visit);
  }
  bool wake = is_word || !room || !watch->will_come_back;
  pthread_mutex_unlock(&watch->lock);
  if (wake)
    eventfd_write(watch->wake_fd, 1);
  return room;
}

void tide_watch_unfit_command(struct tide_watch *watch, const char *exe, enum tide_why why,
                              const char *detail)
{
  struct tide_proc_stat stat = {0};
  uint32_t pid = watch->options.root_pid;
  tide_proc_stat(pid, &stat);
  struct tide_absent_word word = {
      .pid = pid, .born = stat.born, .exe = exe, .detail = detail, .teller_pid = pid, .why = why};
  tide_absents_told(watch->absents, &word, 0);
}

bool tide_watch_was_visited(const struct tide_watch *watch)
{
  return watch->visited;
}

int tide_watch_store_errno(const struct tide_watch *watch)
{
  return watch->store_errno;
}

// The number of the image that the visitor's process was before its exec, which ends that one; 0
// when the process is new to us.
static uint32_t end_predecessor(struct tide_watch *watch, const struct tide_door_visit *visit)
{
  size_t i = 0;
  while (i < watch->n_living && (!visit->pid || watch->living[i]->visit.pid != visit->pid))
    i++;
  if (i == watch->n_living)
    return 0;
  const struct tide_watched *w = watch->living[i];
  bool is_told = visit->identity && w->visit.identity, is_born = visit->born && w->visit.born;
  bool is_same =
      is_told ? visit->identity == w->visit.identity : !is_born || visit->born == w->visit.born;
  bool is_fresh = visit->flags & TIDE_DOOR_FORKED || !is_same;
  uint32_t number = w->number;
  tide_watch_finish_descendant(watch, i, is_fresh ? TIDE_END_EXITED : TIDE_END_EXECED,
                               visit->time_ns);
  return is_fresh ? 0 : number;
}

static void hear_word(struct tide_watch *watch, const struct tide_watch_arrival *arrival)
{
  const struct tide_door_visit *visit = &arrival->visit;
  struct tide_absent_word word = {.pid = visit->pid,
                                  .born = visit->born,
                                  .exe = arrival->exe,
                                  .parent = arrival->parent,
                                  .teller_pid = visit->teller_pid,
                                  .why = visit->why};
  if (visit->flags & TIDE_DOOR_ABSENT)
    tide_absents_told(watch->absents, &word, tide_watch_since_origin(watch, visit->time_ns));
  else if (visit->flags & TIDE_DOOR_STAYED)
    tide_absents_stayed(watch->absents, visit->pid, visit->born);
}

// Of a visitor that was taken for one that would not come, perhaps a moment ago.
static void excuse_visitor(struct tide_watch *watch, const struct tide_door_visit *visit,
                           struct tide_store_view *view)
{
  uint64_t since_ns;
  TIDE_CLEANUP_FREE char *exe = NULL;
  bool is_expected = tide_absents_left(watch->absents, visit->pid, visit->born, &since_ns);
  if (is_expected && view->fd >= 0 && !tide_store_view_refresh(view, NULL))
    exe = tide_store_view_text(view, view->header.exe, PATH_MAX);
  tide_absents_came(watch->absents, visit->pid, visit->born, visit->has_agent, exe,
                    tide_watch_since_origin(watch, visit->time_ns));
}

static void take_in_visit(struct tide_watch *watch, const struct tide_door_visit *visit)
{
  struct tide_watched *w = tide_alloc(sizeof *w);
  w->visit = *visit;
  if (tide_store_view_open(&w->view, visit->store_fd, NULL)) {
    w->view.fd = -1;
    w->broken = true;
  }
  watch->has_agents |= visit->has_agent || watch->options.is_attached;
  excuse_visitor(watch, visit, &w->view);
  uint32_t before = end_predecessor(watch, visit);
  if (!before) {
    before = tide_gallery_find(&watch->gallery, visit->told_parent_pid);
    watch->n_pids++;
  }
  w->number = tide_gallery_announce(&watch->gallery, visit->told_pid, before);
  w->sampler.rss.resident = (struct tide_resident){.statm_fd = -1, .pagemap_fd = -1};
  bool is_command = visit->pid == watch->options.root_pid;
  w->look_ns = visit->time_ns + (is_command ? ROUND_NS : LATER_LOOK_NS);
  TIDE_GROW(watch->living, watch->n_living, watch->cap_living);
  watch->living[watch->n_living++] = w;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};
  // The command's own end is waited for by its parent, who knows more.
  if (visit->pid_fd >= 0 && visit->pid != watch->options.root_pid)
    epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, visit->pid_fd, &event);
}

bool tide_watch_take_arrivals(struct tide_watch *watch)
{
  pthread_mutex_lock(&watch->lock);
  struct tide_watch_arrival *arrivals = watch->arrivals;
  size_t n = watch->n_arrivals;
  watch->arrivals = NULL;
  watch->n_arrivals = watch->cap_arrivals = 0;
  bool stop = watch->stop;
  watch->will_come_back = true;
  pthread_mutex_unlock(&watch->lock);
  for (size_t i = 0; i < n; i++) {
    if (arrivals[i].exe)
      hear_word(watch, &arrivals[i]);
    else
      take_in_visit(watch, &arrivals[i].visit);
    free(arrivals[i].exe);
    free(arrivals[i].parent);
  }
  free(arrivals);
  return stop;
}

static size_t find_root(const struct tide_watch *watch)
{
  size_t i = 0;
  while (i < watch->n_living && watch->living[i]->visit.pid != watch->options.root_pid)
    i++;
  return i;
}

static void finish_ended(struct tide_watch *watch)
{
  pthread_mutex_lock(&watch->lock);
  bool root_ended = watch->root_ended;
  pthread_mutex_unlock(&watch->lock);
  size_t root = root_ended ? find_root(watch) : watch->n_living;
  if (root < watch->n_living)
    tide_watch_finish(watch, root, &watch->root_end);
  for (size_t i = watch->n_living; i > 0; i--)
    if (watch->living[i - 1]->ended)
      tide_watch_finish_descendant(watch, i - 1, TIDE_END_EXITED, tide_monotonic_ns());
}

// Waits for the rest of the round. Where an end is not kept for us we have to be quick.
static void rest(const struct tide_watch *watch, uint64_t round_ns)
{
  uint64_t now_ns = tide_monotonic_ns(), until_ns = round_ns + ROUND_NS;
  if (!watch->ends_are_kept || now_ns >= until_ns)
    return;
  struct pollfd woken = {watch->wake_fd, POLLIN, 0};
  struct timespec left = {0, (long)(until_ns - now_ns)};
  ppoll(&woken, 1, &left, NULL);
}

// True: somebody came while nobody had to wake us.
static bool has_arrivals(struct tide_watch *watch)
{
  pthread_mutex_lock(&watch->lock);
  bool any = watch->n_arrivals > 0;
  watch->will_come_back = any;
  pthread_mutex_unlock(&watch->lock);
  return any;
}

static void await_round_or_end(struct tide_watch *watch, uint64_t round_ns, uint64_t until_ns)
{
  rest(watch, round_ns);
  uint64_t now_ns = tide_monotonic_ns();
  uint64_t wait_ms = until_ns > now_ns ? (until_ns - now_ns + MS - 1) / MS : 0;
  if (has_arrivals(watch))
    wait_ms = 0;
  struct epoll_event events[128];
  int n = epoll_wait(watch->epoll_fd, events, 128, wait_ms < 60000 ? (int)wait_ms : 60000);
  bool is_asked = false;
  for (int i = 0; i < n; i++) {
    void *whose = events[i].data.ptr;
    eventfd_t drained;
    if (!whose)
      eventfd_read(watch->wake_fd, &drained);
    else if (whose == watch)
      tide_control_drain(watch->options.control);
    else if (whose == watch->desk)
      is_asked = true;
    else
      ((struct tide_watched *)whose)->ended = true;
  }
  if (is_asked) // last: images may be let go of by it, and events be about them
    tide_desk_serve(watch->desk, tide_watch_answer, watch);
}

// Has a process that came for a store become another program without a word?
static bool has_left(struct tide_watched *w)
{
  return w->sampling && tide_resident_has_left(&w->sampler.rss.resident, &w->view) &&
         !tide_watched_has_ended(w);
}

// Looks for processes that run unrecorded; returns when to do so next.
static uint64_t look_for_absents(struct tide_watch *watch)
{
  uint64_t now_ns = tide_monotonic_ns();
  if (watch->options.root_only || now_ns < watch->absents_ns)
    return watch->options.root_only ? UINT64_MAX : watch->absents_ns;
  uint64_t time_ns = tide_watch_since_origin(watch, now_ns);
  bool is_census = tide_absents_census_is_due(watch->absents, time_ns);
  size_t n = 0, n_left = 0, n_most = is_census ? watch->n_living : 0;
  TIDE_CLEANUP_FREE uint32_t *pids = tide_alloc_array(n_most + 1, sizeof *pids);
  TIDE_CLEANUP_FREE uint32_t *left = tide_alloc_array(n_most + 1, sizeof *left);
  for (size_t i = 0; i < n_most; i++) {
    struct tide_watched *w = watch->living[i];
    if (w->visit.pid && has_left(w))
      left[n_left++] = w->visit.pid;
    else if (w->visit.pid)
      pids[n++] = w->visit.pid;
  }
  struct tide_absent_census census = {pids, left, n, n_left};
  watch->absents_ns = watch->origin_ns + tide_absents_look(watch->absents, &census, time_ns);
  return watch->absents_ns;
}

static void *watch_thread(void *context)
{
  struct tide_watch *watch = context;
  while (!tide_watch_take_arrivals(watch)) {
    uint64_t round_ns = tide_monotonic_ns();
    finish_ended(watch);
    uint64_t next_ns = tide_watch_look_around(watch), absents_ns = look_for_absents(watch);
    next_ns = absents_ns < next_ns ? absents_ns : next_ns;
    uint64_t draft_ns = tide_watch_serve_drafts(watch);
    next_ns = draft_ns < next_ns ? draft_ns : next_ns;
    uint64_t dump_ns = tide_watch_serve_dumps(watch);
    next_ns = dump_ns < next_ns ? dump_ns : next_ns;
    await_round_or_end(watch, round_ns, next_ns);
  }
  return NULL;
}

enum tide_err tide_watch_start(struct tide_watch *watch, struct tide_diag *diag)
{
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (watch->wake_fd < 0 || watch->epoll_fd < 0 ||
      epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->wake_fd, &event))
    return tide_fail_errno(diag, "cannot watch the command");
  struct epoll_event asked = {.events = EPOLLIN, .data.ptr = watch};
  struct tide_control *control = watch->options.control;
  if (control && epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, tide_control_wake_fd(control), &asked))
    return tide_fail_errno(diag, "cannot be asked about the command");
  struct epoll_event told = {.events = EPOLLIN, .data.ptr = watch->desk};
  if (watch->desk && epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, tide_desk_fd(watch->desk), &told))
    return tide_fail_errno(diag, "cannot be told anything about the command");
  errno = pthread_create(&watch->thread, NULL, watch_thread, watch);
  if (errno)
    return tide_fail_errno(diag, "cannot start a thread");
  watch->running = true;
  return TIDE_ERR_OK;
}

void tide_watch_root_ended(struct tide_watch *watch, const struct tide_watch_end *end)
{
  pthread_mutex_lock(&watch->lock);
  watch->root_end = *end;
  watch->root_ended = true;
  pthread_mutex_unlock(&watch->lock);
  eventfd_write(watch->wake_fd, 1);
}

struct tide_capture *tide_watch_stop(struct tide_watch *watch, const struct tide_watch_end *end,
                                     uint32_t *ret_n_running)
{
  join_thread(watch);
  tide_watch_take_arrivals(watch);
  tide_lookout_wait(watch->lookout);
  *ret_n_running = 0;
  while (watch->n_living) {
    const struct tide_watched *w = watch->living[0];
    if (w->visit.pid == watch->options.root_pid) {
      *ret_n_running += end->kind == TIDE_END_UNKNOWN;
      tide_watch_finish(watch, 0, end);
      continue;
    }
    bool gone = tide_watched_has_ended(w);
    *ret_n_running += !gone;
    tide_watch_finish_descendant(watch, 0, gone ? TIDE_END_EXITED : TIDE_END_UNKNOWN,
                                 tide_monotonic_ns());
  }
  struct tide_capture *capture = tide_watch_new_capture(watch, tide_monotonic_ns());
  tide_gallery_hang(&watch->gallery, NULL, 0, capture);
  tide_gallery_give_away(&watch->gallery);
  capture->finished = true;
  capture->cost.recorder_ns = watch->recorder_ns;
  return capture;
}
