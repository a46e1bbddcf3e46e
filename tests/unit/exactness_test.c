// SPDX-License-Identifier: Apache-2.0
//
// How exact an image says it is, whatever it was made from.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "import_fixture.h"
#include "model/image_sums.h"
#include "profile/profile.h"
#include "tide/file.h"
#include "tide_bytes.h"

#include <stdio.h>

#define MAPS                                                                                       \
  "MAPPED_LIBRARIES:\n"                                                                            \
  "00400000-00402000 r-xp 00000000 00:00 1 /bin/fixed\n"

// Every reason not to be exact, by figure.
static void images_say_how_exact_they_are(void **state)
{
  (void)state;
  struct tide_image image = {.pid = 1, .peak_bytes = 100};
  for (int i = 0; i < TIDE_FIGURE_SAMPLES; i++)
    assert_int_equal(tide_image_bytes(&image, (enum tide_figure)i, 1).exactness,
                     i == TIDE_FIGURE_TIMES ? TIDE_WITHIN : TIDE_EXACT);
  image.peak_bound_bytes = 7; // threads raced
  assert_int_equal(tide_image_peak(&image).exactness, TIDE_WITHIN);
  assert_int_equal(tide_image_peak(&image).bound, 7);
  assert_int_equal(tide_image_blocks(&image, TIDE_FIGURE_PEAK, 1).exactness, TIDE_WITHIN);
  assert_int_equal(tide_image_blocks(&image, TIDE_FIGURE_PEAK, 1).bound, 0);
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_LIVE, 1).exactness, TIDE_EXACT);
  image.pid = 0; // processes were added up
  assert_int_equal(tide_image_peak(&image).exactness, TIDE_AT_MOST);
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_OWN_MAX, 1).exactness, TIDE_AT_MOST);
  image.pid = 1;
  image.peak_bound_bytes = 0;
  image.off_reason = 3; // recording ended before the program: nothing is known of what came then
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_ALLOCATED, 1).exactness, TIDE_AT_LEAST);
  assert_int_equal(tide_image_peak(&image).exactness, TIDE_AT_LEAST);
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_LIVE, 1).exactness, TIDE_WITHIN);
  image.off_reason = 0;
  image.lacks = TIDE_LACK_UNHOOKED; // some functions were not seen
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_ALLOCATED, 1).exactness, TIDE_AT_LEAST);
  assert_int_equal(tide_image_peak(&image).exactness, TIDE_WITHIN);
  image.lacks = 0;
  image.pid = 0;
  image.peak_bound_bytes = 7;
  image.loss.n_lost_busy = 1;
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_ALLOCATED, 1).exactness, TIDE_AT_LEAST);
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_LIVE, 1).exactness, TIDE_WITHIN);
  assert_int_equal(tide_image_peak(&image).bound, 0); // it is not known any more
  image.sampled_every_bytes = 512;
  for (int i = 0; i <= TIDE_FIGURE_OWN_MAX; i++)
    assert_int_equal(tide_image_bytes(&image, (enum tide_figure)i, 1).exactness, TIDE_ESTIMATED);
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_MAPPED, 1).exactness, TIDE_EXACT);
  image.lacks = TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS;
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_ALLOCATED, 1).exactness, TIDE_UNKNOWN);
  assert_int_equal(tide_image_bytes(&image, TIDE_FIGURE_LIVE, 1).exactness, TIDE_ESTIMATED);
  assert_int_equal(tide_image_blocks(&image, TIDE_FIGURE_LIVE, 1).exactness, TIDE_UNKNOWN);
}

// What was counted is not an estimate, and an interval of one byte leaves nothing out.
static void counted_profiles_are_exact(void **state)
{
  static const char *const heads[] = {"heapprofile", "heap_v2/1", "heap_v2/0"};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    char text[512];
    snprintf(text, sizeof text, "heap profile: 1: 64 [2: 128] @ %s\n1: 64 [2: 128] @ 0x401010\n%s",
             heads[i], MAPS);
    struct tide_capture *capture = import_text(text);
    assert_int_equal(capture->images->sampled_every_bytes, 0);
    assert_false(capture->images->has_samples);
    assert_int_equal(tide_image_bytes(capture->images, TIDE_FIGURE_LIVE, 64).exactness, TIDE_EXACT);
    tide_capture_free(capture);
  }
}

// What is told of a sampled profile adds up: stacks to the total, in the file and read again.
static void estimates_add_up(void **state)
{
  struct tide_capture *capture =
      import_text("heap profile: 3: 909136 [5: 909168] @ heap_v2/524288\n"
                  "1: 909000 [1: 909000] @ 0x401010 0x401020\n"
                  "1: 128 [2: 144] @ 0x401030 0x401020\n"
                  "1: 8 [2: 24] @ 0x401040 0x401020\n" MAPS);
  struct tide_buf file = tide_bytes_of(capture);
  struct tide_capture *again = NULL;
  assert_int_equal(tide_file_parse(file.data, file.n, "x.tide", &again, NULL), TIDE_ERR_OK);
  const struct tide_capture *both[] = {capture, again};
  for (int i = 0; i < 2; i++) {
    struct tide_profile *profile = tide_profile_new(both[i], 0);
    int64_t live = 0;
    uint64_t n_samples = 0;
    for (size_t k = 0; k < profile->n_sites; k++) {
      live += tide_site_live_bytes(&profile->sites[k]);
      n_samples += profile->sites[k].in_row->n_samples;
    }
    assert_int_equal(profile->image->sampled_every_bytes, 524288);
    assert_int_equal(profile->totals.live_bytes, live);
    assert_int_equal(profile->totals.n_samples, n_samples);
    assert_int_equal(n_samples, 5);
    assert_int_equal(tide_image_bytes(profile->image, TIDE_FIGURE_ALLOCATED, 1).exactness,
                     TIDE_ESTIMATED);
    tide_profile_free(profile);
  }
  tide_buf_done(&file);
  tide_capture_free(again);
  tide_capture_free(capture);
}

UNIT_TESTS(exactness_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(images_say_how_exact_they_are),
      cmocka_unit_test(counted_profiles_are_exact),
      cmocka_unit_test(estimates_add_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
