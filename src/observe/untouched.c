// SPDX-License-Identifier: Apache-2.0
//
// Stays of the heap near its highest. See untouched.h.
#include "observe/untouched.h"

#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define TOP_PART 64             // of the highest: so near it the heap is as high
#define FILL_BYTES_PER_NS 64    // that one processor can fill at most: memory is not faster
#define MOST (INT64_C(1) << 50) // sums of more are nonsense, and must not overflow
#define SETTLED_NS (1 * NS_PER_S)

static int64_t bytes_capped(uint64_t bytes)
{
  return bytes < (uint64_t)MOST ? (int64_t)bytes : MOST;
}

static bool is_higher(int64_t bytes, int64_t high_bytes)
{
  return bytes > high_bytes + high_bytes / TOP_PART;
}

bool tide_untouched_is_over(const struct tide_untouched *untouched,
                            const struct tide_untouched_look *look)
{
  int64_t high_bytes = untouched->now.high_bytes;
  return high_bytes && look->before_bytes < high_bytes - high_bytes / 4;
}

// What may have come into memory after the last look, until a moment.
static int64_t unseen_bytes(const struct tide_untouched *untouched, uint64_t time_ns,
                            uint64_t high_bytes)
{
  uint64_t gap_ns = time_ns > untouched->last_ns ? time_ns - untouched->last_ns : 0;
  long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t per_ns = FILL_BYTES_PER_NS * (uint64_t)(n_cpus > 0 ? n_cpus : 1);
  int64_t unseen = gap_ns < (uint64_t)MOST / per_ns ? (int64_t)(gap_ns * per_ns) : MOST;
  int64_t risen = bytes_capped(high_bytes) - bytes_capped(untouched->last_all_bytes);
  if (high_bytes && risen < unseen)
    unseen = risen > 0 ? risen : 0;
  return unseen;
}

// Of two as high, the one that says less; else the higher.
static struct tide_untouched_stay lesser(struct tide_untouched_stay a, struct tide_untouched_stay b)
{
  if (is_higher(a.high_bytes, b.high_bytes))
    return a;
  if (is_higher(b.high_bytes, a.high_bytes))
    return b;
  if (b.high_bytes > a.high_bytes)
    a.high_bytes = b.high_bytes;
  if (b.missing_bytes < a.missing_bytes)
    a.missing_bytes = b.missing_bytes;
  return a;
}

static struct tide_untouched_stay seen(struct tide_untouched_stay stay, int64_t less)
{
  bool is_seen = stay.missing_bytes != TIDE_UNTOUCHED_UNSEEN;
  stay.missing_bytes = is_seen && stay.missing_bytes > less ? stay.missing_bytes - less : 0;
  return stay;
}

void tide_untouched_leave(struct tide_untouched *untouched, uint64_t time_ns, uint64_t high_bytes)
{
  if (!untouched->now.high_bytes)
    return;
  struct tide_untouched_stay left =
      seen(untouched->now, unseen_bytes(untouched, time_ns, high_bytes));
  untouched->highest = untouched->highest.high_bytes ? lesser(untouched->highest, left) : left;
  untouched->now = (struct tide_untouched_stay){0};
}

void tide_untouched_take(struct tide_untouched *untouched, const struct tide_untouched_look *look)
{
  struct tide_untouched_stay *now = &untouched->now;
  int64_t before = look->before_bytes < MOST ? look->before_bytes : MOST;
  int64_t held = look->after_bytes < before ? look->after_bytes : before;
  if (before <= 0)
    return;
  if (!now->high_bytes || is_higher(before, now->high_bytes))
    *now = (struct tide_untouched_stay){before, TIDE_UNTOUCHED_UNSEEN, look->time_ns};
  // One that ends during the look has seen nothing: what it held may be gone from memory.
  if (!look->all_bytes || held < now->high_bytes - now->high_bytes / 4)
    return;
  int64_t own = bytes_capped(look->all_bytes) - bytes_capped(look->recorder_bytes);
  int64_t missing = held - (own > 0 ? own : 0);
  if (missing < now->missing_bytes)
    now->missing_bytes = missing;
  untouched->last_ns = look->time_ns;
  untouched->last_all_bytes = look->all_bytes;
}

void tide_untouched_doubt(struct tide_untouched *untouched, uint64_t bytes)
{
  untouched->now = untouched->now.missing_bytes == TIDE_UNTOUCHED_UNSEEN
                       ? untouched->now
                       : seen(untouched->now, bytes_capped(bytes));
}

uint64_t tide_untouched_bytes(const struct tide_untouched *untouched, int64_t peak_bytes)
{
  struct tide_untouched_stay stay = untouched->highest, now = untouched->now;
  if (now.high_bytes) {
    bool is_settled = untouched->last_ns >= now.since_ns + SETTLED_NS;
    now = seen(now, is_settled ? 0 : MOST);
    stay = stay.high_bytes ? lesser(stay, now) : now;
  }
  if (!stay.high_bytes || stay.high_bytes < peak_bytes - peak_bytes / TOP_PART)
    return 0;
  if (is_higher(stay.high_bytes, peak_bytes)) // it never was: what was read was of several moments
    return 0;
  stay = seen(stay, 0);
  return (uint64_t)stay.missing_bytes;
}
