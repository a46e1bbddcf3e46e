// SPDX-License-Identifier: Apache-2.0
//
// The symboliser as a filter, for comparison with others of its kind. Given a FILE it reads ELF
// addresses, one to a line, and prints what `addr2line -a -i -f` prints, names demangled. Without
// one it demangles whatever comes, line by line.
#define _GNU_SOURCE
#include "symbol/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 256

static void look(struct tide_symboliser *s, uint32_t module, uint64_t addr)
{
  struct tide_symbol_frame frames[CHAIN_MAX];
  size_t n = tide_symboliser_lookup(s, module, addr, frames, CHAIN_MAX);
  printf("%#" PRIx64 "\n", addr);
  for (size_t i = 0; i < n; i++)
    printf("%s\n%s:%u\n", frames[i].function ? frames[i].function : "??",
           frames[i].file ? frames[i].file : "??", frames[i].line);
}

static void look_up(const char *path, FILE *in)
{
  struct tide_symboliser *s = tide_symboliser_new();
  uint32_t module = tide_symboliser_add(s, path, NULL, 0);
  uint64_t addr;
  while (fscanf(in, "%" SCNx64, &addr) == 1)
    look(s, module, addr);
  tide_symboliser_free(s);
}

static void demangle(FILE *in)
{
  char *line = NULL;
  size_t cap = 0;
  while (getline(&line, &cap, in) > 0) {
    line[strcspn(line, "\n")] = 0;
    char *text = tide_demangle(line);
    puts(text);
    free(text);
  }
  free(line);
}

int main(int argc, char **argv)
{
  if (argc > 1)
    look_up(argv[1], stdin);
  else
    demangle(stdin);
  return 0;
}
