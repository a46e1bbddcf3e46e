// SPDX-License-Identifier: Apache-2.0
//
// Modules are met when a rule is made for their code, which is before any stack through that code
// is hashed. When an object is unloaded, rules and captures are forgotten; when another one
// then turns up at addresses that were somebody else's, its frames get a salt, so that the same
// addresses make other stacks. The same object loaded again at the same place is the same module:
// a loop of dlopen and dlclose does not grow the store.

#include "record/record_inside.h"

#include "record/host.h"
#include "record/record.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "store/store.h"
#include "unwind/capture.h"
#include "unwind/host.h"

#include <elf.h>
#include <string.h>

enum { MAX_KNOWN = 4096, MAX_PATH = 1024 };

// As what an object is recorded: its number, in the store of that number.
struct recorded {
  uint32_t id, store;
};

static struct known {
  uint64_t start, end, salt;
  uint64_t path_hash;
  const void *identity;     // NULL: not loaded now
  struct recorded recorded; // of one that is not among the first
  uint8_t build_id_len, build_id[31];
  uint32_t n_readable;
  struct tide_span readable[TIDE_OBJECT_SPANS];
} known[MAX_KNOWN] TIDE_BULKY;
static uint32_t n_known;
// Of the first: what a fork child writes is with the other small variables.
enum { N_FIRST = 24 };
static struct recorded first_recorded[N_FIRST];
static uint32_t store_number; // rises when a fork child gets a store of its own
static struct tide_lock lock;
static const char *program_path = "";

static struct recorded *recorded_of(uint32_t i)
{
  return i < N_FIRST ? &first_recorded[i] : &known[i].recorded;
}

void tide_modules_init(const char *program)
{
  program_path = program;
}

// What the parent knew stays known, as its rules do; each object is recorded in the child's store
// when a stack first goes through it.
void tide_modules_after_fork(void)
{
  lock.held = 0;
  store_number++;
}

bool tide_modules_find(uint64_t pc, struct tide_object *ret_object)
{
  if (!tide_host.object_at(pc, ret_object))
    return false;
  if (tide_object_is_vdso(ret_object))
    ret_object->path = "[vdso]";
  return true;
}

static uint64_t hash_text(const char *s)
{
  uint64_t h = 1;
  for (; *s; s++)
    h = tide_mix64(h ^ (uint8_t)*s) + 1;
  return h;
}

// The loader gives paths as they were asked for; a relative one means nothing later.
static void absolute_path(const struct tide_object *object, struct tide_line *line)
{
  const char *path = object->path;
  if (!*path)
    path = program_path;
  if (*path != '/' && *path != '[') {
    char cwd[MAX_PATH];
    if (!tide_sys_failed(TIDE_SYS(SYS_getcwd, cwd, sizeof cwd)))
      tide_line_add(line, cwd);
    tide_line_add(line, "/");
    if (tide_text_starts(path, "./"))
      path += 2;
  }
  tide_line_add(line, path);
}

static uint64_t note_padded(uint32_t n)
{
  return ((uint64_t)n + 3) & ~3ull;
}

static void build_id_in(const uint8_t *note, uint64_t size, struct known *k)
{
  Elf64_Nhdr header;
  for (uint64_t step; size >= sizeof header; note += step, size -= step) {
    memcpy(&header, note, sizeof header);
    uint64_t value_at = sizeof header + note_padded(header.n_namesz);
    step = value_at + note_padded(header.n_descsz);
    if (value_at + header.n_descsz > size)
      return;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        !memcmp(note + sizeof header, "GNU", 4)) {
      uint32_t n = header.n_descsz < sizeof k->build_id ? header.n_descsz : sizeof k->build_id;
      memcpy(k->build_id, note + value_at, n);
      k->build_id_len = (uint8_t)n;
      return;
    }
    step = step < size ? step : size;
  }
}

static bool readable(const struct tide_object *object, uint64_t start, uint64_t bytes)
{
  for (uint32_t i = 0; i < object->n_readable; i++) {
    const struct tide_span *span = &object->readable[i];
    if (start - span->start < span->end - span->start && bytes <= span->end - start)
      return true;
  }
  return false;
}

// Program headers are part of the first mapped page of any object that linkers make.
static void read_build_id(const struct tide_object *object, struct known *k)
{
  const Elf64_Ehdr *elf = (const Elf64_Ehdr *)object->start;
  if (!readable(object, object->start, sizeof *elf) || memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
      elf->e_phentsize != sizeof(Elf64_Phdr) ||
      !readable(object, object->start + elf->e_phoff, elf->e_phnum * sizeof(Elf64_Phdr)))
    return;
  const char *headers = (const char *)elf + elf->e_phoff;
  for (unsigned i = 0; i < elf->e_phnum && !k->build_id_len; i++) {
    Elf64_Phdr p;
    memcpy(&p, headers + i * sizeof p, sizeof p);
    uint64_t note = object->bias + p.p_vaddr;
    if (p.p_type == PT_NOTE && readable(object, note, p.p_memsz)) // not every note is loaded
      build_id_in((const uint8_t *)note, p.p_memsz, k);
  }
}

static bool same_object(const struct known *a, const struct known *b)
{
  return a->start == b->start && a->end == b->end && a->path_hash == b->path_hash &&
         a->build_id_len == b->build_id_len && !memcmp(a->build_id, b->build_id, b->build_id_len);
}

static bool overlaps(const struct known *a, const struct known *b)
{
  return a->start < b->end && b->start < a->end;
}

static void publish_salts(void)
{
  tide_salt_begin();
  for (uint32_t i = 0; i < n_known; i++)
    if (known[i].identity && known[i].salt)
      tide_salt_add(known[i].start, known[i].end, known[i].salt);
  tide_salt_publish();
}

static uint32_t record(const struct tide_object *object, const struct known *k)
{
  char path[MAX_PATH];
  struct tide_line line = TIDE_LINE(path);
  absolute_path(object, &line);
  struct tide_store_module m = {
      .start = k->start,
      .end = k->end,
      .bias = object->bias,
      .t_seen = tide_cycles() >> TIDE_TICK_SHIFT,
      .path = tide_store_text(path, line.n),
      .generation = tide_load_relaxed(&tide_store.code_gen),
      .build_id_len = k->build_id_len,
  };
  memcpy(m.build_id, k->build_id, sizeof m.build_id);
  return tide_store_module_add(&m);
}

static void remember_readable(struct known *k, const struct tide_object *object)
{
  k->n_readable = object->n_readable;
  memcpy(k->readable, object->readable, sizeof k->readable);
}

// What a rule or a capture says of that code is not true any more.
static void forget_code(void)
{
  tide_rules_forget();
  tide_store_code_changed();
}

// Whoever was where the object is now is gone, whether we were told or not. Has anybody been there
// at any time?
static bool supersede(const struct known *fresh)
{
  bool was_taken = false, untold = false;
  for (uint32_t i = 0; i < n_known; i++)
    if (overlaps(&known[i], fresh) && !same_object(&known[i], fresh)) {
      was_taken = true;
      untold |= known[i].identity != NULL;
      known[i].identity = NULL;
    }
  if (untold)
    forget_code();
  return was_taken;
}

static void meet_object(struct tide_object *object)
{
  struct known fresh = {.start = object->start,
                        .end = object->end,
                        .path_hash = hash_text(object->path),
                        .identity = object->identity};
  tide_object_measure(object);
  remember_readable(&fresh, object);
  read_build_id(object, &fresh);
  if (supersede(&fresh))
    fresh.salt = n_known + 1;
  for (uint32_t i = 0; i < n_known; i++)
    if (same_object(&known[i], &fresh)) { // it came back
      known[i].identity = fresh.identity;
      remember_readable(&known[i], object);
      publish_salts();
      return;
    }
  if (n_known == MAX_KNOWN)
    return; // its frames are recorded without a module
  known[n_known] = fresh;
  *recorded_of(n_known) = (struct recorded){record(object, &fresh), store_number};
  tide_store_release(&n_known, n_known + 1);
  if (fresh.salt)
    publish_salts();
}

void tide_modules_meet(struct tide_object *object)
{
  tide_lock_take(&lock);
  uint32_t i = 0;
  while (i < n_known && (known[i].identity != object->identity || known[i].start != object->start))
    i++;
  if (i == n_known) {
    meet_object(object);
  } else {
    object->n_readable = known[i].n_readable;
    memcpy(object->readable, known[i].readable, sizeof object->readable);
  }
  tide_lock_drop(&lock);
}

static void meet_at(uint64_t pc)
{
  struct tide_object object;
  if (tide_object_find(pc, &object))
    tide_modules_meet(&object);
}

void tide_modules_meet_all(void)
{
  tide_host.each_object(meet_at);
}

// The loader is asked again: the object may have gone unseen, and its path with it.
static uint32_t record_again(const struct known *k, struct recorded *recorded)
{
  struct tide_object object;
  tide_lock_take(&lock);
  if (recorded->store != store_number) {
    bool is_there = tide_object_find(k->start, &object) && object.identity == k->identity &&
                    object.start == k->start && object.end == k->end;
    recorded->id = is_there ? record(&object, k) : 0;
    tide_store_release(&recorded->store, store_number);
  }
  tide_lock_drop(&lock);
  return recorded->id;
}

uint32_t tide_modules_at(uint64_t pc)
{
  uint32_t n = tide_load_acquire(&n_known);
  for (uint32_t i = 0; i < n; i++)
    if (known[i].identity && pc - known[i].start < known[i].end - known[i].start) {
      struct recorded *recorded = recorded_of(i);
      return TIDE_LIKELY(tide_load_acquire(&recorded->store) == store_number)
                 ? recorded->id
                 : record_again(&known[i], recorded);
    }
  return 0;
}

void tide_modules_unloaded(void)
{
  bool gone = false;
  tide_lock_take(&lock);
  for (uint32_t i = 0; i < n_known; i++) {
    struct tide_object now;
    if (known[i].identity &&
        (!tide_object_find(known[i].start, &now) || now.identity != known[i].identity ||
         now.start != known[i].start || now.end != known[i].end)) {
      known[i].identity = NULL;
      gone = true;
    }
  }
  if (gone)
    forget_code();
  tide_lock_drop(&lock);
}
