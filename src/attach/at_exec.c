// SPDX-License-Identifier: Apache-2.0
//
// From one stop to the next. A seized thread that nobody asks anything of runs as if it were alone;
// when we end, however that comes, the kernel lets it go.
//
// The loader calls _dl_debug_state, which is empty, when libraries are mapped. A breakpoint there
// would kill the process should we die before it is reached; a system call that only a tracer
// notices does not. A function that is too short for it jumps to one behind the loader's code.
#define _GNU_SOURCE
#include "attach/at_exec.h"

#include "attach/displace.h"
#include "attach/patch.h"
#include "attach/stopped_regs.h"
#include "symbol/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SYSCALL_STOP = SIGTRAP | 0x80, MAX_LOADER_STOPS = 200000, R_STATE_AT = 24 };

static long trace_newcomer(long request, pid_t tid, uint64_t data)
{
  return ptrace(request, tid, 0, data);
}

bool tide_at_exec_seize(pid_t tid, bool spawns)
{
  uint64_t options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
  if (spawns)
    options |= PTRACE_O_TRACEVFORK | PTRACE_O_TRACEFORK;
  return !trace_newcomer(PTRACE_SEIZE, tid, options);
}

static int event_of(int status)
{
  return status >> 16;
}

static bool is_job_control(int signal)
{
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// A stop that we have no business with: the thread goes on, or stays stopped, as without us.
static void pass_over(pid_t tid, int status)
{
  int signal = WSTOPSIG(status), event = event_of(status);
  if (event == PTRACE_EVENT_STOP && is_job_control(signal))
    trace_newcomer(PTRACE_LISTEN, tid, 0);
  else
    trace_newcomer(PTRACE_CONT, tid, event || signal == SYSCALL_STOP ? 0 : (uint64_t)signal);
}

static bool step_to_syscall(pid_t tid)
{
  int status;
  uint64_t signal = 0;
  for (;;) {
    if (trace_newcomer(PTRACE_SYSCALL, tid, signal) || waitpid(tid, &status, __WALL) < 0 ||
        !WIFSTOPPED(status))
      return false;
    if (WSTOPSIG(status) == SYSCALL_STOP)
      return true;
    signal = event_of(status) ? 0 : (uint64_t)WSTOPSIG(status);
  }
}

// True: somebody stopped, or everybody has ended.
static bool await_any(int signals, int words, pid_t *ret_tid, int *ret_status)
{
  for (;;) {
    *ret_tid = waitpid(-1, ret_status, __WALL | WNOHANG);
    if (*ret_tid)
      return true;
    struct pollfd fds[] = {{signals, POLLIN, 0}, {words, POLLIN, 0}};
    struct signalfd_siginfo ignored;
    if (poll(fds, 2, -1) < 0 && errno != EINTR)
      return false;
    if (fds[1].revents)
      return false;
    if (fds[0].revents)
      (void)!read(signals, &ignored, sizeof ignored);
  }
}

pid_t tide_at_exec_await(int words)
{
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, NULL);
  int signals = signalfd(-1, &child, SFD_CLOEXEC), status;
  pid_t tid, found = 0;
  while (!found && await_any(signals, words, &tid, &status) && tid > 0) {
    int event = WIFSTOPPED(status) ? event_of(status) : 0;
    if (!WIFSTOPPED(status))
      continue;
    if (event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_FORK)
      trace_newcomer(PTRACE_DETACH, tid, 0); // the child is ours by itself
    else if (event == PTRACE_EVENT_EXEC)
      found = step_to_syscall(tid) ? tid : 0; // to the exec's end
    else
      pass_over(tid, status);
  }
  if (signals >= 0)
    close(signals);
  return found;
}

void tide_at_exec_go(pid_t pid, uint64_t signals)
{
  int first = signals ? __builtin_ctzll(signals) : 0;
  trace_newcomer(PTRACE_DETACH, pid, (uint64_t)first);
  for (int i = first + 1; i < NSIG && i < 64; i++)
    if (signals >> i & 1)
      kill(pid, i);
}

// What the kernel told the process.
static uint64_t auxiliary(pid_t pid, uint64_t key)
{
  char name[64];
  uint64_t pair[2], value = 0;
  snprintf(name, sizeof name, "/proc/%d/auxv", pid);
  FILE *f = fopen(name, "re");
  while (f && fread(pair, sizeof pair, 1, f) == 1)
    if (pair[0] == key)
      value = pair[1];
  if (f)
    fclose(f);
  return value;
}

bool tide_at_exec_has_loader(pid_t pid)
{
  return auxiliary(pid, AT_BASE);
}

// The loader.

struct sign {
  uint64_t at, n;    // the function that it calls
  uint64_t state_at; // says whether libraries come or are there; 0: the first call is the one
};

static void take_symbol(Elf *elf, const GElf_Shdr *header, const GElf_Sym *symbol, uint64_t base,
                        struct sign *sign)
{
  const char *name = elf_strptr(elf, header->sh_link, symbol->st_name);
  if (!name || symbol->st_shndx == SHN_UNDEF)
    return;
  if (!strcmp(name, "_dl_debug_state")) {
    sign->at = base + symbol->st_value;
    sign->n = symbol->st_size;
  } else if (!strcmp(name, "_r_debug")) {
    sign->state_at = base + symbol->st_value + R_STATE_AT;
  }
}

static void find_sign(Elf *elf, uint64_t base, struct sign *ret_sign)
{
  *ret_sign = (struct sign){0};
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr header;
    GElf_Sym symbol;
    if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_DYNSYM)
      continue;
    Elf_Data *data = elf_getdata(scn, NULL);
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++)
      take_symbol(elf, &header, &symbol, base, ret_sign);
  }
}

static bool open_loader(const struct tide_outside *outside, uint64_t base, struct sign *ret_sign)
{
  char path[PATH_MAX];
  struct tide_diag diag;
  struct tide_elf *elf;
  const struct tide_mapping *mapping = tide_outside_find(outside, base);
  if (!mapping)
    return false;
  tide_outside_file(outside, mapping, path);
  if (tide_elf_open(path, &elf, &diag))
    return false;
  find_sign(elf->elf, base, ret_sign);
  tide_elf_free(elf);
  return ret_sign->at;
}

uint64_t tide_at_exec_loader_state(const struct tide_outside *outside)
{
  struct sign sign = {0};
  uint64_t base = auxiliary((pid_t)outside->pid, AT_BASE);
  return base && open_loader(outside, base, &sign) ? sign.state_at : 0;
}

// Is there room for the call, in the function and in nothing but padding behind it? code: the
// bytes there.
static bool has_room(const struct sign *sign, const uint8_t code[TIDE_PAUSE_MAX_BYTES])
{
  const size_t all = TIDE_PAUSE_MAX_BYTES;
  if (!sign->n || sign->at % all)
    return false;
  struct tide_code rest = {code + sign->n, all - sign->n, sign->at + sign->n};
  return sign->n >= all || tide_displacer()->is_padding(&rest);
}

// How many bytes of the function stay before a jump; its length: there is no room for one.
static size_t before_jump(const struct sign *sign, const uint8_t code[TIDE_PAUSE_MAX_BYTES])
{
  size_t n = sign->n < TIDE_PAUSE_MAX_BYTES ? sign->n : TIDE_PAUSE_MAX_BYTES;
  size_t pad = tide_displacer()->landing(&(struct tide_code){code, n, sign->at});
  return pad + tide_displacer()->jump_bytes <= n ? pad : sign->n;
}

bool tide_at_exec_gives_sign(const struct tide_loaded *loader)
{
  struct sign sign;
  uint8_t code[TIDE_PAUSE_MAX_BYTES];
  find_sign(loader->elf->elf, loader->bias, &sign);
  return sign.at && tide_loaded_read(loader, sign.at, code, sizeof code) &&
         (has_room(&sign, code) ||
          (before_jump(&sign, code) < sign.n && tide_attachment_cave_of(loader)));
}

// Code of the loader's that is another for a while: the call, and a jump to it if it lies
// elsewhere.
struct trap {
  struct {
    uint64_t at;
    size_t n;
    uint8_t old[TIDE_PAUSE_MAX_BYTES], code[TIDE_PAUSE_MAX_BYTES];
  } parts[2];
  size_t n;
};

static bool add_part(const struct tide_outside *outside, uint64_t at, const uint8_t *code, size_t n,
                     struct trap *trap)
{
  trap->parts[trap->n].at = at;
  trap->parts[trap->n].n = n;
  memcpy(trap->parts[trap->n].code, code, n);
  return tide_outside_read(outside, at, trap->parts[trap->n++].old, n);
}

// The end of the mapping in which the function lies, where there is nothing; 0: there is something.
static uint64_t behind_code(const struct tide_outside *outside, uint64_t function)
{
  static const uint8_t ZEROS[TIDE_PAUSE_MAX_BYTES];
  uint8_t bytes[TIDE_PAUSE_MAX_BYTES];
  const struct tide_mapping *in = tide_outside_find(outside, function);
  uint64_t at = in ? in->hi - sizeof bytes : 0;
  bool is_empty = at && tide_outside_read(outside, at, bytes, sizeof bytes) &&
                  !memcmp(bytes, ZEROS, sizeof bytes);
  return is_empty ? at : 0;
}

static bool plan_trap(const struct tide_outside *outside, const struct sign *sign,
                      struct trap *ret_trap)
{
  uint8_t code[TIDE_PAUSE_MAX_BYTES], jump[TIDE_PAUSE_MAX_BYTES];
  *ret_trap = (struct trap){0};
  if (!tide_outside_read(outside, sign->at, code, sizeof code))
    return false;
  if (has_room(sign, code))
    return add_part(outside, sign->at, tide_pause_code, tide_pause_bytes, ret_trap);
  uint64_t behind = behind_code(outside, sign->at), from = sign->at + before_jump(sign, code);
  return behind && from < sign->at + sign->n && tide_displacer()->jump(jump, from, behind) &&
         add_part(outside, behind, tide_pause_code, tide_pause_bytes, ret_trap) &&
         add_part(outside, from, jump, tide_displacer()->jump_bytes, ret_trap);
}

static bool lay_trap(const struct tide_outside *outside, const struct trap *trap)
{
  bool ok = true;
  for (size_t i = 0; ok && i < trap->n; i++)
    ok = tide_outside_write(outside, trap->parts[i].at, trap->parts[i].code, trap->parts[i].n);
  return ok;
}

static void take_trap_away(const struct tide_outside *outside, const struct trap *trap)
{
  for (size_t i = trap->n; i-- > 0;)
    tide_outside_write(outside, trap->parts[i].at, trap->parts[i].old, trap->parts[i].n);
}

static uint64_t pc_of(pid_t pid, struct user_regs_struct *ret_regs)
{
  struct iovec whole = {ret_regs, sizeof *ret_regs};
  if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &whole))
    return 0;
  return tide_regs_pc(ret_regs);
}

static bool are_mapped(const struct tide_outside *outside, const struct sign *sign)
{
  int32_t state = 0; // RT_CONSISTENT
  return !sign->state_at ||
         (tide_outside_read(outside, sign->state_at, &state, sizeof state) && !state);
}

// Ends where the function begins, as it was.
static bool run_to_sign(const struct tide_outside *outside, const struct sign *sign,
                        const struct trap *trap)
{
  pid_t pid = (pid_t)outside->pid;
  struct user_regs_struct regs;
  for (int i = 0; i < MAX_LOADER_STOPS; i++) {
    if (!step_to_syscall(pid))
      return false;
    uint64_t pc = pc_of(pid, &regs);
    uint64_t pause = trap->parts[0].at;
    if (pc < pause || pc >= pause + tide_pause_bytes || !are_mapped(outside, sign))
      continue;
    if (!step_to_syscall(pid) || !pc_of(pid, &regs)) // to the call's end
      return false;
    take_trap_away(outside, trap);
    tide_regs_set_pc(&regs, sign->at);
    struct iovec whole = {&regs, sizeof regs};
    return !ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &whole);
  }
  return false;
}

bool tide_at_exec_load(pid_t pid, const char **ret_why)
{
  struct tide_outside *outside;
  struct tide_diag diag;
  struct sign sign;
  struct trap trap;
  *ret_why = "it cannot be looked at";
  if (tide_outside_open((uint32_t)pid, true, &outside, &diag))
    return false;
  *ret_why = "its loader gives no sign when libraries are mapped";
  bool ok = open_loader(outside, auxiliary(pid, AT_BASE), &sign) &&
            plan_trap(outside, &sign, &trap) && lay_trap(outside, &trap);
  if (ok) {
    *ret_why = "it ended while it was loaded";
    ok = run_to_sign(outside, &sign, &trap);
  }
  tide_outside_close(outside);
  return ok;
}

// LD_PRELOAD.

static int open_memory(pid_t pid, int how)
{
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/mem", pid);
  return open(name, how | O_CLOEXEC);
}

static bool read_word(int memory, uint64_t at, uint64_t *ret_word)
{
  return pread(memory, ret_word, sizeof *ret_word, (off_t)at) == (ssize_t)sizeof *ret_word;
}

// Where the environment begins on the new program's stack: its arguments, each a pointer, and NULL.
static uint64_t environment_of(pid_t pid, int memory)
{
  struct user_regs_struct regs;
  uint64_t argc;
  if (!pc_of(pid, &regs) || !read_word(memory, tide_regs_sp(&regs), &argc))
    return 0;
  return tide_regs_sp(&regs) + (argc + 2) * sizeof argc;
}

// Loaders take colons and blanks for what separates the entries, and empty entries for none.
static bool is_apart(char c)
{
  return !c || c == ':' || c == ' ';
}

// The places of the library among the entries of a list that begins at list_at.
static void find_entries(const char *list, uint64_t list_at, const char *library,
                         struct tide_preload *ret_found)
{
  size_t n = strlen(library);
  for (const char *p = list; (p = strstr(p, library)); p += n)
    if (is_apart(p == list ? 0 : p[-1]) && is_apart(p[n])) {
      if (ret_found->n_places < TIDE_PRELOAD_PLACES)
        ret_found->at[ret_found->n_places] = list_at + (uint64_t)(p - list);
      ret_found->n_places++;
    }
}

struct tide_preload tide_preload_find(pid_t pid, const char *library)
{
  static const char NAME[] = "LD_PRELOAD=";
  char text[sizeof NAME + 4 * PATH_MAX];
  struct tide_preload found = {.n = strlen(library)};
  size_t n_name = sizeof NAME - 1;
  int memory = found.n < PATH_MAX ? open_memory(pid, O_RDONLY) : -1;
  uint64_t at = memory < 0 ? 0 : environment_of(pid, memory), variable;
  for (; at && read_word(memory, at, &variable) && variable; at += sizeof variable) {
    // At the very end of the stack there is less to be read.
    ssize_t got = pread(memory, text, sizeof text - 1, (off_t)variable);
    if (got < (ssize_t)n_name || memcmp(text, NAME, n_name) != 0)
      continue;
    text[got] = 0;
    find_entries(text + n_name, variable + n_name, library, &found);
  }
  if (memory >= 0)
    close(memory);
  return found;
}

static bool write_preload(pid_t pid, uint64_t at, const char *text, size_t n)
{
  int memory = open_memory(pid, O_RDWR);
  bool ok = memory >= 0 && pwrite(memory, text, n, (off_t)at) == (ssize_t)n;
  if (memory >= 0)
    close(memory);
  return ok;
}

bool tide_preload_blank(pid_t pid, const struct tide_preload *preload)
{
  char colons[PATH_MAX];
  memset(colons, ':', sizeof colons);
  bool ok = preload->n_places <= TIDE_PRELOAD_PLACES;
  for (size_t i = 0; ok && i < preload->n_places; i++)
    ok = write_preload(pid, preload->at[i], colons, preload->n);
  return ok;
}

void tide_preload_restore(pid_t pid, const struct tide_preload *preload, const char *library)
{
  for (size_t i = 0; i < preload->n_places && i < TIDE_PRELOAD_PLACES; i++)
    write_preload(pid, preload->at[i], library, preload->n);
}
