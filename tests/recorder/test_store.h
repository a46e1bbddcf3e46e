// SPDX-License-Identifier: Apache-2.0
//
// A store to test with, and writers to it.
#pragma once
#include "store/live.h"
#include "store/store.h"
#include "store/writer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEST_STORE_LIMIT (1ull << 33) // of which a store is a sixteenth

static inline void test_store_attach(void *base, uint64_t bytes)
{
  if (base == MAP_FAILED || !tide_store_attach(base, bytes, false))
    abort();
}

// The live map has direct tables while it is small or, asked for blocks that may be nearer to each
// other than those are made for, none.
static inline void test_live_init(void)
{
  tide_live_init(!getenv("TEST_NEAR_BLOCKS"));
}

// In memory that nobody shares.
static inline void test_store_open(void)
{
  uint64_t bytes = tide_store_bytes(TEST_STORE_LIMIT);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  test_store_attach(mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0), bytes);
}

// As a supervisor hands it out. Gives its descriptor, for a reader.
static inline int test_store_open_shared(uint64_t limit)
{
  uint64_t bytes = tide_store_bytes(limit);
  int fd = memfd_create("store", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
    abort();
  int flags = MAP_SHARED | MAP_NORESERVE;
  test_store_attach(mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0), bytes);
  tide_store.header->state = TIDE_STATE_RECORDING;
  return fd;
}

static inline void test_writer_open(struct tide_writer *w)
{
  w->slot = tide_slot_at(tide_slot_new());
  if (!w->slot || !tide_writer_init(w))
    abort();
  w->slot_id = w->slot->id;
}
