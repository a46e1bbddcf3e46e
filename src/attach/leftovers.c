// SPDX-License-Identifier: Apache-2.0
//
// A jump is ours if it leads to an island whose note names the very place it came from; a range, if
// it is listed by an agent with a mark, or by the log in a cave, and is as it was mapped then.
#define _GNU_SOURCE
#include "attach/leftovers.h"

#include "base/alloc.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_ISLAND_REGION_BYTES = 1 << 20 };

void tide_leftovers_done(struct tide_leftovers *left)
{
  tide_plan_done(&left->plan);
  free(left->ranges);
  *left = (struct tide_leftovers){0};
}

// Ranges.

static bool is_ours(const struct tide_mapping *m)
{
  return m && !m->path[0] && !m->shared;
}

static void add_range(struct tide_leftovers *left, uint64_t at, uint64_t n_bytes, bool executable)
{
  for (size_t i = 0; i < left->n_ranges; i++)
    if (left->ranges[i].at == at)
      return;
  left->ranges = tide_realloc_array(left->ranges, left->n_ranges + 1, sizeof *left->ranges);
  left->ranges[left->n_ranges++] =
      (struct tide_reserved){at, n_bytes, PROT_READ | (executable ? PROT_EXEC : PROT_WRITE), true};
}

static bool covers(const struct tide_mapping *m, uint64_t at, uint64_t n_bytes)
{
  return at >= m->lo && at < m->hi && n_bytes <= m->hi - at;
}

// What an agent lists as its own.
static void take_listed(const struct tide_outside *outside, struct tide_range range,
                        struct tide_leftovers *left)
{
  const struct tide_mapping *m = tide_outside_find(outside, range.start);
  if (is_ours(m) && covers(m, range.start, range.bytes))
    add_range(left, range.start, range.bytes, m->executable);
}

static bool is_all_zero(const struct tide_outside *outside, uint64_t at, uint64_t n)
{
  uint8_t bytes[4096];
  static const uint8_t ZEROS[sizeof bytes];
  for (uint64_t i = 0; i < n; i += sizeof bytes) {
    size_t k = n - i < sizeof bytes ? n - i : sizeof bytes;
    if (!tide_outside_read(outside, at + i, bytes, k) || memcmp(bytes, ZEROS, k) != 0)
      return false;
  }
  return true;
}

// What a log says was to be mapped, or unmapped. Nobody has marked it: it must be empty, and end
// where the log says.
static void take_logged(const struct tide_outside *outside, struct tide_range range,
                        struct tide_leftovers *left)
{
  const struct tide_mapping *m = tide_outside_find(outside, range.start);
  if (is_ours(m) && m->lo == range.start && m->hi - m->lo == range.bytes &&
      is_all_zero(outside, range.start, range.bytes))
    add_range(left, range.start, range.bytes, m->executable);
}

// Islands.

static uint64_t follow_jump(const struct tide_outside *outside, uint64_t at, uint8_t *code)
{
  uint8_t bytes[16];
  if (!tide_outside_read(outside, at, bytes, sizeof bytes))
    return 0;
  memcpy(code, bytes, sizeof bytes);
  return tide_displacer()->jumps_to(bytes, at);
}

// A patch that is half done or half undone may have its hole alone.
static void take_island(const struct tide_outside *outside, uint64_t island,
                        struct tide_leftovers *left)
{
  struct tide_island_note note;
  struct tide_patch p = {.island = island};
  uint8_t ignored[16];
  if (!tide_outside_read(outside, island + TIDE_ISLAND_NOTE_AT, &note, sizeof note) ||
      note.magic != TIDE_ISLAND_MAGIC || !note.n || note.n > sizeof p.old)
    return;
  bool has_hole = note.hole && follow_jump(outside, note.hole, ignored) == island;
  if (follow_jump(outside, note.at, p.jump) == (has_hole ? note.hole : island))
    p.n = note.n;
  p.at = note.at;
  p.hole = has_hole ? note.hole : 0;
  memcpy(p.old, note.old, sizeof p.old);
  memcpy(p.hole_old, note.hole_old, sizeof p.hole_old);
  struct tide_plan *plan = &left->plan;
  TIDE_GROW(plan->patches, plan->n_patches, plan->patches_cap);
  plan->patches[plan->n_patches++] = p;
}

// The agent.

static void take_agent(const struct tide_outside *outside, const struct tide_agent_mark *mark,
                       struct tide_leftovers *left)
{
  TIDE_CLEANUP_FREE struct tide_agent_face *face = tide_alloc(sizeof *face);
  left->mark = *mark;
  add_range(left, mark->base, mark->code_bytes, true);
  if (mark->n_bytes > mark->code_bytes)
    take_listed(
        outside,
        (struct tide_range){mark->base + mark->code_bytes, mark->n_bytes - mark->code_bytes}, left);
  if (!tide_outside_read(outside, mark->face, face, sizeof *face) ||
      face->magic != TIDE_AGENT_MAGIC || face->version != TIDE_AGENT_VERSION)
    return;
  for (uint32_t i = 0; i < face->n_ranges && i < TIDE_AGENT_RANGES; i++)
    take_listed(outside, face->ranges[i], left);
  for (size_t i = 1; i < left->n_ranges; i++) {
    const struct tide_reserved r = left->ranges[i];
    uint64_t n = r.protection & PROT_EXEC && r.n_bytes < MAX_ISLAND_REGION_BYTES ? r.n_bytes : 0;
    for (uint64_t k = 0; k + TIDE_ISLAND_BYTES <= n; k += TIDE_ISLAND_BYTES)
      take_island(outside, r.at + k, left);
  }
}

static bool read_mark(const struct tide_outside *outside, const struct tide_mapping *m,
                      struct tide_agent_mark *ret_mark)
{
  struct tide_agent_mark mark;
  if (!is_ours(m) || !m->executable || !tide_outside_read(outside, m->lo, &mark, sizeof mark) ||
      mark.magic != TIDE_AGENT_MARK || mark.base != m->lo || mark.code_bytes > m->hi - m->lo ||
      mark.n_bytes < mark.code_bytes)
    return false;
  *ret_mark = mark;
  return true;
}

static bool find_mark(const struct tide_outside *outside, struct tide_agent_mark *ret_mark)
{
  for (size_t i = 0; i < outside->n_mappings; i++)
    if (read_mark(outside, &outside->mappings[i], ret_mark))
      return true;
  return false;
}

// A run gives what it records a library for the programs that it starts; of its fork children it
// hears if there is a door.
uint32_t tide_leftovers_recorder(const struct tide_outside *outside, bool *ret_is_run)
{
  struct tide_agent_mark mark;
  char door = 0, library = 0;
  *ret_is_run = false;
  if (!find_mark(outside, &mark) || !tide_tracer_lives(mark.tracer_pid, mark.tracer_born))
    return 0;
  if (mark.version == TIDE_AGENT_VERSION) {
    tide_outside_read(outside, mark.face + offsetof(struct tide_agent_face, door), &door, 1);
    tide_outside_read(outside, mark.face + offsetof(struct tide_agent_face, library), &library, 1);
  }
  *ret_is_run = library;
  return mark.target_pid == outside->pid || door ? mark.tracer_pid : 0;
}

enum tide_err tide_leftovers_refuse(uint32_t pid, uint32_t recorder, bool is_run,
                                    struct tide_diag *diag)
{
  if (is_run)
    return tide_fail(diag, TIDE_ERR_EXISTS,
                     "process %u is recorded already: 'tidemark run' (process %u) started it; that "
                     "recording has every allocation",
                     pid, recorder);
  return tide_fail(diag, TIDE_ERR_EXISTS,
                   "process %u is being recorded already, by process %u: end that one, or "
                   "'tidemark detach %u'",
                   pid, recorder, pid);
}

// in: the object whose file tells what was there before; NULL: the vDSO, and zeros were.
static void look_into_cave(const struct tide_outside *outside, uint64_t at,
                           const struct tide_loaded *in, struct tide_leftovers *left)
{
  struct tide_cave_log log;
  if (!at || !tide_outside_read(outside, at, &log, sizeof log) || log.magic != TIDE_CAVE_MAGIC ||
      left->n_caves == TIDE_LEFT_CAVES)
    return;
  left->caves[left->n_caves].at = at;
  left->caves[left->n_caves++].in = in;
  take_logged(outside, log.range, left);
}

bool tide_leftovers_find(const struct tide_outside *outside, const struct tide_loaded_list *objects,
                         struct tide_leftovers *ret_left)
{
  *ret_left = (struct tide_leftovers){0};
  struct tide_agent_mark mark;
  if (find_mark(outside, &mark))
    take_agent(outside, &mark, ret_left);
  for (size_t i = 0; i < objects->n; i++)
    look_into_cave(outside, tide_attachment_cave_of(&objects->all[i]), &objects->all[i], ret_left);
  look_into_cave(outside, tide_attachment_cave_of_vdso(outside), NULL, ret_left);
  int fds[TIDE_LEFT_FDS];
  return ret_left->n_ranges || ret_left->n_caves || tide_leftovers_fds(outside->pid, fds);
}

size_t tide_leftovers_fds(uint32_t pid, int ret_fds[TIDE_LEFT_FDS])
{
  static const char STORE[] = "/memfd:" TIDE_AGENT_STORE_NAME " (deleted)";
  char name[64];
  struct dirent *entry;
  size_t n = 0;
  snprintf(name, sizeof name, "/proc/%u/fd", pid);
  DIR *dir = opendir(name);
  while (dir && n < TIDE_LEFT_FDS && (entry = readdir(dir))) {
    char link[PATH_MAX + 64], to[sizeof STORE + 1];
    snprintf(link, sizeof link, "/proc/%u/fd/%s", pid, entry->d_name);
    ssize_t bytes = readlink(link, to, sizeof to);
    if (bytes == (ssize_t)sizeof STORE - 1 && !memcmp(to, STORE, sizeof STORE - 1))
      ret_fds[n++] = (int)strtol(entry->d_name, NULL, 10);
  }
  if (dir)
    closedir(dir);
  return n;
}
