// SPDX-License-Identifier: Apache-2.0
//
// Walking up the parents, and a table of those who were found to belong: by pid, of which the
// latest bearer counts.
#define _GNU_SOURCE
#include "supervise/kin.h"

#include "base/alloc.h"
#include "base/proc.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_GENERATIONS = 256, MAX_WALKS = 4, FIRST_SLOTS = 256 };
// A stranger that knocks again is told by a single look: a flood must not cost the run its door.
enum { STRANGERS_REMEMBERED = 256 };

struct member {
  uint32_t pid;  // 0: a free slot
  bool is_bound; // it was born by then; whoever gets its number after it is born later
  uint64_t born;
};

// The parent that was last asked about. A shell or a server starts thousands: as long as its
// descriptor says that it lives, its number is nobody else's, and nothing need be read.
struct forebear {
  uint32_t pid; // 0: none
  int fd;       // -1: it was asked about once
};

struct tide_kin {
  pthread_mutex_t lock;
  uint32_t own_pid, own_session, own_group;
  struct member *members; // open addressing, a power of two of slots
  size_t n_members, n_slots;
  uint64_t *inodes; // of the stores
  size_t n_inodes, cap_inodes;
  struct member strangers[STRANGERS_REMEMBERED];
  struct forebear forebear;
  uint64_t n_refused;
  bool is_blind; // /proc is not ours to read: nobody can be judged, so everybody belongs
};

struct tide_kin *tide_kin_new(void)
{
  struct tide_kin *kin = tide_alloc(sizeof *kin);
  pthread_mutex_init(&kin->lock, NULL);
  kin->own_pid = (uint32_t)getpid();
  kin->own_session = (uint32_t)getsid(0);
  kin->own_group = (uint32_t)getpgrp();
  kin->is_blind = !tide_proc_is_ours();
  kin->forebear.fd = -1;
  kin->n_slots = FIRST_SLOTS;
  kin->members = tide_alloc_array(kin->n_slots, sizeof *kin->members);
  return kin;
}

static void forebear_set(struct tide_kin *kin, uint32_t pid, int fd)
{
  if (kin->forebear.fd >= 0)
    close(kin->forebear.fd);
  kin->forebear = (struct forebear){pid, fd};
}

void tide_kin_free(struct tide_kin *kin)
{
  if (!kin)
    return;
  pthread_mutex_destroy(&kin->lock);
  forebear_set(kin, 0, -1);
  free(kin->members);
  free(kin->inodes);
  free(kin);
}

// The slot of a pid, or the free one where it would be.
static struct member *slot_of(const struct tide_kin *kin, uint32_t pid)
{
  size_t mask = kin->n_slots - 1, i = (pid * 2654435761u) & mask;
  while (kin->members[i].pid && kin->members[i].pid != pid)
    i = (i + 1) & mask;
  return &kin->members[i];
}

static void grow_members(struct tide_kin *kin)
{
  struct member *old = kin->members;
  size_t n_old = kin->n_slots;
  kin->n_slots *= 2;
  kin->members = tide_alloc_array(kin->n_slots, sizeof *kin->members);
  for (size_t i = 0; i < n_old; i++)
    if (old[i].pid)
      *slot_of(kin, old[i].pid) = old[i];
  free(old);
}

static void remember_process(struct tide_kin *kin, uint32_t pid, uint64_t born, bool is_bound)
{
  struct member *member = slot_of(kin, pid);
  if (!member->pid && 2 * ++kin->n_members > kin->n_slots) {
    grow_members(kin);
    member = slot_of(kin, pid);
  }
  *member = (struct member){pid, is_bound, born};
}

static bool is_the_one(const struct member *member, const struct tide_proc_stat *stat)
{
  return member->is_bound ? stat->born <= member->born : stat->born == member->born;
}

static bool is_member(const struct tide_kin *kin, const struct tide_proc_stat *stat)
{
  const struct member *member = slot_of(kin, stat->pid);
  return member->pid && is_the_one(member, stat);
}

// As /proc tells when processes were born.
static uint64_t ticks_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
  return (uint64_t)now.tv_sec * per_second + (uint64_t)now.tv_nsec * per_second / 1000000000u;
}

static bool has_ended(int pid_fd)
{
  struct pollfd end = {pid_fd, POLLIN, 0};
  return poll(&end, 1, 0) != 0;
}

// Is it known to belong, and alive? That costs a call; reading /proc takes ten times as long.
static bool is_forebear(const struct tide_kin *kin, uint32_t pid)
{
  return kin->forebear.pid == pid && kin->forebear.fd >= 0 && !has_ended(kin->forebear.fd);
}

// Of a parent that is asked about twice in a row a descriptor is kept. It was opened before the
// parent was looked at, and is of the one that was seen if that one lives.
static bool ask_parent(struct tide_kin *kin, uint32_t pid, struct tide_proc_stat *ret_stat)
{
  bool again = kin->forebear.pid == pid && kin->forebear.fd < 0;
  int fd = again ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
  bool known = tide_proc_stat(pid, ret_stat);
  if (fd >= 0 && (!known || !is_member(kin, ret_stat) || has_ended(fd))) {
    close(fd);
    fd = -1;
  }
  forebear_set(kin, pid, fd);
  return known;
}

// Climbs from *from, whose own line of parents it becomes; all of it is remembered when it leads to
// us. *ret_torn: a parent ended meanwhile, and its child has another now.
static bool climb(struct tide_kin *kin, const struct tide_proc_stat *from, bool *ret_torn)
{
  struct tide_proc_stat line[MAX_GENERATIONS];
  size_t n = 1;
  line[0] = *from;
  *ret_torn = false;
  while (!is_member(kin, &line[n - 1]) && line[n - 1].parent != kin->own_pid) {
    uint32_t parent = line[n - 1].parent;
    if (parent <= 1 || n == MAX_GENERATIONS)
      return false;
    if (is_forebear(kin, parent))
      break;
    if (!ask_parent(kin, parent, &line[n++])) {
      *ret_torn = true;
      return false;
    }
  }
  for (size_t i = 0; i < n; i++)
    remember_process(kin, line[i].pid, line[i].born, false);
  return true;
}

// Is the leader, who may have ended, known to belong? A number is not given to anybody else while a
// session or a group bears it; one that lives must be the one that is known.
static bool is_led_by_us(const struct tide_kin *kin, uint32_t leader, uint32_t own,
                         const struct tide_proc_stat *stat)
{
  struct tide_proc_stat now;
  const struct member *known = slot_of(kin, leader);
  if (!leader || leader == own || !known->pid || (!known->is_bound && stat->born < known->born))
    return false;
  return !tide_proc_stat(leader, &now) || is_the_one(known, &now);
}

static bool maps_a_store(const struct tide_kin *kin, uint32_t pid)
{
  char path[64], line[512], name[64];
  uint64_t inode;
  bool found = false;
  snprintf(path, sizeof path, "/proc/%u/maps", pid);
  FILE *maps = fopen(path, "re");
  while (maps && !found && fgets(line, sizeof line, maps)) {
    if (!strstr(line, "memfd:tidemark") ||
        sscanf(line, "%*s %*s %*s %*s %" SCNu64 " /%63s", &inode, name) != 2)
      continue;
    for (size_t i = 0; i < kin->n_inodes && !found; i++)
      found = kin->inodes[i] == inode;
  }
  if (maps)
    fclose(maps);
  return found;
}

static bool is_our_orphan(const struct tide_kin *kin, const struct tide_proc_stat *stat)
{
  return is_led_by_us(kin, stat->session, kin->own_session, stat) ||
         is_led_by_us(kin, stat->group, kin->own_group, stat) || maps_a_store(kin, stat->pid);
}

static bool belongs_to_kin(struct tide_kin *kin, uint32_t pid, uint64_t *ret_born)
{
  struct tide_proc_stat stat = {0};
  bool torn = true;
  for (int i = 0; i < MAX_WALKS && torn; i++) {
    if (!tide_proc_stat(pid, &stat))
      return false;
    *ret_born = stat.born;
    const struct member *stranger = &kin->strangers[pid % STRANGERS_REMEMBERED];
    if (stranger->pid == pid && stranger->born == stat.born)
      return false;
    if (pid == kin->own_pid || climb(kin, &stat, &torn))
      return true;
  }
  if (is_our_orphan(kin, &stat)) {
    remember_process(kin, pid, stat.born, false);
    return true;
  }
  kin->strangers[pid % STRANGERS_REMEMBERED] = (struct member){pid, false, stat.born};
  kin->n_refused++;
  return false;
}

bool tide_kin_adopts(struct tide_kin *kin, uint32_t pid, uint32_t parent)
{
  pthread_mutex_lock(&kin->lock);
  bool yes = parent && is_forebear(kin, parent);
  if (yes)
    remember_process(kin, pid, ticks_now(), true);
  pthread_mutex_unlock(&kin->lock);
  return yes;
}

bool tide_kin_belongs(struct tide_kin *kin, uint32_t pid, uint64_t *ret_born)
{
  *ret_born = 0;
  if (kin->is_blind)
    return true;
  pthread_mutex_lock(&kin->lock);
  // Pid 0 is of a namespace that we cannot look into: none of our descendants is.
  bool yes = pid && belongs_to_kin(kin, pid, ret_born);
  kin->n_refused += !pid;
  pthread_mutex_unlock(&kin->lock);
  return yes;
}

bool tide_kin_knows_orphan(struct tide_kin *kin, const struct tide_proc_stat *stat)
{
  pthread_mutex_lock(&kin->lock);
  bool yes = is_our_orphan(kin, stat);
  pthread_mutex_unlock(&kin->lock);
  return yes;
}

void tide_kin_remember(struct tide_kin *kin, uint32_t pid, uint64_t born)
{
  pthread_mutex_lock(&kin->lock);
  remember_process(kin, pid, born, false);
  pthread_mutex_unlock(&kin->lock);
}

void tide_kin_gave_store(struct tide_kin *kin, uint64_t inode)
{
  pthread_mutex_lock(&kin->lock);
  TIDE_GROW(kin->inodes, kin->n_inodes, kin->cap_inodes);
  kin->inodes[kin->n_inodes++] = inode;
  pthread_mutex_unlock(&kin->lock);
}

void tide_kin_count_stranger(struct tide_kin *kin, uint32_t pid)
{
  pthread_mutex_lock(&kin->lock);
  struct member *stranger = &kin->strangers[pid % STRANGERS_REMEMBERED];
  if (stranger->pid != pid) {
    *stranger = (struct member){.pid = pid};
    kin->n_refused++;
  }
  pthread_mutex_unlock(&kin->lock);
}

uint64_t tide_kin_n_refused(struct tide_kin *kin)
{
  pthread_mutex_lock(&kin->lock);
  uint64_t n = kin->n_refused;
  pthread_mutex_unlock(&kin->lock);
  return n;
}
