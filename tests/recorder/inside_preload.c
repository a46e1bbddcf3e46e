// SPDX-License-Identifier: Apache-2.0
//
// Preloaded: has libc's allocator recorded by the agent that TIDEMARK_AGENT names, from before
// main() on. Leaves a store as libtidemark.so alone does.
#include "inside.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
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

// libc's own code, by one of its functions.
static uint64_t code_lo, code_bytes;
static int find_code(struct dl_phdr_info *object, size_t size, void *function)
{
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    uint64_t lo = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    if ((uint64_t)function - lo < object->dlpi_phdr[i].p_memsz) {
      code_lo = lo;
      code_bytes = object->dlpi_phdr[i].p_memsz;
      return 1;
    }
  }
  return 0;
}

// The program's door (tidemark.h), by its note; NULL: it has none.
static void *door;
static int find_door(struct dl_phdr_info *object, size_t size, void *ignored)
{
  static const char NAME[] = "Tidemark";
  (void)size, (void)ignored;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const char *at = (const char *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    const char *end = at + object->dlpi_phdr[i].p_memsz;
    while (object->dlpi_phdr[i].p_type == PT_NOTE && object->dlpi_phdr[i].p_align == 4 &&
           end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
      const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
      const char *name = at + sizeof *note, *desc = name + ((note->n_namesz + 3) & ~3u);
      if (note->n_namesz == sizeof NAME && !memcmp(name, NAME, sizeof NAME))
        door = (void *)(desc + *(const int32_t *)desc);
      at = desc + ((note->n_descsz + 3) & ~3u);
    }
  }
  return 1; // the program is the first
}

__attribute__((constructor)) static void begin(void)
{
  struct inside_entry entries[N + 1];
  char store[4096];
  size_t n = 0;
  Dl_info info;
  const char *agent = getenv("TIDEMARK_AGENT");
  if (!agent)
    return;
  for (size_t i = 0; i < N; i++)
    if (HOOKED[i].role != TIDE_ROLE_NO_EVENT &&
        (!strcmp(HOOKED[i].family, "libc") || !strcmp(HOOKED[i].family, "pages") ||
         !strcmp(HOOKED[i].family, "code")))
      entries[n++] =
          (struct inside_entry){.at = dlsym(RTLD_NEXT, HOOKED[i].name), .role = HOOKED[i].role};
  dladdr(entries[0].at, &info);
  dl_iterate_phdr(find_code, entries[0].at);
  for (size_t i = 0; i < n; i++) {
    entries[i].has_quick = true;
    entries[i].object_lo = code_lo;
    entries[i].object_bytes = (uint32_t)code_bytes;
    if (entries[i].role == TIDE_ROLE_FREE || entries[i].role >= TIDE_ROLE_MAP) {
      entries[i].own_lo = code_lo;
      entries[i].own_bytes = code_bytes;
    }
  }
  dl_iterate_phdr(find_door, NULL);
  entries[n++] = (struct inside_entry){.at = door, .role = TIDE_ROLE_ASK, .has_quick = true};
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
