// SPDX-License-Identifier: Apache-2.0
//
// From /proc, and from the plan.
#define _GNU_SOURCE
#include "attach/patch.h"

#include "base/proc.h"
#include "store/call_names.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct tide_agent_face *tide_face_of(const struct tide_agent_image *agent)
{
  uint64_t at = tide_agent_image_find(agent, "tide_agent_face");
  return at ? (void *)(agent->bytes + (at - agent->base)) : NULL;
}

static void read_auxv(uint32_t pid, struct tide_agent_face *face)
{
  char name[64];
  uint64_t pair[2];
  snprintf(name, sizeof name, "/proc/%u/auxv", pid);
  FILE *f = fopen(name, "re");
  while (f && fread(pair, sizeof pair, 1, f) == 1) {
    if (pair[0] == AT_PAGESZ)
      face->page_bytes = pair[1];
    else if (pair[0] == AT_SYSINFO_EHDR)
      face->vdso = pair[1];
  }
  if (f)
    fclose(f);
}

static uint32_t read_command(uint32_t pid, char *to, size_t size)
{
  char name[64];
  snprintf(name, sizeof name, "/proc/%u/cmdline", pid);
  int fd = open(name, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, to, size);
  if (fd >= 0)
    close(fd);
  while (n > 0 && to[n - 1]) // a last argument that is cut
    n--;
  return n > 0 ? (uint32_t)n : 0;
}

static void describe_process(const struct tide_outside *outside, struct tide_agent_face *face)
{
  char name[64];
  struct tide_proc_stat stat = {0};
  read_auxv(outside->pid, face);
  tide_proc_stat(outside->pid, &stat);
  face->stack_origin = stat.stack_start;
  const struct tide_mapping *stack = tide_outside_find(outside, face->stack_origin);
  face->stack_top = stack ? stack->hi : 0;
  snprintf(name, sizeof name, "/proc/%u/exe", outside->pid);
  if (readlink(name, face->program, sizeof face->program - 1) < 0)
    face->program[0] = 0;
  face->command_bytes = read_command(outside->pid, face->command, sizeof face->command);
}

static void list_tables(const struct tide_attachment *a, struct tide_agent_face *face)
{
  face->n_tables = (uint32_t)a->n_tables;
  for (size_t i = 0; i < a->n_tables; i++)
    face->tables[i] =
        (struct tide_agent_table){a->tables[i].of->code_lo, a->tables[i].at, a->tables[i].n_bytes};
}

static void list_ranges(const struct tide_attachment *a, struct tide_agent_face *face)
{
  face->n_ranges = (uint32_t)a->n_ranges;
  for (size_t i = 0; i < a->n_ranges; i++)
    face->ranges[i] = (struct tide_range){a->ranges[i].at, a->ranges[i].n_bytes};
}

// Only glibc's malloc, known by a function that nobody else's libc has, and all hooks of blocks in
// its object.
static bool is_glibc_alone(const struct tide_plan *plan)
{
  bool found = false;
  for (size_t i = 0; i < plan->n_patches; i++) {
    const struct tide_hookable *entry = &plan->patches[i].entry;
    if (entry->family == TIDE_FAMILY_PAGES || entry->role == TIDE_ROLE_LOADED)
      continue;
    if (entry->family != TIDE_FAMILY_LIBC || entry->loaded != plan->patches[0].entry.loaded)
      return false;
    found |= !strcmp(entry->name, "pvalloc");
  }
  return found;
}

// An operator new of the same object that gives NULL where this one throws. Single or array is the
// same to an allocator; aligned or not is not.
static uint64_t nothrow_of(const struct tide_plan *plan, const struct tide_hookable *entry)
{
  enum tide_role role = entry->role == TIDE_ROLE_NEW           ? TIDE_ROLE_ALLOC
                        : entry->role == TIDE_ROLE_NEW_ALIGNED ? TIDE_ROLE_ALLOC_ALIGNED
                                                               : TIDE_ROLE_NO_EVENT;
  for (size_t i = 0; i < plan->n_patches; i++) {
    const struct tide_hookable *other = &plan->patches[i].entry;
    if (other->loaded == entry->loaded && other->role == role && strstr(other->name, "nothrow"))
      return plan->patches[i].island + TIDE_ISLAND_REAL_AT;
  }
  return 0;
}

// glibc's function, by whichever name, that empties a thread's cache when it ends.
static void look_for_ending(void *context, const struct tide_function *function)
{
  struct tide_range *own = context;
  if (!strcmp(function->name, "__malloc_arena_thread_freeres") ||
      !strncmp(function->name, "tcache_thread_shutdown", strlen("tcache_thread_shutdown")))
    *own = (struct tide_range){function->at, function->bytes};
}

// Whose calls are not the program's: its own library's, or, where that is linked into the program,
// of those that free what glibc knows by a symbol.
static struct tide_range own_code(const struct tide_hookable *entry, const char *program)
{
  struct tide_range own = {0};
  const struct tide_loaded *loaded = entry->loaded;
  if (strcmp(loaded->path, program) != 0)
    own = (struct tide_range){loaded->code_lo, loaded->code_hi - loaded->code_lo};
  else if (entry->role == TIDE_ROLE_FREE)
    tide_loaded_each_function(loaded, look_for_ending, &own);
  return own;
}

struct tide_agent_hook tide_face_hook(const struct tide_plan *plan, const struct tide_patch *patch,
                                      const char *program)
{
  const struct tide_hookable *entry = &patch->entry;
  bool has_own = entry->family == TIDE_FAMILY_PAGES || entry->role == TIDE_ROLE_FREE;
  struct tide_range own = has_own ? own_code(entry, program) : (struct tide_range){0};
  return (struct tide_agent_hook){
      .real = patch->island + TIDE_ISLAND_REAL_AT,
      .nothrow = nothrow_of(plan, entry),
      .role = entry->role,
      .family = entry->family,
      .tag = (uint64_t)tide_tag(entry->family, tide_call_of(entry->role, entry->name))
             << TIDE_AGENT_TAG_SHIFT,
      .own_lo = own.start,
      .own_bytes = own.bytes,
  };
}

// Of the first allocator there is; "": pages alone are recorded.
static const char *allocator_path(const struct tide_plan *plan)
{
  for (size_t i = 0; i < plan->n_patches; i++)
    if (plan->patches[i].entry.role < TIDE_ROLE_MAP)
      return plan->patches[i].entry.loaded->path;
  return "";
}

uint64_t tide_face_object(const struct tide_mapping *mapping)
{
  uint64_t number = tide_mix64(mapping->lo) ^ tide_mix64(mapping->hi + mapping->inode);
  for (const char *c = mapping->path; *c; c++)
    number = tide_mix64(number ^ (uint8_t)*c);
  return number ? number : 1;
}

// More than there is room for are looked at again.
static void list_objects(const struct tide_outside *outside, struct tide_agent_face *face)
{
  size_t n = 0;
  for (size_t i = 0; i < outside->n_mappings && n < TIDE_AGENT_OBJECTS; i++)
    if (outside->mappings[i].executable && outside->mappings[i].path[0] == '/')
      face->objects[n++] = tide_face_object(&outside->mappings[i]);
}

bool tide_face_fill(const struct tide_attachment *a, const struct tide_face_options *options)
{
  struct tide_agent_face *face = tide_face_of(a->agent);
  const struct tide_plan *plan = a->plan;
  if (!face || plan->n_patches > TIDE_AGENT_HOOKS || a->n_ranges > TIDE_AGENT_RANGES)
    return false;
  *face = (struct tide_agent_face){.magic = TIDE_AGENT_MAGIC,
                                   .version = TIDE_AGENT_VERSION,
                                   .n_hooks = (uint32_t)plan->n_patches,
                                   .store_fd = -1,
                                   .store_bytes = options->store_bytes,
                                   .depth_limit = options->depth_limit,
                                   .sample_bits = options->sample_bits,
                                   .page_bytes = 4096,
                                   .seats = tide_agent_image_find(a->agent, "tide_agent_seats")};
  describe_process(a->tracer->outside, face);
  list_ranges(a, face);
  snprintf(face->door, sizeof face->door, "%s", options->door ? options->door : "");
  snprintf(face->library, sizeof face->library, "%s", options->library ? options->library : "");
  list_tables(a, face);
  face->maps_at = a->maps.at;
  face->maps_bytes = a->maps.n_text;
  snprintf(face->allocator, sizeof face->allocator, "%s", allocator_path(plan));
  tide_plan_refused(plan, face->refused, sizeof face->refused);
  tide_plan_unhooked(plan, face->unhooked, sizeof face->unhooked);
  face->blocks_are_apart = is_glibc_alone(plan);
  for (size_t i = 0; i < plan->n_patches; i++)
    face->hooks[plan->patches[i].index] = tide_face_hook(plan, &plan->patches[i], face->program);
  face->enter = a->hook;
  face->enter_new = a->hook_new;
  face->quick = a->quick;
  list_objects(a->tracer->outside, face);
  return face->seats;
}
