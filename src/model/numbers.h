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

struct tide_image;

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
  enum tide_number_rule rule;
  uint32_t needs; // enum tide_lacks
};
extern const struct tide_number tide_number_list[];
extern const size_t tide_number_list_n;

static inline bool tide_number_adds_up(const struct tide_number *number)
{
  return number->rule == TIDE_NUMBER_DONE || number->rule == TIDE_NUMBER_HELD ||
         number->rule == TIDE_NUMBER_LEFT;
}
// Its key where it is told of everything at once: in totals, and in tables.
const char *tide_number_name(const struct tide_number *number);
uint64_t tide_number_get(const struct tide_numbers *numbers, const struct tide_number *number);
// False: the capture is of a format that did not have it. What its images lack is another matter.
bool tide_number_is_kept(const struct tide_number *number, const struct tide_image *image);

// Each number by its rule. What is live follows from the others.
void tide_counters_add(struct tide_counters *sum, const struct tide_counters *more);
void tide_numbers_add(struct tide_numbers *sum, const struct tide_numbers *more);
void tide_numbers_live(struct tide_numbers *numbers);
// The two halves of a row: what its thread did, and what it holds of its own.
struct tide_numbers tide_counters_done(const struct tide_counters *row);
struct tide_numbers tide_numbers_held(const struct tide_numbers *numbers);
// Zero for all that images of such lacks do not know, but for what is allocated and live: those are
// kept as one, and told by what is known of them.
void tide_counters_forget(struct tide_counters *counters, uint32_t lacks);
