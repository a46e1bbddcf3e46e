// SPDX-License-Identifier: Apache-2.0
//
// Files under /proc/PID/task/TID, which may be gone at any moment. See thread_state.h.
#define _GNU_SOURCE
#include "attach/thread_state.h"

#include "base/proc.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static FILE *open_file(pid_t pid, pid_t tid, const char *file)
{
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/task/%d/%s", pid, tid, file);
  return fopen(name, "re");
}

static bool status_field(pid_t pid, pid_t tid, const char *field, char *ret_value, size_t size)
{
  return tide_proc_status((uint32_t)pid, (uint32_t)tid, field, ret_value, size);
}

static char state_of(pid_t pid, pid_t tid)
{
  char state[64];
  return status_field(pid, tid, "State", state, sizeof state) ? state[0] : 'X';
}

bool tide_thread_has_ended(pid_t pid, pid_t tid)
{
  char state = state_of(pid, tid);
  return state == 'Z' || state == 'X';
}

pid_t tide_thread_tracer(pid_t pid, pid_t tid)
{
  char tracer[64];
  bool known = status_field(pid, tid, "TracerPid", tracer, sizeof tracer);
  return known ? (pid_t)strtol(tracer, NULL, 10) : 0;
}

static uint64_t signal_set(pid_t pid, pid_t tid, const char *field)
{
  char set[64];
  return status_field(pid, tid, field, set, sizeof set) ? strtoull(set, NULL, 16) : 0;
}

bool tide_thread_expects_handler(pid_t pid, pid_t tid, int signal)
{
  uint64_t pending = signal_set(pid, tid, "SigPnd") | signal_set(pid, tid, "ShdPnd");
  uint64_t coming = pending & ~signal_set(pid, tid, "SigBlk");
  if (signal)
    coming |= UINT64_C(1) << (signal - 1);
  return coming && coming & signal_set(pid, tid, "SigCgt");
}

// Number, six arguments, sp, pc.
struct tide_waiting tide_thread_waiting(pid_t pid, pid_t tid)
{
  struct tide_waiting waiting = {.number = -1};
  FILE *f = open_file(pid, tid, "syscall");
  if (f && fscanf(f, "%ld %" SCNx64 " %*s %*s %*s %*s %*s %*s %" SCNx64, &waiting.number,
                  &waiting.first, &waiting.pc) != 3)
    waiting.number = -1;
  if (f)
    fclose(f);
  return waiting;
}

bool tide_thread_waits_for_vfork(pid_t pid, pid_t tid)
{
  if (state_of(pid, tid) != 'D')
    return false;
  long call = tide_thread_waiting(pid, tid).number;
#ifdef SYS_vfork
  if (call == SYS_vfork)
    return true;
#endif
  return call == SYS_clone || call == SYS_clone3;
}

// Is it so of any thread?
static bool any_thread(pid_t pid, bool (*is_so)(pid_t pid, pid_t tid))
{
  char name[64];
  struct dirent *entry;
  bool found = false;
  snprintf(name, sizeof name, "/proc/%d/task", pid);
  DIR *dir = opendir(name);
  while (!found && dir && (entry = readdir(dir))) {
    pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
    found = tid > 0 && is_so(pid, tid);
  }
  if (dir)
    closedir(dir);
  return found;
}

bool tide_threads_wait_for_vfork(pid_t pid)
{
  return any_thread(pid, tide_thread_waits_for_vfork);
}

static bool lives(pid_t pid, pid_t tid)
{
  return !tide_thread_has_ended(pid, tid);
}

bool tide_threads_have_ended(pid_t pid)
{
  return !any_thread(pid, lives);
}

bool tide_thread_has_children(pid_t pid, pid_t tid)
{
  FILE *f = open_file(pid, tid, "children");
  bool has = f && fgetc(f) != EOF;
  if (f)
    fclose(f);
  return has;
}

uint64_t tide_thread_runs(pid_t pid, pid_t tid)
{
  uint64_t n = 0;
  FILE *f = open_file(pid, tid, "schedstat");
  if (f && fscanf(f, "%*u %*u %" SCNu64, &n) != 1)
    n = 0;
  if (f)
    fclose(f);
  return n;
}

uint32_t tide_thread_own_number(pid_t pid, pid_t tid)
{
  char list[256];
  if (!status_field(pid, tid, "NSpid", list, sizeof list))
    return (uint32_t)tid;
  const char *last = strrchr(list, '\t');
  return (uint32_t)strtoul(last ? last : list, NULL, 10);
}
