// SPDX-License-Identifier: Apache-2.0
//
// Stations, and the barrier that goes through all threads.
#include "store/live.h"
#include "store/live_inside.h"

#include "rt/sys.h"

#include <linux/membarrier.h>

enum {
  PATIENCE = 8000, // naps
  SHORT_PATIENCE = 20,
};

static struct tide_station *stations; // pushed, never popped
static uint32_t n_stations;

static void fences_set(enum tide_fences fences)
{
  __atomic_store_n(&tide_live_map.fences, fences, __ATOMIC_SEQ_CST);
}

static bool barrier_register(void)
{
  return !tide_sys_failed(
      TIDE_SYS(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
}

void tide_stations_init(void)
{
  if (!barrier_register())
    fences_set(TIDE_FENCES_ENOUGH);
}

void tide_stations_after_fork(void)
{
  stations = NULL;
  n_stations = 0;
}

// What was registered is inherited by fork children, or by those of some kernels.
static bool membarrier(void)
{
  long ret = TIDE_SYS(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  if (ret == -EPERM && barrier_register())
    ret = TIDE_SYS(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  return !tide_sys_failed(ret);
}

// A barrier in every thread that runs. False: the kernel has none to give.
static bool barrier(void)
{
  if (tide_load_acquire(&tide_live_map.fences) != TIDE_FENCES_ENOUGH)
    return membarrier();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return true;
}

// Whoever begins after the barrier has a fence of its own; whoever began before has had this one.
void tide_live_confine(void)
{
  if (tide_load_relaxed(&tide_live_map.fences))
    return;
  fences_set(TIDE_FENCES_TOO);
  membarrier();
  fences_set(TIDE_FENCES_ENOUGH);
}

void tide_live_station_add(struct tide_station *s)
{
  *s = (struct tide_station){.next = tide_load_relaxed(&stations), .lines = TIDE_LIVE_A_FEW};
  while (!__atomic_compare_exchange_n(&stations, &s->next, s, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED))
    ;
  __atomic_fetch_add(&n_stations, 1, __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_SEQ_CST); // a rebuild that did not see us is seen by us
}

// One step of a wait that may be long. When no system call may be made, time has to pass otherwise.
static void nap(uint32_t turn)
{
  long ns[2] = {0, 100000};
  if (turn < 64)
    tide_cpu_relax();
  else if (turn < 96)
    TIDE_SYS(SYS_sched_yield, 0);
  else if (tide_sys_failed(TIDE_SYS(SYS_nanosleep, ns, 0)))
    for (int i = 0; i < 2000; i++)
      tide_cpu_relax();
}

bool tide_live_wait_for_table(uint64_t *region)
{
  uint64_t table = 0;
  for (uint32_t turn = 0; turn < 96 + PATIENCE; turn++) {
    table = tide_load_acquire(region);
    if (tide_table_is_open(table) || !table)
      return true;
    if (table & TIDE_TABLE_GIVEN_UP)
      return false;
    nap(turn);
  }
  __atomic_compare_exchange_n(region, &table, table | TIDE_TABLE_GIVEN_UP, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
  return false;
}

// Waits until a thread has left a region whose table is closed. False: it stays there.
static bool wait_for_station(struct tide_station *s, const uint64_t *region)
{
  uint32_t patience = tide_load_relaxed(&s->held_up) ? SHORT_PATIENCE : PATIENCE;
  for (uint32_t turn = 0; turn < 96 + patience; turn++) {
    if (tide_load_acquire(&s->at) != region) {
      tide_store_relaxed(&s->held_up, 0);
      return true;
    }
    nap(turn);
  }
  tide_store_relaxed(&s->held_up, 1);
  return false;
}

enum tide_quiet tide_live_quieten(const struct tide_station *self, const uint64_t *region)
{
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (__atomic_load_n(&n_stations, __ATOMIC_SEQ_CST) <= 1)
    return TIDE_QUIET;
  if (!barrier()) { // forbidden without our knowing: by the next time everybody has fences
    fences_set(TIDE_FENCES_ENOUGH);
    return TIDE_BLIND;
  }
  enum tide_quiet all = TIDE_QUIET;
  for (struct tide_station *s = tide_load_acquire(&stations); s; s = s->next)
    if (s != self && !wait_for_station(s, region))
      all = TIDE_HELD_UP;
  return all;
}
