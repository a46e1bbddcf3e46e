// SPDX-License-Identifier: Apache-2.0
//
// A table, sorted by address, of everything that is mapped as code: objects, and what is in no file
// (code that the program itself makes), of which nothing is known. An address that is in neither is
// new code, and an object whose headers are not those that were seen is another one: then the table
// is made anew. Tables are never freed, and not changed once they are published: one that is not
// current any more is made use of again when nobody reads. Paths are kept for good, each once,
// since whoever has asked keeps them.
//
// Headers are copied by the kernel, for what was mapped when the list was read may be gone any
// moment. Unwind information is read in place, by src/unwind: it is that of an object which the
// calling thread will return to, and which is not unloaded before that.
#include "agent/agent.h"

#include "record/record.h"
#include "rt/maps.h"
#include "rt/sys.h"
#include "rt/text.h"

#include <elf.h>
#include <string.h>
#include <sys/uio.h>

enum { MAX_OBJECTS = 2048, MAX_TABLES = 64, MAX_PATH_BYTES = 256, MAX_SEGMENTS = 64 };
enum { MAX_TEXT_BYTES = 1 << 20 };

struct mapped {
  uint64_t start, end, bias;
  const uint8_t *eh_hdr;
  uint64_t eh_hdr_bytes; // of one that the tracer has made
  uint64_t segments_at;  // headers of its segments
  uint64_t seen;         // a number that stands for its first headers
  uint32_t n_segments;
  const char *path;
  bool is_object;
};

struct table {
  uint32_t n;
  struct mapped all[MAX_OBJECTS];
};

static struct table *current;
static struct table *tables[MAX_TABLES];
static uint32_t n_tables;
static uint32_t n_readers; // of any table
static char *text;         // paths, each with its NUL
static size_t n_text;
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

struct headers {
  Elf64_Ehdr elf;
  Elf64_Phdr segments[MAX_SEGMENTS];
};

// Some kernels, emulators and sandboxes have no such call. There it is looked at, then copied.
static bool copy(uint64_t at, void *to, uint64_t bytes)
{
  const struct iovec there = {(void *)at, bytes}, here = {to, bytes};
  long got = TIDE_SYS(SYS_process_vm_readv, tide_sys_pid(), &here, 1, &there, 1, 0);
  if (got != -ENOSYS && got != -EPERM)
    return got == (long)bytes;
  for (uint64_t page = at; page < at + bytes; page = (page | (tide_sys_page_bytes - 1)) + 1)
    if (!tide_sys_readable(page))
      return false;
  memcpy(to, (const void *)at, bytes);
  return true;
}

// Where there is no /proc, the tracer has given a list. What is gone from it is noticed: headers
// are copied, and looked at again before they are believed.
static bool open_maps(struct tide_maps *maps)
{
  const struct tide_agent_face *face = &tide_agent_face;
  bool is_open = tide_maps_open(maps);
  if (!is_open && face->maps_at)
    tide_maps_open_text(maps, (const char *)face->maps_at, face->maps_bytes);
  return is_open || face->maps_at;
}

// Where a file's offset is mapped; 0: nowhere.
static uint64_t find_offset(const char *path, uint64_t offset)
{
  struct tide_maps maps;
  struct tide_maps_line line;
  uint64_t at = 0;
  if (!open_maps(&maps))
    return 0;
  while (!at && tide_maps_next_line(&maps, &line))
    if (offset - line.offset < line.hi - line.lo && line.readable &&
        tide_text_equal(line.path, path))
      at = line.lo + (offset - line.offset);
  tide_maps_close(&maps);
  return at;
}

// A number for an object's headers, as many as are enough to tell one file from another. Small:
// this may be a small stack. False: they are not there; where the kernel must not be asked, they
// are taken to be as before.
static bool number_headers(const struct mapped *m, uint64_t *ret_number)
{
  enum { SEGMENTS = 6 };
  uint64_t words[(sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr)) / 8] = {0};
  const struct iovec here = {words, sizeof words};
  const struct iovec there[] = {{(void *)m->start, sizeof(Elf64_Ehdr)},
                                {(void *)m->segments_at, m->n_segments < SEGMENTS
                                                             ? m->n_segments * sizeof(Elf64_Phdr)
                                                             : SEGMENTS * sizeof(Elf64_Phdr)}};
  long got = TIDE_SYS(SYS_process_vm_readv, tide_sys_pid(), &here, 1, there, 2, 0);
  uint64_t number = 1;
  for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
    number = tide_mix64(number ^ words[i]) + 1;
  bool is_all = got == (long)(there[0].iov_len + there[1].iov_len);
  *ret_number = is_all ? number : m->seen;
  return is_all || (got < 0 && got != -EFAULT);
}

static void describe(const struct headers *h, struct mapped *m)
{
  const Elf64_Phdr *p = h->segments;
  for (unsigned i = 0; i < h->elf.e_phnum; i++)
    if (p[i].p_type == PT_LOAD && !p[i].p_offset)
      m->bias = m->start - p[i].p_vaddr;
  for (unsigned i = 0; i < h->elf.e_phnum; i++) {
    uint64_t end = m->bias + p[i].p_vaddr + p[i].p_memsz;
    if (p[i].p_type == PT_LOAD && end > m->end)
      m->end = end;
    if (p[i].p_type == PT_GNU_EH_FRAME)
      m->eh_hdr = (const uint8_t *)(m->bias + p[i].p_vaddr);
  }
  if (!m->eh_hdr)
    find_table(m);
}

// The mapping at a file's offset 0, readable: does it begin with headers that we can use? Tools
// that rewrite programs put those of the segments elsewhere in the file.
static bool read_headers(const struct tide_maps_line *line, struct headers *h, struct mapped *m)
{
  if (line->offset || !line->readable || !copy(line->lo, &h->elf, sizeof h->elf) ||
      memcmp(h->elf.e_ident, ELFMAG, SELFMAG) || h->elf.e_phentsize != sizeof *h->segments ||
      !h->elf.e_phnum || h->elf.e_phnum > MAX_SEGMENTS)
    return false;
  uint64_t at = h->elf.e_phoff < line->hi - line->lo ? line->lo + h->elf.e_phoff
                                                     : find_offset(line->path, h->elf.e_phoff);
  if (!at || !copy(at, h->segments, h->elf.e_phnum * sizeof *h->segments))
    return false;
  *m = (struct mapped){
      .start = line->lo, .segments_at = at, .n_segments = h->elf.e_phnum, .is_object = true};
  describe(h, m);
  return m->end > m->start && number_headers(m, &m->seen);
}

// Is it still the one that was seen?
static bool is_as_seen(const struct mapped *m)
{
  uint64_t number;
  return !m->is_object || (number_headers(m, &number) && number == m->seen);
}

// "": there is no room for it.
static const char *keep_path(const char *path)
{
  size_t n = tide_text_len(path) + 1;
  for (size_t at = 0; at < n_text; at += tide_text_len(text + at) + 1)
    if (tide_text_equal(text + at, path))
      return text + at;
  if (!text)
    text = tide_sys_map_kept(MAX_TEXT_BYTES);
  if (!text || n > MAX_TEXT_BYTES - n_text)
    return "";
  char *kept = text + n_text;
  memcpy(kept, path, n);
  n_text += n;
  return kept;
}

// A table in the making, and the object to which what follows may belong.
struct making {
  struct table *table;
  struct headers h;
  bool is_open;  // the table's last entry is an object
  bool has_code; // and some of it can be executed
};

static struct mapped *last(struct making *making)
{
  return &making->table->all[making->table->n - 1];
}

// Is the line a part of the object, where its headers say that it is loaded?
static bool is_segment(struct making *making, const struct tide_maps_line *line)
{
  const struct mapped *m = last(making);
  for (unsigned i = 0; i < making->h.elf.e_phnum; i++) {
    const Elf64_Phdr *p = &making->h.segments[i];
    uint64_t from = (m->bias + p->p_vaddr) & -tide_sys_page_bytes;
    if (p->p_type == PT_LOAD && line->lo - line->offset == m->bias + p->p_vaddr - p->p_offset &&
        line->lo >= from && line->lo < m->bias + p->p_vaddr + p->p_memsz)
      return true;
  }
  return false;
}

// A file that is mapped to be read has headers as well, and claims addresses of whatever follows.
static void close_object(struct making *making)
{
  if (making->is_open && !making->has_code)
    making->table->n--;
  making->is_open = false;
}

static bool is_within_object(struct making *making, const struct tide_maps_line *line)
{
  if (!making->is_open || line->lo >= last(making)->end)
    return false;
  bool is_own = tide_text_equal(line->path, last(making)->path);
  if (is_own && is_segment(making, line))
    making->has_code |= line->executable;
  else if (line->path[0] == '/' && !making->has_code)
    return false;
  return true;
}

// The kernel lists mappings by address, so the table is sorted as it grows.
static void add_line(struct making *making, const struct tide_maps_line *line)
{
  struct table *table = making->table;
  struct mapped m;
  if (is_within_object(making, line))
    return;
  close_object(making);
  if (table->n == MAX_OBJECTS)
    return;
  bool is_file = line->path[0] == '/' || tide_text_starts(line->path, "[vdso]");
  if (is_file && read_headers(line, &making->h, &m)) {
    m.path = keep_path(line->path);
    making->is_open = true;
    making->has_code = line->executable;
  } else if (line->executable) {
    m = (struct mapped){.start = line->lo, .end = line->hi};
  } else {
    return;
  }
  table->all[table->n++] = m;
}

// One that nobody can be reading: a reader says so first and then looks which is current.
static struct table *spare_table(void)
{
  for (uint32_t i = 0; i < n_tables; i++)
    if (tables[i] != tide_load_relaxed(&current) && !__atomic_load_n(&n_readers, __ATOMIC_SEQ_CST))
      return tables[i];
  struct table *table = n_tables < MAX_TABLES ? tide_sys_map_kept(sizeof *table) : NULL;
  if (table)
    tables[n_tables++] = table;
  return table;
}

static struct table *make_table(void)
{
  struct tide_maps maps;
  struct tide_maps_line line;
  struct table *table = tide_sys_sandboxed() ? NULL : spare_table();
  if (!table || !open_maps(&maps))
    return NULL;
  table->n = 0;
  static struct making making; // whoever makes a table has the lock
  making = (struct making){.table = table};
  while (tide_maps_next_line(&maps, &line))
    add_line(&making, &line);
  close_object(&making);
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

// An entry that is still true; NULL: none.
static const struct mapped *find_true(const struct table *table, uint64_t pc)
{
  const struct mapped *m = find_in(table, pc);
  return m && is_as_seen(m) ? m : NULL;
}

static const struct table *begin_reading(void)
{
  __atomic_fetch_add(&n_readers, 1, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&current, __ATOMIC_SEQ_CST);
}

static void end_reading(void)
{
  __atomic_fetch_sub(&n_readers, 1, __ATOMIC_SEQ_CST);
}

// False: it is in nothing that the current table has.
static bool look_up(uint64_t pc, struct mapped *ret_mapped)
{
  const struct mapped *m = find_true(begin_reading(), pc);
  if (m)
    *ret_mapped = *m;
  end_reading();
  return m;
}

// Whoever has the lock needs not say that it reads: nobody else makes tables.
static void make_current(uint64_t pc)
{
  tide_lock_take(&lock);
  struct table *table = tide_load_relaxed(&current);
  if (!find_true(table, pc) && (table = make_table()))
    __atomic_store_n(&current, table, __ATOMIC_SEQ_CST);
  tide_lock_drop(&lock);
}

static bool find_mapped(uint64_t pc, struct mapped *ret_mapped)
{
  if (look_up(pc, ret_mapped))
    return true;
  if (!tide_sys_readable(pc))
    return false;
  make_current(pc);
  return look_up(pc, ret_mapped);
}

bool tide_agent_object_at(uint64_t pc, struct tide_object *ret_object)
{
  struct mapped m;
  if (!find_mapped(pc, &m) || !m.is_object)
    return false;
  *ret_object = (struct tide_object){.start = m.start,
                                     .end = m.end,
                                     .bias = m.bias,
                                     .eh_hdr = m.eh_hdr,
                                     .eh_hdr_bytes = m.eh_hdr_bytes,
                                     .path = m.path,
                                     .identity = (const void *)m.start};
  return true;
}

void tide_agent_each_object(void (*met)(uint64_t pc))
{
  struct mapped ignored;
  find_mapped((uint64_t)tide_agent_each_object, &ignored);
  const struct table *table = begin_reading();
  for (uint32_t i = 0; table && i < table->n; i++)
    if (table->all[i].is_object)
      met(table->all[i].start);
  end_reading();
}

// What comes next to where an object was may have headers like its own: it is not to be taken for
// it.
static void forget_if_unloaded(void)
{
  const struct table *table = begin_reading();
  bool all_there = true;
  for (uint32_t i = 0; table && all_there && i < table->n; i++)
    all_there = is_as_seen(&table->all[i]);
  end_reading();
  if (!all_there)
    __atomic_store_n(&current, NULL, __ATOMIC_SEQ_CST);
}

// Destructors run meanwhile, whose events count: for them the thread is in no hook. That it is here
// all the same is said as of a thread without a place.
uint64_t tide_agent_unloading(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                              const struct tide_agent_frame *f)
{
  tide_add_acq_rel(&tide_agent_face.n_seatless, 1);
  seat->place.inside--;
  uint64_t ret = ((uint64_t(*)(uint64_t))hook->real)(TIDE_FRAME_ARGUMENT(f, 0));
  seat->place.inside++;
  tide_add_acq_rel(&tide_agent_face.n_seatless, -1);
  struct tide_thread *t = tide_enter(&seat->seat);
  if (t) {
    forget_if_unloaded();
    tide_modules_unloaded();
    tide_leave(t);
  }
  return ret;
}
