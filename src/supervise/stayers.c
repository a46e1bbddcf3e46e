// SPDX-License-Identifier: Apache-2.0
//
// A look at each process of the machine, and a second one at those that were found. See stayers.h.
#define _GNU_SOURCE
#include "supervise/stayers.h"

#include "base/alloc.h"
#include "base/proc.h"
#include "model/capture.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REST_NS 4000000 // a rest ends early when all that were found have ended
enum { N_LOOKS = 4, N_RESTS = 4, PATH_BYTES = 4096 };

static bool is_there(uint32_t pid, uint64_t born)
{
  struct tide_proc_stat stat;
  return tide_proc_stat(pid, &stat) && stat.born == born && stat.state != 'Z' && stat.state != 'X';
}

// A helper of ours, which is led by us and by nobody else: one that put an agent somewhere.
static bool is_tidemark(const char *exe)
{
  char own[PATH_BYTES];
  return tide_proc_exe((uint32_t)getpid(), own, sizeof own) && !strcmp(own, exe);
}

static void look_at(const struct tide_stayer_search *search, uint32_t pid,
                    struct tide_stayers *stayers)
{
  struct tide_proc_stat stat;
  char exe[PATH_BYTES] = "";
  if (pid == (uint32_t)getpid() || !tide_proc_stat(pid, &stat) || stat.state == 'Z' ||
      stat.state == 'X' || stat.born < search->command_born)
    return;
  bool is_given = tide_proc_environment_holds(pid, search->door);
  if (!is_given && !tide_kin_knows_orphan(search->kin, &stat))
    return;
  tide_proc_exe(pid, exe, sizeof exe);
  if (!is_given && is_tidemark(exe))
    return;
  TIDE_GROW(stayers->items, stayers->n, stayers->cap);
  stayers->items[stayers->n++] = (struct tide_stayer){pid, stat.born, tide_strdup(exe)};
}

static void look_around(const struct tide_stayer_search *search, struct tide_stayers *stayers)
{
  DIR *all = opendir("/proc");
  for (const struct dirent *one; all && (one = readdir(all));)
    if (isdigit((unsigned char)one->d_name[0]))
      look_at(search, (uint32_t)strtoul(one->d_name, NULL, 10), stayers);
  if (all)
    closedir(all);
}

static void drop_ended(struct tide_stayers *stayers)
{
  for (size_t i = stayers->n; i > 0; i--) {
    const struct tide_stayer *item = &stayers->items[i - 1];
    if (is_there(item->pid, item->born))
      continue;
    free(item->exe);
    stayers->items[i - 1] = stayers->items[--stayers->n];
  }
}

// The list of processes is of one moment, and who is on it of the next ones: one that ended between
// the two may have started another, which is not on it. So nobody is there when two looks in a row
// have found nobody, and those who are there are looked for anew at the end.
void tide_stayers_await(const struct tide_stayer_search *search, struct tide_stayers *ret_stayers)
{
  struct tide_stayers found = {0};
  for (int i = 0, n_empty = 0; i < N_LOOKS && n_empty < 2; i++) {
    tide_stayers_done(&found);
    look_around(search, &found);
    n_empty = found.n ? 0 : n_empty + 1;
    for (int k = 0; found.n && k < N_RESTS && i < N_LOOKS - 1; k++) {
      nanosleep(&(struct timespec){0, REST_NS}, NULL);
      drop_ended(&found);
    }
  }
  *ret_stayers = found;
}

static bool has_image(const struct tide_capture *capture, uint32_t pid)
{
  for (size_t i = 0; i < capture->n_images; i++)
    if (capture->images[i].pid == pid)
      return true;
  return false;
}

// Is the program told as unrecorded already, for a reason that says more?
static bool is_told(const struct tide_capture *capture, const char *exe)
{
  for (size_t i = 0; i < capture->roll.n_rows; i++)
    if (capture->roll.rows[i].why != TIDE_WHY_LEFT_BEHIND &&
        !tide_why_is_partial(capture->roll.rows[i].why) && !strcmp(capture->roll.rows[i].exe, exe))
      return true;
  return false;
}

void tide_stayers_tell(const struct tide_stayers *stayers, struct tide_capture *capture)
{
  for (size_t i = 0; i < stayers->n; i++) {
    const struct tide_stayer *item = &stayers->items[i];
    const struct tide_unrecorded row = {
        .exe = item->exe,
        .why = TIDE_WHY_LEFT_BEHIND,
        .pid = item->pid,
        .n_processes = 1,
        .start_ns = capture->duration_ns,
        .end_ns = capture->duration_ns,
        .max_rss_bytes = tide_proc_marks(item->pid).high_bytes,
    };
    if (has_image(capture, item->pid) || is_told(capture, item->exe))
      continue;
    capture->roll.at_least = true;
    tide_roll_add(&capture->roll, &row);
  }
  tide_roll_sort(&capture->roll);
}

void tide_stayers_done(struct tide_stayers *stayers)
{
  for (size_t i = 0; i < stayers->n; i++)
    free(stayers->items[i].exe);
  free(stayers->items);
  *stayers = (struct tide_stayers){0};
}
