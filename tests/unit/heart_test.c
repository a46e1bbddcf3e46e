// SPDX-License-Identifier: Apache-2.0
//
// How often the beat comes, each time a wake-up: an upper bound, which a busy machine keeps.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "store/layout.h"
#include "supervise/heart.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

// 1, 2, 4 and so on up to 512 ms, and then each second: nobody looks at it.
static void one_that_is_sampled_is_left_to_sleep(void **state)
{
  (void)state;
  int fd = memfd_create("heart", MFD_CLOEXEC);
  assert_int_equal(ftruncate(fd, TIDE_STORE_HEADER_BYTES), 0);
  struct tide_store_header *store =
      mmap(NULL, TIDE_STORE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  assert_ptr_not_equal(store, MAP_FAILED);
  store->sample_bits = 19;
  store->beat_seen = UINT32_MAX;
  struct tide_heart *heart = tide_heart_new(NULL, NULL);
  uint32_t *beat = tide_heart_add(heart, fd, 1, false);
  assert_non_null(beat);
  uint32_t n = 0, before = 0;
  const struct timespec nap = {0, MS};
  for (uint64_t until_ns = now_ns() + 2500 * MS; now_ns() < until_ns; nanosleep(&nap, NULL)) {
    uint32_t now = __atomic_load_n(beat, __ATOMIC_RELAXED);
    n += now != before;
    before = now;
  }
  assert_in_range(n, 1, 15);
  tide_heart_remove(heart, beat);
  tide_heart_free(heart);
  munmap(store, TIDE_STORE_HEADER_BYTES);
  close(fd);
}

UNIT_TESTS(heart_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_that_is_sampled_is_left_to_sleep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
