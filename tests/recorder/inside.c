// SPDX-License-Identifier: Apache-2.0
//
// The tracer's steps, made by the process itself before it has threads.
#include "inside.h"

#include "attach/island.h"
#include "store/agent_face.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STORE_BYTES (UINT64_C(10) << 30)

struct image {
  const char *file;
  uint8_t *base;
  uint64_t n_bytes, code_bytes;
};

static const Elf64_Phdr *segments(const struct image *image)
{
  return (const Elf64_Phdr *)(image->file + ((const Elf64_Ehdr *)image->file)->e_phoff);
}

static bool read_file(const char *path, struct image *image)
{
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st))
    return false;
  image->file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  return image->file != MAP_FAILED;
}

static uint64_t up(uint64_t n)
{
  return (n + 0xffff) & ~UINT64_C(0xffff);
}

static bool place_segments(struct image *image)
{
  const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image->file;
  const Elf64_Phdr *p = segments(image);
  for (int i = 0; i < elf->e_phnum; i++)
    if (p[i].p_type == PT_LOAD) {
      uint64_t end = p[i].p_vaddr + p[i].p_memsz;
      image->n_bytes = up(end) > image->n_bytes ? up(end) : image->n_bytes;
      if (!(p[i].p_flags & PF_W) && end > image->code_bytes)
        image->code_bytes = end;
    }
  image->base = mmap(NULL, image->n_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; image->base != MAP_FAILED && i < elf->e_phnum; i++)
    if (p[i].p_type == PT_LOAD)
      memcpy(image->base + p[i].p_vaddr, image->file + p[i].p_offset, p[i].p_filesz);
  return image->base != MAP_FAILED;
}

static const Elf64_Shdr *section(const struct image *image, uint32_t type)
{
  const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image->file;
  const Elf64_Shdr *all = (const Elf64_Shdr *)(image->file + elf->e_shoff);
  for (int i = 0; i < elf->e_shnum; i++)
    if (all[i].sh_type == type)
      return &all[i];
  return NULL;
}

static bool relocate(const struct image *image)
{
  const Elf64_Shdr *header = section(image, SHT_RELA);
  const Elf64_Rela *rela = header ? (const Elf64_Rela *)(image->file + header->sh_offset) : NULL;
  for (uint64_t i = 0; rela && i < header->sh_size / sizeof *rela; i++) {
    uint64_t value = (uint64_t)image->base + (uint64_t)rela[i].r_addend;
    uint64_t type = ELF64_R_TYPE(rela[i].r_info);
    if (type != R_AARCH64_RELATIVE && type != R_X86_64_RELATIVE)
      return false;
    memcpy(image->base + rela[i].r_offset, &value, sizeof value);
  }
  return true;
}

static void *find(const struct image *image, const char *name)
{
  const Elf64_Shdr *header = section(image, SHT_DYNSYM);
  const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image->file;
  const Elf64_Shdr *all = (const Elf64_Shdr *)(image->file + elf->e_shoff);
  const Elf64_Sym *symbol = (const Elf64_Sym *)(image->file + header->sh_offset);
  const char *names = image->file + all[header->sh_link].sh_offset;
  for (uint64_t i = 0; i < header->sh_size / sizeof *symbol; i++)
    if (!strcmp(names + symbol[i].st_name, name))
      return image->base + symbol[i].st_value;
  return NULL;
}

// Memory that a jump reaches from a function.
static uint8_t *room_near(const void *near, size_t n)
{
  for (intptr_t step = 1; step < 1000; step++)
    for (int side = -1; side < 2; side += 2) {
      void *at = (void *)(((intptr_t)near & ~INT64_C(0xffff)) + side * (step << 16));
      void *p = mmap(at, n, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (p == at)
        return p;
      if (p != MAP_FAILED)
        munmap(p, n);
    }
  return NULL;
}

// The mapping that an address is in.
static struct tide_range mapping_of(const void *address)
{
  char line[512];
  uint64_t lo, hi, at = (uint64_t)address;
  struct tide_range found = {0};
  FILE *f = fopen("/proc/self/maps", "re");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && at >= lo && at < hi)
      found = (struct tide_range){lo, hi - lo};
  if (f)
    fclose(f);
  return found;
}

// Where libc keeps a thread's number, counted from its thread pointer: as attach/tracer.c looks.
static int32_t tid_offset(void)
{
  const char *tp = __builtin_thread_pointer();
#if defined(__aarch64__)
  int32_t from = -2304;
#else
  int32_t from = 0;
#endif
  struct tide_range mapped = mapping_of(tp);
  for (int32_t i = from; i < from + 2304; i += 4) {
    uint32_t word;
    if ((uint64_t)(tp + i) - mapped.start >= mapped.bytes)
      continue;
    memcpy(&word, tp + i, sizeof word);
    if (word == (uint32_t)syscall(SYS_gettid))
      return i;
  }
  return 0;
}

static uint32_t read_text(const char *path, char *to, size_t size)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, to, size);
  if (fd >= 0)
    close(fd);
  return n > 0 ? (uint32_t)n : 0;
}

extern void *__libc_stack_end;

static void fill_face(struct tide_agent_face *face, const struct inside_options *options)
{
  face->magic = TIDE_AGENT_MAGIC;
  face->version = TIDE_AGENT_VERSION;
  face->store_fd = -1;
  face->store_bytes = STORE_BYTES;
  face->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
  face->vdso = getauxval(AT_SYSINFO_EHDR);
  face->stack_origin = (uint64_t)__libc_stack_end;
  struct tide_range stack = mapping_of(__libc_stack_end);
  face->stack_top = stack.start + stack.bytes;
  face->blocks_are_apart = options->blocks_are_apart;
  face->tid_offset = tid_offset();
  face->tid_mask = face->tid_offset ? UINT32_MAX : 0;
  face->command_bytes = read_text("/proc/self/cmdline", face->command, sizeof face->command);
  snprintf(face->allocator, sizeof face->allocator, "%s", options->allocator);
  if (readlink("/proc/self/exe", face->program, sizeof face->program - 1) < 0)
    face->program[0] = 0;
}

// The recorder asks for as large a store as the address space allows, and files are not that long.
static uint64_t map_store(const char *path)
{
  struct rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = limit.rlim_cur < STORE_BYTES * 16 ? limit.rlim_cur : STORE_BYTES * 16;
  setrlimit(RLIMIT_AS, &limit);
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, (off_t)STORE_BYTES))
    return 0;
  void *p = mmap(NULL, STORE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  close(fd);
  return p == MAP_FAILED ? 0 : (uint64_t)p;
}

// To a patched function's beginning, whoever may write there.
static bool write_code(uint64_t at, const uint8_t *bytes, size_t n)
{
  long page = sysconf(_SC_PAGESIZE);
  uint64_t lo = at & ~(uint64_t)(page - 1), hi = (at + n + (uint64_t)page - 1) & -(uint64_t)page;
  if (mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC))
    return false;
  memcpy((void *)at, bytes, n);
  __builtin___clear_cache((char *)at, (char *)at + n);
  return !mprotect((void *)lo, hi - lo, PROT_READ | PROT_EXEC);
}

static const char *patch(struct tide_agent_face *face, const struct inside_entry *entry,
                         uint8_t *bytes, uint64_t enter, uint64_t quick)
{
  const struct tide_displacer *d = tide_displacer();
  const char *why = NULL;
  struct tide_displaced displaced;
  struct tide_code code = {entry->at, 64, (uint64_t)entry->at};
  size_t pad = d->landing(&code);
  uint8_t jump[16];
  if (!d->move(&code, pad, d->jump_bytes, (uint64_t)bytes + TIDE_ISLAND_CODE_AT, &displaced, &why))
    return why;
  if (entry->has_quick && quick && memcmp((const void *)quick, d->pad, sizeof d->pad) != 0)
    return "the agent's quick ways have no landing pads";
  struct tide_way way = {.at = (uint64_t)bytes + displaced.n_undo,
                         .hook = (uint64_t)&face->hooks[face->n_hooks],
                         .enter = enter,
                         .quick = entry->has_quick ? quick : 0,
                         .own_lo = entry->object_lo,
                         .own_bytes = entry->object_bytes};
  struct tide_island island = {&displaced, way, {.at = code.at + pad}};
  tide_island_write(&island, bytes);
  __builtin___clear_cache((char *)bytes, (char *)bytes + TIDE_ISLAND_BYTES);
  face->hooks[face->n_hooks++] =
      (struct tide_agent_hook){.real = (uint64_t)bytes + TIDE_ISLAND_REAL_AT,
                               .role = entry->role,
                               .own_lo = entry->own_lo,
                               .own_bytes = entry->own_bytes};
  if (!d->jump(jump, code.at + pad, (uint64_t)bytes))
    return "no free memory is within reach of it";
  return write_code(code.at + pad, jump, d->jump_bytes) ? NULL : "its code cannot be written";
}

// As attach/patch.c chooses.
static uint64_t quick_for(const struct image *image, enum tide_role role)
{
  switch (role) {
  case TIDE_ROLE_ALLOC:
  case TIDE_ROLE_ALLOC_ALIGNED: return (uint64_t)find(image, "tide_agent_malloc");
  case TIDE_ROLE_ALLOC_SECOND:
  case TIDE_ROLE_CALLOC: return (uint64_t)find(image, "tide_agent_alloc");
  case TIDE_ROLE_FREE: return (uint64_t)find(image, "tide_agent_free");
  case TIDE_ROLE_ASK: return (uint64_t)find(image, "tide_agent_ask");
  default: return 0;
  }
}

static bool is_new(const struct inside_entry *entries, size_t i)
{
  for (size_t k = 0; k < i; k++)
    if (entries[k].at == entries[i].at)
      return false;
  return entries[i].at;
}

const char *inside_begin(const struct inside_options *options, const struct inside_entry *entries,
                         size_t n)
{
  struct image image = {0};
  if (!read_file(options->agent, &image) || !place_segments(&image) || !relocate(&image))
    return "the agent cannot be loaded";
  struct tide_agent_face *face = find(&image, "tide_agent_face");
  fill_face(face, options);
  face->seats = (uint64_t)find(&image, "tide_agent_seats");
  face->store_given = map_store(options->store);
  uint64_t code = image.code_bytes & ~UINT64_C(0xfff);
  if (!face->store_given || mprotect(image.base, code, PROT_READ | PROT_EXEC))
    return "no store";
  const char *why = NULL;
  uint8_t *room = NULL;
  for (size_t i = 0; i < n && !why; i++) {
    if (!is_new(entries, i))
      continue;
    if (!room && !(room = room_near(entries[i].at, 64 << 10)))
      return "no free memory is within reach";
    bool is_elsewhere = entries[i].role == TIDE_ROLE_ASK; // the program's own
    uint8_t *near = is_elsewhere ? room_near(entries[i].at, 64 << 10) : room;
    if (!near)
      return "no free memory is within reach of the program";
    why = patch(face, &entries[i], near + (size_t)face->n_hooks * TIDE_ISLAND_BYTES,
                (uint64_t)find(&image, "tide_agent_enter"), quick_for(&image, entries[i].role));
  }
  return why;
}
