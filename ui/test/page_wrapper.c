// SPDX-License-Identifier: Apache-2.0
//
// A wrapper of malloc that no rule knows. With MANY it gives to enough callers, in enough sizes, to
// be taken for one by its shape; without, a single caller keeps it from that.
#include <stdlib.h>

static void *volatile kept[4096];
static int n_kept;

__attribute__((noipa)) void *pool_get(size_t size)
{
  void *block = malloc(size);
  kept[n_kept++] = block;
  return block;
}

#define CALLER(name, size)                                                                         \
  __attribute__((noipa)) void name(void)                                                           \
  {                                                                                                \
    for (int i = 0; i < 20; i++)                                                                   \
      *(char *volatile)pool_get(size + i) = 1;                                                     \
  }
CALLER(load_names, 100)
CALLER(load_lines, 200)
CALLER(load_words, 300)
CALLER(load_pages, 400)
CALLER(load_books, 500)
CALLER(load_shelves, 600)
CALLER(load_halls, 700)
CALLER(load_towns, 800)
CALLER(load_lands, 900)
CALLER(load_seas, 1000)
CALLER(load_stars, 1100)
CALLER(load_skies, 1200)

int main(void)
{
  load_names();
#ifdef MANY
  load_lines();
  load_words();
  load_pages();
  load_books();
  load_shelves();
  load_halls();
  load_towns();
  load_lands();
  load_seas();
  load_stars();
  load_skies();
#endif
  return 0;
}
