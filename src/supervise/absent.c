// SPDX-License-Identifier: Apache-2.0
//
// Keeping an eye on those who did not come. See absent.h.
#define _GNU_SOURCE
#include "supervise/absent.h"

#include "base/alloc.h"
#include "base/proc.h"
#include "model/capture.h"
#include "observe/clock.h"
#include "supervise/target_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define FIRST_LOOK_NS (1 * MS)
#define LONGEST_LOOK_NS (256 * MS)
#define FIRST_CENSUS_NS (4 * MS)
#define LONGEST_CENSUS_NS (512 * MS)
#define CENSUS_REST 100      // times its cost: a hundredth of a core at most
#define UNSURE_NS (250 * MS) // a program that could load the recorder has not done so by then
enum { MAX_LIVING = 4096, PATH_BYTES = 4096 };
// A store as maps name it: the door's own, and those that the agent made itself
// (TIDE_AGENT_STORE_NAME). The agent has no file.
static const char STORE[] = "/memfd:tidemark";

struct absent {
  uint32_t pid; // 0: nothing more is to be learned
  uint64_t born;
  struct tide_unrecorded row; // its texts are its own
  bool is_told;
  char *before;   // of one that was told: its program before the exec; NULL once that was seen
  bool is_unsure; // it may still be loading the recorder
  bool is_fork;   // its parent's program, unrecorded too: only worth a word if it stays
  uint64_t seen_ns, look_ns, interval_ns;
};

// Mapped the recorder when it was looked at: a fork child that has not allocated, or one that
// starts. Or is in its parent's memory still, as a vfork child is. Nothing of it is missed.
struct silent {
  uint32_t pid;
  uint64_t born;
  char *exe;
  bool is_in_parent;
};

struct tide_absents {
  struct tide_kin *kin;
  uint32_t command_pid;
  char *library; // its file's name alone: the directory may look different from there
  struct absent *living;
  size_t n_living, cap_living;
  struct silent *silents;
  size_t n_silents, cap_silents;
  uint32_t *frontier; // of the census at hand
  size_t n_frontier, cap_frontier;
  size_t n_recorded; // the first of the frontier
  uint64_t census_ns, census_interval_ns, now_ns;
  struct tide_own_allocators *allocators;
  struct tide_roll roll; // of those that have ended
  uint64_t n_outside;    // refused, and on the roll: they may be of the run
};

struct tide_absents *tide_absents_new(struct tide_kin *kin, uint32_t command_pid,
                                      const char *library)
{
  struct tide_absents *a = tide_alloc(sizeof *a);
  const char *name = strrchr(library, '/');
  a->kin = kin;
  a->command_pid = command_pid;
  a->library = tide_strdup(name ? name : library);
  a->census_interval_ns = FIRST_CENSUS_NS;
  a->allocators = tide_own_allocators_new();
  a->roll.is_known = true;
  a->roll.command_pid = command_pid;
  return a;
}

static void row_done(struct tide_unrecorded *row)
{
  free(row->exe);
  free(row->detail);
  free(row->parent);
}

static void drop_absent(struct tide_absents *a, size_t at)
{
  row_done(&a->living[at].row);
  free(a->living[at].before);
  a->living[at] = a->living[--a->n_living];
}

void tide_absents_free(struct tide_absents *a)
{
  if (!a)
    return;
  while (a->n_living)
    drop_absent(a, a->n_living - 1);
  for (size_t i = 0; i < a->n_silents; i++)
    free(a->silents[i].exe);
  tide_own_allocators_free(a->allocators);
  tide_roll_done(&a->roll);
  free(a->living);
  free(a->silents);
  free(a->frontier);
  free(a->library);
  free(a);
}

static bool counts(const struct absent *absent, bool is_over, uint64_t time_ns)
{
  uint64_t age_ns = time_ns - absent->row.start_ns;
  if (absent->is_fork && age_ns < UNSURE_NS)
    return false;
  return is_over || !absent->is_unsure || age_ns >= UNSURE_NS;
}

static void put_on_roll(struct tide_roll *roll, const struct absent *absent, bool is_over,
                        uint64_t time_ns)
{
  if (!counts(absent, is_over, time_ns))
    return;
  struct tide_unrecorded row = absent->row;
  row.end_ns = is_over ? absent->seen_ns : time_ns;
  roll->at_least |= !tide_why_is_partial(row.why);
  tide_roll_add(roll, &row);
}

static void end(struct tide_absents *a, size_t at)
{
  put_on_roll(&a->roll, &a->living[at], true, a->living[at].seen_ns);
  drop_absent(a, at);
}

// The index, or n_living. Whose start nobody asked for is known by its pid.
static size_t find_absent(const struct tide_absents *a, uint32_t pid, uint64_t born)
{
  size_t i = 0;
  while (i < a->n_living &&
         !(pid && a->living[i].pid == pid && (!born || a->living[i].born == born)))
    i++;
  return i;
}

static char *exe_of(uint32_t pid)
{
  char path[PATH_BYTES];
  return tide_strdup(pid && tide_proc_exe(pid, path, sizeof path) ? path : "");
}

static struct absent *add_absent(struct tide_absents *a, uint32_t pid, uint64_t born,
                                 uint64_t time_ns)
{
  TIDE_GROW(a->living, a->n_living, a->cap_living);
  struct absent *absent = &a->living[a->n_living++];
  *absent = (struct absent){
      .pid = pid,
      .born = born,
      .row = {.pid = pid,
              .n_processes = 1,
              .start_ns = time_ns,
              .is_command = pid && pid == a->command_pid},
      .seen_ns = time_ns,
      .look_ns = time_ns + FIRST_LOOK_NS,
      .interval_ns = FIRST_LOOK_NS,
  };
  a->census_interval_ns = FIRST_CENSUS_NS; // it may start others
  if (a->census_ns > time_ns + FIRST_CENSUS_NS)
    a->census_ns = time_ns + FIRST_CENSUS_NS;
  return absent;
}

char *tide_absent_parent(uint32_t pid, uint32_t teller_pid)
{
  struct tide_proc_stat stat = {.parent = teller_pid};
  if (teller_pid == pid)
    tide_proc_stat(pid, &stat);
  return exe_of(stat.parent == (uint32_t)getpid() ? 0 : stat.parent);
}

static const char *basename_of(const char *path)
{
  const char *name = strrchr(path, '/');
  return name ? name + 1 : path;
}

void tide_absents_told(struct tide_absents *a, const struct tide_absent_word *word,
                       uint64_t time_ns)
{
  size_t before = find_absent(a, word->pid, word->born);
  const char *exe = word->exe ? word->exe : "";
  bool is_at_both_doors = before < a->n_living && word->why == TIDE_WHY_NAMESPACE &&
                          a->living[before].row.why == word->why &&
                          !strcmp(a->living[before].row.exe, exe);
  if (is_at_both_doors)
    return;
  // Found before its word was heard: it was on its way to say so, or has become it meanwhile.
  if (before < a->n_living && !a->living[before].is_told &&
      !strcmp(basename_of(a->living[before].row.exe), basename_of(exe)))
    drop_absent(a, before);
  else if (before < a->n_living)
    end(a, before);
  struct absent *absent = add_absent(a, word->pid, word->born, time_ns);
  absent->is_told = true;
  absent->before = exe_of(word->pid == word->teller_pid ? word->pid : 0);
  if (!strcmp(absent->before, exe)) { // it is that program already
    free(absent->before);
    absent->before = NULL;
  }
  absent->row.exe = tide_strdup(exe);
  const char *detail =
      word->detail ? word->detail : tide_own_allocators_detail(a->allocators, exe, word->why);
  absent->row.detail = tide_strdup(detail ? detail : "");
  absent->row.parent = tide_strdup(word->parent ? word->parent : "");
  absent->row.why = word->why;
  // A fork child that was turned away has counted itself in its parent's store.
  absent->is_fork = word->why == TIDE_WHY_NAMESPACE && *exe && !strcmp(exe, absent->row.parent);
  bool is_outside = word->why == TIDE_WHY_OUTSIDE;
  a->n_outside += is_outside;
  if (!word->pid || a->n_living > MAX_LIVING || is_outside)
    end(a, a->n_living - 1);
  else
    tide_kin_remember(a->kin, word->pid, word->born);
}

void tide_absents_stayed(struct tide_absents *a, uint32_t pid, uint64_t born)
{
  size_t at = find_absent(a, pid, born);
  if (at < a->n_living && a->living[at].is_told)
    drop_absent(a, at);
}

static void forget_silent(struct tide_absents *a, size_t at)
{
  free(a->silents[at].exe);
  a->silents[at] = a->silents[--a->n_silents];
}

void tide_absents_came(struct tide_absents *a, uint32_t pid, uint64_t born, bool is_told,
                       const char *exe, uint64_t time_ns)
{
  for (size_t i = a->n_silents; i > 0; i--)
    if (a->silents[i - 1].pid == pid)
      forget_silent(a, i - 1);
  size_t at = find_absent(a, pid, born);
  if (at == a->n_living)
    return;
  struct absent *absent = &a->living[at];
  TIDE_CLEANUP_FREE char *of_pid = exe_of(pid);
  const char *now = *of_pid || !exe ? of_pid : exe;
  bool is_same =
      (is_told && absent->is_told) || !strcmp(basename_of(now), basename_of(absent->row.exe));
  bool was_on_its_way = is_same || (!absent->is_told && absent->is_fork);
  if (was_on_its_way) {
    drop_absent(a, at);
    return;
  }
  absent->is_unsure = false;
  absent->seen_ns = time_ns;
  end(a, at);
}

bool tide_absents_left(const struct tide_absents *a, uint32_t pid, uint64_t born,
                       uint64_t *ret_time_ns)
{
  size_t at = find_absent(a, pid, born);
  if (at == a->n_living)
    return false;
  *ret_time_ns = a->living[at].row.start_ns;
  return true;
}

// Why the recorder is not in it. False: that is as it should be, or the process has ended.
static bool why_absent(struct tide_absents *a, const struct tide_proc_stat *stat,
                       struct absent *absent)
{
  char path[PATH_BYTES], link[64];
  uint32_t pid = stat->pid;
  if (!tide_proc_exe(pid, path, sizeof path)) {
    bool is_hidden = errno == EACCES; // it has become more than we are
    absent->row.why = TIDE_WHY_PRIVILEGED;
    absent->row.exe = tide_strdup(tide_proc_name(pid, path, sizeof path) ? path : "");
    return is_hidden;
  }
  if (tide_proc_maps_hold(pid, a->library) || tide_proc_maps_hold(pid, STORE) ||
      tide_proc_shares_memory(pid, stat->parent))
    return false;
  snprintf(link, sizeof link, "/proc/%u/exe", pid);
  absent->row.exe = tide_strdup(path);
  if (tide_target_judge(link, &absent->row.why, &absent->row.detail)) {
    if (absent->row.why != TIDE_WHY_OWN_ALLOCATOR)
      return true;
    free(absent->row.detail); // that alone would not keep the recorder out
    absent->row.detail = NULL;
  }
  absent->is_unsure = true;
  absent->row.why =
      tide_proc_was_given(pid, "TIDEMARK_OPTIONS=") ? TIDE_WHY_NO_LIBRARY : TIDE_WHY_NO_ENVIRONMENT;
  return true;
}

static void keep_silent(struct tide_absents *a, const struct tide_proc_stat *stat)
{
  TIDE_GROW(a->silents, a->n_silents, a->cap_silents);
  a->silents[a->n_silents++] = (struct silent){
      .pid = stat->pid,
      .born = stat->born,
      .exe = exe_of(stat->pid),
      .is_in_parent = tide_proc_shares_memory(stat->pid, stat->parent),
  };
}

static void examine(struct tide_absents *a, const struct tide_proc_stat *stat)
{
  struct absent seen = {0};
  if (!why_absent(a, stat, &seen)) {
    row_done(&seen.row);
    keep_silent(a, stat);
    return;
  }
  struct absent *absent = add_absent(a, stat->pid, stat->born, a->now_ns);
  absent->row.exe = seen.row.exe;
  absent->row.detail = seen.row.detail ? seen.row.detail : tide_strdup("");
  absent->row.parent = exe_of(stat->parent == (uint32_t)getpid() ? 0 : stat->parent);
  absent->row.why = seen.row.why;
  absent->is_unsure = seen.is_unsure;
  absent->is_fork = *absent->row.exe && !strcmp(absent->row.exe, absent->row.parent);
  tide_kin_remember(a->kin, stat->pid, stat->born);
}

// Known, and what it was? Whoever has become another program is looked at anew.
static bool is_accounted_for(struct tide_absents *a, const struct tide_proc_stat *stat)
{
  for (size_t i = 0; i < a->n_recorded; i++)
    if (a->frontier[i] == stat->pid)
      return true;
  if (find_absent(a, stat->pid, stat->born) < a->n_living)
    return true;
  for (size_t i = 0; i < a->n_silents; i++) {
    if (a->silents[i].pid != stat->pid)
      continue;
    TIDE_CLEANUP_FREE char *now = exe_of(stat->pid);
    bool is_what_it_was =
        a->silents[i].born == stat->born && !strcmp(a->silents[i].exe, now) &&
        a->silents[i].is_in_parent == tide_proc_shares_memory(stat->pid, stat->parent);
    if (is_what_it_was)
      return true;
    forget_silent(a, i);
    return false;
  }
  return false;
}

static void add_to_frontier(struct tide_absents *a, uint32_t pid)
{
  for (size_t i = 0; i < a->n_frontier; i++)
    if (a->frontier[i] == pid)
      return;
  TIDE_GROW(a->frontier, a->n_frontier, a->cap_frontier);
  a->frontier[a->n_frontier++] = pid;
}

static void meet_process(void *context, uint32_t pid)
{
  struct tide_absents *a = context;
  struct tide_proc_stat stat;
  if (a->n_living >= MAX_LIVING || !tide_proc_stat(pid, &stat) || stat.state == 'Z')
    return;
  if (!is_accounted_for(a, &stat))
    examine(a, &stat);
  add_to_frontier(a, pid);
}

static void take_census(struct tide_absents *a, const struct tide_absent_census *census)
{
  a->n_frontier = a->n_recorded = 0;
  for (size_t i = 0; i < census->n_recorded; i++)
    add_to_frontier(a, census->recorded_pids[i]);
  a->n_recorded = a->n_frontier;
  for (size_t i = 0; i < census->n_left; i++)
    meet_process(a, census->left_pids[i]);
  add_to_frontier(a, a->command_pid);
  for (size_t i = 0; i < a->n_living; i++)
    add_to_frontier(a, a->living[i].pid);
  for (size_t i = 0; i < a->n_frontier; i++) // grows on the way
    tide_proc_children(a->frontier[i], meet_process, a);
  for (size_t i = a->n_silents; i > 0; i--) {
    struct tide_proc_stat stat;
    if (!tide_proc_stat(a->silents[i - 1].pid, &stat) || stat.born != a->silents[i - 1].born)
      forget_silent(a, i - 1);
  }
}

// False: it has ended, or become another program.
static bool look_at(struct absent *absent, uint64_t time_ns)
{
  struct tide_proc_stat stat;
  if (!tide_proc_stat(absent->pid, &stat) || stat.born != absent->born || stat.state == 'Z')
    return false;
  absent->seen_ns = time_ns;
  uint64_t rss = tide_proc_marks(absent->pid).high_bytes;
  if (rss > absent->row.max_rss_bytes)
    absent->row.max_rss_bytes = rss;
  TIDE_CLEANUP_FREE char *now = exe_of(absent->pid);
  if (absent->before && *now && strcmp(now, absent->before) != 0) {
    // What was told is the name as given to exec, links and all: now the kernel knows.
    free(absent->before);
    free(absent->row.exe);
    absent->before = NULL;
    absent->row.exe = tide_strdup(now);
  } else if (!absent->before && *now && strcmp(now, absent->row.exe) != 0) {
    return false;
  }
  absent->interval_ns *= absent->interval_ns < LONGEST_LOOK_NS ? 2 : 1;
  absent->look_ns = time_ns + absent->interval_ns;
  return true;
}

bool tide_absents_census_is_due(const struct tide_absents *a, uint64_t time_ns)
{
  return a->census_ns <= time_ns;
}

uint64_t tide_absents_look(struct tide_absents *a, const struct tide_absent_census *census,
                           uint64_t time_ns)
{
  a->now_ns = time_ns;
  for (size_t i = a->n_living; i > 0; i--)
    if (a->living[i - 1].look_ns <= time_ns && !look_at(&a->living[i - 1], time_ns))
      end(a, i - 1);
  if (tide_absents_census_is_due(a, time_ns)) {
    uint64_t before_ns = tide_monotonic_ns();
    a->census_interval_ns *= a->census_interval_ns < LONGEST_CENSUS_NS ? 2 : 1;
    take_census(a, census);
    uint64_t rest_ns = (tide_monotonic_ns() - before_ns) * CENSUS_REST;
    a->census_ns = time_ns + (rest_ns > a->census_interval_ns ? rest_ns : a->census_interval_ns);
  }
  uint64_t next_ns = a->census_ns;
  for (size_t i = 0; i < a->n_living; i++)
    next_ns = a->living[i].look_ns < next_ns ? a->living[i].look_ns : next_ns;
  return next_ns;
}

bool tide_absents_judge(struct tide_absents *a, const struct tide_image *image,
                        uint64_t max_anonymous_bytes)
{
  struct tide_unrecorded row = {
      .exe = image->exe,
      .pid = image->pid,
      .n_processes = 1,
      .start_ns = image->start_ns,
      .end_ns = image->end_ns,
      .is_command = image->pid && image->pid == a->command_pid,
      .max_rss_bytes = image->max_rss_bytes,
      .recorded_bytes = image->peak_bytes > 0 ? (uint64_t)image->peak_bytes : 0,
  };
  if (!tide_own_allocator_judge(a->allocators, image, max_anonymous_bytes, &row)) {
    a->roll.n_recorded++;
    return false;
  }
  tide_roll_add(&a->roll, &row);
  return true;
}

bool tide_absents_any(const struct tide_absents *a)
{
  return a->n_living || a->roll.n_rows;
}

void tide_absents_fill(const struct tide_absents *a, uint64_t time_ns, struct tide_roll *ret_roll)
{
  tide_roll_copy(ret_roll, &a->roll);
  for (size_t i = 0; i < a->n_living; i++)
    put_on_roll(ret_roll, &a->living[i], false, time_ns);
  uint64_t n_refused = tide_kin_n_refused(a->kin);
  ret_roll->n_refused = n_refused > a->n_outside ? n_refused - a->n_outside : 0;
  tide_roll_sort(ret_roll);
}
