// SPDX-License-Identifier: Apache-2.0
//
// Writes a shell's completion to standard output: completion_gen bash|zsh|fish|table.
#include "cli/completion.h"

#include <string.h>

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*write)(struct tide_sink *);
  } kinds[] = {
      {"bash", tide_completion_bash},
      {"zsh", tide_completion_zsh},
      {"fish", tide_completion_fish},
      {"table", tide_completion_table},
  };
  for (size_t i = 0; argc == 2 && i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(argv[1], kinds[i].name) != 0)
      continue;
    struct tide_sink sink;
    tide_sink_init(&sink, stdout);
    kinds[i].write(&sink);
    bool failed = tide_sink_finish(&sink, "standard output", NULL) != 0;
    tide_sink_done(&sink);
    return failed;
  }
  fputs("usage: completion_gen bash|zsh|fish|table\n", stderr);
  return 2;
}
