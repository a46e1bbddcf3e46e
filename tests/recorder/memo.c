// SPDX-License-Identifier: Apache-2.0
//
// The memo of captures on a made-up stack: functions with frames of different sizes call each
// other, so that stacks of the same (pc, sp) have their return addresses in different places, and
// whatever is between those is new each time. A stack that was filed once is found ever after, and
// never another one in its place.
#include "unwind/memo.h"

#include <stdio.h>
#include <sys/mman.h>

enum { STACK_WORDS = 2048, N_STACKS = 250, MAX_DEPTH = 40, N_FUNCTIONS = 24, VISITS = 200000 };

static struct tide_memo_table memo;
static uint64_t *stack, random_state = 88172645463325252ull;

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

static uint64_t frame_words(uint64_t pc)
{
  return 1 + pc / 16 % 7 * (pc / 16 % 5);
}

static uint64_t call_of(uint64_t function, uint64_t place)
{
  return 0x7f0000400000 + 16 * function + place;
}

// Most differ near the leaf, some only far out.
static struct calls draw(const struct calls *like)
{
  struct calls calls = *like;
  uint32_t from = (uint32_t)(random_next() % calls.n), n = 1 + (uint32_t)(random_next() % 3);
  for (uint32_t i = from; i < calls.n && i < from + n; i++)
    calls.value[i] = call_of(random_next() % N_FUNCTIONS, random_next() % 3);
  return calls;
}

// Lays a stack out from sp outward, garbage everywhere else; gives the words a walk would read.
static uint32_t lay_out(const struct calls *calls, uint64_t pc, struct tide_word *ret_words)
{
  for (uint32_t i = 0; i < STACK_WORDS; i++)
    stack[i] = random_next() % 3 ? random_next() : calls->value[random_next() % calls->n];
  uint64_t *slot = stack;
  for (uint32_t i = 0; i < calls->n; i++) {
    slot += frame_words(i ? calls->value[i - 1] : pc);
    *slot = calls->value[i];
    ret_words[i] = (struct tide_word){(uint64_t)slot, *slot};
    slot++;
  }
  return calls->n;
}

static bool file(const struct tide_word *words, uint32_t n, uint64_t pc, void *token,
                 const struct tide_memo_place *place)
{
  struct tide_memo *m = tide_memo_room(&memo, n);
  if (!m)
    return false;
  struct tide_word *end = (struct tide_word *)m;
  for (uint32_t i = 0; i < m->n; i++)
    end[-1 - (int64_t)i] = words[i < n ? i : n - 1];
  m->pc = pc;
  m->sp = (uint64_t)stack;
  m->fp = 0;
  m->needs_fp = 0;
  m->token = token;
  tide_memo_file(&memo, m, place);
  return true;
}

int main(void)
{
  static struct calls stacks[N_STACKS];
  static uint32_t n_missed[N_STACKS];
  uint32_t n_wrong = 0, n_late = 0, n_refused = 0;
  // Always at the same address: one of many keys may be taken for another, but not now and then.
  stack = mmap((void *)0x200000000000, STACK_WORDS * sizeof *stack, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (stack == MAP_FAILED)
    return 2;
  stacks[0].n = MAX_DEPTH;
  for (uint32_t i = 0; i < MAX_DEPTH; i++)
    stacks[0].value[i] = call_of(i % N_FUNCTIONS, 0);
  for (uint32_t i = 1; i < N_STACKS; i++)
    stacks[i] = draw(&stacks[random_next() % i]);
  for (uint32_t visit = 0; visit < VISITS; visit++) {
    struct tide_word words[MAX_DEPTH];
    struct tide_memo_place place;
    uint32_t which = (uint32_t)(random_next() % N_STACKS);
    uint64_t pc = call_of(which % 2, 1);
    uint32_t n = lay_out(&stacks[which], pc, words);
    const struct tide_memo *m = tide_memo_search(&memo, pc, (uint64_t)stack, 0, &place);
    if (m) {
      const struct calls *found = m->token;
      for (uint32_t i = 0; i < n; i++)
        n_wrong += found->value[i] != stacks[which].value[i];
      continue;
    }
    n_late += n_missed[which]++ > 0;
    n_refused += !file(words, n, pc, &stacks[which], &place);
  }
  printf("%u wrong, %u missed again, %u without room; %llu places, %llu branches\n", n_wrong,
         n_late, n_refused, (unsigned long long)memo.n_used, (unsigned long long)memo.n_branches);
  return n_wrong || n_late || n_refused;
}
