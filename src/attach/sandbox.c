// SPDX-License-Identifier: Apache-2.0
//
// See sandbox.h.
#define _GNU_SOURCE
#include "attach/sandbox.h"

#include "base/proc.h"
#include "rt/arch.h"
#include "store/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_FILTERS = 64 };

// ---- running a filter ----

static uint32_t load(const struct seccomp_data *data, uint32_t at)
{
  uint32_t word = 0;
  if (at % 4 == 0 && at <= sizeof *data - 4)
    memcpy(&word, (const uint8_t *)data + at, 4);
  return word;
}

static uint32_t compute(uint16_t operation, uint32_t a, uint32_t b)
{
  switch (operation) {
  case BPF_ADD: return a + b;
  case BPF_SUB: return a - b;
  case BPF_MUL: return a * b;
  case BPF_DIV: return b ? a / b : 0;
  case BPF_OR: return a | b;
  case BPF_AND: return a & b;
  case BPF_XOR: return a ^ b;
  case BPF_LSH: return b < 32 ? a << b : 0;
  case BPF_RSH: return b < 32 ? a >> b : 0;
  case BPF_NEG: return 0 - a;
  default: return a;
  }
}

static bool compare(uint16_t operation, uint32_t a, uint32_t b)
{
  switch (operation) {
  case BPF_JEQ: return a == b;
  case BPF_JGT: return a > b;
  case BPF_JGE: return a >= b;
  default: return a & b; // BPF_JSET
  }
}

struct machine {
  uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t loaded_value(const struct machine *m, const struct sock_filter *i,
                             const struct seccomp_data *data)
{
  switch (BPF_MODE(i->code)) {
  case BPF_ABS: return load(data, i->k);
  case BPF_MEM: return m->memory[i->k % BPF_MEMWORDS];
  case BPF_LEN: return sizeof *data;
  default: return i->k; // BPF_IMM
  }
}

// Jumps go forward alone, so that it ends.
uint32_t tide_sandbox_run(const struct sock_filter *code, size_t n, const struct seccomp_data *data)
{
  struct machine m = {0};
  for (size_t pc = 0; pc < n; pc++) {
    const struct sock_filter *i = &code[pc];
    uint32_t operand = BPF_SRC(i->code) == BPF_X ? m.x : i->k;
    switch (BPF_CLASS(i->code)) {
    case BPF_LD: m.a = loaded_value(&m, i, data); break;
    case BPF_LDX: m.x = loaded_value(&m, i, data); break;
    case BPF_ST: m.memory[i->k % BPF_MEMWORDS] = m.a; break;
    case BPF_STX: m.memory[i->k % BPF_MEMWORDS] = m.x; break;
    case BPF_ALU: m.a = compute(BPF_OP(i->code), m.a, operand); break;
    case BPF_JMP:
      pc += BPF_OP(i->code) == BPF_JA                ? i->k
            : compare(BPF_OP(i->code), m.a, operand) ? i->jt
                                                     : i->jf;
      break;
    case BPF_RET: return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
    default: // BPF_MISC
      if (BPF_MISCOP(i->code) == BPF_TAX)
        m.x = m.a;
      else
        m.a = m.x;
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

// ---- the calls to come ----

static const struct call {
  int number;
  const char *name; // for the user
  bool is_needed;   // without it there is no recording; else an error is borne
  uint64_t arguments[6];
} CALLS[] = {
    {SYS_memfd_create, "memfd_create", true, {4096, MFD_ALLOW_SEALING | MFD_CLOEXEC}},
    {SYS_mmap, "mmap of memory", true, {0, 4096, PROT_READ | PROT_WRITE, 0x22, UINT32_MAX}},
    {SYS_mmap, "mmap of a store", true, {0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 9}},
    {SYS_mmap,
     "mmap of executable memory",
     true,
     {4096, 4096, PROT_READ | PROT_EXEC, 0x100022, UINT32_MAX}},
    {SYS_munmap, "munmap", true, {4096, 4096}},
    {SYS_mprotect, "mprotect", true, {4096, 4096, PROT_READ | PROT_WRITE}},
    {SYS_madvise, "madvise", false, {4096, 4096, MADV_DONTFORK}},
    {SYS_fcntl, "fcntl", true, {9, F_GET_SEALS, 0}},
    {SYS_lseek, "lseek", true, {9, 0, SEEK_END}},
    {SYS_fstatfs, "fstatfs", true, {9, 4096}},
    {SYS_mincore, "mincore", false, {4096, 4096, 4096}},
    {SYS_munlock, "munlock", false, {4096, 4096}},
    {SYS_close, "close", true, {9}},
    {SYS_gettid, "gettid", true, {0}},
    {SYS_getpid, "getpid", true, {0}},
    {SYS_getppid, "getppid", false, {0}},
    {SYS_brk, "brk", false, {0}},
    {SYS_openat, "openat", false, {(uint64_t)-100, 4096, 0x80000}},
    {SYS_read, "read", false, {9, 4096, 4096}},
    {SYS_process_vm_readv, "process_vm_readv", false, {1, 4096, 1, 4096, 1}},
    {SYS_ioctl, "ioctl", false, {9, 0xc0686611, 4096}},
    {SYS_prctl, "prctl", false, {16, 4096}},
    {SYS_prlimit64, "prlimit64", false, {0, 9, 0, 4096}},
    {SYS_rt_sigprocmask, "rt_sigprocmask", false, {2, 4096, 4096, 8}},
    {SYS_sched_yield, "sched_yield", false, {0}},
    {SYS_nanosleep, "nanosleep", false, {4096, 0}},
    {SYS_membarrier, "membarrier", false, {8, 0}},
    {SYS_clock_gettime, "clock_gettime", false, {1, 4096}},
    {SYS_tgkill, "tgkill", false, {1, 1, 0}},
    {SYS_write, "write", false, {2, 4096, 1}},
};

static bool is_borne(uint32_t answer, bool is_needed)
{
  uint32_t action = answer & SECCOMP_RET_ACTION_FULL;
  return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
         (action == SECCOMP_RET_ERRNO && !is_needed);
}

#define OUR_ARCH (TIDE_ARCH_ID == TIDE_ARCH_X86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64)

// The first call that a filter would not bear; NULL: it bears all.
static const struct call *find_refused(const struct sock_filter *code, size_t n)
{
  for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
    struct seccomp_data data = {
        .nr = CALLS[i].number, .arch = OUR_ARCH, .instruction_pointer = 4096};
    memcpy(data.args, CALLS[i].arguments, sizeof data.args);
    if (!is_borne(tide_sandbox_run(code, n, &data), CALLS[i].is_needed))
      return &CALLS[i];
  }
  return NULL;
}

// ---- a process's filters ----

bool tide_sandbox_is_foreign(uint32_t pid)
{
  uint64_t mode = tide_proc_status_number(pid, "Seccomp", 10);
  return mode == SECCOMP_MODE_STRICT ||
         (mode == SECCOMP_MODE_FILTER && tide_proc_status_number(pid, "Seccomp_filters", 10) !=
                                             tide_proc_status_number(0, "Seccomp_filters", 10));
}

enum reading { ALL_READ, NOT_PERMITTED, A_CALL_REFUSED };

static enum reading read_filters(pid_t tid, const struct call **ret_refused)
{
  struct sock_filter code[BPF_MAXINSNS];
  for (unsigned long i = 0; i < MAX_FILTERS; i++) {
    long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, NULL);
    if (n < 0 && (errno == ENOENT || errno == EINVAL)) // no more; no filter at all
      return ALL_READ;
    if (n < 0 || n > BPF_MAXINSNS || ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, code) != n)
      return NOT_PERMITTED;
    if ((*ret_refused = find_refused(code, (size_t)n)))
      return A_CALL_REFUSED;
  }
  return NOT_PERMITTED; // too many to know
}

enum tide_err tide_sandbox_check(struct tide_tracer *tracer, struct tide_diag *diag)
{
  uint32_t pid = tracer->outside->pid;
  const struct call *refused = NULL;
  enum reading reading = ALL_READ;
  if (tide_proc_status_number(pid, "Seccomp", 10) == SECCOMP_MODE_STRICT)
    return tide_fail(
        diag, TIDE_ERR_UNSUPPORTED,
        "process %u is in seccomp's strict mode, and would be killed for any call that "
        "recording makes: there is no way to record it",
        pid);
  if (!tide_sandbox_is_foreign(pid) || !tide_tracer_stop_all(tracer))
    return TIDE_ERR_OK; // who cannot be stopped is told of when it matters
  for (size_t i = 0; i < tracer->n && reading == ALL_READ; i++)
    if (!tracer->threads[i].gone)
      reading = read_filters(tracer->threads[i].tid, &refused);
  tide_tracer_go(tracer);
  if (reading == A_CALL_REFUSED)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "process %u has a seccomp filter that does not permit %s, which recording "
                     "needs: start it without its sandbox, or record it from its start, before "
                     "it sandboxes itself, with 'tidemark run'",
                     pid, refused->name);
  if (reading == NOT_PERMITTED)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "process %u has a seccomp filter, which might kill it for what recording "
                     "does, and only root may look into it: run this as root, outside of any "
                     "container, or start the process without its sandbox",
                     pid);
  return TIDE_ERR_OK;
}
