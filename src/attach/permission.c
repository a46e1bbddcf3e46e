// SPDX-License-Identifier: Apache-2.0
//
// The reasons in the order in which a user can do something about them.
#define _GNU_SOURCE
#include "attach/permission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long status_number(uint32_t pid, const char *field)
{
  char name[64], line[256];
  long value = -1;
  snprintf(name, sizeof name, "/proc/%u/status", pid);
  FILE *f = fopen(name, "re");
  while (f && value < 0 && fgets(line, sizeof line, f))
    if (!strncmp(line, field, strlen(field)))
      value = strtol(line + strlen(field), NULL, 10);
  if (f)
    fclose(f);
  return value;
}

// 0: everybody of the same user; 1: descendants; 2: administrators; 3: nobody.
static int yama_scope(void)
{
  int scope = 0;
  FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
  if (f && fscanf(f, "%d", &scope) != 1)
    scope = 0;
  if (f)
    fclose(f);
  return scope;
}

enum tide_err tide_permission_explain(uint32_t pid, struct tide_diag *diag)
{
  long tracer = status_number(pid, "TracerPid:"), owner = status_number(pid, "Uid:");
  if (tracer > 0)
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "process %u is traced already, by process %ld: end that debugger or strace "
                     "first",
                     pid, tracer);
  if (geteuid() != 0 && owner >= 0 && (uid_t)owner != geteuid())
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "process %u is another user's: run this as that user, or as root", pid);
  if (geteuid() != 0 && yama_scope() > 0)
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "this system lets only root trace a process that is not its own child: run "
                     "this as root, or 'sudo sysctl kernel.yama.ptrace_scope=0'");
  if (yama_scope() == 3)
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "this system lets nobody trace (kernel.yama.ptrace_scope is 3)");
  return tide_fail(diag, TIDE_ERR_SYSTEM,
                   "the kernel does not permit to trace process %u: in a container, give it "
                   "CAP_SYS_PTRACE; a program that is setuid or undumpable needs root",
                   pid);
}
