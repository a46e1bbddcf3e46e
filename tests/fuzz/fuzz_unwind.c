// SPDX-License-Identifier: Apache-2.0
//
// Damaged unwind information, as the recorder reads it inside somebody else's program. An input is
// a .eh_frame_hdr with its .eh_frame behind it; the corpus has pieces of real ones (a C program,
// libc of both architectures, libstdc++, a Rust program). Rules are made of it for every function
// it speaks of, and stacks are walked by them, the thread's own and another one, each in a page
// whose neighbours cannot be read.
//
// Before libFuzzer's own inputs come 10,000 mutants of the corpus, always the same ones; ending
// before they were all made is a failure.
#include "unwind/capture.h"
#include "unwind/host.h"
#include "unwind/rule.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum {
  N_MUTANTS = 10000,
  MUTANTS_PER_INPUT = 2000,
  CODE_BYTES = 1 << 28, // as far as a pc may be from its unwind information
  STACK_WORDS = 512,
  FIRST_WORD = 32, // a walk begins here: below sp there is a red zone
  N_PCS = 24,
  MIN_INPUT = 16,
};

static struct tide_object object;
static uint64_t *own_stack, *foreign_stack; // each a page
static uint64_t dice;

// Of what the kernel would let it read, a walk that has left its stack gets the stacks alone: the
// rest is the sanitizer's, which would take a look there for a fault.
bool __wrap_tide_sys_readable(uint64_t address);
bool __wrap_tide_sys_readable(uint64_t address)
{
  uint64_t page = address & -(uint64_t)sysconf(_SC_PAGESIZE);
  return page == (uint64_t)own_stack || page == (uint64_t)foreign_stack;
}

// The recorder's table of rules, left empty: every rule is made anew, of the present input.
static uint64_t no_rules[1 + 2] = {63}; // a shift for two slots, and none used
struct tide_rule_table *tide_rules = (struct tide_rule_table *)no_rules;
struct tide_rule tide_rule_shapes[TIDE_RULE_SHAPES];

const struct tide_rule *tide_rule_make(uint64_t key, struct tide_rule *scratch)
{
  tide_cfi_rule(key, scratch);
  return scratch;
}

static bool object_at(uint64_t pc, struct tide_object *ret_object)
{
  *ret_object = object;
  return pc - object.start < object.end - object.start;
}

static void object_met(struct tide_object *seen)
{
  (void)seen;
}

bool tide_object_is_sigreturn(uint64_t pc)
{
  return pc % 64 == 1;
}

static void *stack_token(struct tide_unwind *u, struct tide_unwind_frame *frames, uint64_t n,
                         enum tide_walk_end end)
{
  (void)end;
  return n > 0 && frames ? u : NULL;
}

static const struct tide_unwind_host host = {object_at, object_met, stack_token};

static uint64_t roll(uint64_t below)
{
  dice = dice * 6364136223846793005u + 1442695040888963407u;
  return (dice >> 33) % below;
}

// Code addresses that the table speaks of, or whatever lies there.
static void gather_pcs(const uint8_t *bytes, size_t n, uint64_t *pcs)
{
  for (int i = 0; i < N_PCS; i++) {
    int32_t offset;
    size_t at = 12 + 8 * roll((n - 12) / 8);
    memcpy(&offset, bytes + at, sizeof offset);
    pcs[i] = (uint64_t)bytes + (uint64_t)(int64_t)offset + 1 + roll(64);
  }
}

// Return addresses, stack addresses and anything else, as they might lie on a stack.
static void fill_stack(uint64_t *stack, const uint64_t *pcs)
{
  for (uint32_t i = 0; i < STACK_WORDS; i++) {
    uint64_t kind = roll(8);
    stack[i] = kind < 5   ? pcs[roll(N_PCS)]
               : kind < 7 ? (uint64_t)stack + roll(STACK_WORDS * 8 + 64)
               : roll(2)  ? 0
                          : roll(UINT32_MAX) << 31 | roll(UINT32_MAX);
  }
}

static void walk(struct tide_unwind *u, uint64_t *stack, uint64_t pc, bool own)
{
  uint64_t sp = (uint64_t)(stack + FIRST_WORD), fp = sp + roll(STACK_WORDS) * 8;
  enum tide_walk_end end;
  u->stack_lo = own ? (uint64_t)stack : 0;
  u->stack_size = own ? STACK_WORDS * 8 : 0;
  struct tide_regs r = {pc, sp, fp};
  tide_unwind_walk(u, r, TIDE_HASH_SEED, &end);
  for (int i = 0; own && i < 3; i++) // anew, by what is remembered, and by what has changed
    tide_capture_slow(u, pc, sp, fp);
  stack[FIRST_WORD + roll(STACK_WORDS - FIRST_WORD)] ^= 8;
  tide_capture_slow(u, pc, sp, fp);
  tide_unwind_forget(u);
}

static uint64_t *lonely_page(void)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *p = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + page, page, PROT_READ | PROT_WRITE))
    abort();
  return (uint64_t *)(p + page);
}

static void unwind_by(const uint8_t *data, size_t n)
{
  static struct tide_unwind unwind;
  uint64_t pcs[N_PCS];
  if (!own_stack) {
    own_stack = lonely_page();
    foreign_stack = lonely_page();
    if (!tide_unwind_init(&unwind))
      abort();
  }
  uint8_t *bytes = malloc(n);
  memcpy(bytes, data, n);
  uint64_t at = (uint64_t)bytes;
  object = (struct tide_object){.start = at - CODE_BYTES,
                                .end = at + CODE_BYTES,
                                .eh_hdr = bytes,
                                .path = "",
                                .n_readable = 1,
                                .readable = {{at, at + n}}};
  gather_pcs(bytes, n, pcs);
  fill_stack(own_stack, pcs);
  fill_stack(foreign_stack, pcs);
  for (int i = 0; i < N_PCS; i++) {
    struct tide_rule rule;
    tide_cfi_rule(pcs[i], &rule);
    tide_cfi_rule(pcs[i] | TIDE_RULE_EXACT_PC, &rule);
  }
  walk(&unwind, own_stack, pcs[roll(N_PCS)], true);
  walk(&unwind, foreign_stack, pcs[roll(N_PCS)], false);
  free(bytes);
}

static uint32_t n_mutants;

static void mutate(const uint8_t *data, size_t n)
{
  uint8_t *copy = malloc(n);
  for (int i = 0; i < MUTANTS_PER_INPUT && n_mutants < N_MUTANTS; i++, n_mutants++) {
    memcpy(copy, data, n);
    for (uint64_t k = 1ull << roll(7); k > 0; k--) {
      uint64_t kind = roll(4);
      copy[roll(n)] = (uint8_t)(kind == 0 ? 0 : kind == 1 ? 0xff : roll(256));
    }
    unwind_by(copy, n);
  }
  free(copy);
}

__attribute__((destructor)) static void all_made(void)
{
  if (n_mutants < N_MUTANTS)
    _exit(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < MIN_INPUT + 8)
    return 0;
  tide_unwind_host = &host;
  dice = n;
  unwind_by(data, n);
  if (n_mutants < N_MUTANTS)
    mutate(data, n);
  return 0;
}
