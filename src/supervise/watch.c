// SPDX-License-Identifier: Apache-2.0
//
// The watch's thread: one loop over the living images, woken by a newcomer, an end, or the time
// for the next look. See watch.h.
#define _GNU_SOURCE
#include "supervise/watch.h"

#include "base/alloc.h"
#include "supervise/absent.h"
#include "supervise/gallery.h"
#include "supervise/heart.h"
#include "observe/host_facts.h"
#include "supervise/pace.h"
#include "model/pack.h"
#include "supervise/pid_end.h"
#include "supervise/proc.h"
#include "observe/sample.h"
#include "model/redact.h"
#include "observe/store_pack.h"
#include "observe/store_read.h"
#include "tide/file.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
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
#define RETRY_NS (1 * MS) // a newcomer that has not begun to write yet; then less and less often
#define MAX_RETRY_DOUBLINGS 7
#define MAX_SNAPSHOT_ROWS 2000000u // over all images: 80 MB
#define FEWEST_SNAPSHOTS 8u        // not thinned below
#define FDS_PER_IMAGE 4            // store, pidfd, statm, pagemap
#define FDS_OF_OURS 64

struct watched {
  uint32_t number; // in the gallery
  struct tide_door_visit visit;
  struct tide_store_view view;
  struct tide_sampler sampler;
  uint32_t *beat;     // NULL: it goes without
  bool sampling;      // the store is ready
  bool broken;        // it is no store: not to be looked at again
  bool ended;         // seen by its pidfd
  uint64_t look_ns;   // CLOCK_MONOTONIC: when to look next
  uint32_t n_retries; // looks before it was ready
};

struct arrival {
  struct tide_door_visit visit;
  char *exe;    // of a word about a process without a store; else NULL
  char *parent; // likewise
};

struct tide_watch {
  struct tide_watch_options options;
  pthread_t thread;
  bool running;
  int wake_fd, epoll_fd;
  // Under the lock: what the door's thread leaves for us.
  pthread_mutex_t lock;
  struct arrival *arrivals;
  size_t n_arrivals, cap_arrivals;
  size_t n_open; // images whose descriptors are open
  bool stop, visited, root_ended;
  bool will_come_back; // our thread takes arrivals within a round, unasked
  struct tide_watch_end root_end;
  int store_errno; // of the last that could not be given a store; 0: none
  // The watch's own.
  struct tide_heart *heart;
  struct tide_absents *absents;
  uint64_t absents_ns; // CLOCK_MONOTONIC: when to look for them next
  struct watched **living;
  size_t n_living, cap_living;
  struct tide_gallery gallery;
  size_t kept_rows;     // snapshot rows in the gallery
  uint64_t kept_cells;  // of images that have ended
  uint64_t recorder_ns; // of all images that have ended
  uint32_t n_pids;      // how many different processes came
  bool ends_are_kept;   // the kernel tells how a process ended even when it is long gone
  bool has_origin;
  uint64_t origin_ns, origin_ticks; // time 0, on CLOCK_MONOTONIC and (0: not known) in ticks
  uint64_t start_realtime_ns;
  struct tide_pace pace; // of checkpoints
};

static uint64_t realtime_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

struct tide_watch *tide_watch_new(const struct tide_watch_options *options)
{
  struct tide_watch *watch = tide_alloc(sizeof *watch);
  watch->options = *options;
  watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  pthread_mutex_init(&watch->lock, NULL);
  tide_gallery_init(&watch->gallery, TIDE_WATCH_MAX_IMAGES, options->root_pid);
  watch->heart = tide_heart_new();
  watch->absents = tide_absents_new(options->kin, options->root_pid, options->library);
  watch->start_realtime_ns = realtime_ns();
  watch->origin_ns = options->start.monotonic_ns;
  tide_pace_init(&watch->pace, options->start.monotonic_ns, options->often);
  return watch;
}

static void watched_free(struct tide_watch *watch, struct watched *w)
{
  tide_heart_remove(watch->heart, w->beat);
  if (w->visit.pid_fd >= 0)
    close(w->visit.pid_fd);
  tide_store_view_close(&w->view);
  tide_sampler_done(&w->sampler);
  free(w);
}

static void join(struct tide_watch *watch)
{
  if (!watch->running)
    return;
  pthread_mutex_lock(&watch->lock);
  watch->stop = true;
  pthread_mutex_unlock(&watch->lock);
  eventfd_write(watch->wake_fd, 1);
  pthread_join(watch->thread, NULL);
  watch->running = false;
}

void tide_watch_free(struct tide_watch *watch)
{
  if (!watch)
    return;
  join(watch);
  for (size_t i = 0; i < watch->n_living; i++)
    watched_free(watch, watch->living[i]);
  for (size_t i = 0; i < watch->n_arrivals; i++) {
    const struct tide_door_visit *visit = &watch->arrivals[i].visit;
    if (visit->store_fd >= 0)
      close(visit->store_fd);
    if (visit->pid_fd >= 0)
      close(visit->pid_fd);
    free(watch->arrivals[i].exe);
    free(watch->arrivals[i].parent);
  }
  tide_heart_free(watch->heart);
  tide_absents_free(watch->absents);
  tide_gallery_done(&watch->gallery);
  free(watch->living);
  free(watch->arrivals);
  pthread_mutex_destroy(&watch->lock);
  close(watch->wake_fd);
  close(watch->epoll_fd);
  free(watch);
}

static size_t max_open_images(void)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < FDS_OF_OURS)
    return 1;
  return (limit.rlim_cur - FDS_OF_OURS) / FDS_PER_IMAGE;
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
  watch->arrivals[watch->n_arrivals++] = (struct arrival){*visit, exe, parent};
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
  bool room = !is_word && visit->store_fd >= 0 && watch->n_open < max_open_images();
  if (!is_word && visit->store_fd < 0 && visit->store_errno)
    watch->store_errno = visit->store_errno;
  if (is_word) {
    put_arrival(watch, visit, tide_strdup(visit->exe ? visit->exe : ""));
  } else if (room) {
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

// Time 0 of the capture is the start of the first image that records anything.
static void find_origin(struct tide_watch *watch, const struct tide_store_header *header)
{
  if (watch->has_origin)
    return;
  struct tide_clock clock = tide_clock_make(watch->options.start, tide_clock_read(), 0);
  uint64_t start_ns = tide_clock_time_ns(&clock, header->start_ticks);
  if (start_ns > watch->origin_ns && start_ns <= tide_monotonic_ns()) {
    watch->start_realtime_ns += start_ns - watch->origin_ns;
    watch->origin_ns = start_ns;
    watch->origin_ticks = header->start_ticks;
  }
  watch->has_origin = true;
}

static uint64_t since_origin(const struct tide_watch *watch, uint64_t monotonic_ns)
{
  return monotonic_ns > watch->origin_ns ? monotonic_ns - watch->origin_ns : 0;
}

// Is there a store to read? Opens the image's timeline when there first is.
static bool is_ready(struct tide_watch *watch, struct watched *w, uint64_t now_ns)
{
  if (w->broken)
    return false;
  enum tide_err err = tide_store_view_refresh(&w->view, NULL);
  w->broken = err != TIDE_ERR_OK && err != TIDE_ERR_EMPTY;
  if (err)
    return false;
  find_origin(watch, &w->view.header);
  if (!w->sampling)
    tide_sampler_init(&w->sampler, w->visit.pid, since_origin(watch, now_ns));
  w->sampling = true;
  return true;
}

// has_ended: nobody writes the store any more, and it is read for the last time.
static void read_store(struct tide_watch *watch, struct watched *w, uint64_t end_ns, bool has_ended,
                       struct tide_image *ret_image)
{
  struct tide_clock_reading now = tide_clock_read();
  struct tide_clock clock = tide_clock_make(watch->options.start, now, watch->origin_ns);
  if (watch->origin_ticks) { // exactly, not as the first calibration had it
    clock.zero_ticks = watch->origin_ticks;
    clock.zero_ns = 0;
  }
  double ago_ns = (double)(now.monotonic_ns - end_ns);
  uint64_t end_ticks = now.ticks - (uint64_t)(ago_ns / clock.ns_per_tick);
  bool is_packed = has_ended && w->view.header.n_cells >= TIDE_PACK_CELLS &&
                   tide_store_pack_image(&w->view, &clock, end_ticks, ret_image);
  if (has_ended)
    tide_store_view_use_up(&w->view);
  if (!is_packed)
    tide_store_read_image(&w->view, &clock, end_ticks, ret_image);
  if (watch->options.redact_args)
    tide_image_redact_args(ret_image);
  if (w->visit.pid)
    ret_image->pid = w->visit.pid;
  ret_image->by_fork = w->visit.flags & TIDE_DOOR_FORKED;
  ret_image->end_ns = since_origin(watch, end_ns);
  if (ret_image->end_ns < ret_image->start_ns)
    ret_image->end_ns = ret_image->start_ns;
  tide_sampler_fill_image(&w->sampler, ret_image);
}

static void forget(struct tide_watch *watch, size_t at)
{
  watched_free(watch, watch->living[at]);
  watch->living[at] = watch->living[--watch->n_living];
  pthread_mutex_lock(&watch->lock);
  watch->n_open--;
  pthread_mutex_unlock(&watch->lock);
}

// The image is over: turns it into plain data and lets go of its descriptors. One whose process
// said that it would become a program that is not recorded was over then.
static void finish(struct tide_watch *watch, size_t at, const struct tide_watch_end *given)
{
  struct watched *w = watch->living[at];
  struct tide_watch_end moved = {.kind = TIDE_END_EXECED};
  bool left = tide_absents_left(watch->absents, w->visit.pid, w->visit.born, &moved.time_ns);
  moved.time_ns += watch->origin_ns;
  const struct tide_watch_end *end = left ? &moved : given;
  if (is_ready(watch, w, end->time_ns)) {
    struct tide_image image;
    if (end->kind != TIDE_END_UNKNOWN)
      tide_sampler_finish(&w->sampler, &w->view);
    bool has_ended = end->kind == TIDE_END_EXITED || end->kind == TIDE_END_SIGNALED;
    // What the kernel says at the end covers the children a process waited for, and what it was
    // before an exec.
    if (watch->gallery.n_ancestors == 1 && !tide_absents_any(watch->absents))
      tide_rss_note_mark(&w->sampler.rss, since_origin(watch, end->time_ns), end->max_rss_bytes);
    read_store(watch, w, end->time_ns, has_ended, &image);
    image.end_kind = end->kind;
    image.end_value = end->value;
    if (end->cpu_ns)
      image.cpu_ns = end->cpu_ns;
    // The samples tell time, not processor time: one in which the thread lost its core weighs much.
    if (image.cpu_ns && image.recorder_ns > image.cpu_ns)
      image.recorder_ns = image.cpu_ns;
    if (end->kind != TIDE_END_UNKNOWN) // of one that runs on, nobody knows the processor time
      watch->recorder_ns += image.recorder_ns;
    for (size_t i = 0; i < image.n_snapshots; i++)
      watch->kept_rows += image.snapshots[i].n_rows;
    watch->kept_rows += image.n_late_frees + (image.pack ? image.pack->n_snapshot_rows : 0);
    watch->kept_cells += tide_image_n_sites(&image);
    tide_absents_judge(watch->absents, &image, w->sampler.rss.resident.max_anonymous_bytes);
    tide_gallery_keep(&watch->gallery, w->number, &image);
  }
  forget(watch, at);
}

// Of an ended process the kernel may still know how.
static void finish_descendant(struct tide_watch *watch, size_t at, enum tide_end_kind kind,
                              uint64_t time_ns)
{
  const struct watched *w = watch->living[at];
  struct tide_watch_end end = {.kind = kind, .time_ns = time_ns};
  if (kind == TIDE_END_EXITED)
    watch->ends_are_kept |= tide_pid_end(w->visit.pid_fd, w->visit.pid, &end.kind, &end.value);
  finish(watch, at, &end);
}

static bool has_ended(const struct watched *w)
{
  struct pollfd ended = {w->visit.pid_fd, POLLIN, 0};
  return w->visit.pid_fd >= 0 && poll(&ended, 1, 0) == 1;
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
  const struct watched *w = watch->living[i];
  bool is_fresh = visit->flags & TIDE_DOOR_FORKED || visit->born != w->visit.born;
  uint32_t number = w->number;
  finish_descendant(watch, i, is_fresh ? TIDE_END_EXITED : TIDE_END_EXECED, visit->time_ns);
  return is_fresh ? 0 : number;
}

static void hear_word(struct tide_watch *watch, const struct arrival *arrival)
{
  const struct tide_door_visit *visit = &arrival->visit;
  struct tide_absent_word word = {.pid = visit->pid,
                                  .born = visit->born,
                                  .exe = arrival->exe,
                                  .parent = arrival->parent,
                                  .teller_pid = visit->teller_pid,
                                  .why = visit->why};
  if (visit->flags & TIDE_DOOR_ABSENT)
    tide_absents_told(watch->absents, &word, since_origin(watch, visit->time_ns));
  else if (visit->flags & TIDE_DOOR_STAYED)
    tide_absents_stayed(watch->absents, visit->pid, visit->born);
}

static void arrive(struct tide_watch *watch, const struct tide_door_visit *visit)
{
  tide_absents_came(watch->absents, visit->pid, visit->born, since_origin(watch, visit->time_ns));
  uint32_t before = end_predecessor(watch, visit);
  if (!before) {
    before = tide_gallery_find(&watch->gallery, visit->told_parent_pid);
    watch->n_pids++;
  }

  struct watched *w = tide_alloc(sizeof *w);
  w->visit = *visit;
  w->number = tide_gallery_announce(&watch->gallery, visit->told_pid, before);
  w->sampler.rss.resident = (struct tide_resident){.statm_fd = -1, .pagemap_fd = -1};
  bool is_command = visit->pid == watch->options.root_pid;
  w->look_ns = visit->time_ns + (is_command ? ROUND_NS : LATER_LOOK_NS);
  if (tide_store_view_open(&w->view, visit->store_fd, NULL)) {
    w->view.fd = -1;
    w->broken = true;
  }
  TIDE_GROW(watch->living, watch->n_living, watch->cap_living);
  watch->living[watch->n_living++] = w;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};
  // The command's own end is waited for by its parent, who knows more.
  if (visit->pid_fd >= 0 && visit->pid != watch->options.root_pid)
    epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, visit->pid_fd, &event);
}

// True: the watch shall stop.
static bool take_arrivals(struct tide_watch *watch)
{
  pthread_mutex_lock(&watch->lock);
  struct arrival *arrivals = watch->arrivals;
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
      arrive(watch, &arrivals[i].visit);
    free(arrivals[i].exe);
    free(arrivals[i].parent);
  }
  free(arrivals);
  return stop;
}

static void thin_if_many(struct tide_watch *watch)
{
  size_t rows = watch->kept_rows, n_largest = 0;
  struct tide_sampler *largest = NULL;
  for (size_t i = 0; i < watch->n_living; i++) {
    struct watched *w = watch->living[i];
    struct tide_sampler *s = &w->sampler;
    size_t n = w->sampling ? tide_sampler_rows(s) : 0;
    rows += n;
    if (s->n_snapshots > FEWEST_SNAPSHOTS && (!largest || n > n_largest)) {
      largest = s;
      n_largest = n;
    }
  }
  if (rows > MAX_SNAPSHOT_ROWS && largest)
    tide_sampler_thin_snapshots(largest);
}

// Looks at whoever is due; returns when the next one is.
static uint64_t look_around(struct tide_watch *watch)
{
  uint64_t next_ns = UINT64_MAX;
  for (size_t i = 0; i < watch->n_living; i++) {
    struct watched *w = watch->living[i];
    uint64_t now_ns = tide_monotonic_ns();
    if (w->broken)
      continue;
    if (now_ns >= w->look_ns) {
      if (!w->beat)
        w->beat = tide_heart_add(watch->heart, w->view.fd);
      w->look_ns = now_ns + (RETRY_NS << w->n_retries);
      w->n_retries += w->n_retries < MAX_RETRY_DOUBLINGS;
      if (is_ready(watch, w, now_ns)) {
        uint64_t time_ns = since_origin(watch, now_ns);
        w->look_ns =
            watch->origin_ns + tide_sampler_look(&w->sampler, &w->view, time_ns, watch->n_living);
      }
    }
    if (w->look_ns < next_ns)
      next_ns = w->look_ns;
  }
  thin_if_many(watch);
  return next_ns;
}

static struct tide_capture *new_capture(const struct tide_watch *watch, uint64_t now_ns)
{
  struct tide_capture *capture = tide_capture_new_here();
  capture->start_realtime_ns = watch->start_realtime_ns;
  capture->duration_ns = since_origin(watch, now_ns);
  tide_absents_fill(watch->absents, capture->duration_ns, &capture->roll);
  return capture;
}

// Of the living, as of the last look at each, and of those that have ended.
static uint64_t n_cells(const struct tide_watch *watch)
{
  uint64_t n = watch->kept_cells;
  for (size_t i = 0; i < watch->n_living; i++)
    n += watch->living[i]->view.header.n_cells;
  return n;
}

// The run so far, as a file. A failure is not an error: the final write will tell.
static void checkpoint(struct tide_watch *watch)
{
  uint64_t before_ns = tide_monotonic_ns();
  struct tide_capture *capture = new_capture(watch, before_ns);
  struct tide_gallery_entry *more = tide_alloc_array(watch->n_living, sizeof *more);
  size_t n_more = 0;
  for (size_t i = 0; i < watch->n_living && n_more < TIDE_WATCH_MAX_IMAGES; i++) {
    struct watched *w = watch->living[i];
    if (!is_ready(watch, w, before_ns))
      continue;
    more[n_more].number = w->number;
    read_store(watch, w, before_ns, false, &more[n_more++].image);
  }
  tide_gallery_hang(&watch->gallery, more, n_more, capture);
  bool written = capture->n_images && !tide_file_write(capture, watch->options.output_path, NULL);
  for (size_t i = 0; i < n_more; i++)
    tide_image_done(&more[i].image);
  free(more);
  capture->n_images = 0; // shared with the gallery, or gone
  tide_capture_free(capture);

  const struct tide_watch_options *options = &watch->options;
  tide_pace_note(&watch->pace, before_ns, tide_monotonic_ns(), n_cells(watch));
  if (written && options->checkpointed)
    options->checkpointed(options->context, options->output_path);
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
    finish(watch, root, &watch->root_end);
  for (size_t i = watch->n_living; i > 0; i--)
    if (watch->living[i - 1]->ended)
      finish_descendant(watch, i - 1, TIDE_END_EXITED, tide_monotonic_ns());
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

static void await(struct tide_watch *watch, uint64_t round_ns, uint64_t until_ns)
{
  rest(watch, round_ns);
  uint64_t now_ns = tide_monotonic_ns();
  uint64_t wait_ms = until_ns > now_ns ? (until_ns - now_ns + MS - 1) / MS : 0;
  if (has_arrivals(watch))
    wait_ms = 0;
  struct epoll_event events[128];
  int n = epoll_wait(watch->epoll_fd, events, 128, wait_ms < 60000 ? (int)wait_ms : 60000);
  for (int i = 0; i < n; i++) {
    struct watched *w = events[i].data.ptr;
    eventfd_t drained;
    if (w)
      w->ended = true;
    else
      eventfd_read(watch->wake_fd, &drained);
  }
}

// Has a process that came for a store become another program without a word?
static bool has_left(struct watched *w)
{
  return w->sampling && tide_resident_has_left(&w->sampler.rss.resident, &w->view) && !has_ended(w);
}

// Looks for processes that run unrecorded; returns when to do so next.
static uint64_t look_for_absents(struct tide_watch *watch)
{
  uint64_t now_ns = tide_monotonic_ns();
  if (watch->options.root_only || now_ns < watch->absents_ns)
    return watch->options.root_only ? UINT64_MAX : watch->absents_ns;
  uint64_t time_ns = since_origin(watch, now_ns);
  bool is_census = tide_absents_census_is_due(watch->absents, time_ns);
  size_t n = 0, n_left = 0, n_most = is_census ? watch->n_living : 0;
  TIDE_CLEANUP_FREE uint32_t *pids = tide_alloc_array(n_most + 1, sizeof *pids);
  TIDE_CLEANUP_FREE uint32_t *left = tide_alloc_array(n_most + 1, sizeof *left);
  for (size_t i = 0; i < n_most; i++) {
    struct watched *w = watch->living[i];
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
  while (!take_arrivals(watch)) {
    uint64_t round_ns = tide_monotonic_ns();
    finish_ended(watch);
    uint64_t next_ns = look_around(watch), absents_ns = look_for_absents(watch);
    next_ns = absents_ns < next_ns ? absents_ns : next_ns;
    if (watch->options.output_path) {
      if (tide_monotonic_ns() >= tide_pace_due_ns(&watch->pace, n_cells(watch)))
        checkpoint(watch);
      uint64_t due_ns = tide_pace_due_ns(&watch->pace, n_cells(watch));
      next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    await(watch, round_ns, next_ns);
  }
  return NULL;
}

enum tide_err tide_watch_start(struct tide_watch *watch, struct tide_diag *diag)
{
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (watch->wake_fd < 0 || watch->epoll_fd < 0 ||
      epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->wake_fd, &event))
    return tide_fail_errno(diag, "cannot watch the command");
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
  join(watch);
  take_arrivals(watch);
  *ret_n_running = 0;
  while (watch->n_living) {
    const struct watched *w = watch->living[0];
    if (w->visit.pid == watch->options.root_pid) {
      finish(watch, 0, end);
      continue;
    }
    bool gone = has_ended(w);
    *ret_n_running += !gone;
    finish_descendant(watch, 0, gone ? TIDE_END_EXITED : TIDE_END_UNKNOWN, tide_monotonic_ns());
  }
  struct tide_capture *capture = new_capture(watch, tide_monotonic_ns());
  tide_gallery_hang(&watch->gallery, NULL, 0, capture);
  tide_gallery_give_away(&watch->gallery);
  capture->finished = true;
  capture->cost.recorder_ns = watch->recorder_ns;
  return capture;
}
