// SPDX-License-Identifier: Apache-2.0
//
// The thread that takes tables, and when it shall. See lookout.h.
//
// Threads: the watch's calls everything here but look_out(). What both touch is under the lock.
#define _GNU_SOURCE
#include "supervise/lookout.h"

#include "base/alloc.h"
#include "residence/take.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define MIB (UINT64_C(1) << 20)
#define CREDIT_NS (250 * MS)
#define BUSY_CREDIT_NS (CREDIT_NS / 8)
#define SHARE 50u              // of a core: one in so many
#define BUSY_SHARE 100u        // while the program works
#define FIRST_BYTES (16 * MIB) // from there on a newcomer is looked at; a smaller one
#define FIRST_NS (200 * MS)    // when it is so old
#define FIRST_INTERVAL_NS (500 * MS)
#define STILL_NS (20 * MS)
#define GUESSED_NS_PER_KIB 512u // before one was taken: 0.5 s for a gigabyte

enum { MAX_TABLES = 16, MAX_ROWS = 256 };

struct tide_lookout {
  pthread_t thread;
  bool has_thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  // Under the lock.
  bool stop, is_busy, is_ready;  // ready: taken, and not yet fetched
  struct tide_lookout_image job; // its descriptors are ours
  struct tide_residence table;
  uint64_t cost_ns; // of the last
  // The watch's own.
  struct tide_lookout_purse purse;
  uint64_t asked_ns, asked_bytes; // of the one under way
};

static uint64_t own_cpu_ns(void)
{
  struct timespec spent;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return (uint64_t)spent.tv_sec * 1000 * MS + (uint64_t)spent.tv_nsec;
}

static void close_job(struct tide_lookout_image *job)
{
  if (job->pid_fd >= 0)
    close(job->pid_fd);
  if (job->store_fd >= 0)
    close(job->store_fd);
}

static bool has_ended(int pid_fd)
{
  struct pollfd ended = {pid_fd, POLLIN, 0};
  return pid_fd >= 0 && poll(&ended, 1, 0) == 1;
}

// False: the process ended or became another one meanwhile, or may not be looked at.
static bool take_table(const struct tide_lookout_image *job, struct tide_residence *ret_table)
{
  struct tide_diag diag;
  if (tide_residence_take(job->pid, job->store_fd, ret_table, NULL, &diag))
    return false;
  if (!has_ended(job->pid_fd) && ret_table->rss_after) {
    tide_residence_shorten(ret_table, MAX_ROWS);
    return true;
  }
  tide_residence_done(ret_table);
  return false;
}

static void *look_out(void *context)
{
  struct tide_lookout *lookout = context;
  pthread_mutex_lock(&lookout->lock);
  for (;;) {
    while (!lookout->stop && !(lookout->is_busy && !lookout->is_ready))
      pthread_cond_wait(&lookout->changed, &lookout->lock);
    if (lookout->stop)
      break;
    struct tide_lookout_image job = lookout->job;
    pthread_mutex_unlock(&lookout->lock);
    struct tide_residence table = {0};
    uint64_t before_ns = own_cpu_ns();
    bool taken = take_table(&job, &table);
    uint64_t cost_ns = own_cpu_ns() - before_ns;
    pthread_mutex_lock(&lookout->lock);
    close_job(&lookout->job);
    lookout->table = taken ? table : (struct tide_residence){0};
    lookout->cost_ns = cost_ns;
    lookout->is_ready = true;
    pthread_cond_broadcast(&lookout->changed);
  }
  pthread_mutex_unlock(&lookout->lock);
  return NULL;
}

struct tide_lookout *tide_lookout_new(void)
{
  struct tide_lookout *lookout = tide_alloc(sizeof *lookout);
  pthread_mutex_init(&lookout->lock, NULL);
  pthread_cond_init(&lookout->changed, NULL);
  lookout->purse = tide_lookout_purse_new();
  return lookout;
}

void tide_lookout_wait(struct tide_lookout *lookout)
{
  pthread_mutex_lock(&lookout->lock);
  while (lookout->is_busy && !lookout->is_ready)
    pthread_cond_wait(&lookout->changed, &lookout->lock);
  pthread_mutex_unlock(&lookout->lock);
}

void tide_lookout_free(struct tide_lookout *lookout)
{
  if (!lookout)
    return;
  tide_lookout_wait(lookout);
  pthread_mutex_lock(&lookout->lock);
  lookout->stop = true;
  pthread_cond_broadcast(&lookout->changed);
  pthread_mutex_unlock(&lookout->lock);
  if (lookout->has_thread)
    pthread_join(lookout->thread, NULL);
  tide_residence_done(&lookout->table);
  pthread_mutex_destroy(&lookout->lock);
  pthread_cond_destroy(&lookout->changed);
  free(lookout);
}

// ---- when ----

static bool is_other(const struct tide_lookout_image *image, uint64_t rss_bytes,
                     uint64_t live_bytes)
{
  uint64_t much = rss_bytes / 8;
  uint64_t moved = image->live_bytes > live_bytes ? image->live_bytes - live_bytes
                                                  : live_bytes - image->live_bytes;
  return image->rss_bytes > rss_bytes + much || moved > much;
}

static void note_moves(struct tide_lookout_tables *tables, const struct tide_lookout_image *image,
                       uint64_t now_ns)
{
  if (!is_other(image, tables->still_bytes, tables->still_live))
    return;
  tables->still_bytes = image->rss_bytes;
  tables->still_live = image->live_bytes;
  tables->still_ns = now_ns;
  tables->still_cpu_ns = image->cpu_ns;
}

// Has it waited for the most part, since it stands still?
static bool has_waited(const struct tide_lookout_tables *tables,
                       const struct tide_lookout_image *image, uint64_t now_ns)
{
  return image->cpu_ns && image->cpu_ns - tables->still_cpu_ns < (now_ns - tables->still_ns) / 8;
}

// What a small process took tells little of a large one: most of it may be what any look takes.
static uint64_t expected_ns_of(const struct tide_lookout_purse *purse, uint64_t rss_bytes)
{
  uint64_t kib = rss_bytes / 1024;
  bool is_guess = kib / 4 > purse->seen_kib && purse->ns_per_kib > GUESSED_NS_PER_KIB;
  return kib * (is_guess ? GUESSED_NS_PER_KIB : purse->ns_per_kib);
}

static void note_work(struct tide_lookout_purse *purse, struct tide_lookout_tables *tables,
                      const struct tide_lookout_image *image, uint64_t now_ns)
{
  uint64_t worked_ns = image->cpu_ns ? image->cpu_ns : now_ns;
  if (worked_ns > tables->worked_ns)
    purse->worked_ns += worked_ns - tables->worked_ns;
  tables->worked_ns = worked_ns;
}

static uint64_t earned_ns_of(const struct tide_lookout_purse *purse,
                             const struct tide_lookout_image *image, bool waits, uint64_t now_ns)
{
  uint64_t share = waits ? SHARE : BUSY_SHARE;
  if (!image->is_sampled)
    return now_ns / share;
  bool is_by_work = !waits && purse->worked_ns < now_ns;
  return (is_by_work ? purse->worked_ns : now_ns) / share / TIDE_SAMPLED_REST;
}

bool tide_lookout_is_due(struct tide_lookout_purse *purse, struct tide_lookout_tables *tables,
                         const struct tide_lookout_image *image, uint64_t now_ns)
{
  note_work(purse, tables, image, now_ns);
  if (!tables->interval_ns) {
    tables->interval_ns = FIRST_INTERVAL_NS;
    tables->next_ns = now_ns + FIRST_NS;
  }
  if (!image->rss_bytes)
    return false;
  note_moves(tables, image, now_ns);
  uint64_t expected_ns = expected_ns_of(purse, image->rss_bytes);
  bool waits = has_waited(tables, image, now_ns);
  uint64_t after_ns = purse->spent_ns + expected_ns;
  uint64_t earned_ns = earned_ns_of(purse, image, waits, now_ns);
  uint64_t credit_ns = CREDIT_NS, busy_credit_ns = BUSY_CREDIT_NS;
  if (image->is_sampled) {
    credit_ns /= TIDE_SAMPLED_REST;
    busy_credit_ns /= TIDE_SAMPLED_REST;
  }
  bool is_first = !tables->seen_bytes, is_large = image->rss_bytes >= FIRST_BYTES;
  bool is_time = now_ns >= tables->next_ns;
  bool is_new = is_first ? is_large : is_other(image, tables->seen_bytes, tables->seen_live);
  if (after_ns <= earned_ns)
    return is_new || is_time;
  if (!is_new && !(is_time && is_first))
    return false;
  bool is_still = now_ns - tables->still_ns >= STILL_NS + 2 * expected_ns;
  if (is_still && waits)
    return after_ns <= earned_ns + credit_ns;
  bool has_doubled = is_large && image->rss_bytes / 2 >= tables->seen_bytes;
  return (is_still || has_doubled) && after_ns <= earned_ns + busy_credit_ns;
}

void tide_lookout_note_look(struct tide_lookout_tables *tables,
                            const struct tide_lookout_image *image, uint64_t now_ns)
{
  tables->seen_bytes = image->rss_bytes;
  tables->seen_live = image->live_bytes;
  tables->next_ns = now_ns + tables->interval_ns;
}

struct tide_lookout_purse tide_lookout_purse_new(void)
{
  return (struct tide_lookout_purse){.ns_per_kib = GUESSED_NS_PER_KIB};
}

void tide_lookout_note_cost(struct tide_lookout_purse *purse, uint64_t rss_bytes, uint64_t cost_ns)
{
  purse->spent_ns += cost_ns;
  if (rss_bytes < MIB)
    return;
  purse->seen_kib = rss_bytes / 1024;
  purse->ns_per_kib = cost_ns / purse->seen_kib + 1;
}

// ---- asking for one ----

void tide_lookout_consider(struct tide_lookout *lookout, struct tide_lookout_tables *tables,
                           const struct tide_lookout_image *image, uint64_t now_ns)
{
  if (!tide_lookout_is_due(&lookout->purse, tables, image, now_ns))
    return;
  pthread_mutex_lock(&lookout->lock);
  bool is_free = !lookout->is_busy;
  if (is_free) {
    lookout->job = *image;
    lookout->job.pid_fd = image->pid_fd < 0 ? -1 : fcntl(image->pid_fd, F_DUPFD_CLOEXEC, 0);
    lookout->job.store_fd = fcntl(image->store_fd, F_DUPFD_CLOEXEC, 0);
    lookout->is_busy = true;
    lookout->is_ready = false;
    pthread_cond_broadcast(&lookout->changed);
  }
  pthread_mutex_unlock(&lookout->lock);
  if (!is_free)
    return;
  lookout->asked_ns = now_ns;
  lookout->asked_bytes = image->rss_bytes;
  tide_lookout_note_look(tables, image, now_ns);
  if (!lookout->has_thread)
    lookout->has_thread = !pthread_create(&lookout->thread, NULL, look_out, lookout);
  if (!lookout->has_thread) { // there will be no tables
    close_job(&lookout->job);
    lookout->is_busy = false;
    lookout->purse.spent_ns = UINT64_MAX / 2;
  }
}

bool tide_lookout_take(struct tide_lookout *lookout, uint32_t *ret_number,
                       struct tide_residence *ret_table)
{
  pthread_mutex_lock(&lookout->lock);
  bool is_ready = lookout->is_busy && lookout->is_ready;
  struct tide_residence table = lookout->table;
  uint64_t cost_ns = lookout->cost_ns;
  *ret_number = lookout->job.number;
  if (is_ready) {
    lookout->table = (struct tide_residence){0};
    lookout->is_busy = lookout->is_ready = false;
  }
  pthread_mutex_unlock(&lookout->lock);
  if (!is_ready)
    return false;
  tide_lookout_note_cost(&lookout->purse, lookout->asked_bytes, cost_ns);
  table.time_ns = lookout->asked_ns;
  *ret_table = table;
  return table.sum != 0;
}

// ---- kept ----

static size_t highest_table(const struct tide_lookout_tables *tables)
{
  size_t most = 0;
  for (size_t i = 1; i < tables->n; i++)
    if (tables->items[i].sum > tables->items[most].sum)
      most = i;
  return most;
}

static void thin(struct tide_lookout_tables *tables)
{
  size_t kept = 0, most = highest_table(tables);
  for (size_t i = 0; i < tables->n; i++)
    if (i % 2 || i == most)
      tables->items[kept++] = tables->items[i];
    else
      tide_residence_done(&tables->items[i]);
  tables->n = kept;
  tables->interval_ns *= 2;
}

void tide_lookout_tables_add(struct tide_lookout_tables *tables, struct tide_residence *table)
{
  if (tables->n == MAX_TABLES)
    thin(tables);
  if (!tables->items)
    tables->items = tide_alloc_array(MAX_TABLES, sizeof *tables->items);
  tables->items[tables->n++] = *table;
  *table = (struct tide_residence){0};
}

void tide_lookout_tables_done(struct tide_lookout_tables *tables)
{
  for (size_t i = 0; i < tables->n; i++)
    tide_residence_done(&tables->items[i]);
  free(tables->items);
  *tables = (struct tide_lookout_tables){0};
}
