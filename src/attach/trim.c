// SPDX-License-Identifier: Apache-2.0
//
// Find a thread that waits, map room for the call, send the thread there, wait, unmap. See trim.h.
#define _GNU_SOURCE
#include "attach/trim.h"

#include "attach/loaded.h"
#include "attach/patch.h"
#include "attach/tracer.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  PAGE = 4096,
  CODE_BYTES = PAGE,
  DATA_BYTES = PAGE,       // registers of floating point, and what came of it
  STACK_BYTES = 256 << 10, // handlers of signals may run on it, too
  ALL_BYTES = CODE_BYTES + DATA_BYTES + STACK_BYTES,
  RESULT_AT = 512,
  DONE_AT = 520,
  SENDS = 50,  // times that somebody is sent to make the call
  TRIES = 400, // threads looked at, until one waits as it should
};
#define TRY_NS 5000000
#define LIMIT_NS (UINT64_C(10) * 1000000000)

struct trial {
  uint32_t pid;
  struct tide_outside *outside;
  struct tide_loaded_list objects;
  struct tide_tracer tracer;
  struct tide_caves caves;
  uint64_t function, base;
  bool has_code, has_data;
};

static uint64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void wait_a_little(void)
{
  nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
}

static bool read_rss(uint32_t pid, uint64_t *ret_bytes)
{
  char name[64];
  uint64_t pages = 0;
  snprintf(name, sizeof name, "/proc/%u/statm", pid);
  FILE *file = fopen(name, "re");
  bool ok = file && fscanf(file, "%*u %" SCNu64, &pages) == 1;
  if (file)
    fclose(file);
  *ret_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
  return ok;
}

// ---- what is called ----

static bool is_libc(void *context, const struct tide_mapping *mapping)
{
  (void)context;
  const char *slash = strrchr(mapping->path, '/');
  const char *name = slash ? slash + 1 : mapping->path;
  return !strncmp(name, "libc.so.6", 9) || !strncmp(name, "libc-2.", 7);
}

static void note_function(void *context, const struct tide_function *function)
{
  struct trial *t = context;
  if (!strcmp(function->name, "malloc_trim"))
    t->function = function->at;
}

static enum tide_err find_function(struct trial *t, struct tide_diag *diag)
{
  tide_loaded_list_make_of(t->outside, NULL, is_libc, NULL, &t->objects);
  for (size_t i = 0; i < t->objects.n && !t->function; i++)
    tide_loaded_each_function(&t->objects.all[i], note_function, t);
  t->caves = tide_attachment_find_caves(t->outside, &t->objects);
  if (!t->function)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "process %u has no malloc_trim of a shared glibc to call", t->pid);
  return t->caves.n ? TIDE_ERR_OK
                    : tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                                "no object of process %u has room behind its code for a few bytes",
                                t->pid);
}

// ---- who calls it ----

// malloc waits for nothing but its locks: a plain FUTEX_WAIT. Conditions, semaphores and
// pthread_join() wait with a bitset.
static bool is_idle(long number, uint64_t second)
{
  static const long calls[] = {
#ifdef SYS_poll
      SYS_poll,  SYS_select,   SYS_epoll_wait,    SYS_pause,           SYS_accept,
#endif
      SYS_ppoll, SYS_pselect6, SYS_epoll_pwait,   SYS_accept4,         SYS_read,
      SYS_readv, SYS_recvfrom, SYS_recvmsg,       SYS_nanosleep,       SYS_clock_nanosleep,
      SYS_wait4, SYS_waitid,   SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
  };
  if (number == SYS_futex)
    return (second & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (calls[i] == number)
      return true;
  return false;
}

// In a handler: what it interrupted is kept on the stack.
static bool is_interrupted(const void *context, const struct tide_met *met)
{
  return met->is_pc && met->address != *(const uint64_t *)context;
}

static bool is_fit(const struct trial *t, const struct tide_stopped *thread)
{
  uint64_t second, pc = tide_stopped_pc(thread);
  long number = tide_regs_waiting(&thread->regs, &second);
  return !thread->gone && !thread->signal && is_idle(number, second) &&
         !tide_stopped_any(&t->tracer, thread, is_interrupted, &pc);
}

// Leaves one stopped.
static bool stop_somebody(struct trial *t)
{
  for (int i = 0; i < TRIES && tide_outside_lives(t->outside); i++) {
    if (tide_tracer_stop_any(&t->tracer)) {
      if (is_fit(t, &t->tracer.threads[0]))
        return true;
      t->tracer.hindered = "no thread of it waits for input, a time or a condition";
      tide_tracer_go(&t->tracer);
    }
    wait_a_little();
  }
  return false;
}

// ---- the call ----

// By its mappings as they are now.
static uint64_t find_room(uint32_t pid, uint64_t near)
{
  struct tide_outside *now = NULL;
  uint64_t at = tide_outside_open(pid, false, &now, NULL)
                    ? 0
                    : tide_outside_gap(now, near, ALL_BYTES, UINT64_MAX);
  tide_outside_close(now);
  return at;
}

static bool map_room(struct trial *t, uint64_t at, uint64_t n, int protection, bool *ret_is_mapped)
{
  struct tide_remote_call call = {.number = SYS_mmap,
                                  .arguments = {(long)at, (long)n, protection,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                                -1, 0}};
  *ret_is_mapped = tide_tracer_call(&t->tracer, &t->caves, &call) && call.result == (long)at;
  if (call.done && !*ret_is_mapped)
    t->tracer.hindered = "it may not map memory for the call";
  return *ret_is_mapped;
}

static bool send_there(struct trial *t)
{
  struct tide_stopped *thread = &t->tracer.threads[0];
  uint64_t data = t->base + CODE_BYTES;
  const struct tide_borrowed_call call = {
      .function = t->function,
      .save = data,
      .result = data + RESULT_AT,
      .done = data + DONE_AT,
      .stack_top = data + DATA_BYTES + STACK_BYTES,
  };
  uint8_t code[512];
  size_t n = tide_regs_write_borrowed(&thread->regs, &call, code, sizeof code);
  t->tracer.hindered = "not on this kind of machine";
  if (!n || !map_room(t, data, DATA_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE, &t->has_data) ||
      !map_room(t, t->base, CODE_BYTES, PROT_READ | PROT_EXEC, &t->has_code) || thread->signal ||
      !tide_outside_write(t->outside, t->base, code, n))
    return false;
  tide_stopped_divert(thread, t->base);
  return true;
}

static bool is_done(const struct trial *t)
{
  uint32_t done = 0;
  return tide_outside_read(t->outside, t->base + CODE_BYTES + DONE_AT, &done, sizeof done) && done;
}

static bool await_done(const struct trial *t, uint64_t since_ns)
{
  while (!is_done(t) && tide_outside_lives(t->outside)) {
    if (now_ns() - since_ns > LIMIT_NS)
      return false;
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
  }
  return is_done(t);
}

// ---- afterwards ----

static bool is_there(const void *context, const struct tide_met *met)
{
  const struct trial *t = context;
  return met->address >= t->base && met->address < t->base + ALL_BYTES;
}

// What was mapped, and nothing else: where only the data is, the page before it may be another's.
static bool unmap_room(struct trial *t)
{
  uint64_t at = t->has_code ? t->base : t->base + CODE_BYTES;
  uint64_t bytes = t->base + (t->has_data ? ALL_BYTES : CODE_BYTES) - at;
  struct tide_remote_call call = {.number = SYS_munmap, .arguments = {(long)at, (long)bytes}};
  bool is_left = tide_tracer_stop_all(&t->tracer), ok = false;
  for (size_t i = 0; is_left && i < t->tracer.n; i++)
    is_left = t->tracer.threads[i].gone ||
              !tide_stopped_any(&t->tracer, &t->tracer.threads[i], is_there, t);
  if (is_left)
    ok = tide_tracer_call(&t->tracer, &t->caves, &call) && !call.result;
  tide_tracer_go(&t->tracer);
  return ok;
}

static void clear_room(struct trial *t, struct tide_trim_tried *tried)
{
  bool is_clear = !t->has_code && !t->has_data;
  for (int i = 0; !is_clear && i < TRIES && tide_outside_lives(t->outside); i++) {
    is_clear = unmap_room(t);
    if (!is_clear)
      wait_a_little();
  }
  tried->left_bytes += is_clear ? 0 : ALL_BYTES;
  t->has_code = t->has_data = false;
}

// Signals may come between, and the process may map what was free.
static bool send_somebody(struct trial *t, struct tide_trim_tried *tried)
{
  for (int i = 0; i < SENDS; i++) {
    t->base = find_room(t->pid, t->function);
    if (!t->base || !stop_somebody(t))
      return false;
    read_rss(t->pid, &tried->rss_before);
    bool is_sent = send_there(t);
    tide_tracer_go(&t->tracer);
    if (is_sent)
      return true;
    const char *why = t->tracer.hindered;
    clear_room(t, tried);
    t->tracer.hindered = why;
  }
  return false;
}

static enum tide_err call_it(struct trial *t, struct tide_trim_tried *tried, struct tide_diag *diag)
{
  if (!send_somebody(t, tried))
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "malloc_trim cannot be tried on process %u: %s",
                     t->pid, t->tracer.hindered ? t->tracer.hindered : "it has ended");
  uint64_t since_ns = now_ns();
  bool is_back = await_done(t, since_ns);
  tried->took_ns = now_ns() - since_ns;
  if (is_back)
    clear_room(t, tried);
  if (!is_back)
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "malloc_trim has not come back in process %u: it is still at it, or the "
                     "process has ended",
                     t->pid);
  return read_rss(t->pid, &tried->rss_after)
             ? TIDE_ERR_OK
             : tide_fail(diag, TIDE_ERR_SYSTEM, "process %u has ended", t->pid);
}

static enum tide_err try_here(uint32_t pid, struct tide_trim_tried *tried, struct tide_diag *diag)
{
  struct trial t = {.pid = pid};
  enum tide_err err = tide_outside_open(pid, true, &t.outside, diag);
  if (err)
    return err;
  err = find_function(&t, diag);
  if (!err) {
    tide_tracer_init(&t.tracer, t.outside);
    err = call_it(&t, tried, diag);
    tide_tracer_done(&t.tracer);
  }
  tide_loaded_list_done(&t.objects);
  tide_outside_close(t.outside);
  return err;
}

struct answer {
  enum tide_err err;
  struct tide_diag diag;
  struct tide_trim_tried tried;
};

// A terminal's Ctrl-C must not end it between two steps.
static _Noreturn void work(uint32_t pid, int to)
{
  struct answer answer = {0};
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  answer.err = try_here(pid, &answer.tried, &answer.diag);
  (void)!write(to, &answer, sizeof answer);
  _exit(0);
}

enum tide_err tide_trim_try(uint32_t pid, struct tide_trim_tried *ret_tried, struct tide_diag *diag)
{
  struct answer answer;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC))
    return tide_fail_errno(diag, "cannot make a pipe");
  pid_t child = fork();
  if (child == 0)
    work(pid, ends[1]);
  close(ends[1]);
  ssize_t n = child < 0 ? -1 : read(ends[0], &answer, sizeof answer);
  close(ends[0]);
  while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
    ;
  if (n != (ssize_t)sizeof answer)
    return tide_fail(diag, TIDE_ERR_SYSTEM, "the process that traces has died");
  if (answer.err && diag)
    *diag = answer.diag;
  if (!answer.err)
    *ret_tried = answer.tried;
  return answer.err;
}
