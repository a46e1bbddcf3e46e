// SPDX-License-Identifier: Apache-2.0
// A family of processes that allocate for as long as they are let, and keep count themselves.
//
//   worker DIR N LIFE
//
// N children at a time, each of which ends after LIFE rounds (0: never) and is followed by another.
// What a child has done stands in DIR/PID, a struct account that others may read at any time; who
// writes a 1 to its `pause` finds the threads at rest once `at_rest` is their number. Blocks are
// filled with a pattern that is checked when they are freed. SIGTERM ends all.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, SLOTS = 200, STEPS = 80, ROUND_MS = 200, MAX_CHILDREN = 64 };

// Of one thread: what it has begun to do, and what is done. In between it is in the allocator.
struct ledger {
  _Atomic uint64_t begun, begun_bytes;
  _Atomic uint64_t done, done_bytes;
  _Atomic uint64_t live, live_bytes;
};

struct account {
  _Atomic uint64_t pause, at_rest, ended;
  struct ledger of[THREADS];
};

struct block {
  unsigned char *bytes;
  size_t n;
};

struct hand {
  struct ledger *ledger;
  uint64_t random;
  struct block blocks[SLOTS];
};

static struct account *account;
static struct hand hands[THREADS];
static long n_rounds;
static volatile sig_atomic_t must_end;

static void end_soon(int signal)
{
  (void)signal;
  must_end = 1;
}

static uint32_t random_below(struct hand *hand, uint32_t n)
{
  hand->random = hand->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((hand->random >> 33) % n);
}

static void begin(struct ledger *ledger, size_t n)
{
  ledger->begun++;
  ledger->begun_bytes += n;
}

static void finish(struct ledger *ledger, size_t n)
{
  ledger->done_bytes += n;
  ledger->done++;
}

static unsigned char pattern(const struct block *block)
{
  return (unsigned char)(block->n * 7 + 1);
}

static void fill(struct block *block)
{
  block->bytes[0] = block->bytes[block->n - 1] = pattern(block);
}

static void check(const struct block *block)
{
  if (block->bytes[0] == pattern(block) && block->bytes[block->n - 1] == pattern(block))
    return;
  abort();
}

__attribute__((noipa)) static void *small(size_t n)
{
  return malloc(n);
}

__attribute__((noipa)) static void *medium(size_t n)
{
  return calloc(1, n);
}

__attribute__((noipa)) static void *large(size_t n)
{
  return malloc(n);
}

__attribute__((noipa)) static void *grown(void *bytes, size_t n)
{
  return realloc(bytes, n);
}

static void take(struct hand *hand, struct block *block)
{
  const uint32_t kind = random_below(hand, 100);
  const size_t n = kind < 70   ? 16 + random_below(hand, 240)
                   : kind < 98 ? 1024 + random_below(hand, 7168)
                               : 65536 + random_below(hand, 131072);
  begin(hand->ledger, n);
  block->bytes = kind < 70 ? small(n) : kind < 98 ? medium(n) : large(n);
  if (!block->bytes)
    abort();
  block->n = n;
  fill(block);
  hand->ledger->live++;
  hand->ledger->live_bytes += n;
  finish(hand->ledger, n);
}

static void drop(struct hand *hand, struct block *block)
{
  check(block);
  hand->ledger->live--;
  hand->ledger->live_bytes -= block->n;
  free(block->bytes);
  block->bytes = NULL;
}

static void grow(struct hand *hand, struct block *block)
{
  check(block);
  const size_t n = block->n + 1 + random_below(hand, 2000);
  begin(hand->ledger, n);
  block->bytes = grown(block->bytes, n);
  if (!block->bytes)
    abort();
  hand->ledger->live_bytes += n - block->n;
  block->n = n;
  fill(block);
  finish(hand->ledger, n);
}

static void step(struct hand *hand)
{
  struct block *block = &hand->blocks[random_below(hand, SLOTS)];
  if (!block->bytes)
    take(hand, block);
  else if (block->n < 200000 && random_below(hand, 8) == 0)
    grow(hand, block);
  else
    drop(hand, block);
}

static void sleep_ms(long ms)
{
  nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void rest(void)
{
  account->at_rest++;
  while (account->pause && !must_end)
    sleep_ms(2);
  account->at_rest--;
}

static void *work(void *arg)
{
  struct hand *hand = arg;
  for (long i = 0; !must_end && (n_rounds == 0 || i < n_rounds); i++) {
    if (account->pause)
      rest();
    for (int k = 0; k < STEPS; k++)
      step(hand);
    sleep_ms(ROUND_MS);
  }
  for (int i = 0; i < SLOTS; i += 2) // the other half is still there in the end
    if (hand->blocks[i].bytes)
      drop(hand, &hand->blocks[i]);
  return NULL;
}

static void open_account(const char *dir)
{
  char path[4096], unready[4096 + 8];
  snprintf(path, sizeof path, "%s/%d", dir, getpid());
  snprintf(unready, sizeof unready, "%s.new", path);
  const int fd = open(unready, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || ftruncate(fd, sizeof *account))
    _exit(90);
  account = mmap(NULL, sizeof *account, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (account == MAP_FAILED || rename(unready, path))
    _exit(91);
  close(fd);
}

static void be_child(const char *dir)
{
  open_account(dir);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    hands[i].ledger = &account->of[i];
    hands[i].random = (uint64_t)getpid() * THREADS + (uint64_t)i;
    if (i > 0 && pthread_create(&threads[i], NULL, work, &hands[i]))
      _exit(92);
  }
  work(&hands[0]);
  for (int i = 1; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  account->ended = 1;
  _exit(0);
}

static pid_t new_child(const char *dir)
{
  const pid_t pid = fork();
  if (pid < 0)
    _exit(93);
  if (pid == 0)
    be_child(dir);
  return pid;
}

int main(int argc, char **argv)
{
  pid_t children[MAX_CHILDREN];
  int status, worst = 0;
  if (argc != 4)
    return 2;
  const int n = atoi(argv[2]) < MAX_CHILDREN ? atoi(argv[2]) : MAX_CHILDREN;
  const long life = atol(argv[3]);
  struct sigaction action = {.sa_handler = end_soon};
  sigaction(SIGTERM, &action, NULL);
  for (int i = 0; i < n; i++) { // ends spread over a life, the first ones too
    n_rounds = life ? 1 + life * (i + 1) / n : 0;
    children[i] = new_child(argv[1]);
  }
  n_rounds = life;
  while (!must_end) {
    sleep_ms(20);
    for (int i = 0; i < n; i++) {
      if (waitpid(children[i], &status, WNOHANG) <= 0)
        continue;
      if (status)
        worst = 1;
      children[i] = new_child(argv[1]);
    }
  }
  for (int i = 0; i < n; i++)
    kill(children[i], SIGTERM);
  while (wait(&status) > 0)
    if (status)
      worst = 1;
  return worst;
}
