// SPDX-License-Identifier: Apache-2.0
//
// One image that is watched: its store read and sampled while it lives, plain data when it has
// ended. See watch_inside.h.
#define _GNU_SOURCE
#include "supervise/watch_inside.h"

#include "base/alloc.h"
#include "model/capture.h"
#include "model/pack.h"
#include "observe/store_read.h"
#include "supervise/pidfd.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define RETRY_NS UINT64_C(1000000) // a newcomer that has not begun to write; then less often
#define MAX_RETRY_DOUBLINGS 7
#define MAX_SNAPSHOT_ROWS 8000000u // over all images; a reader has some bytes for each
#define FEWEST_SNAPSHOTS 8u        // not thinned below

void tide_watched_free(struct tide_watch *watch, struct tide_watched *w)
{
  tide_heart_remove(watch->heart, w->beat);
  if (w->visit.pid_fd >= 0)
    close(w->visit.pid_fd);
  tide_store_view_close(&w->view);
  tide_sampler_done(&w->sampler);
  tide_lookout_tables_done(&w->tables);
  free(w);
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

uint64_t tide_watch_since_origin(const struct tide_watch *watch, uint64_t monotonic_ns)
{
  return monotonic_ns > watch->origin_ns ? monotonic_ns - watch->origin_ns : 0;
}

bool tide_watched_is_ready(struct tide_watch *watch, struct tide_watched *w, uint64_t now_ns)
{
  if (w->broken)
    return false;
  enum tide_err err = tide_store_view_refresh(&w->view, NULL);
  w->broken = err != TIDE_ERR_OK && err != TIDE_ERR_EMPTY;
  if (err)
    return false;
  find_origin(watch, &w->view.header);
  if (!w->sampling)
    tide_sampler_init(&w->sampler, w->visit.pid, tide_watch_since_origin(watch, now_ns));
  w->sampling = true;
  return true;
}

static void fill_tables(const struct tide_watched *w, struct tide_image *image)
{
  image->residences = tide_alloc_array(w->tables.n, sizeof *image->residences);
  for (size_t i = 0; i < w->tables.n; i++)
    if (w->tables.items[i].time_ns <= image->end_ns &&
        w->tables.items[i].time_ns >= image->start_ns)
      image->residences[image->n_residences++] = tide_residence_copy(&w->tables.items[i]);
}

void tide_watched_read(struct tide_watch *watch, struct tide_watched *w, uint64_t end_ns,
                       enum tide_how_read how, struct tide_image *ret_image)
{
  struct tide_clock_reading now = tide_clock_read();
  struct tide_clock clock = tide_clock_make(watch->options.start, now, watch->origin_ns);
  if (watch->origin_ticks) { // exactly, not as the first calibration had it
    clock.zero_ticks = watch->origin_ticks;
    clock.zero_ns = 0;
  }
  double ago_ns = (double)(now.monotonic_ns - end_ns);
  uint64_t end_ticks = now.ticks - (uint64_t)(ago_ns / clock.ns_per_tick);
  if (how == TIDE_READ_LAST)
    tide_store_view_use_up(&w->view);
  if (w->view.header.n_cells >= TIDE_PACK_CELLS)
    tide_store_pack_image(&w->view, &clock, end_ticks, ret_image);
  else
    tide_store_read_image(&w->view, &clock, end_ticks, ret_image);
  if (watch->options.redact_args)
    tide_image_redact_args(ret_image);
  if (w->visit.pid)
    ret_image->pid = w->visit.pid;
  if (watch->options.is_attached)
    ret_image->lacks |= TIDE_LACK_BEFORE;
  ret_image->by_fork = w->visit.flags & TIDE_DOOR_FORKED;
  ret_image->end_ns = tide_watch_since_origin(watch, end_ns);
  if (ret_image->end_ns < ret_image->start_ns)
    ret_image->end_ns = ret_image->start_ns;
  tide_image_end_pause(ret_image);
  tide_sampler_fill_image(&w->sampler, ret_image, how == TIDE_READ_BRIEF);
  if (how != TIDE_READ_BRIEF)
    fill_tables(w, ret_image);
}

static void forget(struct tide_watch *watch, size_t at)
{
  tide_watched_free(watch, watch->living[at]);
  watch->living[at] = watch->living[--watch->n_living];
  pthread_mutex_lock(&watch->lock);
  watch->n_open--;
  pthread_mutex_unlock(&watch->lock);
}

void tide_watch_finish(struct tide_watch *watch, size_t at, const struct tide_watch_end *given)
{
  struct tide_watched *w = watch->living[at];
  struct tide_watch_end moved = {.kind = TIDE_END_EXECED};
  bool left = tide_absents_left(watch->absents, w->visit.pid, w->visit.born, &moved.time_ns);
  moved.time_ns += watch->origin_ns;
  const struct tide_watch_end *end = left ? &moved : given;
  tide_watch_collect_table(watch);
  if (tide_watched_is_ready(watch, w, end->time_ns)) {
    struct tide_image image;
    if (end->kind != TIDE_END_UNKNOWN)
      tide_sampler_finish(&w->sampler, &w->view);
    bool has_ended = end->kind == TIDE_END_EXITED || end->kind == TIDE_END_SIGNALED;
    // What the kernel says at the end covers the children a process waited for, and what it was
    // before an exec.
    if (watch->gallery.n_ancestors == 1 && !tide_absents_any(watch->absents))
      tide_rss_note_mark(&w->sampler.rss, tide_watch_since_origin(watch, end->time_ns),
                         end->max_rss_bytes);
    if (end->ceiling_bytes)
      tide_rss_note_ceiling(&w->sampler.rss, end->ceiling_bytes);
    if (end->kind != TIDE_END_UNKNOWN)
      tide_rss_note_end(&w->sampler.rss, tide_watch_since_origin(watch, end->time_ns));
    tide_watched_read(watch, w, end->time_ns, has_ended ? TIDE_READ_LAST : TIDE_READ_WHOLE, &image);
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
    watch->kept_allocated_bytes += image.n_ticks ? image.ticks[image.n_ticks - 1].b_alloc : 0;
    watch->kept_allocated_bytes += w->sampler.before ? w->sampler.before->heap.b_alloc : 0;
    const struct tide_resident *resident = &w->sampler.rss.resident;
    // What was there before an attach says nothing of what was seen since.
    uint64_t before = watch->options.is_attached ? resident->first_anonymous_bytes : 0;
    bool is_partial =
        tide_absents_judge(watch->absents, &image, resident->max_anonymous_bytes - before);
    if (is_partial && image.missed_later) // its own matter, not that of all of its program
      image.lacks |= TIDE_LACK_LATER;
    tide_gallery_keep(&watch->gallery, w->number, &image);
  }
  forget(watch, at);
}

void tide_watch_finish_descendant(struct tide_watch *watch, size_t at, enum tide_end_kind kind,
                                  uint64_t time_ns)
{
  const struct tide_watched *w = watch->living[at];
  struct tide_watch_end end = {.kind = kind, .time_ns = time_ns};
  if (kind == TIDE_END_EXITED)
    watch->ends_are_kept |= tide_pid_end(w->visit.pid_fd, w->visit.pid, &end.kind, &end.value);
  tide_watch_finish(watch, at, &end);
}

bool tide_watched_has_ended(const struct tide_watched *w)
{
  struct pollfd ended = {w->visit.pid_fd, POLLIN, 0};
  return w->visit.pid_fd >= 0 && poll(&ended, 1, 0) == 1;
}

// One whose image has ended since has nobody to go to.
void tide_watch_collect_table(struct tide_watch *watch)
{
  struct tide_residence table;
  uint32_t number;
  if (!tide_lookout_take(watch->lookout, &number, &table))
    return;
  for (size_t i = 0; i < watch->n_living; i++)
    if (watch->living[i]->number == number)
      tide_lookout_tables_add(&watch->living[i]->tables, &table);
  tide_residence_done(&table);
}

// What all threads of a process have worked; 0: not known.
static uint64_t cpu_ns_of(uint32_t pid)
{
  struct timespec spent;
  clockid_t clock;
  if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &spent))
    return 0;
  return (uint64_t)spent.tv_sec * 1000000000 + (uint64_t)spent.tv_nsec;
}

static void consider_table(struct tide_watch *watch, struct tide_watched *w, uint64_t time_ns)
{
  const struct tide_sampler *s = &w->sampler;
  if (!w->visit.pid || !s->n_ticks)
    return;
  const struct tide_tick *tick = &s->ticks[s->n_ticks - 1].tick;
  struct tide_lookout_image image = {
      .number = w->number,
      .pid = w->visit.pid,
      .pid_fd = w->visit.pid_fd,
      .store_fd = w->view.fd,
      .rss_bytes = tick->rss_bytes,
      .live_bytes = (uint64_t)tick->live_bytes,
      .cpu_ns = cpu_ns_of(w->visit.pid),
      .is_sampled = w->view.header.sample_bits != 0,
  };
  tide_lookout_consider(watch->lookout, &w->tables, &image, time_ns);
}

static void thin_if_many(struct tide_watch *watch)
{
  size_t rows = watch->kept_rows, n_largest = 0;
  struct tide_sampler *largest = NULL;
  for (size_t i = 0; i < watch->n_living; i++) {
    struct tide_watched *w = watch->living[i];
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

uint64_t tide_watch_look_around(struct tide_watch *watch)
{
  uint64_t next_ns = UINT64_MAX;
  tide_watch_collect_table(watch);
  for (size_t i = 0; i < watch->n_living; i++) {
    struct tide_watched *w = watch->living[i];
    uint64_t now_ns = tide_monotonic_ns();
    if (w->broken)
      continue;
    if (now_ns >= w->look_ns) {
      if (!w->beat)
        w->beat = tide_heart_add(watch->heart, w->view.fd, w->visit.pid, watch->has_agents);
      w->look_ns = now_ns + (RETRY_NS << w->n_retries);
      w->n_retries += w->n_retries < MAX_RETRY_DOUBLINGS;
      if (tide_watched_is_ready(watch, w, now_ns)) {
        uint64_t time_ns = tide_watch_since_origin(watch, now_ns);
        size_t n_sharing = watch->n_living * (w->view.header.sample_bits ? TIDE_SAMPLED_REST : 1u);
        w->look_ns =
            watch->origin_ns + tide_sampler_look(&w->sampler, &w->view, time_ns, n_sharing);
        consider_table(watch, w, time_ns);
      }
    }
    if (w->look_ns < next_ns)
      next_ns = w->look_ns;
  }
  thin_if_many(watch);
  return next_ns;
}
