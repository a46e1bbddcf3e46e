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
#include "unit.h"

#include "supervise/door.h"
#include "supervise/pidfd.h"
#include "fake_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct visits {
  struct tide_door_visit last;
  int n, n_adopted; // adopted: taken without a look at /proc
  bool refuse;
};

static bool receive(void *context, const struct tide_door_visit *visit)
{
  struct visits *visits = context;
  if (visits->refuse)
    return false;
  visits->last = *visit;
  visits->n_adopted += visit->identity && !visit->born;
  visits->n++;
  return true;
}

static struct tide_kin *kin;

static struct tide_door *open_door(struct visits *visits)
{
  struct tide_door *door = NULL;
  struct tide_diag diag = {0};
  assert_int_equal(tide_door_open(&door, &diag), TIDE_ERR_OK);
  assert_int_equal(tide_door_serve(door, kin, receive, visits, &diag), TIDE_ERR_OK);
  return door;
}

static struct tide_door_hello request_of(uint64_t bytes)
{
  return (struct tide_door_hello){
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
  struct tide_door_hello request = request_of(UINT64_C(7) << 30);
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
  struct tide_door_hello good = request_of(1 << 20), bad = good;
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
  struct tide_door_hello request = request_of(1 << 20);
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

// A process whose parents have ended: nothing leads from it to us. What `before` does its parent
// does; true: it was served.
static bool is_orphan_served(const char *name, void (*before)(const char *name))
{
  int result[2], go[2];
  assert_int_equal(pipe(result), 0);
  assert_int_equal(pipe(go), 0);
  pid_t parent = fork();
  if (!parent) {
    if (before)
      before(name);
    if (!fork()) {
      char byte;
      close(go[1]);
      ssize_t n = read(go[0], &byte, 1); // until the parent has ended and was waited for
      struct tide_door_hello request = request_of(1 << 20);
      byte = n == 0 && fake_recorder_ask(name, &request, sizeof request) >= 0;
      _exit(write(result[1], &byte, 1) != 1);
    }
    _exit(0);
  }
  assert_int_equal(waitpid(parent, NULL, 0), parent);
  close(go[1]);
  char served = 0;
  assert_int_equal(read(result[0], &served, 1), 1);
  close(go[0]);
  close(result[0]);
  close(result[1]);
  return served;
}

static void visit(const char *name)
{
  struct tide_door_hello request = request_of(1 << 20);
  if (fake_recorder_ask(name, &request, sizeof request) < 0)
    _exit(1);
}

static void visit_and_lead_a_session(const char *name)
{
  visit(name);
  if (setsid() < 0)
    _exit(1);
}

static void visit_and_keep_a_page(const char *name)
{
  struct tide_door_hello request = request_of(1 << 20);
  int fd = fake_recorder_ask(name, &request, sizeof request);
  if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
    _exit(1);
  close(fd);
}

static void strangers_are_refused_and_counted(void **state)
{
  struct visits visits = {0};
  struct tide_door *door = open_door(&visits);
  const char *name = tide_door_name(door);
  uint64_t before = tide_kin_n_refused(kin);
  assert_false(is_orphan_served(name, NULL));
  assert_int_equal(tide_kin_n_refused(kin), before + 1);
  assert_false(is_orphan_served(name, visit)); // what its parent was, the kernel does not tell
  assert_int_equal(tide_kin_n_refused(kin), before + 2);
  // Daemons of the run: by the leader of their session, by a page of a store.
  assert_true(is_orphan_served(name, visit_and_lead_a_session));
  assert_true(is_orphan_served(name, visit_and_keep_a_page));
  assert_int_equal(tide_kin_n_refused(kin), before + 2);
  tide_door_close(door);
}

static bool pid_origin(pid_t pid, struct tide_pid_origin *ret_origin)
{
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  bool known = tide_pid_origin(fd, (uint32_t)pid, ret_origin);
  if (fd >= 0)
    close(fd);
  return known;
}

static void origins_are_the_kernels_word(void **state)
{
  struct tide_pid_origin own, again, other;
  if (!pid_origin(getpid(), &own))
    skip(); // before Linux 6.13
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  assert_true(pid_origin(getpid(), &again));
  assert_true(pid_origin(child, &other));
  assert_int_equal(own.parent, getppid());
  assert_int_equal(other.parent, getpid());
  assert_true(own.identity == again.identity && own.identity != other.identity);
  int fd = (int)syscall(SYS_pidfd_open, child, 0);
  assert_false(tide_pid_origin(fd, (uint32_t)getpid(), &other)); // of another process
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_false(tide_pid_origin(fd, (uint32_t)child, &other)); // which has ended
  close(fd);
}

// A shell: its children come one after the other. Those from the third on are taken by their
// parent, and what belongs to them belongs as if /proc had been asked.
static int lead_a_family(const char *name)
{
  for (int i = 0; i < 4; i++) {
    pid_t child = fork();
    if (child == 0) {
      visit(name);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  if (!is_orphan_served(name, visit_and_lead_a_session))
    return 1;
  return is_orphan_served(name, visit) ? 2 : 0;
}

static void children_of_a_known_parent_are_taken_by_it(void **state)
{
  struct visits visits = {0};
  struct tide_pid_origin own;
  struct tide_door *door = open_door(&visits);
  int status = -1;
  pid_t parent = fork();
  if (parent == 0)
    _exit(lead_a_family(tide_door_name(door)));
  assert_int_equal(waitpid(parent, &status, 0), parent);
  tide_door_close(door);
  assert_int_equal(status, 0);
  assert_int_equal(visits.n, 7); // four, two leaders and the orphan of the first
  if (pid_origin(getpid(), &own))
    assert_int_equal(visits.n_adopted, 4);                 // two of the four, and both leaders
  assert_false(tide_kin_adopts(kin, 1, (uint32_t)parent)); // it has ended
}

// Connects as often as it can for as long as `until` is open, as a stranger.
static void flood(const char *name, int until, pid_t parent)
{
  enum { HELD = 200, UNTIL = 3 };
  int held[HELD], n = 0;
  char byte;
  alarm(60);
  while (getppid() == parent) // as long as it has one, it is of the run
    usleep(100);
  dup2(until, UNTIL);
  close_range(UNTIL + 1, ~0u, 0); // the door itself among them: it would never be closed
  for (int i = 0; i < HELD; i++)
    held[i] = -1;
  while (read(UNTIL, &byte, 1) < 0 && errno == EAGAIN) {
    if (held[n % HELD] >= 0)
      close(held[n % HELD]);
    held[n++ % HELD] = fake_recorder_connect(name);
  }
  _exit(0);
}

// The run's own, silent for a while or not, are all served while strangers come in thousands.
static void a_flood_costs_nobody_a_store(void **state)
{
  enum { VISITORS = 60 };
  struct visits visits = {0};
  struct tide_door *door = open_door(&visits);
  const char *name = tide_door_name(door);
  int until[2];
  assert_int_equal(pipe2(until, O_NONBLOCK), 0);
  uint64_t before = tide_kin_n_refused(kin);
  pid_t parent = fork();
  if (!parent) {
    close(until[1]);
    pid_t self = getpid();
    if (!fork())
      flood(name, until[0], self);
    _exit(0);
  }
  assert_int_equal(waitpid(parent, NULL, 0), parent);
  for (int i = 0; i < 10000 && tide_kin_n_refused(kin) == before; i++) // it has begun by then
    usleep(1000);
  assert_true(tide_kin_n_refused(kin) > before);
  struct tide_door_hello request = request_of(1 << 20);
  for (int i = 0; i < VISITORS; i++) {
    int connection = fake_recorder_connect(name);
    assert_true(connection >= 0);
    usleep(i % 4 * 500);
    assert_int_equal(send(connection, &request, sizeof request, 0), (ssize_t)sizeof request);
    int fd = fake_recorder_receive(connection);
    assert_true(fd >= 0);
    close(fd);
    close(visits.last.store_fd);
    close(visits.last.pid_fd);
  }
  assert_int_equal(visits.n, VISITORS);
  close(until[0]);
  close(until[1]);
  tide_door_close(door);
}

static void words_about_those_without(void **state)
{
  struct visits visits = {0};
  struct tide_door *door = open_door(&visits);
  struct {
    struct tide_door_hello request;
    char path[16];
  } word = {request_of(0), "bin/static"};
  word.request.flags = TIDE_DOOR_ABSENT;
  word.request.why = TIDE_WHY_STATIC;
  word.request.pid = word.request.parent_pid = 12; // itself, whatever number it has there
  fake_recorder_ask(tide_door_name(door), &word, sizeof word.request + 10);
  assert_int_equal(visits.n, 1);
  assert_int_equal(visits.last.pid, getpid());
  assert_int_equal(visits.last.why, TIDE_WHY_STATIC);
  assert_int_equal(visits.last.store_fd, -1);
  word.request.why = 1000; // no reason
  fake_recorder_ask(tide_door_name(door), &word, sizeof word.request + 10);
  word.request.why = TIDE_WHY_STATIC;
  static char longer[sizeof word.request + TIDE_DOOR_PATH_BYTES + 1];
  memcpy(longer, &word, sizeof word);
  fake_recorder_ask(tide_door_name(door), longer, sizeof longer);
  assert_int_equal(visits.n, 1);
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
  struct tide_door_hello request = request_of(1 << 20);
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

#define DIGITS "0123456789abcdef0123456789abcdef"

static pid_t dead_pid(void)
{
  pid_t pid = fork();
  if (pid == 0)
    _exit(0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  return pid;
}

// A socket, or a file, at a path; the descriptor.
static int put(const char *path, bool is_socket, bool is_old)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = is_socket ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)
                     : open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  assert_true(fd >= 0 && strlen(path) < sizeof address.sun_path);
  strcpy(address.sun_path, path);
  if (is_socket)
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
  const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
  if (is_old)
    assert_int_equal(utimensat(AT_FDCWD, path, old, AT_SYMLINK_NOFOLLOW), 0);
  return fd;
}

// Only what is certainly a dead door's goes.
static void dead_doors_are_swept(void **state)
{
  enum { DEAD, LISTENING, LIVING, YOUNG, A_FILE, NO_NUMBER, OTHER_NAME, SOMEBODYS, N };
  char directory[64] = "/tmp/door_test.XXXXXX", paths[N][128];
  int fds[N];
  assert_non_null(mkdtemp(directory));
  long dead = dead_pid(), other = dead_pid(), third = dead_pid(), fourth = dead_pid();
  snprintf(paths[DEAD], sizeof *paths, "%s/tidemark-%ld-" DIGITS, directory, dead);
  snprintf(paths[LISTENING], sizeof *paths, "%s/tidemark-%ld-" DIGITS, directory, other);
  snprintf(paths[LIVING], sizeof *paths, "%s/tidemark-%ld-" DIGITS, directory, (long)getpid());
  snprintf(paths[YOUNG], sizeof *paths, "%s/tidemark-%ld-" DIGITS, directory, third);
  snprintf(paths[A_FILE], sizeof *paths, "%s/tidemark-%ld-f" DIGITS, directory, dead);
  paths[A_FILE][strlen(paths[A_FILE]) - 1] = 0;
  snprintf(paths[NO_NUMBER], sizeof *paths, "%s/tidemark-%ld-f00", directory, dead);
  snprintf(paths[OTHER_NAME], sizeof *paths, "%s/tidemarx-%ld-" DIGITS, directory, dead);
  snprintf(paths[SOMEBODYS], sizeof *paths, "%s/tidemark-%ld-" DIGITS, directory, fourth);
  for (int i = 0; i < N; i++)
    fds[i] = put(paths[i], i != A_FILE, i != YOUNG);
  assert_int_equal(listen(fds[LISTENING], 1), 0);
  bool is_root = geteuid() == 0 && chown(paths[SOMEBODYS], 1, (gid_t)-1) == 0;
  strcat(directory, "/");
  tide_door_sweep(directory);
  for (int i = 0; i < N; i++) {
    bool goes = i == DEAD || (i == SOMEBODYS && !is_root);
    if ((access(paths[i], F_OK) != 0) != goes)
      fail_msg("%s %s", paths[i], goes ? "is still there" : "is gone");
    close(fds[i]);
    unlink(paths[i]);
  }
  tide_door_sweep("/no/such/directory/");
  directory[strlen(directory) - 1] = 0;
  assert_int_equal(rmdir(directory), 0);
}

UNIT_TESTS(door_test)
{
  kin = tide_kin_new();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_visitor_gets_its_store),
      cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(other_users_are_refused),
      cmocka_unit_test(the_silent_do_not_shut_the_door),
      cmocka_unit_test(a_closed_door_is_nowhere),
      cmocka_unit_test(dead_doors_are_swept),
      cmocka_unit_test(strangers_are_refused_and_counted),
      cmocka_unit_test(origins_are_the_kernels_word),
      cmocka_unit_test(children_of_a_known_parent_are_taken_by_it),
      cmocka_unit_test(a_flood_costs_nobody_a_store),
      cmocka_unit_test(words_about_those_without),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
