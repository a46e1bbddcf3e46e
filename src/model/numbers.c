// SPDX-License-Identifier: Apache-2.0
//
// What can be done with the numbers of a stack without knowing which there are.
#include "model/numbers.h"

#include "store/weight.h"

#include <math.h>
#include <string.h>

#define AT(field) offsetof(struct tide_numbers, field)
#define IS_SIGNED(type) _Generic((type)0, int64_t : true, default : false)

const struct tide_number tide_number_list[] = {
#define TIDE_NUMBER(field, type, rule, code, store, unit, key, figure, needs, what)                \
  {key,  AT(field), IS_SIGNED(type), TIDE_NUMBER_##unit, TIDE_NUMBER_##rule, TIDE_FIGURE_##figure, \
   needs},
#define TIDE_NUMBER_LIVE(field, before, more, less, unit, key, figure, needs, what)                \
  {key, AT(field), true, TIDE_NUMBER_##unit, TIDE_NUMBER_LEFT, TIDE_FIGURE_##figure, needs},
#include "model/numbers.def"
};
const size_t tide_number_list_n = sizeof tide_number_list / sizeof *tide_number_list;

const char *tide_number_name(const struct tide_number *number)
{
  return number->at == AT(b_alloc) ? "allocated_bytes" : number->key;
}

uint64_t tide_number_get(const struct tide_numbers *numbers, const struct tide_number *number)
{
  uint64_t value;
  memcpy(&value, (const char *)numbers + number->at, sizeof value);
  if (number->unit == TIDE_NUMBER_BLOCKS_SPREAD)
    return tide_error_of_blocks(value);
  return number->unit == TIDE_NUMBER_BYTES_SPREAD ? tide_error_of_bytes(value) : value;
}

uint64_t tide_error_of_blocks(uint64_t spread)
{
  return (uint64_t)ceil(sqrt((double)spread / TIDE_SPREAD_BLOCKS_ONE));
}

uint64_t tide_error_of_bytes(uint64_t spread)
{
  return (uint64_t)ceil(sqrt((double)spread) * TIDE_SPREAD_BYTES);
}

#define ADD_DONE(field) sum->field += more->field;
#define ADD_HELD(field) sum->field += more->field;
#define ADD_HIGH(field) sum->field += more->field > 0 ? more->field : 0;
#define ADD_EARLIEST(field)                                                                        \
  if (more->n_alloc && (is_first || more->field < sum->field))                                     \
    sum->field = more->field;
#define ADD_LATEST(field)                                                                          \
  if (more->n_alloc && (is_first || more->field > sum->field))                                     \
    sum->field = more->field;

void tide_counters_add(struct tide_counters *sum, const struct tide_counters *more)
{
  bool is_first = !sum->n_alloc;
#define TIDE_NUMBER(field, type, rule, ...) ADD_##rule(field)
#include "model/numbers.def"
}

void tide_numbers_add(struct tide_numbers *sum, const struct tide_numbers *more)
{
  tide_counters_add(&sum->counters, &more->counters);
#define TIDE_NUMBER_LIVE(field, ...) sum->field += more->field;
#include "model/numbers.def"
}

void tide_numbers_live(struct tide_numbers *numbers)
{
#define TIDE_NUMBER_LIVE(field, before, more, less, ...)                                           \
  numbers->field = (int64_t)((uint64_t)numbers->before + numbers->more - numbers->less);
#include "model/numbers.def"
}

// Those of some rules (a bit for each), the others zero.
static struct tide_counters pick(const struct tide_counters *row, unsigned rules)
{
  struct tide_counters picked = {0};
#define TIDE_NUMBER(field, type, rule, ...)                                                        \
  picked.field = rules >> TIDE_NUMBER_##rule & 1 ? row->field : 0;
#include "model/numbers.def"
  return picked;
}

struct tide_numbers tide_counters_done(const struct tide_counters *row)
{
  const unsigned rules =
      1u << TIDE_NUMBER_DONE | 1u << TIDE_NUMBER_EARLIEST | 1u << TIDE_NUMBER_LATEST;
  return (struct tide_numbers){.counters = pick(row, rules)};
}

struct tide_numbers tide_numbers_held(const struct tide_numbers *numbers)
{
  struct tide_numbers held = {.counters = pick(&numbers->counters, 1u << TIDE_NUMBER_HELD)};
#define TIDE_NUMBER_LIVE(field, ...) held.field = numbers->field;
#include "model/numbers.def"
  return held;
}

void tide_counters_forget(struct tide_counters *counters, uint32_t lacks)
{
  lacks &= ~(uint32_t)(TIDE_LACK_TOTAL | TIDE_LACK_LIVE | TIDE_LACK_BLOCKS);
#define TIDE_NUMBER(field, type, rule, code, store, unit, key, figure, needs, what)                \
  if (lacks & (needs))                                                                             \
    counters->field = 0;
#include "model/numbers.def"
}
