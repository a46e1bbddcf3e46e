// SPDX-License-Identifier: Apache-2.0
//
// What a program may ask of its recorder (tidemark.h), of both ways in: the preload library exports
// these by name, and the agent is reached by the program's door.
//
// Each is called by the thread that asks, with its seat, and gives 0 (or what the header says), or
// -errno. None of them touches errno, allocates, or holds a lock across a call of the program's.
#pragma once
#include "record/thread.h"

#include <stddef.h>

// What a way in keeps for each thread beside its seat: zero at first.
struct tide_asking {
  uint32_t n_more;      // scopes that found no number, one within another: they count as one
  uint32_t outer_scope; // that the outermost of them is in
  uint32_t pool_depth;
  struct tide_held pool_held;
};

long tide_ask_stats(struct tide_seat *seat, int whose, void *stats, size_t bytes);
long tide_ask_region_begin(struct tide_seat *seat, void *at, size_t bytes, int whose);
long tide_ask_region_read(struct tide_seat *seat, const void *at, void *stats, size_t bytes);
long tide_ask_region_end(struct tide_seat *seat, void *at, void *stats, size_t bytes);
// 0: it is kept, 1: it is not, which was said.
long tide_ask_region_check(struct tide_seat *seat, const void *region, int what, uint64_t limit,
                           const char *where);

long tide_ask_mark(struct tide_seat *seat, const char *name);
long tide_ask_pause(struct tide_seat *seat);
long tide_ask_resume(struct tide_seat *seat);
long tide_ask_snapshot(struct tide_seat *seat);
long tide_ask_dump(struct tide_seat *seat, const char *path);
long tide_ask_pprof_write(struct tide_seat *seat, int fd);

// caller: whose stack it is.
long tide_ask_event(struct tide_seat *seat, uint64_t weight, struct tide_regs caller);
long tide_ask_event_stats(struct tide_seat *seat, void *stats, size_t bytes);

long tide_ask_scope_begin(struct tide_seat *seat, struct tide_asking *own, const char *name);
long tide_ask_scope_end(struct tide_seat *seat, struct tide_asking *own);

long tide_ask_pool_begin(struct tide_seat *seat, struct tide_asking *own);
long tide_ask_pool_end(struct tide_seat *seat, struct tide_asking *own);
long tide_ask_block_alloc(struct tide_seat *seat, const struct tide_asking *own, const void *block,
                          size_t bytes, struct tide_regs caller);
long tide_ask_block_free(struct tide_seat *seat, const struct tide_asking *own, const void *block);
long tide_ask_blocks_free(struct tide_seat *seat, const struct tide_asking *own, const void *from,
                          size_t bytes);
