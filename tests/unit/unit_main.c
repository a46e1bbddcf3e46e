// SPDX-License-Identifier: Apache-2.0
//
// The program of a module's unit tests: `MODULE_tests [NOUN…]`, all of them where none is named.
// The build says which there are: TIDE_UNIT_NOUNS is a list of NOUN(name).
#include <stdio.h>
#include <string.h>

#define NOUN(name) int unit_##name(void);
TIDE_UNIT_NOUNS
#undef NOUN

static const struct noun {
  const char *name;
  int (*run)(void); // how many of its tests failed
} nouns[] = {
#define NOUN(name) {#name, unit_##name},
    TIDE_UNIT_NOUNS
#undef NOUN
};

enum { N_NOUNS = sizeof nouns / sizeof *nouns };

static const struct noun *find(const char *name)
{
  for (size_t i = 0; i < N_NOUNS; i++)
    if (strcmp(nouns[i].name, name) == 0)
      return &nouns[i];
  return NULL;
}

int main(int argc, char **argv)
{
  int n_failed = 0;
  for (size_t i = 0; argc == 1 && i < N_NOUNS; i++)
    n_failed += nouns[i].run();
  for (int i = 1; i < argc; i++) {
    const struct noun *noun = find(argv[i]);
    if (!noun) {
      fprintf(stderr, "%s: no tests of '%s'\n", argv[0], argv[i]);
      return 2;
    }
    n_failed += noun->run();
  }
  return n_failed > 0;
}
