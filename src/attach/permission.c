// SPDX-License-Identifier: Apache-2.0
//
// The kernel does not say why it refuses. What it looks at is all in /proc; the reasons are tried
// in the order in which a user can do something about them. Opening a process's memory asks the
// kernel the question that tracing asks, security modules included, and does nothing else.
#define _GNU_SOURCE
#include "attach/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAP_SYS_PTRACE_BIT 19

// A field of a status file, after its name and a tab; false: not there.
static bool status_text(const char *pid, const char *field, char *ret_text, size_t size)
{
  char name[64], line[256];
  bool found = false;
  snprintf(name, sizeof name, "/proc/%s/status", pid);
  FILE *f = fopen(name, "re");
  while (f && !found && fgets(line, sizeof line, f))
    if ((found = !strncmp(line, field, strlen(field))))
      snprintf(ret_text, size, "%s", line + strlen(field));
  if (f)
    fclose(f);
  return found;
}

static uint64_t status_number(const char *pid, const char *field, int base)
{
  char text[256];
  return status_text(pid, field, text, sizeof text) ? strtoull(text, NULL, base) : 0;
}

static bool has_ptrace_capability(void)
{
  return status_number("self", "CapEff:\t", 16) >> CAP_SYS_PTRACE_BIT & 1;
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

static bool is_of_us(const char *pid)
{
  unsigned real, effective, saved;
  char text[256];
  return !status_text(pid, "Uid:\t", text, sizeof text) ||
         sscanf(text, "%u %u %u", &real, &effective, &saved) != 3 ||
         (real == geteuid() && effective == geteuid() && saved == geteuid());
}

static bool in_our_namespace(const char *pid, const char *kind)
{
  char name[64];
  struct stat its, ours;
  snprintf(name, sizeof name, "/proc/%s/ns/%s", pid, kind);
  if (stat(name, &its)) // nobody tells
    return true;
  snprintf(name, sizeof name, "/proc/self/ns/%s", kind);
  return stat(name, &ours) || (its.st_ino == ours.st_ino && its.st_dev == ours.st_dev);
}

// Of a process that is not dumpable, everything in /proc belongs to root.
static bool is_undumpable(const char *pid)
{
  char name[64];
  struct stat st;
  snprintf(name, sizeof name, "/proc/%s/maps", pid);
  return !stat(name, &st) && st.st_uid != status_number(pid, "Uid:\t", 10) && st.st_uid == 0;
}

static enum tide_err explain_traced(uint32_t pid, const char *text, uint64_t tracer,
                                    struct tide_diag *diag)
{
  char by[32], name[64] = "?";
  snprintf(by, sizeof by, "%llu", (unsigned long long)tracer);
  if (status_text(by, "Name:\t", name, sizeof name))
    name[strcspn(name, "\n")] = 0;
  return tide_fail(diag, TIDE_ERR_SYSTEM,
                   "process %s is traced already, by process %s (%s): only one can; end that "
                   "first ('tidemark detach %u' if it is a tidemark)",
                   text, by, name, pid);
}

static enum tide_err explain_yama(int scope, struct tide_diag *diag)
{
  if (scope >= 3)
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "nobody may trace on this machine until it is started again "
                     "(kernel.yama.ptrace_scope is 3): set it lower at the next start, or record "
                     "the program from its start with 'tidemark run'");
  return tide_fail(diag, TIDE_ERR_SYSTEM,
                   "this machine lets only root trace a process that is not its own child "
                   "(kernel.yama.ptrace_scope is %d): run this as root%s, or record the program "
                   "from its start with 'tidemark run'",
                   scope, scope == 1 ? ", or 'sudo sysctl kernel.yama.ptrace_scope=0'" : "");
}

// What the process's memory is opened by asks the same question as ptrace: where the one may be and
// the other not, it is the call that is forbidden.
static bool is_filtered(uint32_t pid)
{
  char name[64];
  snprintf(name, sizeof name, "/proc/%u/mem", pid);
  int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd >= 0)
    close(fd);
  return fd >= 0 && status_number("self", "Seccomp:\t", 10) == 2;
}

enum tide_err tide_permission_explain(uint32_t pid, struct tide_diag *diag)
{
  char text[16];
  snprintf(text, sizeof text, "%u", pid);
  uint64_t tracer = status_number(text, "TracerPid:\t", 10);
  int scope = yama_scope();
  bool is_able = has_ptrace_capability();
  if (tracer)
    return explain_traced(pid, text, tracer, diag);
  if (scope >= 3 || (scope == 2 && !is_able))
    return explain_yama(scope, diag);
  if (!is_able && !is_of_us(text))
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "process %u is another user's: run this as that user, or as root", pid);
  if (!is_able && is_undumpable(text))
    return tide_fail(
        diag, TIDE_ERR_SYSTEM,
        "process %u keeps others out: it was setuid, has capabilities, or asked for it "
        "(PR_SET_DUMPABLE): run this as root",
        pid);
  if (!is_able && scope == 1)
    return explain_yama(scope, diag);
  if (!in_our_namespace(text, "user"))
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "process %u is in a user namespace in which you have no rights: run this as "
                     "root outside of it",
                     pid);
  if (!is_able)
    return tide_fail(
        diag, TIDE_ERR_SYSTEM,
        "the kernel does not permit to trace process %u without CAP_SYS_PTRACE: run "
        "this as root; in a container, start that with this capability, or attach from the "
        "host",
        pid);
  if (is_filtered(pid))
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "the kernel does not permit to trace process %u: this tidemark runs under a "
                     "seccomp filter, a container's or a service's, that forbids ptrace: allow it "
                     "there, or attach from outside",
                     pid);
  return tide_fail(
      diag, TIDE_ERR_SYSTEM,
      "the kernel does not permit to trace process %u, not even with CAP_SYS_PTRACE: "
      "a security module (AppArmor, SELinux, Landlock) forbids it, and its log says which rule",
      pid);
}

enum tide_err tide_permission_check(uint32_t pid, struct tide_diag *diag)
{
  char name[64], text[16];
  snprintf(text, sizeof text, "%u", pid);
  if (status_number(text, "TracerPid:\t", 10))
    return tide_permission_explain(pid, diag);
  snprintf(name, sizeof name, "/proc/%u/mem", pid);
  int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return errno == EACCES || errno == EPERM
               ? tide_permission_explain(pid, diag)
               : tide_fail_errno(diag, "cannot look at process %u", pid);
  close(fd);
  return TIDE_ERR_OK;
}
