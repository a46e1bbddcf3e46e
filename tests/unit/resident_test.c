// SPDX-License-Identifier: Apache-2.0
//
// What of a process is in memory and how much of that is the recorder's: counted page by page, with
// this process as the target; not counted any more once the process has become another program; and
// divided right between two looks, behind the last one, and where nobody may look.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "observe/rss.h"
#include "fake_store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define MIB (UINT64_C(1) << 20)
#define MS UINT64_C(1000000)
#define RESERVED (UINT64_C(1) << 30) // as a real store is: more than a small program maps
enum { WRITTEN = 700, READ_ONLY = 300, ALL = 5000 };

struct fixture {
  struct fake_store store;
  struct tide_store_view view;
  char *ours;
  void *reserved;
};

static void publish(struct fixture *f, const void *start, uint64_t bytes)
{
  f->store.ranges[f->store.header->n_ranges++] = (struct tide_range){(uint64_t)start, bytes};
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
}

static int setup(void **state)
{
  struct fixture *f = calloc(1, sizeof *f);
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (ftruncate(fd, FAKE_STORE_BYTES))
    return -1;
  fake_store_map(&f->store, fd);
  if (tide_store_view_open(&f->view, fd, NULL) || tide_store_view_refresh(&f->view, NULL))
    return -1;
  publish(f, f->store.base, FAKE_STORE_BYTES);
  f->ours = mmap(NULL, ALL * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(f->ours, ALL * PAGE, MADV_NOHUGEPAGE);
  f->reserved = mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *state = f;
  return 0;
}

static int teardown(void **state)
{
  struct fixture *f = *state;
  munmap(f->ours, ALL * PAGE);
  munmap(f->reserved, RESERVED);
  tide_store_view_close(&f->view);
  fake_store_unmap(&f->store);
  free(f);
  return 0;
}

// Written, only read (the kernel's page of zeros, which is nobody's), and neither.
static uint64_t touch(struct fixture *f)
{
  volatile char *ours = f->ours;
  for (size_t i = 0; i < WRITTEN; i++)
    ours[i * 2 * PAGE] = 1;
  for (size_t i = 0; i < READ_ONLY; i++)
    (void)ours[(2 * WRITTEN + i) * PAGE];
  return WRITTEN * UINT64_C(4096);
}

static void pages_of_ours_are_counted(void **state)
{
  struct fixture *f = *state;
  struct tide_resident resident;
  tide_resident_open(&resident, (uint32_t)getpid());
  for (int way = 0; way < 2; way++) {
    f->store.header->n_ranges = 1;
    resident.scans = way == 0;
    publish(f, f->ours, 0); // an entry that is free
    uint64_t store_alone = tide_resident_recorder(&resident, &f->view);
    assert_in_range(store_alone, PAGE, 512 * PAGE);
    assert_int_equal(resident.home, (uint64_t)f->store.base);
    uint64_t more = touch(f);
    publish(f, f->ours, ALL * PAGE);
    assert_int_equal(tide_resident_recorder(&resident, &f->view), store_alone + more);
  }
  uint64_t all = tide_resident_all(&resident, &f->view);
  assert_true(all > WRITTEN * UINT64_C(4096));
  tide_resident_close(&resident);
}

// What is the recorder's is left out of the kind it is of.
static void kinds_are_the_programs_own(void **state)
{
  struct fixture *f = *state;
  enum { LESS = 40 * PAGE }; // that others of this process may come and go by
  struct tide_rss rss;
  tide_rss_init(&rss, (uint32_t)getpid(), 0);
  assert_true(tide_rss_take(&rss, &f->view, 1 * MS, 0, 1) > 0);
  uint64_t more = touch(f);
  publish(f, f->ours, ALL * PAGE); // as if the recorder had written these
  int fd = memfd_create("shared", MFD_CLOEXEC);
  assert_int_equal(ftruncate(fd, 4 * MIB), 0);
  char *shared = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  char *own = mmap(NULL, 6 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(shared, 1, 4 * MIB);
  memset(own, 1, 6 * MIB);
  rss.next_look_ns = 0;
  assert_true(tide_rss_take(&rss, &f->view, 2 * MS, 0, 1) > more);
  struct tide_image image = {.end_ns = 2 * MS};
  const struct tide_tick near = {0};
  tide_rss_fill_image(&rss, &near, &image);
  assert_int_equal(image.n_rss_kinds, 2);
  const struct tide_rss_kinds *was = &image.rss_kinds[0], *is = &image.rss_kinds[1];
  assert_int_equal(is->time_ns, 2 * MS);
  assert_true(is->shared_bytes == was->shared_bytes + 4 * MIB);
  assert_in_range(is->anonymous_bytes, was->anonymous_bytes + 6 * MIB - LESS,
                  was->anonymous_bytes + 6 * MIB + LESS);
  assert_in_range(is->file_bytes, was->file_bytes - LESS, was->file_bytes + 256 * PAGE);
  assert_true(is->file_bytes > 0);
  // Moments of another image are not this one's.
  struct tide_image later = {.start_ns = 2 * MS, .end_ns = 3 * MS};
  tide_rss_fill_image(&rss, &near, &later);
  assert_int_equal(later.n_rss_kinds, 1);
  free(image.rss_kinds);
  free(later.rss_kinds);
  munmap(own, 6 * MIB);
  munmap(shared, 4 * MIB);
  close(fd);
  tide_rss_done(&rss);
}

// They are kept of so many moments at the most, evenly, however long it takes.
static void kinds_are_of_few_moments(void **state)
{
  struct fixture *f = *state;
  enum { LOOKS = 5 * TIDE_RSS_MAX_KINDS };
  struct tide_rss rss;
  tide_rss_init(&rss, (uint32_t)getpid(), 0);
  for (uint64_t i = 1; i <= LOOKS; i++) {
    rss.next_look_ns = 0;
    assert_true(tide_rss_take(&rss, &f->view, i * MS, 0, 1) > 0);
  }
  assert_in_range(rss.n_kinds, TIDE_RSS_MAX_KINDS / 2, TIDE_RSS_MAX_KINDS);
  for (size_t i = 1; i < rss.n_kinds; i++)
    assert_in_range(rss.kinds[i].time_ns - rss.kinds[i - 1].time_ns, 1 * MS, 16 * MS);
  assert_in_range(rss.kinds[rss.n_kinds - 1].time_ns, (LOOKS - 16) * MS, LOOKS * MS);
  tide_rss_done(&rss);
}

// More mappings than the table holds: some are not there, so nothing may be said.
static void what_is_not_known_whole_is_not_known(void **state)
{
  struct fixture *f = *state;
  struct tide_resident resident;
  tide_resident_open(&resident, (uint32_t)getpid());
  assert_true(tide_resident_recorder(&resident, &f->view) > 0);
  f->store.header->n_ranges = (uint32_t)f->store.header->areas.ranges.capacity + 1;
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
  assert_int_equal(tide_resident_recorder(&resident, &f->view), 0);
  f->store.header->n_ranges = 1;
  f->store.ranges[0] = (struct tide_range){UINT64_MAX - 4095, UINT64_MAX}; // nonsense harms nobody
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
  assert_int_equal(tide_resident_recorder(&resident, &f->view), 0);
  tide_resident_close(&resident);
}

// A child that has our store mapped, as we have, until it becomes another program.
static pid_t start_child(const struct fixture *f, int go[2])
{
  assert_int_equal(pipe2(go, O_CLOEXEC), 0);
  pid_t pid = fork();
  if (pid == 0) {
    char byte = *(volatile char *)f->store.base; // forked off, it has nothing of it in memory yet
    if (read(go[0], &byte, 1) == 1)
      execl("/bin/sleep", "sleep", "100", (char *)NULL);
    _exit(1);
  }
  return pid;
}

static void await_exec(pid_t pid)
{
  char path[64], name[64] = "";
  snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
  for (int i = 0; i < 2000 && strncmp(name, "sleep", 5) != 0; i++) {
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, name, sizeof name - 1);
    name[n > 0 ? n : 0] = 0;
    close(fd);
    usleep(5000);
  }
  assert_int_equal(strncmp(name, "sleep", 5), 0);
}

static void after_exec_it_is_another_image(void **state)
{
  struct fixture *f = *state;
  for (int may_look = 0; may_look < 2; may_look++) {
    struct tide_resident resident;
    int go[2];
    pid_t pid = start_child(f, go);
    tide_resident_open(&resident, (uint32_t)pid);
    if (!may_look) { // as with a target that is not dumpable
      close(resident.pagemap_fd);
      resident.pagemap_fd = -1;
    }
    f->view.file_bytes = may_look ? FAKE_STORE_BYTES : RESERVED;
    for (int i = 0; i < 2000 && !tide_resident_all(&resident, &f->view); i++)
      usleep(5000);
    assert_true(tide_resident_all(&resident, &f->view) > 0);
    assert_int_equal(write(go[1], "", 1), 1);
    await_exec(pid);
    assert_int_equal(tide_resident_all(&resident, &f->view), 0);
    assert_int_equal(tide_resident_recorder(&resident, &f->view), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(tide_resident_all(&resident, &f->view), 0);
    tide_resident_close(&resident);
    close(go[0]);
    close(go[1]);
  }
}

static struct tide_rss looked_at(const struct tide_rss_look *looks, size_t n)
{
  struct tide_rss rss = {.n_looks = n, .looks = (struct tide_rss_look *)looks};
  for (size_t i = 0; i < n; i++)
    if (looks[i].recorder_bytes > rss.max_recorder_bytes)
      rss.max_recorder_bytes = looks[i].recorder_bytes;
  return rss;
}

static void expect_own(const struct tide_rss *rss, uint64_t time_ms, uint64_t all_mib,
                       uint64_t own_mib, uint64_t bound_mib)
{
  uint64_t bound;
  assert_int_equal(tide_rss_own(rss, time_ms * MS, all_mib * MIB, &bound), own_mib * MIB);
  assert_int_equal(bound, bound_mib * MIB);
}

static void between_two_looks_it_rises_with_what_is_in_memory(void **state)
{
  (void)state;
  const struct tide_rss_look looks[] = {{10 * MS, 100 * MIB, 10 * MIB},
                                        {20 * MS, 200 * MIB, 50 * MIB},
                                        {30 * MS, 180 * MIB, 40 * MIB}};
  struct tide_rss rss = looked_at(looks, 3);
  expect_own(&rss, 10, 100, 90, 0);
  expect_own(&rss, 20, 200, 150, 0);
  expect_own(&rss, 15, 150, 120, 40); // 30 of it the recorder's, give or take 40
  expect_own(&rss, 12, 200, 150, 40); // there already: what was in memory tells more than the time
  expect_own(&rss, 25, 180, 140, 10);
  expect_own(&rss, 25, 210, 165, 10); // more than at either look: by time
  expect_own(&rss, 5, 90, 80, 0);     // before the first look: as then
  expect_own(&rss, 40, 180, 140, 0);  // after the last one, and no more than then
  expect_own(&rss, 40, 260, 190, 80); // of 80 more, as large a part as before: 30 of 80
  expect_own(&rss, 40, 20, 0, 0);     // nonsense stays above nothing
  struct tide_rss blind = {0};
  expect_own(&blind, 15, 150, 150, 0); // nobody may look: all of it
}

static void the_image_is_told_all_of_it(void **state)
{
  (void)state;
  const struct tide_rss_look looks[] = {{10 * MS, 100 * MIB, 60 * MIB}};
  struct tide_rss rss = looked_at(looks, 1);
  rss.max_all_bytes = 130 * MIB;
  rss.at_tick = (struct tide_rss_high){20 * MS, 90 * MIB, 5 * MIB};
  struct tide_tick near = {.time_ns = 10 * MS, .rss_bytes = 80 * MIB, .live_bytes = 700 * MIB};
  struct tide_image image = {.peak_bytes = 708 * MIB, .peak_ns = 11 * MS};
  tide_rss_fill_image(&rss, &near, &image);
  assert_true(image.has_resident && image.rss_is_own);
  assert_int_equal(image.recorder_rss_bytes, 60 * MIB);
  assert_int_equal(image.rss_at_peak_bytes, 20 * MIB);
  assert_int_equal(image.max_rss_bytes, 30 * MIB);
  assert_int_equal(image.max_rss_ns, 20 * MS);
  assert_int_equal(image.max_rss_live_bytes, 5 * MIB);
  // A peak that was over before anybody looked: its RSS is not known.
  near.live_bytes = 13 * MIB;
  struct tide_image missed = {.peak_bytes = 708 * MIB, .peak_ns = 11 * MS};
  tide_rss_note_mark(&rss, 25 * MS, 160 * MIB);
  tide_rss_fill_image(&rss, &near, &missed);
  assert_int_equal(missed.rss_at_peak_bytes, 0);
  assert_int_equal(missed.untouched_bytes, 0);
  assert_int_equal(missed.max_rss_bytes, 100 * MIB); // as the kernel's mark has it
  assert_int_equal(missed.max_rss_ns, 25 * MS);
  assert_int_equal(missed.max_rss_live_bytes, -1);
}

// Blocks of one thread that another frees, read of several moments: more than the heap ever held.
static void a_heap_that_never_was_is_not_believed(void **state)
{
  struct tide_untouched untouched = {0};
  const struct tide_untouched_look look = {10 * MS, 370 * MIB, 370 * MIB, 115 * MIB, 3 * MIB};
  tide_untouched_take(&untouched, &look);
  tide_untouched_leave(&untouched, 10 * MS, 115 * MIB);
  assert_int_equal(tide_untouched_bytes(&untouched, 370 * MIB), 258 * MIB);
  assert_int_equal(tide_untouched_bytes(&untouched, 64 * MIB), 0);
}

// What was never in memory at all was not at the peak, whenever that was looked at.
static void a_ceiling_tells_what_no_look_saw(void **state)
{
  struct tide_rss rss = {
      .max_all_bytes = 40 * MIB, .ceiling_bytes = 50 * MIB, .ceiling_ns = 1010 * MS};
  const struct tide_tick near = {0};
  struct tide_tick ticks[] = {{.time_ns = 12 * MS, .live_bytes = 700 * MIB},
                              {.time_ns = 2000 * MS, .live_bytes = 5 * MIB}};
  struct tide_image image = {
      .peak_bytes = 708 * MIB, .peak_ns = 11 * MS, .ticks = ticks, .n_ticks = 2};
  tide_rss_fill_image(&rss, &near, &image);
  assert_int_equal(image.untouched_bytes, 0); // soon after the peak: it may be filled yet
  rss.ceiling_ns = 1025 * MS;
  tide_rss_fill_image(&rss, &near, &image);
  assert_int_equal(image.untouched_bytes, 658 * MIB);
  rss.has_ended = true; // and it may have been filled after that
  tide_rss_fill_image(&rss, &near, &image);
  assert_int_equal(image.untouched_bytes, 0);
  ticks[1].time_ns = 1025 * MS; // freed before
  tide_rss_fill_image(&rss, &near, &image);
  assert_int_equal(image.untouched_bytes, 658 * MIB);
  tide_rss_note_ceiling(&rss, 60 * MIB); // at the end
  tide_rss_fill_image(&rss, &near, &image);
  assert_int_equal(image.untouched_bytes, 648 * MIB);
  rss.max_swapped_bytes = MIB;
  tide_rss_fill_image(&rss, &near, &image);
  assert_int_equal(image.untouched_bytes, 0);
}

// ---- never touched ----

static void take(struct tide_untouched *untouched, uint64_t time_ms, int64_t live_mib,
                 uint64_t all_mib, uint64_t recorder_mib)
{
  const struct tide_untouched_look look = {time_ms * MS, live_mib << 20, live_mib << 20,
                                           all_mib << 20, recorder_mib << 20};
  assert_false(tide_untouched_is_over(untouched, &look));
  tide_untouched_take(untouched, &look);
}

static void expect_untouched(const struct tide_untouched *untouched, uint64_t mib)
{
  assert_int_equal(tide_untouched_bytes(untouched, 708 * MIB), mib * MIB);
}

static struct tide_untouched at_708(uint64_t until_ms)
{
  struct tide_untouched untouched = {0};
  take(&untouched, 10, 600, 80, 60);
  take(&untouched, 20, 700, 90, 60);
  take(&untouched, 30, 708, 85, 60);
  take(&untouched, until_ms, 706, 80, 60);
  return untouched;
}

static void freed_unseen_it_may_have_been_filled(void **state)
{
  struct tide_untouched untouched = at_708(40);
  expect_untouched(&untouched, 0); // it may be about to be filled
  const struct tide_untouched_look gone = {45 * MS, 5 * MIB, 5 * MIB, 80 * MIB, 60 * MIB};
  assert_true(tide_untouched_is_over(&untouched, &gone));
  // Between the last look and its end any part of it may have come and gone.
  struct tide_untouched unmarked = untouched;
  tide_untouched_leave(&unmarked, 2045 * MS, 0);
  expect_untouched(&unmarked, 0);
  // The kernel says that not more than 40 MiB did: 700 - 30 at the worst look, less 40.
  struct tide_untouched marked = untouched;
  tide_untouched_leave(&marked, 2045 * MS, 120 * MIB);
  expect_untouched(&marked, 630);
  struct tide_untouched filled = untouched;
  tide_untouched_leave(&filled, 45 * MS, 788 * MIB);
  assert_true(tide_untouched_bytes(&filled, 708 * MIB) < 670 * MIB);
  // No time, nothing unseen.
  tide_untouched_leave(&untouched, 40 * MS, 788 * MIB);
  expect_untouched(&untouched, 670);
}

static void looks_that_saw_nothing_say_nothing(void **state)
{
  struct tide_untouched untouched = at_708(1040);
  expect_untouched(&untouched, 670); // for a second nobody filled it
  tide_untouched_doubt(&untouched, 15 * MIB);
  expect_untouched(&untouched, 655);
  // It was freed during the look: what the RSS was then is not about it.
  const struct tide_untouched_look torn = {1050 * MS, 708 * MIB, 2 * MIB, 70 * MIB, 60 * MIB};
  tide_untouched_take(&untouched, &torn);
  expect_untouched(&untouched, 655);
  take(&untouched, 1060, 708, 0, 0); // nobody could look
  take(&untouched, 1070, 708, 300, 60);
  expect_untouched(&untouched, 468);
  // More than that was there between two looks: they were not about the peak.
  assert_int_equal(tide_untouched_bytes(&untouched, 800 * MIB), 0);
  // What is new has not been seen for as long.
  take(&untouched, 1080, 800, 300, 60);
  assert_int_equal(tide_untouched_bytes(&untouched, 800 * MIB), 0);
  struct tide_untouched never = {0};
  assert_int_equal(tide_untouched_bytes(&never, 708 * MIB), 0);
}

static void of_several_as_high_the_least_counts(void **state)
{
  struct tide_untouched untouched = at_708(40);
  tide_untouched_leave(&untouched, 40 * MS, 90 * MIB);
  expect_untouched(&untouched, 670);
  take(&untouched, 50, 300, 290, 60); // not as high
  tide_untouched_leave(&untouched, 50 * MS, 290 * MIB);
  expect_untouched(&untouched, 670);
  take(&untouched, 60, 705, 400, 60);
  tide_untouched_leave(&untouched, 60 * MS, 400 * MIB);
  expect_untouched(&untouched, 365);
  take(&untouched, 70, 706, 0, 0); // and nobody saw this one
  tide_untouched_leave(&untouched, 71 * MS, 900 * MIB);
  expect_untouched(&untouched, 0);
}

UNIT_TESTS(resident_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(pages_of_ours_are_counted, setup, teardown),
      cmocka_unit_test_setup_teardown(kinds_are_the_programs_own, setup, teardown),
      cmocka_unit_test_setup_teardown(kinds_are_of_few_moments, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_not_known_whole_is_not_known, setup, teardown),
      cmocka_unit_test_setup_teardown(after_exec_it_is_another_image, setup, teardown),
      cmocka_unit_test(between_two_looks_it_rises_with_what_is_in_memory),
      cmocka_unit_test(the_image_is_told_all_of_it),
      cmocka_unit_test(a_heap_that_never_was_is_not_believed),
      cmocka_unit_test(a_ceiling_tells_what_no_look_saw),
      cmocka_unit_test(freed_unseen_it_may_have_been_filled),
      cmocka_unit_test(looks_that_saw_nothing_say_nothing),
      cmocka_unit_test(of_several_as_high_the_least_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
