// SPDX-License-Identifier: Apache-2.0
//
// Preloaded: has libc's allocator recorded by the agent that TIDEMARK_AGENT names, from before
// main() on. Leaves a store as libtidemark.so alone does.
#include "inside.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
  const char *family, *name;
  enum tide_role role;
} HOOKED[] = {
#define TIDE_HOOK(name, real, family, role, ret, types) {#family, #name, TIDE_ROLE_##role},
#include "store/hooks.def"
};
enum { N = sizeof HOOKED / sizeof *HOOKED };

__attribute__((constructor)) static void begin(void)
{
  struct inside_entry entries[N];
  char store[4096];
  size_t n = 0;
  Dl_info info;
  const char *agent = getenv("TIDEMARK_AGENT");
  if (!agent)
    return;
  for (size_t i = 0; i < N; i++)
    if (!strcmp(HOOKED[i].family, "libc") || !strcmp(HOOKED[i].family, "pages"))
      entries[n++] =
          (struct inside_entry){.at = dlsym(RTLD_NEXT, HOOKED[i].name), .role = HOOKED[i].role};
  dladdr(entries[0].at, &info);
  snprintf(store, sizeof store, "tidemark.%s.%d.store", program_invocation_short_name, getpid());
  const char *why = inside_begin(
      &(struct inside_options){
          .agent = agent, .store = store, .allocator = info.dli_fname, .blocks_are_apart = 1},
      entries, n);
  if (why) {
    dprintf(2, "inside: %s\n", why);
    _exit(99);
  }
}
