// SPDX-License-Identifier: Apache-2.0
//
// The falling edge of a crowd. Four threads hold something together, each publishing every event.
// One begins to free, and is held up after its first instruction, in the next round after the
// second, and so on through the whole event; meanwhile the others free all that they hold. Wherever
// it was held up, no block of the peak may be freed in the old epoch: the shares add up to all that
// was held, to the byte, and so does the maximum.
//
// Each round has a store of its own, and is of one kind of three, in turn: the peak is the first;
// it comes after a smaller one; or the thread was alone until it is held up, and then the others
// come: the peak is theirs, but for the block whose end is under way.
//
// Held up is who
// single-steps itself, by the trap flag of x86_64: elsewhere all four just free at once. A thread
// that holds a lock at that instruction is waited for by the others, so it goes on after a while.
#include "cell_ends.h"
#include "rt/sys.h"
#include "store/pairs.h"
#include "test_store.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum { THREADS = 4, BLOCKS = 16, BLOCK_BYTES = 1024, MOST_STEPS = 5000, PATIENCE_MS = 20 };

static struct tide_writer writers[THREADS];
static pthread_barrier_t start, top, come, end;
static enum kind { FIRST_PEAK, SECOND_PEAK, ALONE_BEFORE, N_KINDS } kind;
static int n_bad, stop_at;   // stop_at: the instruction
static int n_steps, n_freed; // of the round: instructions of the first, others that are done
static int n_beyond;         // rounds in turn whose event was over before that
static bool held_up, is_last;

static uint64_t address_of(uint32_t t, int block)
{
  return 0x10000000ull + ((uint64_t)t * BLOCKS + (uint64_t)block) * BLOCK_BYTES;
}

static struct tide_cell *cell_of(struct tide_writer *w)
{
  uint64_t hash = tide_mix64(w->slot_id);
  struct tide_cell *c = tide_writer_find(w, hash);
  return c ? c : tide_writer_cell_new(w, hash, w->slot_id + TIDE_NODE_FIRST);
}

static void hold(struct tide_writer *w, uint32_t t, int n)
{
  for (int i = 0; i < n; i++) {
    tide_pairs_look(w);
    tide_pairs_alloc(w, cell_of(w), address_of(t, i), BLOCK_BYTES, 1);
  }
}

static void give_back(struct tide_writer *w, uint32_t t, int first, int n)
{
  for (int i = first; i < n; i++) {
    tide_pairs_look(w);
    tide_pairs_free_booked(w, address_of(t, i), 2);
  }
}

static void set_flag(bool *flag)
{
  __atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

static void await(const bool *flag)
{
  while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
    sched_yield();
}

static void let_others_free(void)
{
  set_flag(&held_up);
  for (int ms = 0; ms < PATIENCE_MS; ms++) {
    for (int i = 0; i < 50; i++) {
      if (__atomic_load_n(&n_freed, __ATOMIC_ACQUIRE) == THREADS - 1)
        return;
      sched_yield();
    }
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

#if defined(__x86_64__)
enum { TRAP_FLAG = 0x100 };

static void step(int signal, siginfo_t *info, void *context)
{
  (void)signal, (void)info;
  if (++n_steps < stop_at)
    return;
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
  let_others_free();
}

static void step_init(void)
{
  sigaction(SIGTRAP, &(struct sigaction){.sa_sigaction = step, .sa_flags = SA_SIGINFO}, NULL);
}

static void step_begin(void)
{
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
}

static void step_end(void)
{
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(uint64_t)TRAP_FLAG);
}
#else
static void step_init(void) {}

static void step_begin(void)
{
  set_flag(&held_up);
}

static void step_end(void)
{
  n_steps = stop_at > 100 ? 0 : stop_at;
}
#endif

// The first event of the one that is held up; the rest when the others are done.
static void free_stepping(struct tide_writer *w)
{
  step_begin();
  give_back(w, 0, 0, 1);
  step_end();
  n_beyond = n_steps < stop_at ? n_beyond + 1 : 0;
  is_last = n_beyond == N_KINDS;
  set_flag(&held_up);
}

static void one_round(struct tide_writer *w, uint32_t t)
{
  if (kind == SECOND_PEAK) {
    hold(w, t, BLOCKS / 4);
    give_back(w, t, 0, BLOCKS / 4);
  }
  if (t == 0 || kind != ALONE_BEFORE)
    hold(w, t, BLOCKS);
  pthread_barrier_wait(&top);
  if (t == 0) {
    free_stepping(w);
    while (__atomic_load_n(&n_freed, __ATOMIC_ACQUIRE) < THREADS - 1)
      sched_yield();
    give_back(w, t, 1, BLOCKS);
    return;
  }
  await(&held_up);
  if (kind == ALONE_BEFORE) {
    tide_total_join(w, t + 1, 0);
    hold(w, t, BLOCKS);
    pthread_barrier_wait(&come);
  }
  give_back(w, t, 0, BLOCKS);
  __atomic_fetch_add(&n_freed, 1, __ATOMIC_ACQ_REL);
}

static void *worker(void *arg)
{
  struct tide_writer *w = arg;
  for (bool last = false; !last; last = is_last) {
    pthread_barrier_wait(&start);
    one_round(w, (uint32_t)(w - writers));
    pthread_barrier_wait(&end);
  }
  return NULL;
}

static void open_round(void)
{
  test_store_open();
  for (uint32_t i = 0; i < THREADS; i++) {
    writers[i] = (struct tide_writer){0};
    test_writer_open(&writers[i]);
    if (i == 0 || kind != ALONE_BEFORE)
      tide_total_join(&writers[i], i + 1, 0);
  }
  n_steps = n_freed = 0;
  held_up = false;
}

static void close_round(void)
{
  tide_live_after_fork(false);
  munmap(tide_store.base, tide_store.header->store_bytes);
}

static void expect(int64_t got, int64_t least, int64_t most, const char *what)
{
  if ((got < least || got > most) && n_bad++ < 10)
    printf("kind %d, held up after %d instructions: %s is %lld, should be %lld\n", (int)kind,
           stop_at, what, (long long)got, (long long)most);
}

static void compare(void)
{
  const struct tide_store_header *h = tide_store.header;
  const int64_t most = THREADS * BLOCKS * BLOCK_BYTES;
  const int64_t least = kind == ALONE_BEFORE ? most - BLOCK_BYTES : most;
  int64_t shares = 0;
  for (uint32_t i = TIDE_FIRST_CELL; i < h->n_cells; i++) {
    const struct tide_cell *c = &tide_store.cells[i];
    if (!tide_owner_at(i)->stack)
      continue;
    bool kept = (int32_t)(c->stamp.epoch - h->stamp.epoch) >= 0;
    shares += kept ? cell_ends(c).peak_bytes : tide_cell_live(c);
  }
  expect(h->max_bytes, least, most, "the maximum");
  expect(shares, least, most, "the sum of shares");
  expect(h->ceiling, least, most, "the ceiling");
}

static void one_kind(void)
{
  kind = (enum kind)(stop_at % N_KINDS);
  open_round();
  pthread_barrier_wait(&start);
  pthread_barrier_wait(&end);
  compare();
  close_round();
}

int main(void)
{
  pthread_t threads[THREADS];
  pthread_barrier_init(&start, NULL, THREADS + 1);
  pthread_barrier_init(&top, NULL, THREADS);
  pthread_barrier_init(&come, NULL, THREADS - 1);
  pthread_barrier_init(&end, NULL, THREADS + 1);
  step_init();
  test_live_init();
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, worker, &writers[i]);
  while (!is_last && stop_at++ < MOST_STEPS)
    one_kind();
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  printf("%d rounds: %d wrong\n", stop_at, n_bad);
  return n_bad != 0 || stop_at < 100;
}
