// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says of another process: read from children whose state is known.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/proc.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000) // in ns

static uint64_t own_cpu_ns(void)
{
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 * MS +
         (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static pid_t child_that(int (*does)(void))
{
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (!pid)
    _exit(does());
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
  return pid;
}

static int exits_with_7(void)
{
  return 7;
}

static int is_killed(void)
{
  raise(SIGKILL);
  return 0;
}

static int waits_for_one_at_work(void)
{
  pid_t worker = fork();
  while (!worker && own_cpu_ns() < 60 * MS)
    ;
  return worker && waitpid(worker, NULL, 0) != worker;
}

static void the_ended_tell_how(void **state)
{
  struct tide_proc_stat stat;
  int status;
  pid_t pid = child_that(exits_with_7);
  assert_true(tide_proc_stat((uint32_t)pid, &stat));
  assert_int_equal(stat.state, 'Z');
  assert_int_equal(stat.parent, getpid());
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(stat.exit_status, status);
  assert_false(tide_proc_stat((uint32_t)pid, &stat));

  pid = child_that(is_killed);
  assert_true(tide_proc_stat((uint32_t)pid, &stat));
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(stat.exit_status, status);
  assert_true(WIFSIGNALED(stat.exit_status));
}

static void time_of_children_is_theirs(void **state)
{
  struct tide_proc_stat stat;
  pid_t pid = child_that(waits_for_one_at_work);
  assert_true(tide_proc_stat((uint32_t)pid, &stat));
  assert_true(stat.children_cpu_ns >= 30 * MS); // the kernel counts in ticks of 10 ms
  assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_name_may_be_anything(void **state)
{
  struct tide_proc_stat plain, odd;
  char name[16];
  assert_true(tide_proc_stat((uint32_t)getpid(), &plain));
  assert_int_equal(prctl(PR_GET_NAME, name), 0);
  assert_int_equal(prctl(PR_SET_NAME, ") Z 1 2 3"), 0);
  assert_true(tide_proc_stat((uint32_t)getpid(), &odd));
  assert_int_equal(prctl(PR_SET_NAME, name), 0);
  assert_int_equal(odd.state, 'R');
  assert_int_equal(odd.parent, getppid());
  assert_int_equal(odd.session, getsid(0));
  assert_true(odd.born && odd.born == plain.born);
  assert_true(odd.stack_start && odd.stack_start == plain.stack_start);
}

static void fields_of_a_status(void **state)
{
  char text[64], name[16];
  uint32_t pid = (uint32_t)getpid();
  assert_int_equal(prctl(PR_GET_NAME, name), 0);
  assert_true(tide_proc_status(pid, 0, "Name", text, sizeof text));
  assert_string_equal(text, name);
  assert_true(tide_proc_status(0, 0, "Name", text, sizeof text)); // 0: this one
  assert_string_equal(text, name);
  assert_true(tide_proc_status(pid, (uint32_t)gettid(), "State", text, sizeof text));
  assert_int_equal(text[0], 'R');
  assert_int_equal(tide_proc_status_number(pid, "Pid", 10), pid);
  assert_int_equal(tide_proc_status_number(pid, "Uid", 10), getuid());
  assert_false(tide_proc_status(pid, 0, "Nam", text, sizeof text));
  assert_false(tide_proc_status(pid, 0, "ame", text, sizeof text));
  assert_int_equal(tide_proc_status_number(pid, "Shoes", 10), 0);
  assert_true(tide_proc_shares(pid, "root") && tide_proc_shares(pid, "ns/mnt"));
}

// Then some lines are far from the beginning, and one is longer than what is read at once.
static int finds_what_follows_its_groups(void)
{
  gid_t groups[3000];
  for (unsigned i = 0; i < 3000; i++)
    groups[i] = 100000 + i;
  if (setgroups(3000, groups))
    return 0; // not root
  char text[64];
  return !tide_proc_status(0, 0, "NSpid", text, sizeof text) || !atoi(text) ||
         !tide_proc_status_number(0, "VmSize", 10) || tide_proc_status_number(0, "Shoes", 10);
}

static void a_status_may_be_long(void **state)
{
  int status;
  pid_t pid = child_that(finds_what_follows_its_groups);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

// Between a look at a process and the next it may end; what the kernel says then differs by file.
static void who_ended_meanwhile_is_told_as_such(void **state)
{
  struct tide_diag diag;
  errno = ESRCH;
  assert_int_equal(tide_proc_fail(123, &diag), TIDE_ERR_NOT_FOUND);
  assert_string_equal(diag.text, "process 123 has ended");
  errno = ENOENT;
  assert_int_equal(tide_proc_fail(123, &diag), TIDE_ERR_NOT_FOUND);
  assert_string_equal(diag.text, "there is no process 123");
  errno = EMFILE;
  assert_int_not_equal(tide_proc_fail(123, &diag), TIDE_ERR_NOT_FOUND);
  assert_non_null(strstr(diag.text, "cannot look at process 123: "));
}

static int sleeps(void *nothing)
{
  while (pause()) // never 0
    continue;
  return 0;
}

static void memory_is_shared_or_not(void **state)
{
  static char stack[1 << 16] __attribute__((aligned(16)));
  uint32_t me = (uint32_t)getpid();
  pid_t sharing = clone(sleeps, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
  pid_t copy = fork();
  if (copy == 0)
    sleeps(NULL);
  assert_true(sharing > 0 && copy > 0);
  bool is_told = tide_proc_shares_memory(me, me); // not by every kernel
  bool shares = tide_proc_shares_memory((uint32_t)sharing, me);
  bool copy_shares = tide_proc_shares_memory((uint32_t)copy, me);
  for (int i = 0; i < 2; i++) {
    pid_t pid = i ? copy : sharing;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(tide_proc_shares_memory((uint32_t)pid, me)); // ended
  }
  assert_int_equal(shares, is_told);
  assert_false(copy_shares);
}

UNIT_TESTS(proc_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_ended_tell_how),
      cmocka_unit_test(time_of_children_is_theirs),
      cmocka_unit_test(a_name_may_be_anything),
      cmocka_unit_test(fields_of_a_status),
      cmocka_unit_test(a_status_may_be_long),
      cmocka_unit_test(who_ended_meanwhile_is_told_as_such),
      cmocka_unit_test(memory_is_shared_or_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
