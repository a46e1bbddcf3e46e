// SPDX-License-Identifier: Apache-2.0
//
// Processes that seem to run unrecorded: a child that is found, ends, and turns out to have been on
// its way to the door.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit.h"

#include "base/proc.h"
#include "supervise/absent.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)

// Runs /bin/cat, which is waiting for its input; gives where to close that.
static pid_t start_cat(int *ret_end)
{
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[0], STDIN_FILENO);
    execl("/bin/cat", "cat", NULL);
    _exit(1);
  }
  char exe[4096] = "";
  close(ends[0]);
  while (!strstr(exe, "/cat"))
    tide_proc_exe((uint32_t)pid, exe, sizeof exe);
  *ret_end = ends[1];
  return pid;
}

// How many are said to have run unrecorded when the found one has ended, and then is heard to have
// come with a store of this program.
static uint64_t n_unrecorded_after(const char *exe_of_store)
{
  struct tide_kin *kin = tide_kin_new();
  uint32_t me = (uint32_t)getpid();
  struct tide_absents *absents = tide_absents_new(kin, me, "/nowhere/libtidemark.so");
  const struct tide_absent_census census = {.recorded_pids = &me, .n_recorded = 1};
  int end;
  pid_t pid = start_cat(&end);
  struct tide_proc_stat stat;
  assert_true(tide_proc_stat((uint32_t)pid, &stat));
  tide_absents_look(absents, &census, SECOND_NS);
  assert_true(tide_absents_any(absents));
  close(end);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  tide_absents_came(absents, (uint32_t)pid, stat.born, false, exe_of_store, 2 * SECOND_NS);
  struct tide_roll roll = {0};
  tide_absents_fill(absents, 3 * SECOND_NS, &roll);
  uint64_t n = roll.n_rows;
  tide_roll_done(&roll);
  tide_absents_free(absents);
  tide_kin_free(kin);
  return n;
}

static void who_came_and_ended_was_on_its_way(void **state)
{
  assert_int_equal(n_unrecorded_after("/usr/bin/cat"), 0);
  assert_int_equal(n_unrecorded_after("/usr/bin/dog"), 1); // it became that by exec
  assert_int_equal(n_unrecorded_after(NULL), 1);
}

UNIT_TESTS(absent_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_came_and_ended_was_on_its_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
