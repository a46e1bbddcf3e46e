// SPDX-License-Identifier: Apache-2.0
//
// The memo of captures on a made-up stack: functions with frames of different sizes call each
// other, so that stacks of the same (pc, sp) have their return addresses in different places, and
// whatever is between those is new each time. Stacks of one family have their outer calls in
// common, and come in a row now and then. A stack that was filed once is found ever after, and
// never another one in its place. What is too far away is not filed, and there is an end to it.
#include "unwind/memo.h"

#include <stdio.h>
#include <sys/mman.h>

enum {
  STACK_WORDS = 2048,
  N_STACKS = 250,
  FAMILY = 10,
  MAX_DEPTH = 40,
  N_FUNCTIONS = 24,
  VISITS = 30000,
  ROW = 8192,
};

static struct tide_memo_table memo;
static uint64_t *stack, random_state = 88172645463325252ull;
static int n_failed;

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("line %d: not so: %s\n", __LINE__, #condition);                                       \
      n_failed++;                                                                                  \
    }                                                                                              \
  } while (0)

static uint64_t random_next(void)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

struct calls { // return addresses from the leaf outward
  uint64_t value[MAX_DEPTH];
  uint32_t n;
};

// With the return address an even number: sp is a multiple of 16.
static uint64_t frame_words(uint64_t pc)
{
  return 1 + pc / 16 % 7 * (pc / 16 % 5) * 2;
}

static uint64_t call_of(uint64_t function, uint64_t place)
{
  return 0x7f0000400000 + 16 * function + place;
}

// The first of a family differs from another anywhere, the rest from the first near the leaf, some
// also in how deep they are.
static struct calls draw(const struct calls *stacks, uint32_t i)
{
  bool first = i % FAMILY == 0;
  struct calls calls = stacks[first ? random_next() % i : i - i % FAMILY];
  uint32_t n_removed = random_next() % 4 ? 0 : (uint32_t)(random_next() % 3);
  uint32_t n_changed = 1 + (uint32_t)(random_next() % 3);
  uint32_t from = first ? (uint32_t)(random_next() % calls.n) : 0;
  if (calls.n > 3 * n_removed) {
    calls.n -= n_removed;
    for (uint32_t k = 0; k < calls.n; k++)
      calls.value[k] = calls.value[k + n_removed];
  }
  for (uint32_t k = from; k < calls.n && k < from + n_changed; k++)
    calls.value[k] = call_of(random_next() % N_FUNCTIONS, random_next() % 3);
  return calls;
}

// Lays a stack out below the end, garbage everywhere else; gives sp and the words a walk would
// read, from the leaf outward.
static uint64_t lay_out(const struct calls *calls, uint64_t pc, struct tide_word *ret_words)
{
  uint64_t n_words = 0;
  for (uint32_t i = 0; i < calls->n; i++)
    n_words += frame_words(i ? calls->value[i - 1] : pc) + 1;
  for (uint32_t i = 0; i < STACK_WORDS; i++)
    stack[i] = random_next() % 3 ? random_next() : calls->value[random_next() % MAX_DEPTH];
  uint64_t *sp = stack + STACK_WORDS - n_words, *slot = sp;
  for (uint32_t i = 0; i < calls->n; i++) {
    slot += frame_words(i ? calls->value[i - 1] : pc);
    *slot = calls->value[i];
    ret_words[i] = (struct tide_word){(uint64_t)slot, *slot};
    slot++;
  }
  return (uint64_t)sp;
}

// As tide_capture_slow() does it: what is foreseen first.
static const struct tide_memo_entry *find(uint64_t pc, uint64_t sp, uint64_t fp)
{
  struct tide_memo_place place;
  const struct tide_memo_entry *m = tide_memo_foreseen(&memo);
  if (!tide_memo_starts_at(&memo, m, pc, sp, fp) || !tide_memo_stands(&memo, m))
    return tide_memo_search(&memo, pc, sp, fp, &place);
  tide_memo_found(&memo, m);
  return m;
}

static bool file(const struct tide_word *words, uint32_t n, uint64_t pc, uint64_t sp, uint64_t fp,
                 const void *token, const struct tide_memo_place *place)
{
  struct tide_memo_entry *m = tide_memo_room(&memo, n);
  if (!m)
    return false;
  for (uint32_t i = 0; i < n; i++)
    memo.words[n - 1 - i] = words[i];
  memo.fps[m->number] = fp;
  m->pc = pc;
  m->sp = sp;
  m->needs_fp = fp != 0;
  m->token = (void *)token;
  tide_memo_file(&memo, m, n, place);
  return true;
}

static void check_families(void)
{
  static struct calls stacks[N_STACKS];
  uint32_t n_missed[N_STACKS] = {0};
  uint32_t n_wrong = 0, n_late = 0, n_refused = 0, family = 0;
  stacks[0].n = MAX_DEPTH;
  for (uint32_t i = 0; i < MAX_DEPTH; i++)
    stacks[0].value[i] = call_of(i % N_FUNCTIONS, 0);
  for (uint32_t i = 1; i < N_STACKS; i++)
    stacks[i] = draw(stacks, i);
  for (uint32_t visit = 0; visit < VISITS; visit++) {
    struct tide_word words[MAX_DEPTH];
    struct tide_memo_place place;
    if (visit % ROW == 0)
      family = (uint32_t)(random_next() % (N_STACKS / FAMILY)) * FAMILY;
    bool in_row = visit / ROW % 2;
    uint32_t which =
        in_row ? family + (uint32_t)(random_next() % FAMILY) : (uint32_t)(random_next() % N_STACKS);
    uint64_t pc = call_of(which % 2, 1);
    uint64_t sp = lay_out(&stacks[which], pc, words);
    const struct tide_memo_entry *m = tide_memo_search(&memo, pc, sp, 0, &place);
    n_wrong += find(pc, sp, 0) != m;
    if (m) {
      const struct calls *found = m->token;
      n_wrong += found->n != stacks[which].n;
      for (uint32_t i = 0; i < found->n && i < stacks[which].n; i++)
        n_wrong += found->value[i] != stacks[which].value[i];
      continue;
    }
    n_late += n_missed[which]++ > 0;
    n_refused += !file(words, stacks[which].n, pc, sp, 0, &stacks[which], &place);
  }
  printf("%u wrong, %u missed again, %u without room; %u places, %u branches, %u captures, %u "
         "outer words\n",
         n_wrong, n_late, n_refused, memo.n_used, memo.n_branches, memo.n_entries, memo.n_packed);
  CHECK(!n_wrong && !n_late && !n_refused);
  tide_memo_empty(&memo);
  CHECK(!find(call_of(0, 1), (uint64_t)stack, 0));
}

// Everything of a capture matters: each word, fp if it is needed, pc and sp.
static void check_each_part(void)
{
  struct tide_memo_place place = {0};
  struct tide_word words[MAX_DEPTH];
  struct calls calls = {.n = 20};
  for (uint32_t i = 0; i < calls.n; i++)
    calls.value[i] = call_of(i, 0);
  uint64_t pc = call_of(1, 1), fp = 0x1000, sp = lay_out(&calls, pc, words);
  CHECK(file(words, calls.n, pc, sp, fp, &calls, &place));
  for (int round = 0; round < 4; round++) { // foreseen and not
    memo.history = 0;
    memo.next[0] = round % 2;
    const struct tide_memo_entry *m = find(pc, sp, fp);
    CHECK(m && m->token == &calls);
    CHECK(!find(pc, sp, fp + 1));
    CHECK(!find(pc + 1, sp, fp));
    CHECK(!find(pc, sp - 16, fp));
    CHECK(!find(pc, sp - 8, fp));
    for (uint32_t i = 0; i < calls.n; i++)
      for (int bit = 0; bit < 48; bit += 47) {
        *(uint64_t *)words[i].slot ^= 1ull << bit;
        CHECK(!find(pc, sp, fp));
        *(uint64_t *)words[i].slot ^= 1ull << bit;
      }
  }
  // From a shallower place nothing is looked at: it is no longer there.
  uint64_t *outer = (uint64_t *)words[calls.n - 1].slot;
  CHECK(!find(pc, (uint64_t)(outer + 1) & ~15ull, fp));
  tide_memo_empty(&memo);
}

// What comes in the same order again is foreseen; whatever was foreseen, the right one is found,
// and none that was forgotten.
static void check_next(void)
{
  enum { N = 6, ROUNDS = 50 };
  struct tide_word words[MAX_DEPTH];
  struct calls calls[N];
  uint32_t n_foreseen = 0, n_found = 0;
  for (uint32_t i = 0; i < N; i++) {
    calls[i].n = MAX_DEPTH;
    for (uint32_t k = 0; k < MAX_DEPTH; k++)
      calls[i].value[k] = call_of(k == i ? i + 1 : 0, 0);
  }
  for (uint32_t visit = 0; visit < N * ROUNDS; visit++) {
    const struct calls *now = &calls[visit % N];
    uint64_t pc = call_of(1, 1), sp = lay_out(now, pc, words);
    n_foreseen += memo.entries[memo.next[memo.history]].token == now;
    const struct tide_memo_entry *m = find(pc, sp, 0);
    n_found += m && m->token == now;
    struct tide_memo_place place;
    if (!m && !tide_memo_search(&memo, pc, sp, 0, &place))
      CHECK(file(words, now->n, pc, sp, 0, now, &place));
  }
  CHECK(n_found == N * (ROUNDS - 1) && n_foreseen >= N * (ROUNDS - 8));
  uint64_t pc = call_of(1, 1), sp = lay_out(&calls[0], pc, words);
  for (uint32_t number = 0; number < N + 2; number++) {
    memo.next[memo.history] = (uint16_t)number;
    const struct tide_memo_entry *m = find(pc, sp, 0);
    CHECK(m && m->token == &calls[0]);
  }
  tide_memo_empty(&memo);
  for (uint32_t i = 0; i <= memo.mask; i++) {
    memo.history = i;
    CHECK(!find(pc, sp, 0));
  }
}

// Stacks that differ next to the leaf have their outer words once; one that differs there has its
// own, and none is taken for another.
static void check_shared(void)
{
  enum { N = 16, DEPTH = 20 };
  struct tide_word words[MAX_DEPTH];
  struct calls calls[N + 1];
  uint32_t n_first = 0;
  for (uint32_t i = 0; i <= N; i++) {
    calls[i].n = DEPTH;
    for (uint32_t k = 0; k < DEPTH; k++)
      calls[i].value[k] = call_of(0, k == 0 ? 1 + i : 0);
  }
  calls[N].value[DEPTH - 1] = call_of(0, 1);
  uint64_t pc = call_of(1, 1);
  for (uint32_t i = 0; i <= N; i++) {
    struct tide_memo_place place;
    uint64_t sp = lay_out(&calls[i], pc, words);
    CHECK(!tide_memo_search(&memo, pc, sp, 0, &place));
    CHECK(file(words, DEPTH, pc, sp, 0, &calls[i], &place));
    n_first = i ? n_first : memo.n_packed;
    CHECK(memo.n_packed == (i < N ? 1 : 2) * n_first);
  }
  CHECK(n_first > DEPTH - TIDE_MEMO_LEAF_WORDS);
  for (uint32_t i = 0; i <= N; i++) {
    const struct tide_memo_entry *m = find(pc, lay_out(&calls[i], pc, words), 0);
    CHECK(m && m->token == &calls[i]);
  }
  tide_memo_empty(&memo);
}

// Outer words that came twice are compared before the search. That they stand is not believed of
// another stack, nor longer than they do.
static void check_likely(void)
{
  enum { N = 8, DEPTH = 20 };
  struct tide_word words[MAX_DEPTH];
  struct tide_memo_place place;
  struct calls calls[N];
  uint64_t pc = call_of(1, 1), sp = 0;
  for (uint32_t i = 0; i < N; i++) {
    calls[i].n = DEPTH;
    for (uint32_t k = 0; k < DEPTH; k++)
      calls[i].value[k] = call_of(0, k == 0 ? 1 + i : 0);
    calls[i].value[DEPTH - 1] = call_of(0, i < N / 2); // two kinds of outer words
    sp = lay_out(&calls[i], pc, words);
    CHECK(!tide_memo_search(&memo, pc, sp, 0, &place));
    CHECK(file(words, DEPTH, pc, sp, 0, &calls[i], &place));
  }
  for (uint32_t i = 0; i < 4 * N; i++) {
    sp = lay_out(&calls[i % N], pc, words);
    const struct tide_memo_entry *m = tide_memo_search(&memo, pc, sp, 0, &place);
    CHECK(m && m->token == &calls[i % N]);
    CHECK(memo.likely_outer == (i % (N / 2) ? m->outer : 0) && memo.last_outer == m->outer);
  }
  for (uint32_t i = 0; i < DEPTH; i++) {
    CHECK(memo.likely_outer);
    *(uint64_t *)words[i].slot ^= 4;
    CHECK(!tide_memo_search(&memo, pc, sp, 0, &place));
    *(uint64_t *)words[i].slot ^= 4;
    CHECK(tide_memo_search(&memo, pc, sp, 0, &place));
  }
  // Those of a deeper place are not looked at from a shallower one.
  CHECK(!tide_memo_search(&memo, pc, (words[DEPTH - 1].slot + 8) & ~15ull, 0, &place));
  tide_memo_empty(&memo);
  CHECK(!memo.likely_outer && !memo.last_outer);
}

static void check_refusals(void)
{
  struct tide_memo_place place = {0};
  struct tide_word word = {(uint64_t)&stack[4], 1};
  uint64_t pc = call_of(0, 1), sp = (uint64_t)stack;
  stack[4] = 1;
  CHECK(file(&word, 1, pc, sp, 0, &word, &place) && find(pc, sp, 0));
  struct tide_word far = {sp + (1 << 20), 1}, between = {sp + 4, 1};
  CHECK(file(&far, 1, pc + 1, sp, 0, &far, &place) && !find(pc + 1, sp, 0));
  CHECK(file(&between, 1, pc + 1, sp, 0, &far, &place) && !find(pc + 1, sp, 0));
  place.astray = true;
  CHECK(file(&word, 1, pc + 2, sp, 0, &word, &place) && !find(pc + 2, sp, 0));
  CHECK(memo.n_entries == 2);
  while (tide_memo_room(&memo, MAX_DEPTH) && memo.n_entries <= memo.mask) {
    struct tide_memo_place nowhere = {0};
    word.slot = sp + 8 * (memo.n_entries % 64);
    CHECK(file(&word, 1, pc + 16ull * memo.n_entries, sp, 0, &word, &nowhere));
  }
  CHECK(memo.n_used <= (memo.mask + 1) / 2 && memo.n_packed <= 14 * (memo.mask + 1));
}

// A larger one has forgotten everything, and has room for more.
static bool grows(void)
{
  uint32_t n_before = memo.n_entries;
  if (!tide_memo_grow(&memo))
    return false;
  CHECK(memo.n_entries == 1 && !memo.n_used && (memo.mask + 1) / 2 > 2 * n_before);
  return true;
}

int main(void)
{
  // Always at the same address: one of many keys may be taken for another, but not now and then.
  stack = mmap((void *)0x200000000000, STACK_WORDS * sizeof *stack, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (stack == MAP_FAILED)
    return 2;
  CHECK(tide_memo_make(&memo, TIDE_MEMO_FIRST_LOG2));
  do {
    check_families();
    check_each_part();
    check_next();
    check_shared();
    check_likely();
    check_refusals();
  } while (grows());
  CHECK(memo.log2 == TIDE_MEMO_LAST_LOG2);
  return n_failed != 0;
}
