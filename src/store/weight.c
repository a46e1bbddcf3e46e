// SPDX-License-Identifier: Apache-2.0
//
// Logarithms and exponentials in whole numbers. Asked once per sample.
#include "store/weight.h"

#define ONE 65536ull
enum { SURE = 16 }; // of so many times T, p is 1 to within 10^-7

// e^(-x) for x < 16: both in 1/2^32. A sixteenth of x is below 1, where the series is short.
static uint64_t exp_minus(uint64_t x)
{
  uint64_t z = x >> 4, sum = 1ull << 32, term = 1ull << 32;
  for (uint64_t k = 1; k <= 12; k++) {
    term = (term * z >> 32) / k;
    sum += k % 2 ? -term : term;
  }
  for (int i = 0; i < 4; i++)
    sum = (sum * sum) >> 32;
  return sum;
}

// 1/p = 1/(1 - e^-x) = 1/x + 1/2 + x/12 - x^3/720 + ..., which x <= 1 needs no more of.
static uint64_t mean_of_small(uint32_t bits, uint64_t u)
{
  uint64_t x = (u << 16) >> bits;
  return ((ONE << bits) + u / 2) / u + ONE / 2 + x / 12 - (x * x >> 16) * x / 720 / ONE;
}

uint64_t tide_weight_mean(uint32_t bits, uint64_t size)
{
  uint64_t u = size + 1;
  if (!u || u >> bits >= SURE)
    return ONE;
  if (u <= 1ull << bits)
    return mean_of_small(bits, u);
  return (ONE << 32) / ((1ull << 32) - exp_minus((u << 32) >> bits));
}

// Of m, which is 1/p in the mean (rounded up in r of all cases) where the block is sampled, else 0,
// the variance is 1/p - 1 + p r (1 - r). Each sample tells 1/p of that: 1/p (1/p - 1) + r (1 - r).
struct tide_weight tide_weight_of(uint32_t bits, uint64_t size, uint64_t random)
{
  uint64_t mean = tide_weight_mean(bits, size), part = mean % ONE;
  unsigned __int128 spread = (unsigned __int128)mean * (mean - ONE) + part * (ONE - part); // 1/2^32
  return (struct tide_weight){
      .n_blocks = (uint32_t)(mean / ONE + (random % ONE < part)),
      .spread = (uint64_t)(spread >> 24),
      .byte_spread = (uint64_t)((spread * size >> 24) * size >> 24),
  };
}

// By its weight, 1/p (1/p - 1), which is at most that of a rounded one too high.
struct tide_weight tide_weight_kept(uint32_t n_blocks, uint64_t size)
{
  unsigned __int128 spread = (unsigned __int128)n_blocks * (n_blocks - 1);
  unsigned __int128 of_bytes = (spread * size >> 8) * size >> 8;
  return (struct tide_weight){
      .n_blocks = n_blocks,
      .spread = (uint64_t)(spread * TIDE_SPREAD_BLOCKS_ONE),
      .byte_spread = of_bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)of_bytes,
  };
}

// -ln of a number that is evenly spread between 0 and 1. Its binary logarithm: how many zeros it
// begins with, then bit by bit, by squaring.
int64_t tide_weight_draw(uint32_t bits, uint64_t random)
{
  enum { STEPS = 28 };
  const uint64_t ln_2 = 2977044472ull; // in 1/2^32
  uint64_t r = random | 1, zeros = (uint64_t)__builtin_clzll(r), y = r << zeros >> 32, log = 0;
  for (int i = 0; i < STEPS; i++) { // y: 1 to 2, in 1/2^31
    y = y * y >> 31;
    uint64_t bit = y >> 32;
    log = log << 1 | bit;
    y >>= bit;
  }
  uint64_t minus_log = ((zeros + 1) << STEPS) - log; // of 35 bits at most
  uint64_t minus_ln = (minus_log >> 2) * ln_2 >> 32; // in 1/2^26
  return (int64_t)(minus_ln << bits >> (STEPS - 2)) + 1;
}
