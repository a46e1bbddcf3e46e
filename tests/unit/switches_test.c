// SPDX-License-Identifier: Apache-2.0
//
// What is changed in a store from outside, and what an image says of it: pauses, marks, intervals.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "fake_store.h"
#include "observe/store_read.h"
#include "observe/switches.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

struct fixture {
  struct fake_store store;
  struct tide_store_view view;
  uint64_t start_ns; // of the image, CLOCK_MONOTONIC
};

static int setup(void **state)
{
  struct fixture *f = calloc(1, sizeof *f);
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (ftruncate(fd, FAKE_STORE_BYTES) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
    return -1;
  fake_store_map(&f->store, fd);
  f->start_ns = f->store.header->start_monotonic_ns;
  if (tide_store_view_open(&f->view, fd, NULL) || tide_store_view_refresh(&f->view, NULL))
    return -1;
  *state = f;
  return 0;
}

static int teardown(void **state)
{
  struct fixture *f = *state;
  tide_store_view_close(&f->view);
  fake_store_unmap(&f->store);
  free(f);
  return 0;
}

// As it is read so many milliseconds after the start.
static struct tide_image image_at(struct fixture *f, uint64_t ms)
{
  struct tide_image image;
  const struct tide_clock clock = {1000, 0, 1.0};
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
  tide_store_read_image(&f->view, &clock, 0, &image);
  image.end_ns = image.start_ns + ms * MS;
  tide_image_end_pause(&image);
  return image;
}

static void a_pause_is_written_told_and_ended(void **state)
{
  struct fixture *f = *state;
  struct tide_store_header *h = f->store.header;
  uint32_t beat = h->pulse.beat;
  assert_false(tide_switch_pause(&f->view, false, f->start_ns)); // it is on
  assert_int_equal(h->pulse.beat, beat);
  assert_true(tide_switch_pause(&f->view, true, f->start_ns + 10 * MS));
  assert_int_equal(h->paused, 1);
  assert_int_equal(h->pulse.beat, beat + 1); // every thread looks up
  assert_false(tide_switch_pause(&f->view, true, f->start_ns + 15 * MS));
  struct tide_image image = image_at(f, 30);
  assert_true(image.is_paused && image.n_pauses == 1);
  assert_int_equal(image.paused_ns, 20 * MS); // it goes on
  tide_image_done(&image);
  assert_true(tide_switch_pause(&f->view, false, f->start_ns + 40 * MS));
  assert_int_equal(h->paused, 0);
  assert_int_equal(h->pulse.beat, beat + 2);
  assert_true(tide_switch_pause(&f->view, true, f->start_ns + 50 * MS));
  assert_true(tide_switch_pause(&f->view, false, f->start_ns + 45 * MS)); // a clock that went back
  image = image_at(f, 100);
  assert_true(!image.is_paused && image.n_pauses == 2);
  assert_int_equal(image.paused_ns, 30 * MS);
  const char *const names[] = {TIDE_MOMENT_OFF, TIDE_MOMENT_ON, TIDE_MOMENT_OFF};
  assert_int_equal(image.n_marks, 3); // one that is before the mark before it is left out
  for (size_t i = 0; i < 3; i++)
    assert_string_equal(image.marks[i].name, names[i]);
  assert_int_equal(image.marks[1].time_ns, image.start_ns + 40 * MS);
  tide_image_done(&image);
}

static void one_that_begins_off(void **state)
{
  struct fixture *f = *state;
  tide_switch_begin_paused(f->view.fd, f->start_ns - 5 * MS);
  struct tide_image image = image_at(f, 20);
  assert_true(image.is_paused && image.n_pauses == 1 && !image.n_marks);
  assert_int_equal(image.paused_ns, 20 * MS); // never more than there was
  tide_image_done(&image);
}

static void marks_have_room_for_so_many(void **state)
{
  struct fixture *f = *state;
  char name[100];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = 0;
  assert_true(tide_switch_mark(&f->view, name, f->start_ns + MS));
  for (unsigned i = 1; i < TIDE_MOMENTS; i++) {
    snprintf(name, sizeof name, "mark %u", i);
    assert_true(tide_switch_mark(&f->view, name, f->start_ns + i * MS));
  }
  assert_false(tide_switch_mark(&f->view, "one more", f->start_ns + 1000 * MS));
  struct tide_image image = image_at(f, 1000);
  assert_int_equal(image.n_marks, TIDE_MOMENTS);
  assert_int_equal(strlen(image.marks[0].name), TIDE_MARK_NAME_MOST); // its beginning
  assert_string_equal(image.marks[TIDE_MOMENTS - 1].name, "mark 255");
  tide_image_done(&image);
  // What switches off and on has no room for its mark either, and is done all the same.
  assert_true(tide_switch_pause(&f->view, true, f->start_ns + 1001 * MS));
  assert_int_equal(f->store.header->paused, 1);
}

static void marks_of_a_store_without_room(void **state)
{
  struct fixture *f = *state;
  f->store.header->areas.moments.capacity = 0;
  tide_store_view_close(&f->view);
  int fd = memfd_create("copy", MFD_CLOEXEC);
  assert_int_equal(write(fd, f->store.base, FAKE_STORE_BYTES), FAKE_STORE_BYTES);
  assert_int_equal(tide_store_view_open(&f->view, fd, NULL), TIDE_ERR_OK);
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
  assert_false(tide_switch_mark(&f->view, "none", f->start_ns));
}

static void another_interval(void **state)
{
  struct fixture *f = *state;
  struct tide_store_header *h = f->store.header;
  assert_false(tide_switch_sample(&f->view, 20, f->start_ns)); // all events are recorded
  h->sample_bits = 16;
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
  assert_int_equal(tide_switch_sample_bits(&f->view.header), 16);
  assert_false(tide_switch_sample(&f->view, 16, f->start_ns));
  const struct {
    uint32_t bits;
    uint64_t now, most;
  } steps[] = {{20, 1 << 20, 1 << 20}, {12, 1 << 12, 1 << 20}, {16, 1 << 16, 1 << 20}};
  for (size_t i = 0; i < 3; i++) {
    assert_true(tide_switch_sample(&f->view, steps[i].bits, f->start_ns + (i + 1) * MS));
    struct tide_image image = image_at(f, 10);
    assert_true(image.is_resampled);
    assert_int_equal(image.sampled_now_bytes, steps[i].now);
    assert_int_equal(image.sampled_every_bytes, steps[i].most);
    assert_int_equal(image.n_marks, i + 1);
    tide_image_done(&image);
  }
  h->switches.sample_bits = 77; // whoever wrote that
  assert_int_equal(tide_switch_sample_bits(h), 16);
}

static void names_of_marks(void **state)
{
  char most[TIDE_MARK_NAME_MOST + 2];
  memset(most, 'm', sizeof most);
  most[TIDE_MARK_NAME_MOST + 1] = 0;
  struct tide_diag diag = {0};
  const char *const refused[] = {"", "a\nb", "\x7f", "\xff", "\xc3", most};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    assert_int_equal(tide_mark_check(refused[i], &diag), TIDE_ERR_USAGE);
  most[TIDE_MARK_NAME_MOST] = 0;
  const char *const taken[] = {"a", "after the start", "größer", most};
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    assert_int_equal(tide_mark_check(taken[i], &diag), TIDE_ERR_OK);
}

UNIT_TESTS(switches_test)
{
#define SWITCHES(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      SWITCHES(a_pause_is_written_told_and_ended),
      SWITCHES(one_that_begins_off),
      SWITCHES(marks_have_room_for_so_many),
      SWITCHES(marks_of_a_store_without_room),
      SWITCHES(another_interval),
      cmocka_unit_test(names_of_marks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
