// SPDX-License-Identifier: Apache-2.0
//
// How threads join and leave, publish, and come to be alone: the rare half of total.h.
#include "store/total.h"

#include "rt/sys.h"

#include <linux/membarrier.h>

enum {
  FEW = 16,           // threads that publish every event at first
  EXACT_TURNS = 256,  // disturbances of a few, after a new one has come, until they no longer do
  FEWS_TURNS = 12,    // each doubling of 2^12 disturbances of few threads doubles what they share
  MANYS_TURNS = 20,   // and each of 2^20, of many
  LEAST_SHARED = 512, // bytes that are shared out at least
  FEWS_MOST = 1024,   // of that, the most for one thread
  MANYS_MOST = 128,
  MOST_SHARE = 4096,     // or half a thousandth of the total, shared out
  FIRST_PAUSE = 1 << 14, // ticks between two attempts to be alone that were disturbed soon
  LONGEST_PAUSE = 1 << 26,
};

struct tide_crowd tide_crowd;
static struct tide_lock lock; // for what tide_crowd says so of, and who is alone

void tide_total_attach(void)
{
  tide_crowd = (struct tide_crowd){.pause = FIRST_PAUSE};
  lock.held = 0;
}

// Registering is cheap for a process with one thread, and takes milliseconds later on.
void tide_total_init(void)
{
  TIDE_SYS(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

// What every running thread wrote before is seen afterwards. False: the kernel does not say so.
static bool barrier_for_all(void)
{
  return !tide_sys_sandboxed() &&
         !tide_sys_failed(TIDE_SYS(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
}

static int64_t total_published(void)
{
  return __atomic_load_n(&tide_store.header->live_bytes, __ATOMIC_SEQ_CST);
}

static uint64_t ticks_now(void)
{
  return tide_cycles() >> TIDE_TICK_SHIFT;
}

static void raise_ceiling(int64_t total)
{
  int64_t *ceiling = &tide_store.header->ceiling, was = tide_load_relaxed(ceiling);
  while (total > was)
    if (__atomic_compare_exchange_n(ceiling, &was, total, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return;
}

// The peak of a crowd as one word: its bytes, and the low bits of the epoch that begins with its
// fall. Whoever sees the new maximum so knows its epoch, too, and raises that himself (reach_peak)
// if the one who found it was interrupted before he came to it. In two words he would not know:
// threads then went on freeing in the old epoch, and what they had held at the peak was lost.
enum { EPOCH_BITS = 16 };
#define NO_PEAK INT64_C(-1) // less than any total: the peak is now
#define MOST_BYTES INT64_C(0x7fffffffffff)

static uint64_t peak_word(int64_t bytes, uint32_t epoch)
{
  return (uint64_t)bytes << EPOCH_BITS | (uint16_t)epoch;
}

static int64_t peak_word_bytes(uint64_t word)
{
  return (int64_t)(word >> EPOCH_BITS);
}

// Makes the header's maximum that of the crowd again, which alone knows after a restart. Somebody
// who is late may have raised it to that of before.
static void settle_max(void)
{
  uint64_t word;
  do {
    word = __atomic_load_n(&tide_crowd.peak, __ATOMIC_SEQ_CST);
    int64_t bytes = peak_word_bytes(word);
    __atomic_store_n(&tide_store.header->max_bytes, bytes ? bytes : NO_PEAK, __ATOMIC_SEQ_CST);
  } while (__atomic_load_n(&tide_crowd.peak, __ATOMIC_SEQ_CST) != word);
}

static void reach_peak(uint64_t word)
{
  struct tide_store_header *h = tide_store.header;
  int64_t bytes = peak_word_bytes(word), max = tide_load_relaxed(&h->max_bytes);
  while (bytes > max)
    if (__atomic_compare_exchange_n(&h->max_bytes, &max, bytes, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED))
      break;
  if (TIDE_UNLIKELY(peak_word_bytes(__atomic_load_n(&tide_crowd.peak, __ATOMIC_SEQ_CST)) < bytes))
    settle_max(); // the peak was restarted meanwhile
  uint32_t epoch = tide_load_relaxed(&h->stamp.epoch);
  for (int16_t ahead; (ahead = (int16_t)((uint16_t)word - (uint16_t)epoch)) > 0;)
    if (__atomic_compare_exchange_n(&h->stamp.epoch, &epoch, epoch + (uint32_t)ahead, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return;
}

// The epoch after the peak's and after the present one: a lone thread may have raised that while
// its solitude ended.
static uint32_t next_epoch(uint64_t peak)
{
  uint32_t epoch = tide_load_relaxed(&tide_store.header->stamp.epoch);
  return ((int16_t)((uint16_t)epoch - (uint16_t)peak) > 0 ? epoch : (uint32_t)peak) + 1;
}

// Before the total falls from this much. Whoever shares the store may have made it any number: what
// a word has no room for would never be reached.
static void raise_peak(int64_t total)
{
  uint64_t was = tide_load_acquire(&tide_crowd.peak), is;
  total = total < MOST_BYTES ? total : MOST_BYTES;
  while (total > peak_word_bytes(was)) {
    is = peak_word(total, next_epoch(was));
    if (__atomic_compare_exchange_n(&tide_crowd.peak, &was, is, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      tide_store_relaxed(&tide_store.header->max_ticks, ticks_now());
      was = is;
    }
  }
  reach_peak(was);
}

// The crowd begins with the peak as the lone thread leaves it.
static void take_over_peak(void)
{
  const struct tide_store_header *h = tide_store.header;
  uint32_t epoch = tide_load_relaxed(&h->stamp.epoch);
  int64_t max = tide_load_relaxed(&h->max_bytes);
  tide_store_relaxed(&tide_crowd.peak, peak_word(max > 0 ? max : 0, epoch));
}

// Gives what the total was. The peak is raised before: whoever finds the total lower than it was
// finds the new epoch. Should the total have risen meanwhile, the peak is that.
static int64_t let_fall(int64_t change)
{
  int64_t *live = &tide_store.header->live_bytes, before = tide_load_acquire(live);
  do
    raise_peak(before);
  while (!__atomic_compare_exchange_n(live, &before, before + change, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_ACQUIRE));
  return before;
}

// Of one slot, in a crowd. Gives the total as it is then.
static int64_t publish(struct tide_thread_slot *slot, int64_t held)
{
  int64_t change = held - __atomic_exchange_n(&slot->published, held, __ATOMIC_ACQ_REL);
  if (change < 0)
    return let_fall(change) + change;
  int64_t *live = &tide_store.header->live_bytes;
  int64_t total = __atomic_add_fetch(live, change, __ATOMIC_SEQ_CST);
  raise_ceiling(total + __atomic_load_n(&tide_crowd.slack, __ATOMIC_SEQ_CST));
  return total;
}

// Of another thread's slot. What waits there is as good as held.
static void publish_for(struct tide_thread_slot *slot)
{
  uint64_t open = tide_load_relaxed(&slot->pairs.open);
  int64_t held = tide_load_relaxed(&slot->held) + (open ? (int64_t)open - 1 : 0);
  if (held != tide_load_relaxed(&slot->published))
    publish(slot, held);
}

// Of one who was alone. What the total was before means nothing: only he knew it.
static void publish_lone(struct tide_thread_slot *slot)
{
  uint64_t open = tide_load_relaxed(&slot->pairs.open);
  int64_t held = tide_load_relaxed(&slot->held) + (open ? (int64_t)open - 1 : 0);
  int64_t change = held - __atomic_exchange_n(&slot->published, held, __ATOMIC_ACQ_REL);
  tide_add_acq_rel(&tide_store.header->live_bytes, change);
}

// Everybody looks up before the next event, and who is in one at its end.
static void call_all(void)
{
  tide_store_release(&tide_crowd.turn, tide_crowd.turn + 1);
  __atomic_fetch_add(&tide_store.header->pulse.beat, 1, __ATOMIC_RELEASE);
  for (struct tide_writer *w = tide_crowd.awake; w; w = w->next_awake)
    if (w->owes)
      tide_store_release(w->owes, 1);
}

static uint64_t disturbances(void)
{
  return tide_load_relaxed(&tide_store.header->n_disturbed);
}

static int64_t least_shared(int64_t total)
{
  bool few = tide_crowd.n_shares <= FEW;
  int64_t most = (int64_t)tide_crowd.n_shares * (few ? FEWS_MOST : MANYS_MOST);
  if (most < total / 50)
    most = total / 50;
  uint32_t doublings = tide_bits(disturbances() >> (few ? FEWS_TURNS : MANYS_TURNS));
  int64_t shared = (int64_t)LEAST_SHARED << (doublings < 32 ? doublings : 32);
  if (!few && !doublings)
    return 0;
  return shared < most ? shared : most;
}

static int64_t share_of(int64_t total)
{
  int64_t n = tide_crowd.n_shares;
  if (n <= FEW && disturbances() < tide_crowd.exact_until)
    return 0;
  total = total > 0 ? total : 0;
  int64_t least = least_shared(total), much = total / 100;
  int64_t share = (much > least ? much : least) / n, tiny = total / 2000 / n;
  share = share < MOST_SHARE ? share : MOST_SHARE;
  return share > tiny ? share : tiny;
}

// When is share_of() to be asked again?
static void set_next(int64_t total)
{
  uint64_t n = disturbances();
  tide_store_relaxed(&tide_crowd.next_total, total + total / 4 + 256);
  tide_store_relaxed(&tide_crowd.next_disturbed, n < tide_crowd.exact_until ? tide_crowd.exact_until
                                                 : n < 1024                 ? 2048
                                                                            : 2 * n);
}

static void set_slack(void)
{
  int64_t slack = tide_crowd.n_awake * tide_crowd.loosest;
  __atomic_store_n(&tide_crowd.slack, slack, __ATOMIC_SEQ_CST);
  raise_ceiling(total_published() + slack);
}

static TIDE_COLD void raise_share(int64_t total)
{
  tide_lock_take(&lock);
  int64_t share = share_of(total);
  if (share > tide_crowd.share && !tide_crowd.lone) {
    if (share > tide_crowd.loosest)
      tide_crowd.loosest = share;
    set_slack(); // first
    tide_store_release(&tide_crowd.share, share);
  }
  set_next(total);
  tide_lock_drop(&lock);
}

static void limit(struct tide_writer *w, int64_t held)
{
  int64_t share = tide_load_acquire(&tide_crowd.share);
  w->high = held + share;
  w->low = held - share;
  w->crest = INT64_MAX;
}

// Did another thread publish since this one did last?
static void count_disturbance(struct tide_writer *w)
{
  struct tide_store_header *h = tide_store.header;
  if (tide_load_relaxed(&h->last_publisher) == w->slot_id) {
    w->streak++;
    return;
  }
  tide_store_relaxed(&h->last_publisher, w->slot_id);
  tide_store_relaxed(&h->n_disturbed, disturbances() + 1);
  w->streak = 0;
}

// The peak was restarted while this thread believed that it was alone: its maximum is of before.
static TIDE_COLD void take_back_max(struct tide_writer *w)
{
  tide_lock_take(&lock); // who ended the solitude has taken the peak over by then
  if (!tide_crowd.lone)
    settle_max();
  w->restarts = tide_crowd.peaks_restarted;
  tide_lock_drop(&lock);
}

// An epoch above that of the crowd's peak, which is read later and only rises, is one that this
// thread began too late.
TIDE_COLD void tide_total_overtaken(struct tide_writer *w)
{
  struct tide_store_header *h = tide_store.header;
  uint32_t epoch = tide_load_acquire(&h->stamp.epoch);
  uint64_t peak = tide_load_acquire(&tide_crowd.peak);
  int16_t ahead = (int16_t)((uint16_t)epoch - (uint16_t)peak);
  if (ahead > 0)
    __atomic_compare_exchange_n(&h->stamp.epoch, &epoch, epoch - (uint32_t)ahead, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  if (TIDE_UNLIKELY(w->restarts != tide_load_relaxed(&tide_crowd.peaks_restarted)))
    take_back_max(w);
  limit(w, tide_load_relaxed(&w->slot->published));
}

TIDE_COLD void tide_total_publish(struct tide_writer *w)
{
  int64_t held = w->slot->held, total = publish(w->slot, held);
  count_disturbance(w);
  if (TIDE_UNLIKELY(total > tide_load_relaxed(&tide_crowd.next_total) ||
                    disturbances() >= tide_load_relaxed(&tide_crowd.next_disturbed)))
    raise_share(total);
  limit(w, held);
}

// All of the following is done under the lock.

static void publish_for_all(void)
{
  for (struct tide_writer *w = tide_crowd.awake; w; w = w->next_awake)
    publish_for(w->slot);
}

// Sets what each may hold back, which may be less than before.
static void share_out(void)
{
  uint32_t n = tide_crowd.n_awake;
  tide_crowd.n_shares = n <= FEW ? n : 2 * n;
  if (n <= FEW)
    tide_crowd.exact_until = disturbances() + EXACT_TURNS;
  int64_t total = total_published(), share = share_of(total);
  tide_store_release(&tide_crowd.share, share);
  call_all();
  publish_for_all();
  tide_crowd.loosest = share;
  set_next(total);
}

// All others have published all that they hold, and look up before that changes.
static void be_alone(struct tide_writer *w)
{
  tide_store_release(&tide_crowd.lone, w);
  tide_crowd.lone_since = ticks_now();
  tide_crowd.loosest = tide_crowd.slack = 0;
  int64_t held = w->slot->held;
  publish(w->slot, held);
  w->base = total_published() - held;
  w->crest = tide_load_relaxed(&tide_store.header->max_bytes) - w->base;
  w->high = INT64_MAX;
  w->low = INT64_MIN;
  w->streak = 0;
  w->restarts = tide_crowd.peaks_restarted;
}

static void end_solitude(void)
{
  struct tide_writer *w = tide_crowd.lone;
  tide_store_release(&tide_crowd.lone, NULL);
  take_over_peak();
  call_all();
  publish_lone(w->slot);
  tide_crowd.loosest = tide_crowd.share;
  set_slack();
}

static void wait_longer(uint64_t now)
{
  tide_crowd.may_claim_at = now + tide_crowd.pause;
  if (tide_crowd.pause < LONGEST_PAUSE)
    tide_crowd.pause *= 2;
}

// Threads that are inside of an event are not waited for: another time.
static bool can_be_alone(struct tide_writer *w)
{
  uint64_t now = ticks_now();
  if (now < tide_crowd.may_claim_at)
    return false;
  tide_store_release(&tide_crowd.lone, w);
  call_all();
  bool can = barrier_for_all();
  for (struct tide_writer *o = tide_crowd.awake; o && can; o = o->next_awake)
    can = o == w || (o->idle && tide_load_relaxed(o->idle));
  if (can) {
    publish_for_all();
  } else {
    tide_store_release(&tide_crowd.lone, NULL);
    wait_longer(now);
  }
  return can;
}

// By one who was there before. Where that takes long to happen threads take turns, and each turn
// begins exactly.
static void disturb_lone(void)
{
  uint64_t now = ticks_now();
  if (now - tide_crowd.lone_since > 16 * tide_crowd.pause) {
    tide_crowd.pause = FIRST_PAUSE;
    if (tide_crowd.n_shares <= FEW) {
      tide_crowd.exact_until = disturbances() + EXACT_TURNS;
      tide_crowd.share = 0;
      set_next(total_published());
    }
  } else {
    wait_longer(now);
  }
  end_solitude();
}

// From now on. The epoch stays: until the total falls from a new maximum the peak is now, whatever
// shares the cells have. Another who is alone was disturbed before.
static TIDE_COLD void restart_peak(struct tide_writer *w, uint32_t asked)
{
  struct tide_store_header *h = tide_store.header;
  uint64_t was = tide_load_acquire(&tide_crowd.peak);
  if (tide_crowd.lone == w) {
    tide_store_relaxed(&h->max_bytes, NO_PEAK);
    w->crest = NO_PEAK - w->base;
    w->restarts = asked;
  } else {
    while (!__atomic_compare_exchange_n(&tide_crowd.peak, &was, peak_word(0, (uint32_t)was), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
      ;
    settle_max();
  }
  tide_store_relaxed(&h->ceiling, 0);
  raise_ceiling(total_published() + tide_crowd.slack);
  tide_store_relaxed(&tide_crowd.peaks_restarted, asked);
  tide_store_release(&h->peaks_restarted, asked);
}

TIDE_COLD void tide_total_turn(struct tide_writer *w)
{
  tide_lock_take(&lock);
  if (tide_crowd.lone && tide_crowd.lone != w)
    disturb_lone();
  uint32_t asked = tide_load_acquire(&tide_store.header->switches.peaks_asked);
  if (asked != tide_crowd.peaks_restarted)
    restart_peak(w, asked);
  bool asks = w->streak >= TIDE_LONG_STREAK;
  w->streak = 0;
  if (tide_crowd.lone != w) {
    if (tide_crowd.n_awake == 1 || (asks && can_be_alone(w))) {
      be_alone(w);
    } else {
      if (asks) // it publishes each event, to no end
        tide_add_relaxed(&tide_store.header->n_disturbed, EXACT_TURNS / 4);
      publish(w->slot, w->slot->held);
      limit(w, w->slot->held);
    }
  }
  w->turn = tide_crowd.turn;
  tide_lock_drop(&lock);
}

static void link_awake(struct tide_writer *w)
{
  w->prev_awake = NULL;
  w->next_awake = tide_crowd.awake;
  if (w->next_awake)
    w->next_awake->prev_awake = w;
  tide_crowd.awake = w;
}

static void unlink_awake(struct tide_writer *w)
{
  if (w->prev_awake)
    w->prev_awake->next_awake = w->next_awake;
  else
    tide_crowd.awake = w->next_awake;
  if (w->next_awake)
    w->next_awake->prev_awake = w->prev_awake;
}

void tide_total_join(struct tide_writer *w, uint32_t tid, uint64_t now)
{
  struct tide_store_header *h = tide_store.header;
  w->slot->tid = tid;
  w->slot->adopted_at = now;
  w->streak = 0;
  tide_lock_take(&lock);
  link_awake(w);
  uint32_t n = ++tide_crowd.n_awake;
  tide_store_relaxed(&h->n_live_threads, n);
  if (n > h->max_live_threads)
    h->max_live_threads = n;
  if (w->slot_id > 1 && !h->multi)
    tide_store_release(&h->multi, 1);
  if (n == 1) {
    be_alone(w);
  } else {
    if (tide_crowd.lone)
      end_solitude();
    if (n <= FEW || n > tide_crowd.n_shares)
      share_out();
    set_slack();
    limit(w, w->slot->held);
  }
  w->turn = tide_crowd.turn;
  tide_lock_drop(&lock);
}

// The last one finds that he is alone when he looks up.
void tide_total_leave(struct tide_writer *w)
{
  struct tide_store_header *h = tide_store.header;
  tide_lock_take(&lock);
  bool held_back = w->slot->held != tide_load_relaxed(&w->slot->published);
  if (tide_crowd.lone && (tide_crowd.lone == w || held_back))
    end_solitude();
  publish(w->slot, w->slot->held);
  unlink_awake(w);
  uint32_t n = --tide_crowd.n_awake;
  w->slot->tid = 0;
  tide_store_relaxed(&h->n_live_threads, n);
  if (n <= FEW || n <= tide_crowd.n_shares / 4) {
    tide_crowd.n_shares = n < 1 ? 1 : n <= FEW ? n : 2 * n;
    tide_store_relaxed(&tide_crowd.next_total, 0);
  }
  set_slack();
  if (n == 1)
    call_all();
  tide_lock_drop(&lock);
}
