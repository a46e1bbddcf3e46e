// SPDX-License-Identifier: Apache-2.0
//
// The desk of a recording, both sides: what is asked is answered by the one whose process it is,
// with a descriptor where one goes along; and whoever says nothing, or nonsense, costs nothing.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "supervise/desk.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Of processes that no recording on this machine has: numbers that only this process asks for.
enum { HERE, DENIED, FAILED, DUMPED, NOWHERE, ASKED_N };

static uint32_t number_of(uint32_t which)
{
  return 0x40000000u + ((uint32_t)getpid() << 3) + which;
}

struct fixture {
  struct tide_desk *desk;
  pthread_t thread;
  int end_fd; // an eventfd: the thread shall end
  unsigned n_asked;
  struct tide_desk_ask last;
};

static int answer(void *context, const struct tide_desk_ask *ask, bool is_allowed,
                  struct tide_desk_answer *answer)
{
  struct fixture *f = context;
  uint32_t which = ask->pid - number_of(HERE);
  if (which >= ASKED_N)
    return -1; // somebody who asks every recording of this machine
  f->n_asked++;
  f->last = *ask;
  assert_true(is_allowed); // the kernel says that it is us
  answer->n_processes = 3;
  switch (which) {
  case HERE: answer->status = TIDE_DESK_DONE; break;
  case DENIED: answer->status = TIDE_DESK_DENIED; break;
  case FAILED:
    answer->status = TIDE_DESK_FAILED;
    snprintf(answer->text, sizeof answer->text, "it cannot be done");
    break;
  case DUMPED: {
    int fd = memfd_create("dump", MFD_CLOEXEC);
    answer->status = TIDE_DESK_DONE;
    assert_int_equal(write(fd, "bytes", 5), 5);
    return fd;
  }
  default: break; // not here, as it was
  }
  return -1;
}

static void *serve(void *context)
{
  struct fixture *f = context;
  struct pollfd fds[] = {{tide_desk_fd(f->desk), POLLIN, 0}, {f->end_fd, POLLIN, 0}};
  while (poll(fds, 2, -1) > 0 && !fds[1].revents)
    tide_desk_serve(f->desk, answer, f);
  return NULL;
}

static int setup(void **state)
{
  struct fixture *f = calloc(1, sizeof *f);
  f->desk = tide_desk_open();
  f->end_fd = eventfd(0, EFD_CLOEXEC);
  *state = f;
  return !f->desk || pthread_create(&f->thread, NULL, serve, f);
}

static int teardown(void **state)
{
  struct fixture *f = *state;
  eventfd_write(f->end_fd, 1);
  pthread_join(f->thread, NULL);
  tide_desk_close(f->desk);
  close(f->end_fd);
  free(f);
  return 0;
}

static enum tide_err call(uint32_t which, struct tide_desk_answer *ret_answer, int *ret_fd,
                          struct tide_diag *diag)
{
  struct tide_desk_ask ask = {.magic = TIDE_DESK_MAGIC,
                              .version = TIDE_DESK_VERSION,
                              .pid = number_of(which),
                              .verb = TIDE_DESK_MARK,
                              .sample_bits = 7};
  snprintf(ask.name, sizeof ask.name, "now");
  return tide_desk_call(&ask, ret_answer, ret_fd, diag);
}

static size_t n_descriptors(void)
{
  DIR *dir = opendir("/proc/self/fd");
  size_t n = 0;
  while (readdir(dir))
    n++;
  closedir(dir);
  return n;
}

static void what_is_asked_is_answered(void **state)
{
  struct fixture *f = *state;
  struct tide_desk_answer got = {0};
  struct tide_diag diag = {0};
  int fd = -1;
  assert_int_equal(call(HERE, &got, &fd, &diag), TIDE_ERR_OK);
  assert_int_equal(fd, -1);
  assert_int_equal(got.n_processes, 3);
  assert_int_equal(f->last.verb, TIDE_DESK_MARK);
  assert_int_equal(f->last.sample_bits, 7);
  assert_string_equal(f->last.name, "now");
  assert_int_equal(call(FAILED, &got, &fd, &diag), TIDE_ERR_SYSTEM);
  assert_string_equal(diag.text, "it cannot be done");
  assert_int_equal(call(DENIED, &got, &fd, &diag), TIDE_ERR_SYSTEM);
  assert_non_null(strstr(diag.text, "another user"));
  assert_int_equal(call(NOWHERE, &got, &fd, &diag), TIDE_ERR_NOT_FOUND);
  assert_int_equal(f->n_asked, 4);
}

static void a_descriptor_goes_along(void **state)
{
  struct tide_desk_answer got = {0};
  char bytes[8] = "";
  int fd = -1;
  size_t n_before = n_descriptors();
  assert_int_equal(call(DUMPED, &got, &fd, NULL), TIDE_ERR_OK);
  assert_int_equal(pread(fd, bytes, sizeof bytes, 0), 5);
  assert_string_equal(bytes, "bytes");
  close(fd);
  // What came next was answered after it had closed its own; of that it may still have the socket.
  assert_int_equal(call(HERE, &got, &fd, NULL), TIDE_ERR_OK);
  assert_in_range(n_descriptors(), n_before, n_before + 1);
}

// The desk of this process, by its name.
static int connect_to_own(void)
{
  char line[512], wanted[64];
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  size_t n = 0;
  snprintf(wanted, sizeof wanted, "@" TIDE_DESK_NAME "%d-", (int)getpid());
  FILE *file = fopen("/proc/net/unix", "re");
  while (!n && fgets(line, sizeof line, file)) {
    const char *name = strstr(line, wanted);
    if (name) {
      n = strcspn(name + 1, "\n");
      memcpy(at.sun_path + 1, name + 1, n);
    }
  }
  fclose(file);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
  assert_int_equal(connect(fd, (struct sockaddr *)&at, bytes), 0);
  return fd;
}

// Gives what came; 0: it was closed without an answer.
static ssize_t say(int fd, const void *bytes, size_t n, struct tide_desk_answer *ret_answer)
{
  assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
  ssize_t got = recv(fd, ret_answer, sizeof *ret_answer, 0);
  return got < 0 ? 0 : got; // closed with something unread is reset
}

static void nonsense_is_not_answered(void **state)
{
  struct fixture *f = *state;
  struct tide_desk_answer got = {0};
  struct tide_desk_ask ask = {
      .magic = TIDE_DESK_MAGIC, .version = TIDE_DESK_VERSION + 1, .pid = number_of(HERE)};
  char large[4 * sizeof ask] = "";
  int fd = connect_to_own();
  // Another version is told which one this is, and nobody is asked.
  assert_int_equal(say(fd, &ask, sizeof ask, &got), sizeof got);
  assert_int_equal(got.version, TIDE_DESK_VERSION);
  assert_int_equal(got.status, TIDE_DESK_NOT_HERE);
  close(fd);
  ask = (struct tide_desk_ask){.magic = 1, .version = TIDE_DESK_VERSION, .pid = number_of(HERE)};
  const size_t sizes[] = {sizeof ask, 1, sizeof ask - 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    fd = connect_to_own();
    assert_int_equal(say(fd, &ask, sizes[i], &got), 0);
    close(fd);
  }
  fd = connect_to_own();
  assert_int_equal(say(fd, large, sizeof large, &got), 0);
  close(fd);
  assert_int_equal(f->n_asked, 0);
  ask = (struct tide_desk_ask){
      .magic = TIDE_DESK_MAGIC, .version = TIDE_DESK_VERSION, .pid = number_of(HERE)};
  memset(ask.name, 'x', sizeof ask.name); // without an end
  fd = connect_to_own();
  assert_int_equal(say(fd, &ask, sizeof ask, &got), sizeof got);
  assert_int_equal(strlen(f->last.name), sizeof ask.name - 1);
  close(fd);
}

static void the_silent_are_seen_off_for_others(void **state)
{
  struct tide_desk_answer got = {0};
  int silent[20], fd = -1;
  for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
    silent[i] = connect_to_own();
    assert_int_equal(call(HERE, &got, &fd, NULL), TIDE_ERR_OK);
  }
  struct pollfd oldest = {silent[0], POLLIN, 0};
  assert_int_equal(poll(&oldest, 1, 10000), 1);
  assert_int_equal(recv(silent[0], &got, sizeof got, 0), 0); // the oldest is gone …
  const struct tide_desk_ask ask = {
      .magic = TIDE_DESK_MAGIC, .version = TIDE_DESK_VERSION, .pid = number_of(HERE)};
  ssize_t n = say(silent[19], &ask, sizeof ask, &got); // … and the latest is still heard
  assert_int_equal(n, sizeof got);
  for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
    close(silent[i]);
}

UNIT_TESTS(desk_test)
{
#define DESK(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      DESK(what_is_asked_is_answered),
      DESK(a_descriptor_goes_along),
      DESK(nonsense_is_not_answered),
      DESK(the_silent_are_seen_off_for_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
