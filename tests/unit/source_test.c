// SPDX-License-Identifier: Apache-2.0
//
// What is shown comes from a source: a file that is replaced, grows, is damaged or goes; and what
// the page is told of it, which is made anew only when there is something new.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "indexer_fixture.h"
#include "serve/exhibit.h"
#include "serve/routes.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/tide-source-test-XXXXXX";
static unsigned n_opened;
static bool is_damaged, is_finished;

static int make_file(void **state)
{
  int fd = mkstemp(path);
  return fd < 0 || close(fd);
}

static int remove_file(void **state)
{
  unlink(path);
  return 0;
}

static enum tide_err open_indexer(void *context, const char *name,
                                  struct tide_capture **ret_capture, struct tide_diag *diag)
{
  n_opened++;
  if (is_damaged)
    return tide_fail(diag, TIDE_ERR_DAMAGED, "it is damaged");
  *ret_capture = tide_indexer_capture();
  (*ret_capture)->finished = is_finished;
  return TIDE_ERR_OK;
}

static const struct tide_file_opener opener = {NULL, open_indexer};

static struct tide_naming *name_all(void *context, const struct tide_image *image)
{
  return tide_naming_new_from(image, &tide_indexer_names);
}

static const struct tide_exhibit_namer namer = {NULL, name_all, NULL};

static void write_file(const char *text, int flags)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
}

static void replace_file(const char *text)
{
  char other[sizeof path + 4];
  snprintf(other, sizeof other, "%s.new", path);
  int fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
  assert_int_equal(rename(other, path), 0);
}

// True: something new was given.
static bool look(struct tide_source *source)
{
  struct tide_capture *capture = NULL;
  assert_int_equal(source->kind->look(source, true, &capture, NULL), TIDE_ERR_OK);
  tide_capture_free(capture);
  return capture;
}

// A new file under the name at once, one that grows when it rests, one that never rests anyhow.
static void a_file_is_read_again_when_it_is_whole(void **state)
{
  struct tide_source *source = tide_file_source_new(path, &opener);
  assert_string_equal(source->name, path);
  assert_true(look(source));
  assert_false(look(source));
  replace_file("another");
  assert_true(look(source));
  assert_false(look(source));
  write_file("x", O_APPEND);
  assert_false(look(source)); // it may go on
  assert_true(look(source));
  unsigned n_looks = 0;
  do {
    write_file("x", O_APPEND);
    n_looks++;
  } while (!look(source) && n_looks < 100);
  assert_in_range(n_looks, 2, 10);
  tide_source_free(source);
}

static void what_was_shown_stays(void **state)
{
  struct tide_diag diag = {0};
  struct tide_exhibit exhibit;
  is_damaged = true;
  struct tide_source *source = tide_file_source_new(path, &opener);
  assert_int_equal(tide_exhibit_open(&exhibit, source, &namer, NULL, &diag), TIDE_ERR_DAMAGED);
  assert_string_equal(diag.text, "it is damaged"); // nothing was shown before
  is_damaged = false;
  source = tide_file_source_new(path, &opener);
  assert_int_equal(tide_exhibit_open(&exhibit, source, &namer, NULL, &diag), TIDE_ERR_OK);
  const struct tide_capture *shown = exhibit.capture;
  is_damaged = true;
  replace_file("damaged");
  assert_true(tide_exhibit_look(&exhibit, true));
  assert_string_equal(exhibit.note, "this is what the file last held; now: it is damaged");
  assert_int_equal(exhibit.version, 2);
  assert_false(tide_exhibit_look(&exhibit, true)); // said once
  unlink(path);
  assert_true(tide_exhibit_look(&exhibit, true));
  assert_string_equal(exhibit.note, "the file is gone; this is what it last held");
  assert_ptr_equal(exhibit.capture, shown);
  assert_false(tide_exhibit_is_live(&exhibit));
  is_damaged = false;
  replace_file("whole");
  assert_true(tide_exhibit_look(&exhibit, true));
  assert_null(exhibit.note);
  assert_int_equal(exhibit.version, 4);
  assert_true(tide_exhibit_is_live(&exhibit)); // not finished, and just written
  is_finished = true;
  tide_exhibit_turn_to(&exhibit, tide_file_source_new(path, &opener));
  assert_int_equal(exhibit.version, 4); // until the next look
  assert_true(tide_exhibit_look(&exhibit, false));
  assert_false(tide_exhibit_is_live(&exhibit));
  is_finished = false;
  tide_exhibit_close(&exhibit);
}

static const char *no_parameter(void *context, const char *name)
{
  return NULL;
}

static struct tide_reply ask_facts(struct tide_routes *routes)
{
  const struct tide_request request = {"/facts", no_parameter, NULL};
  struct tide_reply reply = {0};
  tide_routes_answer(routes, &request, &reply);
  assert_int_equal(reply.status, 200);
  return reply;
}

// A page asks for the facts every second: the same ones are the same bytes, under the same tag.
static void facts_are_made_when_they_change(void **state)
{
  static const struct tide_embedded_page page = {"<html></html>", 13};
  struct tide_routes routes;
  tide_routes_init(&routes, &page);
  struct tide_source *source = tide_file_source_new(path, &opener);
  assert_int_equal(tide_routes_add(&routes, source, &namer, NULL, NULL), TIDE_ERR_OK);
  assert_true(tide_routes_is_live(&routes));
  struct tide_reply first = ask_facts(&routes), same = ask_facts(&routes);
  assert_ptr_equal(first.body, same.body);
  assert_int_equal(first.tag, same.tag);
  tide_reply_done(&same);
  replace_file("once more");
  tide_routes_look(&routes, true);
  struct tide_reply newer = ask_facts(&routes);
  assert_int_not_equal(newer.tag, first.tag);
  assert_non_null(strstr(tide_buf_cstr(&newer.body->bytes), "\"version\": 2"));
  tide_reply_done(&newer);
  is_finished = true;
  tide_exhibit_turn_to(&routes.exhibits[0], tide_file_source_new(path, &opener));
  tide_routes_look(&routes, true);
  assert_false(tide_routes_is_live(&routes));
  struct tide_reply last = ask_facts(&routes);
  assert_non_null(strstr(tide_buf_cstr(&last.body->bytes), "\"live\": false"));
  tide_reply_done(&last);
  tide_reply_done(&first); // whose reader is slow
  tide_routes_done(&routes);
}

UNIT_TESTS(source_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_file_is_read_again_when_it_is_whole, make_file, NULL),
      cmocka_unit_test(what_was_shown_stays),
      cmocka_unit_test_setup_teardown(facts_are_made_when_they_change, NULL, remove_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
