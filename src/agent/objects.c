// SPDX-License-Identifier: Apache-2.0
//
// A table, sorted by address, of everything that is mapped as code: objects, and what is in no file
// (code that the program itself makes), of which nothing is known. An address that is in neither is
// new code: then the table is made anew. Tables are never freed, since somebody may be reading, and
// never changed once they are published; how many there can be is bounded.
#include "agent/agent.h"

#include "rt/maps.h"
#include "rt/sys.h"
#include "rt/text.h"

#include <elf.h>
#include <string.h>
#include <sys/uio.h>

enum { MAX_OBJECTS = 2048, MAX_TABLES = 1024, MAX_PATH_BYTES = 256, HEADER_BYTES = 4096 };

struct mapped {
  uint64_t start, end, bias;
  const uint8_t *eh_hdr;
  uint64_t eh_hdr_bytes; // of one that the tracer has made
  bool is_object;
  uint32_t path; // offset in the table's text
};

struct table {
  uint32_t n, n_text;
  struct mapped all[MAX_OBJECTS];
  char text[MAX_OBJECTS * 64];
};

static struct table *current;
static uint32_t n_tables;
static struct tide_lock lock;

// A static program may have unwind information without a table to search in.
static void find_table(struct mapped *m)
{
  const struct tide_agent_face *face = &tide_agent_face;
  for (uint32_t i = 0; i < face->n_tables && i < TIDE_AGENT_TABLES; i++)
    if (face->tables[i].code - m->start < m->end - m->start) {
      m->eh_hdr = (const uint8_t *)face->tables[i].at;
      m->eh_hdr_bytes = face->tables[i].bytes;
    }
}

// By the kernel: what was mapped when the list was read may be gone any moment, by another thread.
static bool copy_headers(uint64_t at, uint64_t headers[HEADER_BYTES / 8])
{
  const struct iovec to = {headers, HEADER_BYTES}, from = {(void *)at, HEADER_BYTES};
  return TIDE_SYS(SYS_process_vm_readv, tide_sys_pid(), &to, 1, &from, 1, 0) == HEADER_BYTES;
}

// The mapping at a file's offset 0, readable: does it begin with headers that we can use?
static bool read_headers(const struct tide_maps_line *line, struct mapped *m)
{
  static uint64_t headers[HEADER_BYTES / 8]; // whoever makes a table has the lock
  const Elf64_Ehdr *elf = (const Elf64_Ehdr *)headers;
  if (line->offset || !line->readable || !copy_headers(line->lo, headers) ||
      memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_phentsize != sizeof(Elf64_Phdr) ||
      elf->e_phoff % 8 || elf->e_phoff > HEADER_BYTES ||
      elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > HEADER_BYTES)
    return false;
  const Elf64_Phdr *p = (const Elf64_Phdr *)((const char *)headers + elf->e_phoff);
  *m = (struct mapped){.start = line->lo, .is_object = true};
  for (unsigned i = 0; i < elf->e_phnum; i++)
    if (p[i].p_type == PT_LOAD && !p[i].p_offset)
      m->bias = line->lo - p[i].p_vaddr;
  for (unsigned i = 0; i < elf->e_phnum; i++) {
    uint64_t end = m->bias + p[i].p_vaddr + p[i].p_memsz;
    if (p[i].p_type == PT_LOAD && end > m->end)
      m->end = end;
    if (p[i].p_type == PT_GNU_EH_FRAME)
      m->eh_hdr = (const uint8_t *)(m->bias + p[i].p_vaddr);
  }
  if (!m->eh_hdr)
    find_table(m);
  return m->end > m->start;
}

static void add_text(struct table *table, struct mapped *m, const char *path)
{
  size_t n = tide_text_len(path) + 1;
  if (n > sizeof table->text - table->n_text)
    return;
  memcpy(table->text + table->n_text, path, n);
  m->path = table->n_text;
  table->n_text += (uint32_t)n;
}

// The kernel lists mappings by address, so the table is sorted as it grows.
static void add_line(struct table *table, const struct tide_maps_line *line)
{
  struct mapped m, *last = table->n ? &table->all[table->n - 1] : NULL;
  if ((last && last->is_object && line->lo < last->end) || table->n == MAX_OBJECTS)
    return;
  bool is_file = line->path[0] == '/' || tide_text_starts(line->path, "[vdso]");
  if (is_file && read_headers(line, &m))
    add_text(table, &m, line->path);
  else if (line->executable)
    m = (struct mapped){.start = line->lo, .end = line->hi};
  else
    return;
  table->all[table->n++] = m;
}

static struct table *make_table(void)
{
  struct tide_maps maps;
  struct tide_maps_line line;
  struct table *table = n_tables < MAX_TABLES ? tide_sys_map_kept(sizeof *table) : NULL;
  if (!table || tide_sys_sandboxed() || !tide_maps_open(&maps))
    return NULL;
  n_tables++;
  table->n_text = 1; // offset 0: no path
  while (tide_maps_next_line(&maps, &line))
    add_line(table, &line);
  tide_maps_close(&maps);
  return table;
}

static const struct mapped *find_in(const struct table *table, uint64_t pc)
{
  uint32_t lo = 0, hi = table ? table->n : 0;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (table->all[mid].start <= pc)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo && pc < table->all[lo - 1].end ? &table->all[lo - 1] : NULL;
}

static const struct mapped *find_mapped(uint64_t pc, const struct table **ret_table)
{
  *ret_table = tide_load_acquire(&current);
  const struct mapped *m = find_in(*ret_table, pc);
  if (m || !tide_sys_readable(pc))
    return m;
  tide_lock_take(&lock);
  struct table *table = tide_load_relaxed(&current);
  if (!find_in(table, pc) && (table = make_table()))
    tide_store_release(&current, table);
  tide_lock_drop(&lock);
  *ret_table = tide_load_acquire(&current);
  return find_in(*ret_table, pc);
}

bool tide_agent_object_at(uint64_t pc, struct tide_object *ret_object)
{
  const struct table *table;
  const struct mapped *m = find_mapped(pc, &table);
  if (!m || !m->is_object)
    return false;
  *ret_object = (struct tide_object){.start = m->start,
                                     .end = m->end,
                                     .bias = m->bias,
                                     .eh_hdr = m->eh_hdr,
                                     .eh_hdr_bytes = m->eh_hdr_bytes,
                                     .path = table->text + m->path,
                                     .identity = (const void *)m->start};
  return true;
}

void tide_agent_each_object(void (*met)(uint64_t pc))
{
  const struct table *table;
  find_mapped((uint64_t)tide_agent_each_object, &table);
  for (uint32_t i = 0; table && i < table->n; i++)
    if (table->all[i].is_object)
      met(table->all[i].start);
}
