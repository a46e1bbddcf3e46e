// SPDX-License-Identifier: Apache-2.0
//
// /proc/PID/maps and /proc/PID/mem.
#define _GNU_SOURCE
#include "attach/outside.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)
#define USER_END (UINT64_C(1) << 48)     // the kernel shows x86_64 a page of its own above
#define LOWEST_ADDRESS UINT64_C(0x10000) // vm.mmap_min_addr, as it is mostly

void tide_outside_close(struct tide_outside *outside)
{
  if (!outside)
    return;
  for (size_t i = 0; i < outside->n_mappings; i++)
    free(outside->mappings[i].path);
  free(outside->mappings);
  if (outside->memory_fd >= 0)
    close(outside->memory_fd);
  free(outside);
}

static enum tide_err read_mappings(struct tide_outside *outside, struct tide_diag *diag)
{
  char name[64];
  snprintf(name, sizeof name, "/proc/%u/maps", outside->pid);
  FILE *f = fopen(name, "re");
  if (!f)
    return tide_proc_fail(outside->pid, diag);
  TIDE_CLEANUP_FREE char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, f) > 0) {
    TIDE_GROW(outside->mappings, outside->n_mappings, outside->mappings_cap);
    outside->n_mappings += tide_mapping_parse(line, &outside->mappings[outside->n_mappings]);
  }
  fclose(f);
  if (!outside->n_mappings)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "process %u has no memory: it has ended, or is one "
                     "of the kernel's own",
                     outside->pid);
  return TIDE_ERR_OK;
}

enum tide_err tide_outside_open(uint32_t pid, bool with_memory, struct tide_outside **ret_outside,
                                struct tide_diag *diag)
{
  struct tide_outside *outside = tide_alloc(sizeof *outside);
  *outside = (struct tide_outside){.pid = pid, .memory_fd = -1};
  enum tide_err err = read_mappings(outside, diag);
  if (!err && with_memory) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%u/mem", pid);
    outside->memory_fd = open(name, O_RDWR | O_CLOEXEC);
    if (outside->memory_fd < 0)
      err = tide_proc_fail(pid, diag);
  }
  if (err)
    tide_outside_close(outside);
  else
    *ret_outside = outside;
  return err;
}

bool tide_outside_lives(const struct tide_outside *outside)
{
  char byte;
  return pread(outside->memory_fd, &byte, 1, (off_t)outside->mappings[0].lo) != 0;
}

bool tide_outside_read(const struct tide_outside *outside, uint64_t at, void *to, size_t n)
{
  return pread(outside->memory_fd, to, n, (off_t)at) == (ssize_t)n;
}

bool tide_outside_write(const struct tide_outside *outside, uint64_t at, const void *from, size_t n)
{
  return pwrite(outside->memory_fd, from, n, (off_t)at) == (ssize_t)n;
}

const struct tide_mapping *tide_outside_find(const struct tide_outside *outside, uint64_t address)
{
  for (size_t i = 0; i < outside->n_mappings; i++)
    if (address >= outside->mappings[i].lo && address < outside->mappings[i].hi)
      return &outside->mappings[i];
  return NULL;
}

bool tide_outside_is_anonymous(const struct tide_outside *outside, uint64_t at, uint64_t n)
{
  uint64_t end = at + n;
  while (at < end) {
    const struct tide_mapping *m = tide_outside_find(outside, at);
    if (!m || m->path[0] || m->shared)
      return false;
    at = m->hi;
  }
  return true;
}

static bool is_deleted(const char *path)
{
  static const char deleted[] = " (deleted)";
  size_t n = strlen(path), suffix = sizeof deleted - 1;
  return n > suffix && !strcmp(path + n - suffix, deleted);
}

static bool is_mapped_file(const char *path, const struct tide_mapping *mapping)
{
  struct stat found;
  return !stat(path, &found) && found.st_ino == mapping->inode &&
         found.st_dev == makedev(mapping->device_major, mapping->device_minor);
}

void tide_outside_file(const struct tide_outside *outside, const struct tide_mapping *mapping,
                       char ret_name[PATH_MAX])
{
  char of_mapping[PATH_MAX];
  snprintf(of_mapping, sizeof of_mapping, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, outside->pid,
           mapping->lo, mapping->hi);
  snprintf(ret_name, PATH_MAX, "/proc/%u/root%s", outside->pid, mapping->path);
  bool is_gone = is_deleted(mapping->path), is_hidden = !is_gone && access(ret_name, F_OK);
  if (is_hidden && is_mapped_file(mapping->path, mapping))
    snprintf(ret_name, PATH_MAX, "%s", mapping->path);
  else if (is_gone || (is_hidden && !access(of_mapping, R_OK)))
    snprintf(ret_name, PATH_MAX, "%s", of_mapping);
}

void tide_outside_claim(struct tide_outside *outside, uint64_t at, uint64_t n)
{
  size_t i = outside->n_mappings;
  TIDE_GROW(outside->mappings, outside->n_mappings, outside->mappings_cap);
  for (; i > 0 && outside->mappings[i - 1].lo > at; i--)
    outside->mappings[i] = outside->mappings[i - 1];
  outside->mappings[i] = (struct tide_mapping){.lo = at, .hi = at + n, .path = tide_strdup("")};
  outside->n_mappings++;
}

static uint64_t bytes_apart(uint64_t a, uint64_t b)
{
  return a > b ? a - b : b - a;
}

uint64_t tide_outside_gap(const struct tide_outside *outside, uint64_t near, uint64_t n,
                          uint64_t reach)
{
  const uint64_t margin = UINT64_C(1) << 20;
  uint64_t best = 0;
  for (size_t i = 0; i < outside->n_mappings;
       i++) { // where the last ends, nobody knows what may be
    uint64_t lo = (i ? outside->mappings[i - 1].hi : LOWEST_ADDRESS) + margin;
    uint64_t hi = outside->mappings[i].lo - margin;
    if (hi < lo || hi - lo < n || hi > USER_END)
      continue;
    uint64_t at = near < lo ? lo : near > hi - n ? hi - n : near;
    at &= ~(PAGE_BYTES - 1);
    if (!best || bytes_apart(at, near) < bytes_apart(best, near))
      best = at;
  }
  bool reaches = best && bytes_apart(best, near) < reach && bytes_apart(best + n, near) < reach;
  return reaches ? best : 0;
}
