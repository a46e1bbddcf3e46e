// SPDX-License-Identifier: Apache-2.0
//
// The kernel does not say why it refuses. What it looks at is all in /proc; the reasons are tried
// in the order in which a user can do something about them. Opening a process's memory asks the
// kernel the question that tracing asks, security modules included, and does nothing else.
#define _GNU_SOURCE
#include "attach/sandbox.h"

#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAP_SYS_PTRACE_BIT 19

static bool has_ptrace_capability(void)
{
  return tide_proc_status_number(0, "CapEff", 16) >> CAP_SYS_PTRACE_BIT & 1;
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

static bool is_of_us(uint32_t pid)
{
  unsigned real, effective, saved;
  char text[256];
  return !tide_proc_status(pid, 0, "Uid", text, sizeof text) ||
         sscanf(text, "%u %u %u", &real, &effective, &saved) != 3 ||
         (real == geteuid() && effective == geteuid() && saved == geteuid());
}

// Of a process that is not dumpable, everything in /proc belongs to root.
static bool is_undumpable(uint32_t pid)
{
  char name[64];
  struct stat st;
  snprintf(name, sizeof name, "/proc/%u/maps", pid);
  return !stat(name, &st) && st.st_uid != tide_proc_status_number(pid, "Uid", 10) && st.st_uid == 0;
}

static enum tide_err explain_traced(uint32_t pid, uint32_t tracer, struct tide_diag *diag)
{
  char name[64];
  if (!tide_proc_name(tracer, name, sizeof name))
    snprintf(name, sizeof name, "?");
  return tide_fail(diag, TIDE_ERR_SYSTEM,
                   "process %u is traced already, by process %u (%s): only one can; end that "
                   "first ('tidemark detach %u' if it is a tidemark)",
                   pid, tracer, name, pid);
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
  return fd >= 0 && tide_proc_status_number(0, "Seccomp", 10) == 2;
}

static enum tide_err explain_rights(const struct tide_permission *p, struct tide_diag *diag)
{
  if (!p->is_of_us)
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "process %u is another user's: run this as that user, or as root", p->pid);
  if (p->is_undumpable)
    return tide_fail(
        diag, TIDE_ERR_SYSTEM,
        "process %u keeps others out: it was setuid, has capabilities, or asked for it "
        "(PR_SET_DUMPABLE): run this as root",
        p->pid);
  if (p->yama_scope == 1)
    return explain_yama(p->yama_scope, diag);
  return TIDE_ERR_OK;
}

enum tide_err tide_permission_tell(const struct tide_permission *p, struct tide_diag *diag)
{
  if (p->tracer)
    return explain_traced(p->pid, p->tracer, diag);
  if (p->yama_scope >= 3 || (p->yama_scope == 2 && !p->is_able))
    return explain_yama(p->yama_scope, diag);
  enum tide_err err = p->is_able ? TIDE_ERR_OK : explain_rights(p, diag);
  if (err)
    return err;
  if (!p->is_in_our_namespace)
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "process %u is in a user namespace in which you have no rights: run this as "
                     "root outside of it",
                     p->pid);
  if (!p->is_able)
    return tide_fail(
        diag, TIDE_ERR_SYSTEM,
        "the kernel does not permit to trace process %u without CAP_SYS_PTRACE: run "
        "this as root; in a container, start that with this capability, or attach from the "
        "host",
        p->pid);
  if (p->are_we_filtered)
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "the kernel does not permit to trace process %u: this tidemark runs under a "
                     "seccomp filter, a container's or a service's, that forbids ptrace: allow it "
                     "there, or attach from outside",
                     p->pid);
  return tide_fail(
      diag, TIDE_ERR_SYSTEM,
      "the kernel does not permit to trace process %u, not even with CAP_SYS_PTRACE: "
      "a security module (AppArmor, SELinux, Landlock) forbids it, and its log says which rule",
      p->pid);
}

enum tide_err tide_permission_explain(uint32_t pid, struct tide_diag *diag)
{
  const struct tide_permission facts = {
      .pid = pid,
      .tracer = (uint32_t)tide_proc_status_number(pid, "TracerPid", 10),
      .yama_scope = yama_scope(),
      .is_able = has_ptrace_capability(),
      .is_of_us = is_of_us(pid),
      .is_undumpable = is_undumpable(pid),
      .is_in_our_namespace = tide_proc_shares(pid, "ns/user"),
      .are_we_filtered = is_filtered(pid),
  };
  return tide_permission_tell(&facts, diag);
}

enum tide_err tide_permission_check(uint32_t pid, struct tide_diag *diag)
{
  char name[64];
  if (tide_proc_status_number(pid, "TracerPid", 10))
    return tide_permission_explain(pid, diag);
  snprintf(name, sizeof name, "/proc/%u/mem", pid);
  int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return errno == EACCES || errno == EPERM ? tide_permission_explain(pid, diag)
                                             : tide_proc_fail(pid, diag);
  close(fd);
  return TIDE_ERR_OK;
}
