// SPDX-License-Identifier: Apache-2.0
//
// Boot, fork, and stepping aside.
//
// A fork child finds that the recorder is on, together with a gate that the kernel has wiped (or
// that the atfork handler has cleared, where the kernel cannot). It does not have its parent's
// store: the kernel leaves that out, but for a page in which a child that cannot be recorded counts
// itself. Whatever else it needs to know of its parent is in private memory. It boots again into a
// store of its own at its first event; a child that never allocates costs nothing. vfork children
// share the parent's memory, gate included, and are rightly part of the parent.

#include "record/record.h"

#include "record/host.h"
#include "record/limits.h"
#include "record/pool.h"
#include "record/record_inside.h"
#include "record/thread.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "record/sample.h"
#include "record/scope.h"
#include "store/live.h"
#include "store/store.h"
#include "unwind/host.h"

#include <string.h>
#include <time.h>

static const struct tide_seat *booting; // whose
static bool gate_wipes;                 // the kernel wipes what it should in a fork child
static bool unwiped;                    // we are a fork child in which it did not
static uint32_t booted_pid;

static struct tide_host_image image;
static char command[1 << 16] TIDE_BULKY; // arguments, each with its NUL, as far as there is room
static uint32_t command_bytes;

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
  for (uint64_t i = 0; i < image.argc; i++) {
    const char *argument = image.argv[i];
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
  h->flags = (forked ? TIDE_STORE_FORKED : 0) | (image.is_agent ? TIDE_STORE_AGENT : 0) |
             (image.refused && *image.refused ? TIDE_STORE_PARTLY : 0);
  h->arch = TIDE_ARCH_ID;
  h->pid = booted_pid;
  h->ppid = (uint32_t)TIDE_SYS(SYS_getppid, 0);
  h->start_ticks = tide_cycles() >> TIDE_TICK_SHIFT;
  h->start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  h->start_realtime_ns = clock_ns(CLOCK_REALTIME);
  h->start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  h->ticks_per_second = tide_ticks_per_second();
  h->depth_limit = image.depth;
  h->inherited_bytes = forked ? seat->live_at_fork : 0;
  seat->live_at_fork = 0;
  h->exe = text_of(image.program);
  h->allocator = text_of(image.allocator); // readers tell by name
  h->unhooked = image.unhooked && *image.unhooked ? text_of(image.unhooked) : 0;
  h->refused = image.refused && *image.refused ? text_of(image.refused) : 0;
  write_command(h);
  if (!image.is_supervised && (forked ? tide_boot_was_paused : image.starts_paused)) {
    h->switches.paused_since_ns = h->start_monotonic_ns;
    h->switches.n_pauses = 1;
    h->paused = 1;
  }
  tide_sample_begin();
  h->sample_bits = tide_samples.bits;
  h->live_map = tide_samples.bits ? 0 : (uint64_t)&tide_live_map; // it is empty then
  h->page_table = tide_pages_table();
  tide_store_release(&h->state, TIDE_STATE_RECORDING);
}

// A file is looked at, copied and packed as long as it is; see also tide_sys_emulated().
static uint64_t store_bytes(void)
{
  const uint64_t modest = 128ull << 30;
  uint64_t limit = tide_limits_start();
  bool is_modest = !image.is_supervised || tide_sys_emulated();
  return tide_store_bytes(is_modest && limit > modest ? modest : limit);
}

static bool get_store(bool forked)
{
  uint64_t bytes = store_bytes();
  tide_limits_make_room(bytes);
  void *store = tide_host.store(forked, bytes);
  if (!store)
    return false;
  if (!tide_store_attach(store, bytes, !image.is_supervised)) {
    tide_boot_say("this process is not recorded: no room for its store: ", image.program);
    tide_sys_unmap(store, bytes);
    tide_store = (struct tide_store){0};
    return false;
  }
  // A fork child rarely forks: what that needs waits until it does, where we hear of it. (A child
  // of the bare system call finds its parent's store, and unmaps it before anything else.)
  if (!forked || image.is_agent)
    tide_store_disinherit(gate_wipes);
  return true;
}

void tide_boot_note_unseen(const char *what)
{
  if (!tide_boot_ready() || (image.refused && *image.refused))
    return;
  image.refused = what; // fork children begin with it
  tide_store.header->refused = text_of(what);
  __atomic_fetch_or(&tide_store.header->flags, TIDE_STORE_PARTLY, __ATOMIC_RELEASE);
}

bool tide_boot_is_orphan(void)
{
  return tide_boot_state.gate && !tide_boot_state.gate->alive &&
         (uint32_t)TIDE_SYS(SYS_getppid, 0) != booted_pid;
}

void tide_boot_disinherit(void)
{
  if (tide_boot_ready() && tide_store.inherited)
    tide_store_disinherit(gate_wipes);
}

void tide_boot_before_fork(struct tide_seat *seat)
{
  int64_t live = tide_boot_ready() ? tide_store_live_bytes() : 0;
  if (tide_boot_ready())
    tide_boot_is_paused(); // which notes it
  tide_boot_disinherit();
  seat->live_at_fork = live > 0 ? (uint64_t)live : 0;
}

void tide_boot_after_fork(struct tide_seat *seat)
{
  seat->live_at_fork = 0;
}

void tide_boot_in_fork_child(struct tide_seat *seat)
{
  // Another handler, or a signal's, may have allocated before us: then all is done.
  if (tide_boot_state.now != TIDE_BOOT_ON || !tide_boot_state.gate ||
      (tide_boot_state.gate->alive && booted_pid == tide_sys_pid()))
    return;
  unwiped = tide_boot_state.gate->alive;
  tide_boot_state.gate->alive = 0;
  tide_store_unmap_inherited();
  tide_threads_after_fork(seat);
}

static bool make_gate(void)
{
  tide_boot_state.gate = tide_sys_map_first(sizeof *tide_boot_state.gate, &gate_wipes);
  return tide_boot_state.gate;
}

static bool first_boot(struct tide_seat *seat)
{
  if (!tide_host.start(&image))
    return false;
  tide_object_set_vdso(image.vdso);
  tide_stack_origin = image.stack_origin;
  tide_modules_init(image.program);
  tide_intern_init(image.depth);
  read_command();
  if (!make_gate() || !get_store(false))
    return false;
  if (image.sample_bits && !tide_samples_init(image.sample_bits, image.sample_seed))
    return false;
  tide_live_init(image.blocks_are_apart);
  tide_clock_init(image.is_supervised);
  tide_threads_init(image.stack_top);
  tide_tally_init(clock_ns(CLOCK_MONOTONIC));
  tide_rules_init();
  tide_host.started();
  write_identity(seat, false);
  return true;
}

static bool boot_after_fork(struct tide_seat *seat)
{
  struct tide_store_children *parents = tide_store_after_fork();
  tide_sys_after_fork(gate_wipes && !unwiped, sizeof *tide_boot_state.gate);
  tide_threads_after_fork(seat);
  tide_rules_after_fork();
  tide_modules_after_fork();
  tide_pages_after_fork();
  tide_scopes_after_fork();
  tide_pool_after_fork();
  tide_sys_lock_future = false; // locks are not inherited
  if (tide_sys_sandboxed()) {   // of what is not allowed, counting is not
    tide_add_relaxed(&parents->n_lost, image.follows_forks);
    return false;
  }
  tide_sys_populate_first();
  tide_live_after_fork(!unwiped);
  tide_sample_after_fork(!unwiped);
  bool recorded = image.follows_forks && get_store(true);
  if (recorded)
    write_identity(seat, true);
  else
    tide_add_relaxed(&parents->n_lost, image.follows_forks);
  tide_store_forsake(parents);
  tide_limits_settle(); // the room of the parent's store is the program's again
  return recorded;
}

static bool boot(struct tide_seat *seat)
{
  bool forked = tide_boot_state.gate != NULL;
  bool ok = forked ? boot_after_fork(seat) : first_boot(seat);
  if (ok)
    tide_boot_state.gate->alive = 1;
  return ok;
}

// Another thread boots: it needs no lock that we could hold, but do not wait for ever.
static bool wait_for_boot(void)
{
  for (int i = 0; i < 1000 && tide_load_acquire(&tide_boot_state.now) == TIDE_BOOT_BUSY; i++) {
    long ms[2] = {0, 1000000};
    TIDE_SYS(SYS_nanosleep, ms, 0);
  }
  return tide_boot_ready();
}

TIDE_COLD bool tide_boot(struct tide_seat *seat)
{
  int seen = tide_load_acquire(&tide_boot_state.now);
  bool forked = seen == TIDE_BOOT_ON && !tide_boot_state.gate->alive;
  if (seen == TIDE_BOOT_OFF || (seen == TIDE_BOOT_ON && !forked))
    return seen == TIDE_BOOT_ON;
  if (seen == TIDE_BOOT_BUSY)
    return booting != seat && wait_for_boot();
  if (!__atomic_compare_exchange_n(&tide_boot_state.now, &seen, TIDE_BOOT_BUSY, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return wait_for_boot();
  booting = seat;
  uint64_t from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  bool ok = boot(seat);
  if (ok)
    tide_store.header->boot_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
  tide_store_release(&tide_boot_state.now, ok ? TIDE_BOOT_ON : TIDE_BOOT_OFF);
  return ok;
}

// A fork child's first look at its gate, which the kernel has wiped, is a write: to be read, the
// page would be that of zeros first, and then another.
static void touch_gate(void)
{
  if (tide_load_acquire(&tide_boot_state.now) == TIDE_BOOT_ON)
    tide_add_relaxed(&tide_boot_state.gate->alive, 0);
}

TIDE_COLD struct tide_thread *tide_enter_slow(struct tide_seat *seat)
{
  struct tide_thread *t = seat->thread;
  touch_gate();
  if (tide_boot_is_off() || tide_host.is_at_work())
    return NULL;
  if (seat->phase == TIDE_PHASE_BUSY && tide_boot_ready()) { // a fork child is busy with nothing
    tide_add_relaxed(&tide_store.header->n_lost_busy, 1);
    return NULL;
  }
  if (t && t->self == t && !t->idle) { // at work in this very thread
    if (!t->inside_real)
      tide_add_relaxed(&tide_store.header->n_lost_busy, 1);
    return NULL;
  }
  if (!tide_boot_ready() && !tide_boot(seat)) // the first event of this image, by exec or by fork
    return NULL;
  t = seat->thread;
  if (t && t->self != t) { // another thread of this fork child has booted for us
    seat->thread = t = NULL;
    seat->phase = TIDE_PHASE_FRESH;
  }
  if (tide_samples.bits)
    return NULL;
  if (!t)
    return tide_thread_begin(seat);
  t->idle = 0;
  return tide_look_up(t);
}

void tide_boot_note_end(void)
{
  struct tide_store_header *h = tide_store.header;
  if (image.is_supervised || !tide_boot_ready() || !h->start_cpu_ns || tide_sys_sandboxed())
    return;
  h->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - h->start_cpu_ns;
}
