// SPDX-License-Identifier: Apache-2.0
//
// Programs that free most of what they had, and malloc keeps it, by the name in argv[1]. Says on
// standard output how many KiB of it are in memory then, and stays for argv[2] milliseconds, or as
// long as its standard input is open where that is 0.
#include "steps.h"

#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

enum { BLOCKS = 24000, BYTES = 1000, SURVIVOR = 200, THREADS = 8 };
enum { LARGE = 48, LARGE_BYTES = 512 << 10 };

// Threads come one after the other and stay: each has an arena, and none uses that of another.
static atomic_int n_done;
static void *fill_arena(void *arg)
{
  char **blocks = arg;
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = filled(malloc(BYTES), BYTES);
  for (int i = 0; i < BLOCKS; i++)
    if (i % SURVIVOR)
      free(blocks[i]);
  n_done++;
  pause();
  return NULL;
}

static void run_arenas(void)
{
  static char *blocks[THREADS][BLOCKS];
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, fill_arena, blocks[i]);
    while (n_done <= i)
      nap_us(500);
  }
}

// A large block that is freed raises the size from which on malloc gives back the end of its heap.
static void run_end(void)
{
  static char *blocks[BLOCKS];
  free(filled(malloc(24 << 20), 24 << 20));
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = filled(malloc(BYTES), BYTES);
  for (int i = 0; i < BLOCKS; i++)
    free(blocks[i]);
}

// The same makes malloc cut large blocks from its heap; what stays between them keeps it from
// shrinking.
static void run_threshold(void)
{
  static char *blocks[LARGE], *small[LARGE];
  free(filled(malloc(2 << 20), 2 << 20));
  for (int i = 0; i < LARGE; i++) {
    blocks[i] = filled(malloc(LARGE_BYTES), LARGE_BYTES);
    small[i] = filled(malloc(BYTES), BYTES);
  }
  for (int i = 0; i < LARGE; i++)
    free(blocks[i]);
}

static long resident_kib(void)
{
  long all, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2)
    abort();
  fclose(f);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv)
{
  int stay_ms = argc > 2 ? atoi(argv[2]) : 0;
  if (argc < 2)
    return 2;
  if (!strcmp(argv[1], "arenas"))
    run_arenas();
  else if (!strcmp(argv[1], "threshold"))
    run_threshold();
  else
    run_end();
  printf("%ld\n", resident_kib());
  fflush(stdout);
  if (stay_ms)
    nap_us(stay_ms * 1000L);
  else
    poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, -1);
  return 0;
}
