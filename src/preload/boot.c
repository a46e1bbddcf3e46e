// SPDX-License-Identifier: Apache-2.0
//
// Boot, fork, and stepping aside.
//
// State only moves NEW -> BOOTING -> ON -> OFF, or NEW -> BOOTING -> OFF. A fork child finds ON
// together with a gate that the kernel has wiped (or that the atfork handler has cleared, where
// the kernel cannot). It does not have its parent's store: the kernel leaves that out, but for a
// page in which a child that cannot be recorded counts itself. Whatever else it needs to know of
// its parent is in private memory. It boots again into a store of its own at its first event; a
// child that never allocates costs nothing. vfork children share the parent's memory, gate
// included, and are rightly part of the parent.

#include "record/boot.h"

#include "preload/defined.h"
#include "record/door.h"
#include "preload/environment.h"
#include "preload/exec_env.h"
#include "record/intern.h"
#include "record/limits.h"
#include "record/modules.h"
#include "record/options.h"
#include "record/pages.h"
#include "preload/loader.h"
#include "preload/real.h"
#include "record/host.h"
#include "preload/self.h"
#include "record/sandbox.h"
#include "record/stack_bounds.h"
#include "record/thread.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "store/live.h"
#include "unwind/object.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

const struct tide_host tide_host = {
    .object_at = tide_loader_object_at,
    .each_object = tide_loader_each_object,
    .thread_began = tide_self_began,
    .is_at_work = tide_real_resolving,
    .owns_block = tide_real_pool_holds,
};

static enum { NEW, BOOTING, ON, OFF } state;
static void *booting_thread; // a thread pointer: no call is made before it is known which may be
static struct gate {
  uint32_t alive; // 0 in a fork child
} * gate;
static bool gate_wipes;     // the kernel wipes what it should in a fork child
static bool unwiped;        // we are a fork child in which it did not
static bool has_own_malloc; // the program defines malloc: that comes before ours for everybody
static uint32_t booted_pid;

static struct tide_environment environment;
static struct tide_options options;
static char program[1024];
static char command[1 << 16] TIDE_BULKY; // arguments, each with its NUL, as far as there is room
static uint32_t command_bytes;

bool tide_boot_ready(void)
{
  return tide_load_acquire(&state) == ON && gate->alive;
}

bool tide_boot_is_off(void)
{
  return tide_load_relaxed(&state) == OFF;
}

static void say(const char *what, const char *detail)
{
  char text[512];
  struct tide_line line = TIDE_LINE(text);
  tide_line_add(&line, "tidemark: ");
  tide_line_add(&line, what);
  tide_line_add(&line, detail);
  tide_line_add(&line, "\n");
  tide_sys_say(text, line.n);
}

TIDE_COLD void tide_boot_off(enum tide_off_reason reason)
{
  if (__atomic_exchange_n(&state, OFF, __ATOMIC_ACQ_REL) == OFF)
    return;
  struct tide_store_header *h = tide_store.header;
  if (tide_sys_confined)
    reason = TIDE_OFF_FORBIDDEN; // whatever was lacking then
  if (h && gate->alive) {        // in a fork child it is its parent's, and not there
    h->off_reason = reason;
    h->state = TIDE_STATE_OFF;
    tide_store_code_changed(); // every thread looks up and finds us off
    tide_store_turn_away();
  }
  static const char *const why[] = {
      [TIDE_OFF_NO_MEMORY] = "the system refused memory for the recorder",
      [TIDE_OFF_INTERNAL] = "an internal check failed",
      [TIDE_OFF_FORBIDDEN] = "the program forbids itself what the recorder needs",
  };
  say(why[reason], "; recording has stopped, the program goes on");
}

static uint64_t clock_ns(int id)
{
  struct timespec t = {0};
  TIDE_SYS(SYS_clock_gettime, id, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t text_of(const char *s)
{
  return tide_store_text(s, tide_text_len(s));
}

// Kept for fork children, too: the program may take its argument vector apart.
static void read_command(void)
{
  for (uint64_t i = 0; i < environment.argc; i++) {
    const char *argument = environment.argv[i];
    uint64_t n = tide_text_len(argument) + 1;
    if (n > sizeof command - command_bytes)
      break;
    memcpy(command + command_bytes, argument, n);
    command_bytes += (uint32_t)n;
  }
}

static void write_command(struct tide_store_header *h)
{
  uint32_t at = command_bytes ? tide_store_text(command, command_bytes - 1) : 0;
  h->cmdline = at;
  h->cmdline_bytes = at ? command_bytes : 0;
}

static void write_identity(struct tide_seat *seat, bool forked)
{
  struct tide_store_header *h = tide_store.header;
  booted_pid = tide_sys_pid();
  h->flags = forked ? TIDE_STORE_FORKED : 0;
  h->arch = TIDE_ARCH_ID;
  h->pid = booted_pid;
  h->ppid = (uint32_t)TIDE_SYS(SYS_getppid, 0);
  h->start_ticks = tide_cycles() >> TIDE_TICK_SHIFT;
  h->start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  h->start_realtime_ns = clock_ns(CLOCK_REALTIME);
  h->start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  h->ticks_per_second = tide_ticks_per_second();
  h->depth_limit = options.depth;
  h->inherited_bytes = forked ? seat->live_at_fork : 0;
  seat->live_at_fork = 0;
  h->exe = text_of(program);
  h->allocator = text_of(has_own_malloc ? program : tide_real.allocator); // readers tell by name
  write_command(h);
  tide_store_release(&h->state, TIDE_STATE_RECORDING);
}

// A supervisor that refuses knows why, and one that has ended is nothing new to a fork child.
static void say_outcome(enum tide_door_outcome outcome, bool forked)
{
  static const char *const why[] = {
      [TIDE_DOOR_OUTSIDE] = "it is not of the run that its supervisor watches: ",
      [TIDE_DOOR_NOBODY] = "its supervisor cannot be reached: ",
      [TIDE_DOOR_SILENT] = "its supervisor does not answer: ",
      [TIDE_DOOR_STRANGER] = "neither its own user nor root answers in its supervisor's place: ",
      [TIDE_DOOR_NO_ROOM] = "there is no address space for its store: ",
      [TIDE_DOOR_UNSAFE] = "its supervisor gave no store that is sealed and large enough: ",
  };
  char text[256];
  struct tide_line line = TIDE_LINE(text);
  if (outcome == TIDE_DOOR_SERVED || outcome == TIDE_DOOR_REFUSED ||
      (outcome == TIDE_DOOR_NOBODY && forked))
    return;
  tide_line_add(&line, "this process is not recorded: ");
  tide_line_add(&line, why[outcome]);
  say(text, program);
}

// A file is looked at, copied and packed as long as it is; see also tide_sys_emulated().
static uint64_t store_bytes(void)
{
  const uint64_t modest = 128ull << 30;
  uint64_t limit = tide_limits_start();
  bool is_modest = !options.door[0] || tide_sys_emulated();
  return tide_store_bytes(is_modest && limit > modest ? modest : limit);
}

static bool get_store(bool forked)
{
  uint64_t bytes = store_bytes();
  tide_limits_make_room(bytes);
  void *store;
  if (options.door[0]) {
    struct tide_door_hello hello = {.magic = TIDE_DOOR_MAGIC,
                                    .version = TIDE_DOOR_VERSION,
                                    .pid = tide_sys_pid(),
                                    .flags = forked ? TIDE_DOOR_FORKED : 0,
                                    .store_bytes = bytes,
                                    .parent_pid = (uint32_t)TIDE_SYS(SYS_getppid, 0)};
    enum tide_door_outcome outcome;
    store = tide_door_store(options.door, &hello, &outcome);
    say_outcome(outcome, forked);
  } else {
    char name[1200];
    store = tide_door_file(options.output, program, bytes, name, sizeof name);
    if (!store && !forked)
      say("this process is not recorded: cannot make the store file ", name);
  }
  if (!store)
    return false;
  if (!tide_store_attach(store, bytes, !options.door[0])) {
    say("this process is not recorded: no room for its store: ", program);
    tide_sys_unmap(store, bytes);
    tide_store = (struct tide_store){0};
    return false;
  }
  tide_store_disinherit(gate_wipes);
  return true;
}

const char *tide_boot_door(void)
{
  return options.follow ? options.door : "";
}

bool tide_boot_is_orphan(void)
{
  return gate && !gate->alive && (uint32_t)TIDE_SYS(SYS_getppid, 0) != booted_pid;
}

static void before_fork(void)
{
  int64_t live = tide_boot_ready() ? tide_store_live_bytes() : 0;
  tide_self.live_at_fork = live > 0 ? (uint64_t)live : 0;
}

static void after_fork(void)
{
  tide_self.live_at_fork = 0;
}

// Only where the kernel cannot be trusted to wipe: elsewhere a child that never allocates does
// nothing of ours, and touches no page.
static void in_fork_child(void)
{
  // Another handler, or a signal's, may have allocated before us: then all is done.
  bool booted = gate && gate->alive && booted_pid == tide_sys_pid();
  if (state != ON || booted)
    return;
  unwiped = gate->alive;
  gate->alive = 0;
  tide_store_unmap_inherited();
  tide_threads_after_fork(&tide_self);
}

static void read_program_path(void)
{
  long n = TIDE_SYS(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof program - 1);
  struct tide_line line = TIDE_LINE(program);
  if (tide_sys_failed(n))
    tide_line_add(&line, environment.argc ? environment.argv[0] : "?");
  else
    program[n] = 0;
}

// A fork child may have gone elsewhere: its file belongs beside its parent's.
static void make_output_absolute(void)
{
  char given[sizeof options.output];
  struct tide_line copy = TIDE_LINE(given), line = TIDE_LINE(options.output);
  tide_line_add(&copy, options.output[0] ? options.output : "tidemark.%n.%p.store");
  long n = TIDE_SYS(SYS_getcwd, options.output, sizeof options.output);
  if (given[0] != '/' && !tide_sys_failed(n) && n > 0) {
    line.n = (size_t)n - 1;
    tide_line_add(&line, "/");
  }
  tide_line_add(&line, given);
}

// Memcheck and its sisters put their own malloc in the place of every other, hooks included:
// nothing would be seen, and a mapping as large as the store takes them half a minute. Such a tool
// preloads a library of its own beside valgrind's core.
static bool allocator_is_valgrinds(void)
{
  const char *p = environment.preload;
  while ((p = tide_text_find(p, "vgpreload_"))) {
    p += sizeof "vgpreload_" - 1;
    if (!tide_text_starts(p, "core"))
      return true;
  }
  return false;
}

// The library itself, from its first byte to its last: the linker knows.
static void note_own_object(void)
{
  extern const char __ehdr_start[] __attribute__((visibility("hidden")));
  extern const char _end[] __attribute__((visibility("hidden")));
  uint64_t start = (uint64_t)__ehdr_start & ~(tide_sys_page_bytes - 1);
  tide_sys_note((void *)start, tide_sys_whole_pages((uint64_t)_end - start));
}

static bool make_gate(void)
{
  gate = tide_sys_map_first(sizeof *gate, &gate_wipes);
  return gate;
}

static bool first_boot(struct tide_seat *seat)
{
  tide_environment_read(&environment);
  tide_options_parse(environment.options, &options);
  if (tide_sandbox_inherited(options.filters)) {
    say("this process is not recorded: a seccomp filter was put on it before it began: ",
        environment.argc ? environment.argv[0] : "?");
    tide_sys_keep_still();
    return false;
  }
  if (!options.door[0])
    make_output_absolute();
  if (options.unknown[0])
    say("TIDEMARK_OPTIONS has a key that is not known and is ignored: ", options.unknown);
  tide_object_set_vdso(environment.vdso);
  tide_stack_bounds_init(environment.stack_top);
  tide_stack_origin = environment.stack_origin;
  read_program_path();
  if (allocator_is_valgrinds()) {
    say("this process is not recorded: valgrind stands in for its allocator: ", program);
    return false;
  }
  tide_modules_init(program);
  tide_intern_init(options.depth);
  tide_exec_env_init(environment.preload, environment.options, options.follow);
  note_own_object();
  read_command();
  if (!make_gate() || !get_store(false) || !tide_live_init(!tide_real.chained))
    return false;
  tide_clock_init(options.door[0]);
  tide_threads_init();
  tide_self_init();
  tide_rules_init();
  has_own_malloc = tide_defined_before(&tide_real, "malloc");
  pthread_atfork(before_fork, after_fork, tide_store.inherited ? in_fork_child : NULL);
  write_identity(seat, false);
  return true;
}

static bool boot_after_fork(struct tide_seat *seat)
{
  struct tide_store_children *parents = tide_store_after_fork();
  tide_sys_after_fork(gate_wipes && !unwiped, sizeof *gate);
  tide_threads_after_fork(seat);
  tide_rules_after_fork();
  tide_modules_after_fork();
  tide_pages_after_fork();
  tide_sys_lock_future = false; // locks are not inherited
  if (tide_sys_sandboxed()) {   // of what is not allowed, counting is not
    tide_add_relaxed(&parents->n_lost, options.follow);
    return false;
  }
  tide_live_after_fork(!unwiped);
  bool recorded = options.follow && get_store(true);
  if (recorded)
    write_identity(seat, true);
  else
    tide_add_relaxed(&parents->n_lost, options.follow);
  tide_store_forsake(parents);
  tide_limits_settle(); // the room of the parent's store is the program's again
  return recorded;
}

static bool boot(struct tide_seat *seat)
{
  bool forked = gate != NULL;
  tide_real_resolve();
  bool ok = forked ? boot_after_fork(seat) : first_boot(seat);
  if (ok)
    gate->alive = 1;
  return ok;
}

// Another thread boots: it needs no lock that we could hold, but do not wait for ever.
static bool wait_for_boot(void)
{
  for (int i = 0; i < 1000 && tide_load_acquire(&state) == BOOTING; i++) {
    long ms[2] = {0, 1000000};
    TIDE_SYS(SYS_nanosleep, ms, 0);
  }
  return tide_boot_ready();
}

TIDE_COLD bool tide_boot(struct tide_seat *seat)
{
  int seen = tide_load_acquire(&state);
  bool forked = seen == ON && !gate->alive;
  if (seen == OFF || (seen == ON && !forked))
    return seen == ON;
  if (seen == BOOTING)
    return booting_thread != __builtin_thread_pointer() && wait_for_boot();
  if (!__atomic_compare_exchange_n((int *)&state, &seen, BOOTING, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return wait_for_boot();
  booting_thread = __builtin_thread_pointer();
  int saved = errno;
  uint64_t from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  bool ok = boot(seat);
  if (ok)
    tide_store.header->boot_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
  errno = saved;
  tide_store_release(&state, ok ? ON : OFF);
  return ok;
}

// For whoever reads a store that no supervisor kept. A process that ends otherwise does not tell.
__attribute__((destructor)) static void note_cpu_time(void)
{
  struct tide_store_header *h = tide_store.header;
  if (options.door[0] || !tide_boot_ready() || !h->start_cpu_ns || tide_sys_sandboxed())
    return;
  h->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - h->start_cpu_ns;
}

__attribute__((constructor)) static void boot_at_latest(void)
{
  tide_boot(&tide_self);
}
