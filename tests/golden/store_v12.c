// SPDX-License-Identifier: Apache-2.0
//
// What tests/golden/store_v12.tar.xz is the store of, as the recorder of 0.1 left it: kept to know
// what is in it, never to make it anew. store_v12_first is of the same program, by the first build
// with this layout, which knew neither scopes nor events, nor marks from within. store_v10 and
// store_v11 are of it, too, each by the last build that wrote that layout.
//
//   cc -O1 -g -fno-builtin -Iinclude store_v12.c -o golden -lpthread
//   LD_PRELOAD=libtidemark.so TIDEMARK_OPTIONS=out=store_v12.store ./golden
//
// Truth of main and its two threads, libc's own blocks apart:
//   kept()      100 blocks of 50 bytes, never freed; of these 10 in the scope GET /users
//   churn()     2 x 1000 blocks of 32 bytes, each freed at once
//   grow()      a block resized from 100 bytes by doubling to 102,400; never freed
//   hand()      2 x 20 blocks of 200 bytes, allocated by a thread and freed by main
//   large()     a block of 1 MiB, half of it written, freed
//   pages()     262,144 bytes mapped by the program itself, kept
//   events()    5 events of weight 7
//   the mark    "loaded"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tidemark/tidemark.h>

#define PLACE __attribute__((noinline, noclone))
#define STAYS __asm__ volatile("" ::: "memory")

static void *volatile held[100], *handed[2][20], *volatile grown, *volatile mapped;

PLACE static void kept(int first, int end)
{
  for (int i = first; i < end; i++)
    held[i] = malloc(50);
  STAYS;
}

PLACE static void churn(void)
{
  for (int i = 0; i < 1000; i++)
    free(malloc(32));
  STAYS;
}

PLACE static void grow(void)
{
  void *p = malloc(100);
  for (size_t n = 200; n <= 102400; n *= 2)
    p = realloc(p, n);
  grown = p;
  STAYS;
}

PLACE static void *hand(void *which)
{
  for (int i = 0; i < 20; i++)
    ((void **)which)[i] = malloc(200);
  churn();
  STAYS;
  return NULL;
}

PLACE static void large(void)
{
  void *p = malloc(1 << 20);
  memset(p, 1, 1 << 19);
  free(p);
  STAYS;
}

PLACE static void pages(void)
{
  mapped = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  STAYS;
}

PLACE static void events(void)
{
  for (int i = 0; i < 5; i++)
    tidemark_event(7);
  STAYS;
}

int main(void)
{
  pthread_t threads[2];
  kept(0, 90);
  tidemark_scope_begin("GET /users");
  kept(90, 100);
  tidemark_scope_end();
  tidemark_mark("loaded");
  grow();
  for (int i = 0; i < 2; i++) {
    pthread_create(&threads[i], NULL, hand, handed[i]);
    pthread_join(threads[i], NULL);
    for (int k = 0; k < 20; k++)
      free(handed[i][k]);
  }
  large();
  pages();
  events();
  return 0;
}
