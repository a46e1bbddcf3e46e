// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a recording, without one: order, limits, who comes too late, who does not wait.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "indexer_fixture.h"
#include "supervise/control.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct tide_asked *post(struct tide_control *control, enum tide_ask_kind kind, bool is_paced)
{
  const struct tide_ask ask = {.kind = kind, .is_paced = is_paced};
  struct tide_asked *asked = NULL;
  assert_int_equal(tide_control_post(control, &ask, &asked, NULL), TIDE_ERR_OK);
  return asked;
}

static bool is_readable(int fd)
{
  struct pollfd readable = {fd, POLLIN, 0};
  return poll(&readable, 1, 0) == 1;
}

static void it_is_taken_in_order_and_answered(void **state)
{
  struct tide_control *control = tide_control_new();
  struct tide_answer answer = {0};
  assert_false(is_readable(tide_control_wake_fd(control)));
  struct tide_asked *first = post(control, TIDE_ASK_STATE, false);
  struct tide_asked *paced = post(control, TIDE_ASK_DRAFT, true);
  struct tide_asked *second = post(control, TIDE_ASK_SNAPSHOT, false);
  assert_true(is_readable(tide_control_wake_fd(control)));
  tide_control_drain(control);
  assert_false(is_readable(tide_control_wake_fd(control)));
  assert_ptr_equal(tide_control_take(control, false), first);
  assert_ptr_equal(tide_control_take(control, false), second);
  assert_null(tide_control_take(control, false));
  assert_true(tide_control_has_paced(control));
  assert_ptr_equal(tide_control_take(control, true), paced);
  assert_false(tide_control_has_paced(control));
  assert_int_equal(tide_asked_ask(second)->kind, TIDE_ASK_SNAPSHOT);
  assert_false(tide_control_collect(control, &second, 1, &answer));
  tide_control_answer(control, second, &(struct tide_answer){.is_running = true, .n_cells = 7});
  assert_true(tide_control_collect(control, &second, 0, &answer));
  assert_int_equal(answer.n_cells, 7);
  assert_null(second);
  struct tide_asked *taken = first;
  tide_control_forget(control, &first); // which the one who answers has
  assert_null(first);
  tide_control_answer(control, taken, &(struct tide_answer){.is_running = true});
  tide_control_answer(control, paced, &(struct tide_answer){.is_running = true});
  tide_control_forget(control, &paced); // answered, and never collected
  tide_control_free(control);
}

static void too_much_is_refused(void **state)
{
  struct tide_control *control = tide_control_new();
  struct tide_asked *asked[TIDE_CONTROL_MAX_WAITING], *more = NULL;
  struct tide_diag diag = {0};
  for (size_t i = 0; i < TIDE_CONTROL_MAX_WAITING; i++)
    asked[i] = post(control, TIDE_ASK_STATE, i % 2);
  const struct tide_ask ask = {.kind = TIDE_ASK_STATE};
  assert_int_equal(tide_control_post(control, &ask, &more, &diag), TIDE_ERR_LIMIT);
  assert_null(more);
  assert_non_null(strstr(diag.text, "too much"));
  tide_control_forget(control, &asked[TIDE_CONTROL_MAX_WAITING - 1]); // the last …
  tide_control_forget(control, &asked[0]);                            // … and the first
  tide_control_forget(control, &asked[10]);
  asked[0] = post(control, TIDE_ASK_STATE, false);
  asked[10] = post(control, TIDE_ASK_STATE, false);
  assert_ptr_equal(tide_control_take(control, false), asked[2]);
  asked[TIDE_CONTROL_MAX_WAITING - 1] = post(control, TIDE_ASK_STATE, false);
  tide_control_answer(control, asked[2], &(struct tide_answer){0});
  tide_control_close(control);
  for (size_t i = 0; i < TIDE_CONTROL_MAX_WAITING; i++) {
    struct tide_answer answer = {0};
    assert_true(tide_control_collect(control, &asked[i], 0, &answer));
    assert_false(answer.is_running);
  }
  tide_control_free(control);
}

static void the_end_answers_everybody(void **state)
{
  struct tide_control *control = tide_control_new();
  int notified = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const struct tide_ask ask = {.kind = TIDE_ASK_DRAFT, .is_paced = true, .notify_fd = notified};
  struct tide_asked *before = NULL, *taken = post(control, TIDE_ASK_STATE, false);
  struct tide_answer answer = {0};
  assert_int_equal(tide_control_post(control, &ask, &before, NULL), TIDE_ERR_OK);
  assert_ptr_equal(tide_control_take(control, false), taken);
  tide_control_close(control);
  assert_true(is_readable(notified));
  assert_true(tide_control_collect(control, &before, 0, &answer));
  assert_int_equal(answer.err, TIDE_ERR_EMPTY);
  assert_non_null(strstr(answer.diag.text, "ended"));
  tide_control_answer(control, taken, &(struct tide_answer){.is_running = true}); // as it had begun
  assert_true(tide_control_collect(control, &taken, 0, &answer));
  assert_true(answer.is_running);
  tide_control_ask(control, &ask, 0, &answer); // too late
  assert_int_equal(answer.err, TIDE_ERR_EMPTY);
  tide_control_close(control);
  tide_control_free(control);
  close(notified);
}

static void nobody_answers(void **state)
{
  struct tide_control *control = tide_control_new();
  struct tide_answer answer = {0};
  tide_control_ask(control, &(struct tide_ask){.kind = TIDE_ASK_STATE}, 20, &answer);
  assert_int_equal(answer.err, TIDE_ERR_SYSTEM);
  assert_non_null(strstr(answer.diag.text, "20 ms"));
  assert_null(tide_control_take(control, false)); // withdrawn
  tide_control_free(control);
}

// ---- a recording as a source ----

static struct tide_draft *draft_of(uint64_t version)
{
  struct tide_capture *capture = tide_indexer_capture();
  struct tide_draft *draft = NULL;
  capture->duration_ns = version * 1000000;
  assert_int_equal(tide_draft_new(capture, version, &draft, NULL), TIDE_ERR_OK);
  assert_int_equal(draft->time_ns, version * 1000000);
  tide_capture_free(capture);
  return draft;
}

static struct tide_capture *look(struct tide_source *source, bool is_wanted)
{
  struct tide_capture *capture = NULL;
  assert_int_equal(source->kind->look(source, is_wanted, &capture, NULL), TIDE_ERR_OK);
  return capture;
}

static void set_host(struct tide_capture *capture, const char *name)
{
  free(capture->hostname);
  capture->hostname = tide_strdup(name);
}

static void drafts_are_asked_for_while_somebody_wants_them(void **state)
{
  struct tide_control *control = tide_control_new();
  const struct tide_living_options options = {
      .control = control, .name = "x.tide", .complete = set_host};
  struct tide_source *source = tide_living_new(&options);
  struct tide_draft *draft = draft_of(3);
  assert_null(look(source, false));
  assert_null(tide_control_take(control, true)); // nobody wants it
  assert_null(look(source, true));
  assert_null(look(source, true));
  struct tide_asked *asked = tide_control_take(control, true);
  assert_non_null(asked);
  assert_null(tide_control_take(control, true)); // one at a time
  assert_null(look(source, true));
  tide_control_answer(control, asked,
                      &(struct tide_answer){.is_running = true, .draft = tide_draft_share(draft)});
  struct tide_capture *capture = look(source, false);
  assert_non_null(capture);
  assert_int_equal(capture->duration_ns, 3000000);
  assert_string_equal(capture->hostname, "x.tide"); // completed
  assert_null(look(source, false));
  assert_true(source->kind->is_live(source, capture));
  tide_capture_free(capture);

  assert_null(look(source, true));
  tide_control_answer(control, tide_control_take(control, true),
                      &(struct tide_answer){.is_running = true,
                                            .err = TIDE_ERR_LIMIT,
                                            .diag = {.text = "it is too large"}});
  struct tide_diag diag = {0};
  assert_int_equal(source->kind->look(source, false, &capture, &diag), TIDE_ERR_LIMIT);
  assert_non_null(strstr(diag.text, "now: it is too large"));
  tide_draft_free(draft);
  tide_source_free(source);
  tide_control_free(control);
}

static void its_end_is_given_last(void **state)
{
  struct tide_control *control = tide_control_new();
  struct tide_source *source =
      tide_living_new(&(struct tide_living_options){.control = control, .name = "x.tide"});
  struct tide_draft *first = draft_of(1), *last = draft_of(9);
  tide_living_give(source, first, false);
  struct tide_capture *capture = look(source, true);
  assert_int_equal(capture->duration_ns, 1000000);
  tide_capture_free(capture);
  tide_control_close(control);
  assert_null(look(source, true)); // there is no more; the end is not known yet
  assert_null(look(source, true));
  assert_true(source->kind->is_live(source, NULL));
  tide_living_give(source, last, true);
  assert_false(source->kind->is_live(source, NULL));
  capture = look(source, true);
  assert_int_equal(capture->duration_ns, 9000000);
  tide_capture_free(capture);
  assert_null(look(source, true));
  tide_draft_free(first);
  tide_draft_free(last);
  tide_source_free(source);
  tide_control_free(control);
}

UNIT_TESTS(control_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_is_taken_in_order_and_answered),
      cmocka_unit_test(too_much_is_refused),
      cmocka_unit_test(the_end_answers_everybody),
      cmocka_unit_test(nobody_answers),
      cmocka_unit_test(drafts_are_asked_for_while_somebody_wants_them),
      cmocka_unit_test(its_end_is_given_last),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
