// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a stack, made from the one list of them (model/numbers.def). Who holds them
// embeds them twice over, as one member and as fields of its own:
//
//   union {
//     struct tide_counters counters;
//     struct tide_counters;
//   };
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What an image does not hold because whoever recorded it did not know: another tool's formats hold
// less than ours. What lacks is absent, not zero; its fields are without meaning.
enum tide_lacks {
  TIDE_LACK_PEAK = 1,        // who held what at the peak
  TIDE_LACK_LIVE = 2,        // what was live at the end
  TIDE_LACK_TOTAL = 4,       // what was allocated in all
  TIDE_LACK_BLOCKS = 8,      // numbers of blocks: only bytes are known
  TIDE_LACK_TEMP = 16,       // what was temporary: freed within one further allocation
  TIDE_LACK_LIFETIMES = 32,  // how long blocks lived
  TIDE_LACK_LIFE_HIST = 64,  // and how that is spread
  TIDE_LACK_SIZE_HIST = 128, // how sizes are spread
  TIDE_LACK_RESIZES = 256,
  TIDE_LACK_THREADS = 512,   // who allocated, and who freed what others had allocated
  TIDE_LACK_TIMES = 1024,    // first and last allocation of a site
  TIDE_LACK_CLOCK = 2048,    // start, end, and when the peak was
  TIDE_LACK_BEFORE = 4096,   // blocks from before it was attached to: their frees alone are counted
  TIDE_LACK_UNHOOKED = 8192, // what came by functions of its allocator that could not be hooked
  TIDE_LACK_LATER = 16384,   // what libraries allocated that it loaded later and were not hooked
  TIDE_LACK_NUMBERS = TIDE_LACK_CLOCK - 1, // all but that: nothing of it was recorded
};

// Numbers that are equally exact: an image says of each of these how far to believe it.
#define TIDE_FIGURE_LIST(X)                                                                        \
  X(ALLOCATED, "allocated") /* allocated, freed, resized: what was done */                         \
  X(LIVE, "live")           /* held at the end, or at a moment */                                  \
  X(PEAK, "peak")           /* held at the peak */                                                 \
  X(OWN_MAX, "own_max")     /* what each stack held at most */                                     \
  X(TIMES, "times")         /* when, and how long */                                               \
  X(SAMPLES, "samples")                                                                            \
  X(LOOKED, "looked") /* what large blocks had in memory at their end */                           \
  X(MAPPED, "mapped") /* pages that the program mapped itself */

enum tide_figure {
#define X(name, word) TIDE_FIGURE_##name,
  TIDE_FIGURE_LIST(X)
#undef X
      TIDE_FIGURES_N,
};
extern const char *const tide_figure_words[TIDE_FIGURES_N]; // "allocated", "live", …

// As they are counted, by stack and thread. A single row may be negative in live terms (a thread
// that only frees).
struct tide_counters {
#define TIDE_NUMBER(field, type, ...) type field;
#include "model/numbers.def"
};

// Of whole stacks, and of sums of them.
struct tide_numbers {
  union {
    struct tide_counters counters;
    struct tide_counters;
  };
#define TIDE_NUMBER_LIVE(field, ...) int64_t field; // at the end
#include "model/numbers.def"
};

enum tide_number_unit {
  TIDE_NUMBER_BLOCKS,
  TIDE_NUMBER_BYTES,
  TIDE_NUMBER_NS,
  TIDE_NUMBER_BLOCKS_SPREAD, // a variance, as a store has it (store/weight.h)
  TIDE_NUMBER_BYTES_SPREAD,
};

enum tide_number_rule {
  TIDE_NUMBER_DONE,
  TIDE_NUMBER_HELD,
  TIDE_NUMBER_HIGH,
  TIDE_NUMBER_EARLIEST,
  TIDE_NUMBER_LATEST,
  TIDE_NUMBER_LEFT, // adds up; what is live
};

// The list for those who go through it.
struct tide_number {
  const char *key; // NULL: none
  size_t at;       // 64 bits of tide_numbers
  bool is_signed;
  enum tide_number_unit unit;
  enum tide_number_rule rule;
  enum tide_figure figure;
  uint32_t needs; // enum tide_lacks
};
extern const struct tide_number tide_number_list[];
extern const size_t tide_number_list_n;

static inline bool tide_number_adds_up(const struct tide_number *number)
{
  return number->rule == TIDE_NUMBER_DONE || number->rule == TIDE_NUMBER_HELD ||
         number->rule == TIDE_NUMBER_LEFT;
}
// What was live at a reset: it is held, and told of everything at once, too.
static inline bool tide_number_is_of_before(const struct tide_number *number)
{
  return number->at == offsetof(struct tide_numbers, before_blocks) ||
         number->at == offsetof(struct tide_numbers, before_bytes);
}
// Its key where it is told of everything at once: in totals, and in tables.
const char *tide_number_name(const struct tide_number *number);
// As it is told: of a variance, the standard error.
uint64_t tide_number_get(const struct tide_numbers *numbers, const struct tide_number *number);

// The standard error that a variance of blocks or of bytes means, rounded up.
uint64_t tide_error_of_blocks(uint64_t spread);
uint64_t tide_error_of_bytes(uint64_t spread);

// Each number by its rule. What is live follows from the others.
void tide_counters_add(struct tide_counters *sum, const struct tide_counters *more);
void tide_numbers_add(struct tide_numbers *sum, const struct tide_numbers *more);
void tide_numbers_live(struct tide_numbers *numbers);
static inline int64_t tide_counters_live_bytes(const struct tide_counters *c)
{
  return (int64_t)((uint64_t)c->before_bytes + c->b_alloc - c->b_free);
}
static inline int64_t tide_counters_live_blocks(const struct tide_counters *c)
{
  return (int64_t)((uint64_t)c->before_blocks + c->n_alloc - c->n_free);
}
// The two halves of a row: what its thread did, and what it holds of its own.
struct tide_numbers tide_counters_done(const struct tide_counters *row);
struct tide_numbers tide_numbers_held(const struct tide_numbers *numbers);
// Zero for all that images of such lacks do not know, but for what is allocated and live: those are
// kept as one, and told by what is known of them.
void tide_counters_forget(struct tide_counters *counters, uint32_t lacks);
