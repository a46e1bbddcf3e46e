// SPDX-License-Identifier: Apache-2.0
//
// A program with an allocator of its own, as jemalloc linked statically is: its malloc comes before
// ours in every library's eyes, and its first call maps memory with its lock held. Whatever the
// recorder does in that mmap must not need malloc, or the program waits for itself for ever.
//
// how: preload
// says: has an allocator of its own linked in
// timeout: 20
// truth: pages: maps=1, mapped_bytes=1048576, unmaps=0, live_bytes=1048576
// truth: page-site ^heap_begin from malloc: allocations=1, bytes=1048576
// truth: total: allocations=0
#include "site.h"
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

enum { HEAP = 1 << 20 };
static atomic_int lock;
static char *heap;
static size_t used;

SITE static char *heap_begin(void)
{
  return mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

SITE void *malloc(size_t n)
{
  while (atomic_exchange(&lock, 1))
    usleep(1000);
  if (!heap)
    heap = heap_begin();
  char *p = heap + used;
  used += (n + 15) & ~(size_t)15;
  MUST(used <= HEAP);
  atomic_store(&lock, 0);
  return p;
}

void free(void *p)
{
  (void)p;
}

void *calloc(size_t n, size_t each)
{
  return malloc(n * each); // fresh pages are zero
}

void *realloc(void *old, size_t n)
{
  void *p = malloc(n);
  size_t there = old ? (size_t)(heap + used - (char *)old) : 0; // never past what was handed out
  return old ? memcpy(p, old, n < there ? n : there) : p;
}

int main(void)
{
  char *text = strdup("from the program's own heap");
  MUST(text >= heap && text < heap + used);
  say(text);
  return 0;
}
