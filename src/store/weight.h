// SPDX-License-Identifier: Apache-2.0
//
// Sampling: how far it is to the next sample, and how many blocks a sampled one stands for.
//
// Samples are drawn from the bytes that a thread allocates: the distance from one to the next is
// exponential, its mean T = 2^bits bytes. A block of s bytes counts as u = s + 1 of them, so that
// an empty one can be met, too; it is sampled with probability p = 1 - e^(-u/T), whatever came
// before. It then stands for 1/p blocks, which makes every sum over blocks unbiased, whatever their
// sizes. Numbers of blocks are whole: the weight is 1/p rounded up or down at random, so that its
// mean is 1/p.
//
// Of a sum over samples, the sum of their variances is an unbiased estimate of its own.
//
// Whole numbers throughout: the recorder has no floating point.
#pragma once
#include "rt/base.h"

enum { TIDE_SAMPLE_MIN_BITS = 10, TIDE_SAMPLE_USUAL_BITS = 19, TIDE_SAMPLE_MAX_BITS = 26 };

// Variances of bytes are in units of so many bytes, squared, and those of blocks in 1/256.
#define TIDE_SPREAD_BYTES 256u
#define TIDE_SPREAD_BLOCKS_ONE 256u

struct tide_weight {
  uint32_t n_blocks;    // that the block stands for
  uint64_t spread;      // variance of that, in 1 / TIDE_SPREAD_BLOCKS_ONE
  uint64_t byte_spread; // variance of its bytes, in TIDE_SPREAD_BYTES squared
};

// Of numbers that follow one another, numbers that have nothing to do with each other: each bit
// depends on all (the finish of splitmix64). tide_mix64() is not good enough for draws.
static inline uint64_t tide_weight_scramble(uint64_t x)
{
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// The power of two nearest to so many bytes, among those that can be had; 0 of 0.
static inline uint32_t tide_weight_bits(uint64_t bytes)
{
  uint32_t bits = TIDE_SAMPLE_MIN_BITS;
  while (bits < TIDE_SAMPLE_MAX_BITS && bytes > 3ull << (bits - 1))
    bits++;
  return bytes ? bits : 0;
}

// random: of 64 bits, each as good as the other.
struct tide_weight tide_weight_of(uint32_t bits, uint64_t size, uint64_t random);

// Of a block that stands for so many, and was drawn with a size that is not known any more.
struct tide_weight tide_weight_kept(uint32_t n_blocks, uint64_t size);

// Bytes up to the next sample, which is in the last of them; at least 1.
int64_t tide_weight_draw(uint32_t bits, uint64_t random);

// 1/p in 1/65536.
uint64_t tide_weight_mean(uint32_t bits, uint64_t size);
