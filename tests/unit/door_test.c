// SPDX-License-Identifier: Apache-2.0
//
// The door as a recorder sees it: it gets a store of the size it asked for, or a refusal; a
// visitor that says nothing, or nonsense, does not keep the others waiting.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "capture/door.h"
#include "fake_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct visits {
  struct tide_door_visit last;
  int n;
  bool refuse;
};

static bool receive(void *context, const struct tide_door_visit *visit)
{
  struct visits *visits = context;
  if (visits->refuse)
    return false;
  visits->last = *visit;
  visits->n++;
  return true;
}

static struct tide_door *open_door(struct visits *visits)
{
  struct tide_door *door = NULL;
  struct tide_diag diag = {0};
  assert_int_equal(tide_door_open(&door, &diag), TIDE_ERR_OK);
  assert_int_equal(tide_door_serve(door, receive, visits, &diag), TIDE_ERR_OK);
  return door;
}

static struct tide_door_request request_of(uint64_t bytes)
{
  return (struct tide_door_request){
      .magic = TIDE_DOOR_MAGIC,
      .version = TIDE_DOOR_VERSION,
      .pid = 12,
      .flags = TIDE_DOOR_FORKED,
      .store_bytes = bytes,
      .parent_pid = 11,
  };
}

static void a_visitor_gets_its_store(void **state)
{
  struct visits visits = {0};
  struct tide_door *door = open_door(&visits);
  struct tide_door_request request = request_of(UINT64_C(7) << 30);
  int fd = fake_recorder_ask(tide_door_name(door), &request, sizeof request);
  assert_true(fd >= 0);
  struct stat st;
  assert_int_equal(fstat(fd, &st), 0);
  assert_true(st.st_size == (off_t)request.store_bytes);
  assert_int_equal(st.st_blocks, 0);         // sparse
  assert_int_equal(ftruncate(fd, 4096), -1); // nobody can pull it away from under us
  assert_int_equal(visits.n, 1);
  assert_int_equal(visits.last.pid, getpid()); // as the kernel says, not as told
  assert_int_equal(visits.last.told_pid, 12);
  assert_int_equal(visits.last.told_parent_pid, 11);
  assert_int_equal(visits.last.flags, TIDE_DOOR_FORKED);
  assert_true(visits.last.pid_fd >= 0);
  // Both ends see the same memory, and no descriptor of ours survives an exec.
  assert_int_equal(pwrite(fd, "x", 1, 100), 1);
  char byte = 0;
  assert_int_equal(pread(visits.last.store_fd, &byte, 1, 100), 1);
  assert_int_equal(byte, 'x');
  assert_true(fcntl(visits.last.store_fd, F_GETFD) & FD_CLOEXEC);
  assert_true(fcntl(visits.last.pid_fd, F_GETFD) & FD_CLOEXEC);
  close(fd);
  close(visits.last.store_fd);
  close(visits.last.pid_fd);
  tide_door_close(door);
}

static void nonsense_is_refused(void **state)
{
  struct visits visits = {0};
  struct tide_door *door = open_door(&visits);
  const char *name = tide_door_name(door);
  struct tide_door_request good = request_of(1 << 20), bad = good;
  bad.magic++;
  assert_int_equal(fake_recorder_ask(name, &bad, sizeof bad), -1);
  bad = good;
  bad.version = 2;
  assert_int_equal(fake_recorder_ask(name, &bad, sizeof bad), -1);
  bad = good;
  bad.store_bytes = TIDE_DOOR_MAX_STORE_BYTES + 1;
  assert_int_equal(fake_recorder_ask(name, &bad, sizeof bad), -1);
  bad = good;
  bad.store_bytes = 1;
  assert_int_equal(fake_recorder_ask(name, &bad, sizeof bad), -1);
  assert_int_equal(fake_recorder_ask(name, &good, sizeof good - 1), -1);
  char longer[sizeof good + 8] = {0};
  memcpy(longer, &good, sizeof good);
  assert_int_equal(fake_recorder_ask(name, longer, sizeof longer), -1);
  assert_int_equal(visits.n, 0);
  visits.refuse = true;
  assert_int_equal(fake_recorder_ask(name, &good, sizeof good), -1);
  tide_door_close(door);
}

// The visitor is a process of its own, with that user id; true: it was served.
static bool is_served(const char *name, uid_t user)
{
  struct tide_door_request request = request_of(1 << 20);
  pid_t visitor = fork();
  if (!visitor) {
    bool became = !seteuid(0) && !setuid(user);
    _exit(!became ? 2 : fake_recorder_ask(name, &request, sizeof request) < 0);
  }
  int status = -1;
  assert_int_equal(waitpid(visitor, &status, 0), visitor);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
  return WEXITSTATUS(status) == 0;
}

static void other_users_are_refused(void **state)
{
  enum { ME = 12001, OTHER = 12002 };
  if (geteuid() != 0)
    skip(); // nobody else can become others
  struct visits visits = {0};
  struct tide_door *door = open_door(&visits);
  const char *name = tide_door_name(door);
  assert_true(is_served(name, OTHER)); // root's door
  assert_int_equal(seteuid(ME), 0);
  assert_true(is_served(name, ME));
  assert_false(is_served(name, OTHER));
  assert_int_equal(seteuid(0), 0);
  assert_int_equal(visits.n, 2);
  tide_door_close(door);
}

static void the_silent_do_not_shut_the_door(void **state)
{
  struct visits visits = {0};
  struct tide_door *door = open_door(&visits);
  int silent[100];
  for (int i = 0; i < 100; i++) {
    silent[i] = fake_recorder_connect(tide_door_name(door));
    assert_true(silent[i] >= 0);
  }
  struct tide_door_request request = request_of(1 << 20);
  int fd = fake_recorder_ask(tide_door_name(door), &request, sizeof request);
  assert_true(fd >= 0);
  close(fd);
  // One that was slow is served all the same.
  assert_int_equal(send(silent[99], &request, sizeof request, 0), (ssize_t)sizeof request);
  fd = fake_recorder_receive(silent[99]);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(visits.n, 2);
  for (int i = 0; i < 100; i++)
    close(silent[i]);
  tide_door_close(door);
}

static void a_closed_door_is_nowhere(void **state)
{
  struct visits visits = {0};
  struct tide_door *door = open_door(&visits), *other = open_door(&visits);
  char name[TIDE_DOOR_NAME_BYTES];
  strcpy(name, tide_door_name(door));
  assert_string_not_equal(name, tide_door_name(other));
  tide_door_close(door);
  tide_door_close(other);
  tide_door_close(NULL);
  assert_int_equal(fake_recorder_connect(name), -1);
  assert_int_equal(errno, ECONNREFUSED);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_visitor_gets_its_store), cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(other_users_are_refused),  cmocka_unit_test(the_silent_do_not_shut_the_door),
      cmocka_unit_test(a_closed_door_is_nowhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
