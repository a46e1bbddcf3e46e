// SPDX-License-Identifier: Apache-2.0
//
// Blocks of which only some are recorded (weight.h): those that are live, and what is booked of
// them. A sample is booked as the blocks that it stands for, so whoever reads the store finds
// estimates where there are counts else. There are few: all is done under one lock, by one writer
// for all threads, and the total is that of a lone thread (total.h).
//
// Of every free it is asked whether the block is a sample. The filter answers for most that are
// none with one load: it counts the live samples by some bits of their addresses, in tables of
// three sizes, one behind the other. All are kept up to date; the smallest that is not crowded is
// asked, so that it stays in the caches. Its size less one, the mask, tells where it is, too.
//
//     filter    | 1 1 |    | 2^13 counts | ... | 2^16 counts | ... | 2^19 counts |
//     index     0          2^13          2^14  2^16          2^17  2^19          2^20
//
// Before there are samples, and where all events are recorded, the filter has two counts, of 1.
#pragma once
#include "rt/sys.h"
#include "store/writer.h"

enum { TIDE_FILTER_BYTES = 1 << 20 };

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

struct tide_samples {
  const uint8_t *filter;
  uint64_t mask;
  uint32_t bits; // how often is sampled: one for 2^bits bytes; 0: all events are recorded
  // Under the lock.
  _Alignas(64) struct tide_lock lock;
  uint8_t *counts; // the filter's
  struct tide_sample *table;
  uint64_t table_mask, n_live;
  // Atomic.
  uint64_t random;
};
extern struct tide_samples tide_samples;

// False: no memory. seed 0: another one each time.
bool tide_samples_init(uint32_t bits, uint64_t seed);
// In a fork child: there is none. wiped: the kernel has wiped our memory.
void tide_samples_after_fork(bool wiped);

uint64_t tide_samples_random(void);

TIDE_HOT uint64_t tide_samples_place(uint64_t addr, uint64_t mask)
{
  return ((addr ^ addr >> 12) >> 4 & mask) + mask + 1;
}

// False: the block is no sample.
TIDE_HOT bool tide_samples_may_hold(uint64_t addr)
{
  uint64_t mask = tide_load_relaxed(&tide_samples.mask);
  return tide_load_relaxed(&tide_samples.filter[tide_samples_place(addr, mask)]);
}

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
