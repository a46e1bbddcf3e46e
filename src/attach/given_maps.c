// SPDX-License-Identifier: Apache-2.0
//
// What is mapped, for an agent that cannot look it up: where the process's root has no /proc. As it
// is at the attach; a library that is loaded later is not in it.
#define _GNU_SOURCE
#include "attach/given_maps.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, PAGE = 4096 };

// By a file that every /proc has, whoever asks.
static bool has_proc(uint32_t pid)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/root/proc/stat", pid);
  return !access(path, F_OK);
}

// Files and code: what the agent makes its table of.
static bool is_of_use(const char *line)
{
  const char *flags = strchr(line, ' ');
  return flags && (strchr(flags, '/') || strstr(flags, "[vdso]") || flags[3] == 'x');
}

static void read_maps(uint32_t pid, struct tide_buf *text)
{
  char path[64], *line = NULL;
  size_t size = 0;
  snprintf(path, sizeof path, "/proc/%u/maps", pid);
  FILE *f = fopen(path, "re");
  while (f && getline(&line, &size, f) > 0 && text->n + strlen(line) <= MOST_BYTES)
    if (is_of_use(line))
      tide_buf_append(text, line, strlen(line));
  free(line);
  if (f)
    fclose(f);
}

bool tide_given_maps_make(struct tide_outside *outside, struct tide_given_maps *ret)
{
  struct tide_buf text = {0};
  if (has_proc(outside->pid))
    return false;
  read_maps(outside->pid, &text);
  uint64_t n_bytes = (text.n + PAGE - 1) & ~(uint64_t)(PAGE - 1);
  uint64_t near = outside->n_mappings ? outside->mappings[0].lo : 0;
  uint64_t at = n_bytes ? tide_outside_gap(outside, near, n_bytes, UINT64_MAX) : 0;
  if (at) {
    tide_outside_claim(outside, at, n_bytes);
    *ret = (struct tide_given_maps){.at = at, .n_bytes = n_bytes, .n_text = text.n};
    ret->text = tide_alloc(text.n);
    memcpy(ret->text, text.data, text.n);
  }
  tide_buf_done(&text);
  return at;
}
