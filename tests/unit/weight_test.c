// SPDX-License-Identifier: Apache-2.0
//
// Samples: are sums over them right in the mean, and off by what is stated? By the recorder's own
// draws and weights, over many runs of a program that is not there.
#include "store/weight.h"
#include "unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t state;

static uint64_t next_random(void)
{
  return tide_weight_scramble(state += 0x9e3779b97f4a7c15ull);
}

static double chance(uint32_t bits, uint64_t size)
{
  return -expm1(-((double)size + 1) / (double)(1ull << bits));
}

static void weights_are_one_over_chance(void **unused)
{
  (void)unused;
  for (uint32_t bits = TIDE_SAMPLE_MIN_BITS; bits <= TIDE_SAMPLE_MAX_BITS; bits++)
    for (uint64_t size = 0; size < 1ull << 40; size += 1 + size / 7) {
      double mean = (double)tide_weight_mean(bits, size) / 65536;
      assert_true(fabs(mean * chance(bits, size) - 1) < 5e-5);
    }
}

// Also: the largest that can be asked for.
static void no_size_is_too_large(void **unused)
{
  (void)unused;
  const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 1, 1ull << 63, 1ull << 47};
  for (size_t i = 0; i < 4; i++) {
    struct tide_weight weight = tide_weight_of(TIDE_SAMPLE_USUAL_BITS, sizes[i], UINT64_MAX);
    assert_int_equal(weight.n_blocks, 1);
    assert_int_equal(weight.byte_spread, 0);
  }
}

static void draws_are_exponential(void **unused)
{
  (void)unused;
  enum { N = 400000, BITS = 16 };
  const double parts[] = {0.01, 0.1, 0.5, 1, 3};
  double below[5] = {0}, sum = 0;
  state = 1;
  for (int i = 0; i < N; i++) {
    int64_t draw = tide_weight_draw(BITS, next_random());
    assert_true(draw >= 1);
    sum += (double)draw / (1 << BITS);
    for (int k = 0; k < 5; k++)
      below[k] += (double)draw <= parts[k] * (1 << BITS);
  }
  assert_true(fabs(sum / N - 1) < 4 / sqrt(N));
  for (int k = 0; k < 5; k++) {
    double p = -expm1(-parts[k]);
    assert_true(fabs(below[k] / N - p) < 4 * sqrt(p * (1 - p) / N) + 1e-5);
  }
}

static void the_ends_of_randomness_are_draws(void **unused)
{
  (void)unused;
  assert_in_range(tide_weight_draw(TIDE_SAMPLE_MAX_BITS, 0), 1, 45ull << TIDE_SAMPLE_MAX_BITS);
  assert_in_range(tide_weight_draw(TIDE_SAMPLE_MAX_BITS, UINT64_MAX), 1, 2);
}

static void powers_of_two_are_found(void **unused)
{
  (void)unused;
  assert_int_equal(tide_weight_bits(0), 0);
  assert_int_equal(tide_weight_bits(1), TIDE_SAMPLE_MIN_BITS);
  assert_int_equal(tide_weight_bits(524288), 19);
  assert_int_equal(tide_weight_bits(100 * 1024), 17);
  assert_int_equal(tide_weight_bits(90 * 1024), 16);
  assert_int_equal(tide_weight_bits(UINT64_MAX), TIDE_SAMPLE_MAX_BITS);
}

// ---- a stack with blocks of all sizes ----

static const struct {
  uint64_t size;
  int n;
} mix[] = {{8, 9000},    {64, 3000},   {1000, 500},  {30000, 100},
           {300000, 20}, {4 << 20, 3}, {64 << 20, 1}};
enum { KINDS = sizeof mix / sizeof *mix, BITS = 12, RUNS = 1500 };

struct sums {
  double n_samples, raw_bytes;               // as they were met
  double blocks, bytes, spread, byte_spread; // as we estimate
};

// The same blocks in another order each time would make no difference: each is met or not whatever
// came before.
static struct sums run_once(void)
{
  struct sums sums = {0};
  int64_t until = tide_weight_draw(BITS, next_random());
  for (int kind = 0; kind < KINDS; kind++)
    for (int i = 0; i < mix[kind].n; i++) {
      uint64_t size = mix[kind].size;
      until -= (int64_t)size + 1;
      if (until > 0)
        continue;
      struct tide_weight weight = tide_weight_of(BITS, size, next_random());
      until = tide_weight_draw(BITS, next_random());
      sums.n_samples++;
      sums.raw_bytes += (double)size;
      sums.blocks += weight.n_blocks;
      sums.bytes += (double)weight.n_blocks * (double)size;
      sums.spread += (double)weight.spread / TIDE_SPREAD_BLOCKS_ONE;
      sums.byte_spread += (double)weight.byte_spread * TIDE_SPREAD_BYTES * TIDE_SPREAD_BYTES;
    }
  return sums;
}

struct tally {
  double sum, square, spread; // of the estimates; of what they say of themselves
  int within;                 // twice the stated error of the truth
};

static void tally_add(struct tally *tally, double value, double truth, double spread)
{
  tally->sum += value;
  tally->square += (value - truth) * (value - truth);
  tally->spread += spread;
  tally->within += fabs(value - truth) <= 2 * sqrt(spread);
}

// In the mean right to four standard errors of the mean, as far off as stated in the mean to 10 %,
// and 19 of 20 within twice that (here: 93 of 100 at least; the mix is far from a bell).
static void judge(const struct tally *tally, double truth)
{
  double variance = tally->square / RUNS;
  assert_true(fabs(tally->sum / RUNS - truth) < 4 * sqrt(variance / RUNS));
  assert_true(fabs(tally->spread / RUNS / variance - 1) < 0.1);
  assert_true(tally->within >= RUNS * 93 / 100);
}

static void mixed_sizes_are_unbiased_and_errors_hold(void **unused)
{
  (void)unused;
  struct tally blocks = {0}, bytes = {0}, by_stack = {0};
  double n = 0, all = 0;
  for (int kind = 0; kind < KINDS; kind++) {
    n += mix[kind].n;
    all += (double)mix[kind].n * (double)mix[kind].size;
  }
  state = 7;
  for (int i = 0; i < RUNS; i++) {
    struct sums sums = run_once();
    tally_add(&blocks, sums.blocks, n, sums.spread);
    tally_add(&bytes, sums.bytes, all, sums.byte_spread);
    // One weight for the stack, by its mean size: what others do. It is what this test is there to
    // tell apart.
    double mean = sums.raw_bytes / sums.n_samples, every = 1 << BITS;
    tally_add(&by_stack, sums.n_samples / -expm1(-mean / every), n, 0);
  }
  judge(&blocks, n);
  judge(&bytes, all);
  double off = fabs(by_stack.sum / RUNS - n);
  assert_true(off > 20 * sqrt(by_stack.square / RUNS / RUNS) || off > n / 2);
}

UNIT_TESTS(weight_test)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_are_one_over_chance),
      cmocka_unit_test(no_size_is_too_large),
      cmocka_unit_test(draws_are_exponential),
      cmocka_unit_test(the_ends_of_randomness_are_draws),
      cmocka_unit_test(powers_of_two_are_found),
      cmocka_unit_test(mixed_sizes_are_unbiased_and_errors_hold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
