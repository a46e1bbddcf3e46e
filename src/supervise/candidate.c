// SPDX-License-Identifier: Apache-2.0
//
// See candidate.h. The order is that of what is most to the point: a process under valgrind is also
// one without an allocator that is known.
#define _GNU_SOURCE
#include "supervise/candidate.h"

#include "attach/permission.h"
#include "base/proc.h"
#include "supervise/target_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool status_line(uint32_t pid, const char *field, char *ret_text, size_t size)
{
  char name[64], line[512];
  bool found = false;
  snprintf(name, sizeof name, "/proc/%u/status", pid);
  FILE *f = fopen(name, "re");
  while (f && !found && fgets(line, sizeof line, f))
    if ((found = !strncmp(line, field, strlen(field))))
      snprintf(ret_text, size, "%s", line + strlen(field));
  if (f)
    fclose(f);
  return found;
}

// The line has one number for each namespace from ours inwards.
static uint32_t number_inside(uint32_t pid)
{
  char text[256];
  const char *last = NULL;
  if (status_line(pid, "NSpid:\t", text, sizeof text))
    last = strrchr(text, '\t');
  return last ? (uint32_t)strtoul(last, NULL, 10) : 0;
}

enum tide_err tide_candidate_read(uint32_t pid, struct tide_candidate *ret_candidate,
                                  struct tide_diag *diag)
{
  struct tide_candidate c = {.pid = pid};
  struct tide_proc_stat stat;
  if (!tide_proc_stat(pid, &stat) || !tide_proc_name(pid, c.name, sizeof c.name))
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "there is no process %u", pid);
  if (!tide_proc_exe(pid, c.exe, sizeof c.exe))
    c.exe[0] = 0;
  snprintf(c.file, sizeof c.file, "/proc/%u/exe", pid);
  c.inside_pid = number_inside(pid);
  if (c.inside_pid)
    snprintf(c.where, sizeof c.where, "%u (%s, %u inside its container)", pid, c.name,
             c.inside_pid);
  else
    snprintf(c.where, sizeof c.where, "%u (%s)", pid, c.name);
  *ret_candidate = c;
  return TIDE_ERR_OK;
}

static bool is_same(uint32_t pid, const char *what)
{
  char name[64];
  struct stat its, ours;
  snprintf(name, sizeof name, "/proc/%u/%s", pid, what);
  if (stat(name, &its))
    return true;
  snprintf(name, sizeof name, "/proc/self/%s", what);
  return stat(name, &ours) || (its.st_dev == ours.st_dev && its.st_ino == ours.st_ino);
}

bool tide_candidate_is_elsewhere(const struct tide_candidate *candidate)
{
  return !is_same(candidate->pid, "root") || !is_same(candidate->pid, "ns/mnt");
}

// A kernel's own process has neither a program nor memory.
static bool is_of_kernel(uint32_t pid)
{
  char text[64];
  return !status_line(pid, "VmSize:", text, sizeof text);
}

static enum tide_err check_ended(const struct tide_candidate *c, struct tide_diag *diag)
{
  struct tide_proc_stat stat;
  char parent[16] = "?";
  if (!tide_proc_stat(c->pid, &stat))
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "process %s has ended", c->where);
  if (stat.state != 'Z' && stat.state != 'X')
    return TIDE_ERR_OK;
  tide_proc_name(stat.parent, parent, sizeof parent);
  return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                   "process %s has ended already; process %u (%s), which started it, has not taken "
                   "note of that yet",
                   c->where, stat.parent, parent);
}

static bool is_under_valgrind(uint32_t pid)
{
  return tide_proc_maps_hold(pid, "/vgpreload_") || tide_proc_maps_hold(pid, "/valgrind/");
}

static enum tide_err check_program(const struct tide_candidate *c, struct tide_diag *diag)
{
  enum tide_why why;
  char *detail = NULL;
  enum tide_err err = TIDE_ERR_OK;
  bool is_unfit = tide_target_judge(c->file, &why, &detail);
  if (is_unfit && why == TIDE_WHY_BITS_32)
    err = tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                    "process %s is a 32-bit program, which tidemark cannot record: build it for 64 "
                    "bits",
                    c->where);
  else if (is_unfit && why == TIDE_WHY_OTHER_MACHINE)
    err = tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                    "process %s is a program for another kind of processor, which an emulator runs",
                    c->where);
  else if (is_unfit && strstr(detail, "Sanitizer"))
    err = tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                    "process %s has %s, which needs its allocator for itself: build it without, or "
                    "use what it reports",
                    c->where, detail);
  free(detail);
  return err;
}

// What only its mappings tell, which take the right to trace.
static enum tide_err check_mappings(const struct tide_candidate *c, struct tide_diag *diag)
{
  if (is_under_valgrind(c->pid))
    return tide_fail(
        diag, TIDE_ERR_UNSUPPORTED,
        "process %s runs under valgrind, which has an allocator and a processor of its "
        "own: start the program without it",
        c->where);
  if (tide_proc_maps_hold(c->pid, "/libtidemark.so"))
    return tide_fail(diag, TIDE_ERR_EXISTS,
                     "process %s is recorded already: 'tidemark run', or a preloaded "
                     "libtidemark.so, started it; that recording has every allocation",
                     c->where);
  return TIDE_ERR_OK;
}

enum tide_err tide_candidate_check(const struct tide_candidate *candidate, struct tide_diag *diag)
{
  uint32_t pid = candidate->pid;
  if (pid == (uint32_t)getpid())
    return tide_fail(diag, TIDE_ERR_USAGE, "process %u is this tidemark itself", pid);
  enum tide_err err = check_ended(candidate, diag);
  if (!err && is_of_kernel(pid))
    err = tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                    "process %s is one of the kernel's own, and has no memory to record",
                    candidate->where);
  if (!err)
    err = tide_permission_check(pid, diag);
  if (!err)
    err = check_program(candidate, diag);
  if (!err)
    err = check_mappings(candidate, diag);
  return err;
}
