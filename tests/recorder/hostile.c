// SPDX-License-Identifier: Apache-2.0
//
// A supervisor that means harm. It sits at a door, hands out stores, and then, while the target
// records into them, writes into every word of theirs that could lead it astray.
//
//   hostile NAME KIND SEED
//
//   flips     the stores are as they should be, and every field is overwritten, over and over
//   honest    they are, and nothing is overwritten
//   unsealed  a store that is truncated at once
//   seals     a store that lacks one seal only: the one against sealing
//   small     sealed, and a page smaller than asked for
//   file      a plain file
//   hasty     what no supervisor says: a store beside a refusal
//   silent    accepts, and never answers
//   stopped   never accepts, with a full backlog
//   stranger  another user's, unsealed (root alone can do that)
//   turncoat  honest to the first visitor; then a stranger takes the name over
//
// Prints "ready" when it listens. Ends with its standard input, and then prints what it has seen:
// visits (messages received), flips, and lost (children counted in the first store as not
// recorded).
#include "store/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_STORES = 8, NOBODY = 65534, MOST_ELEMENTS = 4096, HOLD = 40 };

struct hello {
  uint32_t magic, version, pid, flags;
  uint64_t store_bytes;
  uint32_t parent_pid, reserved;
};

static const char *kind;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_wanted; // the lock, by whom the flipper would never let in: a mutex is not fair
static struct store {
  char *base;
  uint64_t bytes;
  struct tide_store_areas areas; // of the target, before we spoil them
} stores[MAX_STORES];
static unsigned n_stores;
static struct tide_store_children *first_children;
static unsigned long n_visits, n_flips;
static uint64_t random_state;

static void must(bool ok, const char *what)
{
  if (ok)
    return;
  perror(what);
  exit(2);
}

static bool is(const char *name)
{
  return !strcmp(kind, name);
}

static uint64_t next_random(void)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static int listen_here(int backlog)
{
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  must(fd >= 0, "socket");
  must(!bind(fd, (struct sockaddr *)&address, address_bytes) && !listen(fd, backlog), "bind");
  return fd;
}

static void become_nobody(void)
{
  must(!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY), "becoming nobody");
}

// ---- handing out

static int make_memory(uint64_t bytes)
{
  char path[] = "/tmp/hostile.XXXXXX";
  if (is("file")) {
    int fd = mkstemp(path);
    must(fd >= 0 && !unlink(path) && !ftruncate(fd, (off_t)bytes), path);
    return fd;
  }
  int fd = memfd_create("tidemark", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  must(fd >= 0, "memfd");
  must(!ftruncate(fd, (off_t)(is("small") ? bytes - 4096 : bytes)), "ftruncate");
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | (is("seals") ? 0 : F_SEAL_SEAL);
  if (!is("unsealed") && !is("stranger"))
    must(!fcntl(fd, F_ADD_SEALS, seals), "seals");
  return fd;
}

static void answer(int connection, int memory)
{
  uint32_t text[2] = {0x45444954, is("hasty")};
  struct iovec part = {text, sizeof text};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(c), &memory, sizeof memory);
  sendmsg(connection, &message, MSG_NOSIGNAL);
}

// Keeps the latest few to write into.
static void keep(int memory, uint64_t bytes)
{
  char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
  must(base != MAP_FAILED, "mmap");
  __atomic_store_n(&is_wanted, true, __ATOMIC_RELAXED);
  pthread_mutex_lock(&lock);
  __atomic_store_n(&is_wanted, false, __ATOMIC_RELAXED);
  struct store *s = &stores[n_stores++ % MAX_STORES];
  if (s->base && s != &stores[0])
    munmap(s->base, s->bytes);
  if (s != &stores[0] || n_stores == 1)
    *s = (struct store){base, bytes, {{0}}};
  else
    munmap(base, bytes); // the first stays
  pthread_mutex_unlock(&lock);
}

static void serve(int connection)
{
  struct hello hello;
  if (recv(connection, &hello, sizeof hello, 0) != (ssize_t)sizeof hello)
    return;
  n_visits++;
  if (is("silent"))
    return;
  int memory = make_memory(hello.store_bytes);
  if (is("flips") || is("honest") || is("turncoat"))
    keep(memory, hello.store_bytes);
  answer(connection, memory);
  if (is("unsealed") || is("stranger"))
    must(!ftruncate(memory, 0), "ftruncate");
  close(memory);
}

// ---- flipping

static const uint64_t NASTY[] = {0,          1,          2,          3,          7,
                                 63,         64,         65,         4095,       4096,
                                 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000,
                                 1ull << 47, 1ull << 62, 1ull << 63, ~0ull - 1,  ~0ull};
enum {
  N_NASTY = sizeof NASTY / sizeof *NASTY,
  N_AREAS = sizeof(struct tide_store_areas) / sizeof(struct tide_area)
};

static const struct tide_area *area(const struct store *s, unsigned i)
{
  return (const struct tide_area *)&s->areas + i;
}

// A value as bad as can be: from the list, off by one around what an area holds or where it is, or
// anything.
static uint64_t nasty(const struct store *s, uint64_t which)
{
  if (which < N_NASTY)
    return NASTY[which];
  which -= N_NASTY;
  const struct tide_area *a = area(s, (unsigned)(which / 4 % N_AREAS));
  switch (which % 4) {
  case 0: return a->capacity - 1;
  case 1: return a->capacity;
  case 2: return a->capacity + 1;
  default: return next_random() % 2 ? a->offset : next_random();
  }
}
enum { N_VALUES = N_NASTY + 4 * N_AREAS };

// Writes it again and again, as the target may write the right one over it.
static void hold(const struct store *s, uint64_t at, uint64_t value, int times)
{
  bool wide = next_random() % 2 && at % 8 == 0;
  for (int i = 0; i < times; i++) {
    if (wide)
      __atomic_store_n((uint64_t *)(s->base + at), value, __ATOMIC_RELAXED);
    else
      __atomic_store_n((uint32_t *)(s->base + at), (uint32_t)value, __ATOMIC_RELAXED);
    n_flips++;
    for (volatile int pause = 0; pause < 60; pause++)
      ;
  }
}

// Every word from here on with every value; of a child's store, which is short-lived, a few.
static void sweep(const struct store *s, uint64_t from, uint64_t bytes)
{
  for (uint64_t at = from; at < from + bytes; at += 4)
    for (uint64_t which = 0; which < N_VALUES; which++)
      if (s == &stores[0] || next_random() % 64 == 0)
        hold(s, at, nasty(s, which), 2);
}

static void anywhere(const struct store *s)
{
  static const uint64_t element[] = {sizeof(struct tide_thread_slot),
                                     sizeof(struct tide_node),
                                     sizeof(struct tide_cell),
                                     sizeof(struct tide_hist),
                                     sizeof(struct tide_hist),
                                     sizeof(struct tide_owner),
                                     sizeof(struct tide_store_module),
                                     1,
                                     sizeof(struct tide_past),
                                     sizeof(struct tide_late_chunk),
                                     sizeof(struct tide_ends),
                                     sizeof(struct tide_touches),
                                     8,
                                     sizeof(struct tide_store_moment),
                                     sizeof(struct tide_range)};
  _Static_assert(sizeof element / sizeof *element == N_AREAS, "one of each");
  unsigned i = (unsigned)(next_random() % N_AREAS);
  uint64_t n = area(s, i)->capacity < MOST_ELEMENTS ? area(s, i)->capacity : MOST_ELEMENTS;
  uint64_t from = area(s, i)->offset;
  if (next_random() % 2) // mostly where it begins: that is in use
    n = n < 200 ? n : 200;
  if (area(s, i)->n_near && next_random() % 2) {
    n = area(s, i)->n_near;
    from = area(s, i)->near_offset;
  }
  uint64_t words = n * element[i] / 4, at;
  if (!words)
    return;
  at = from + next_random() % words * 4;
  if (next_random() % 32 == 0) // a hole, which seals allow
    madvise(s->base + (at & ~65535ull), 65536, MADV_REMOVE);
  hold(s, at, nasty(s, next_random() % N_VALUES), (int)(next_random() % HOLD) + 1);
}

static void flip_round(struct store *s)
{
  if (!s->areas.slots.offset) { // the target's layout, as soon as it is all there
    const struct tide_store_header *h = (const struct tide_store_header *)s->base;
    if (__atomic_load_n(&h->state, __ATOMIC_ACQUIRE) != TIDE_STATE_RECORDING)
      return;
    s->areas = h->areas;
  }
  sweep(s, 0, sizeof(struct tide_store_header));
  for (uint64_t i = 1; i < 6; i++)
    sweep(s, s->areas.slots.near_offset + i * sizeof(struct tide_thread_slot),
          sizeof(struct tide_thread_slot));
  for (int i = 0; i < 800; i++)
    anywhere(s);
}

static void *flip(void *unused)
{
  for (;;)
    for (unsigned i = 0; i < MAX_STORES; i++) {
      while (__atomic_load_n(&is_wanted, __ATOMIC_RELAXED))
        usleep(100);
      pthread_mutex_lock(&lock);
      if (stores[i].base)
        flip_round(&stores[i]);
      pthread_mutex_unlock(&lock);
    }
  return unused;
}

// ---- the door

static int take_over(int listening)
{
  close(listening);
  int pipe_ends[2];
  must(!pipe(pipe_ends), "pipe");
  pid_t child = fork();
  must(child >= 0, "fork");
  if (!child) {
    become_nobody();
    kind = "stranger";
    n_visits = 0;
    listening = listen_here(64);
    must(write(pipe_ends[1], "x", 1) == 1, "pipe");
    for (;;) {
      int connection = accept(listening, NULL, NULL);
      serve(connection);
      if (n_visits && write(2, "hostile: a stranger was told\n", 29) < 0)
        _exit(3);
      close(connection);
    }
  }
  char byte;
  must(read(pipe_ends[0], &byte, 1) == 1, "the stranger");
  return child;
}

static void fill_backlog(void)
{
  for (int fd = 0; fd >= 0;) {
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, address_bytes))
      break;
  }
}

static void close_up(pid_t stranger)
{
  uint64_t lost = 0;
  if (stores[0].base && first_children)
    lost = first_children->n_lost;
  if (stranger > 0) {
    kill(stranger, SIGKILL);
    waitpid(stranger, NULL, 0);
  }
  printf("visits %lu flips %lu lost %llu\n", n_visits, n_flips, (unsigned long long)lost);
  fflush(stdout);
  _exit(0);
}

int main(int argc, char **argv)
{
  if (argc != 4)
    return 2;
  kind = argv[2];
  random_state = strtoull(argv[3], NULL, 10) * 0x9E3779B97F4A7C15ull + 1;
  size_t n = strlen(argv[1]);
  memcpy(address.sun_path + 1, argv[1], n);
  address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
  if (is("stranger"))
    become_nobody();
  int listening = listen_here(is("stopped") ? 0 : 64);
  pid_t stranger = 0;
  pthread_t flipper;
  if (is("stopped"))
    fill_backlog();
  if (is("flips"))
    must(!pthread_create(&flipper, NULL, flip, NULL), "thread");
  puts("ready");
  fflush(stdout);
  for (;;) {
    struct pollfd fds[2] = {{0, POLLIN, 0},
                            {is("stopped") || stranger ? -1 : listening, POLLIN, 0}};
    poll(fds, 2, -1);
    const struct tide_store_header *h = (const struct tide_store_header *)stores[0].base;
    if (h && h->areas.children.offset && h->areas.children.offset < stores[0].bytes && !is("flips"))
      first_children = (struct tide_store_children *)(stores[0].base + h->areas.children.offset);
    if (fds[0].revents)
      close_up(stranger);
    if (!fds[1].revents)
      continue;
    int connection = accept(listening, NULL, NULL);
    serve(connection);
    if (!is("silent"))
      close(connection);
    if (is("turncoat"))
      stranger = take_over(listening);
  }
}
