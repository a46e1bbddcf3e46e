// SPDX-License-Identifier: Apache-2.0
//
// Blocks of which only some are recorded (weight.h): those that are live, and what is booked of
// them. A sample is booked as the blocks that it stands for, so whoever reads the store finds
// estimates where there are counts else. There are few: all is done under one lock, by one writer
// for all threads, and the total is that of a lone thread (total.h).
//
// Of every free it is asked whether the block is a sample. The filter answers for most that are
// none with one load: it counts the live samples by the hashes of their addresses, in tables of
// four sizes. All are kept up to date; the smallest that is not crowded is asked, so that it stays
// in the caches and leaves the rest of them to the program. The hash has as many bits as the index
// of the largest; what is set in it besides, ones, tells which table is asked, and leaves as many
// bits of it as that has:
//
//     count at      hash | ones         ones
//     2^10 counts   from 2^19 - 2^10    2^19 - 2^10
//     2^13 counts   from 2^20 - 2^13    2^20 - 2^13
//     2^16 counts   from 3*2^19 - 2^16  3*2^19 - 2^16
//     2^19 counts   from 3*2^19         3*2^19
//
// Before there are samples, and where all events are recorded, ones leaves one count, which is 1.
// Of what the filter does not answer the table itself is asked, without the lock: whoever changes
// it makes `turn` odd meanwhile.
#pragma once
#include "rt/sys.h"
#include "store/writer.h"

enum {
  TIDE_FILTER_LEVELS = 4,
  TIDE_FILTER_BITS = 19, // of a hash
  TIDE_FILTER_FIRST_BITS = 10,
  TIDE_FILTER_STEP_BITS = 3,
  TIDE_FILTER_ALL = (1 << TIDE_FILTER_BITS) - 1,
};

// Of a sample: it was drawn with another size, so its variance follows from its weight.
enum { TIDE_SAMPLE_WENT_ON = 64 };

struct tide_sample {
  uint64_t addr;     // 0: none
  uint64_t size;     // as it was asked for
  uint64_t when;     // as in the live map; in place of a key, how often was sampled then, in bits,
                     // and TIDE_SAMPLE_WENT_ON
  uint32_t cell;     // of the stack that allocated it
  uint32_t n_blocks; // that it stands for
};

struct tide_sample_table {
  _Alignas(sizeof(struct tide_sample)) uint64_t mask; // there is one entry more
  struct tide_sample entries[];                       // atomic: addr
};

struct tide_samples {
  const uint8_t *filter; // read after ones
  uint32_t ones;         // atomic
  uint32_t bits;         // how often is sampled: one for 2^bits bytes; 0: all events are recorded
  // Under the lock.
  _Alignas(64) struct tide_lock lock;
  uint32_t turn;                   // atomic
  uint8_t *counts;                 // the filter's, from that of hash 0 in the smallest table
  struct tide_sample_table *table; // atomic; NULL: there is none. A former one stays mapped
  uint64_t n_live;
  // Atomic.
  uint64_t random;
};
extern struct tide_samples tide_samples;

// False: no memory. seed 0: another one each time.
bool tide_samples_init(uint32_t bits, uint64_t seed);
// In a fork child: there is none. wiped: the kernel has wiped our memory.
void tide_samples_after_fork(bool wiped);

uint64_t tide_samples_random(void);

// Of blocks that lie apart by a power of two, too.
TIDE_HOT uint32_t tide_samples_hash(uint64_t addr)
{
  return ((uint32_t)addr * 0x9E3779B1u) >> (32 - TIDE_FILTER_BITS);
}

// False: the block is no sample.
TIDE_HOT bool tide_samples_may_hold(uint64_t addr)
{
  uint32_t at = tide_samples_hash(addr) | tide_load_folded(&tide_samples.ones);
  tide_loads_in_order();
  return tide_load_folded(&tide_samples.filter[at]);
}

// The same for what that leaves open, as exactly as it can be told without the lock.
bool tide_samples_hold(uint64_t addr);

// Under the lock, by the one writer. A new sample, one of so many in bits when it was drawn; false:
// no memory for it, and nothing was booked.
bool tide_samples_add(struct tide_writer *w, struct tide_cell *c, uint32_t bits, uint64_t addr,
                      uint64_t size, uint64_t now);
// A sample that has ended goes on at another place and with another size, with the weight with
// which it was drawn.
bool tide_samples_go_on(struct tide_writer *w, const struct tide_sample *sample, uint64_t addr,
                        uint64_t size, uint64_t now);
// Takes one out, and puts it back. The first gives false if it is not there.
bool tide_samples_take(uint64_t addr, struct tide_sample *ret);
bool tide_samples_put(const struct tide_sample *sample);
// What was taken out has ended.
void tide_samples_end(struct tide_writer *w, const struct tide_sample *sample, uint64_t now);
