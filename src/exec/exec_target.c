// SPDX-License-Identifier: Apache-2.0
//
// A look into the file that is about to be run: its loader, its mode, and the libraries it needs.
// Nothing is kept; this may be a vfork child.

#include "exec/exec_target.h"

#include "record/door.h"
#include "record/record.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "store/program_signs.h"
#include "store/store.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
  MAX_HEADERS = 32,
  MAX_NEEDED = 256,
  AT_ONCE = 32,
  NAME_BYTES = 48,
  MAX_SCRIPTS = 5,
  LINE_BYTES = 256
};

#define OUR_MACHINE (TIDE_ARCH_ID == TIDE_ARCH_X86_64 ? EM_X86_64 : EM_AARCH64)

static const char *supervisor_door = "";

void tide_exec_target_init(const char *door)
{
  supervisor_door = door;
}

struct target {
  long fd;
  uint32_t n;
  Elf64_Ehdr elf;
  Elf64_Phdr header[MAX_HEADERS];
};

static bool read_at(const struct target *t, void *to, size_t n, uint64_t at)
{
  return TIDE_SYS(SYS_pread64, t->fd, to, n, at) == (long)n;
}

enum kind { NO_ELF, PLAIN, UNFIT };

static enum kind read_headers(struct target *t, enum tide_why *ret_why)
{
  if (!read_at(t, &t->elf, sizeof t->elf, 0) || memcmp(t->elf.e_ident, ELFMAG, SELFMAG))
    return NO_ELF;
  *ret_why = t->elf.e_ident[EI_CLASS] != ELFCLASS64 ? TIDE_WHY_BITS_32 : TIDE_WHY_OTHER_MACHINE;
  if (t->elf.e_ident[EI_CLASS] != ELFCLASS64 || t->elf.e_machine != OUR_MACHINE)
    return UNFIT;
  t->n = t->elf.e_phnum < MAX_HEADERS ? t->elf.e_phnum : MAX_HEADERS;
  bool whole = t->elf.e_phentsize == sizeof *t->header &&
               read_at(t, t->header, t->n * sizeof *t->header, t->elf.e_phoff);
  return whole ? PLAIN : NO_ELF;
}

// The text at a place in the file, as much of it as matters.
static void read_name(const struct target *t, uint64_t at, char *name)
{
  long n = TIDE_SYS(SYS_pread64, t->fd, name, NAME_BYTES - 1, at);
  name[n > 0 ? n : 0] = 0;
}

static uint64_t offset_of(const struct target *t, uint64_t address)
{
  for (uint32_t i = 0; i < t->n; i++)
    if (t->header[i].p_type == PT_LOAD && address - t->header[i].p_vaddr < t->header[i].p_filesz)
      return address - t->header[i].p_vaddr + t->header[i].p_offset;
  return 0;
}

static bool needs_sanitizer(const struct target *t, const Elf64_Phdr *dynamic)
{
  uint64_t needed[16], n_needed = 0, names = 0;
  Elf64_Dyn entries[AT_ONCE];
  uint64_t n = dynamic->p_filesz / sizeof *entries;
  for (uint64_t i = 0; i < MAX_NEEDED && i < n; i++) {
    uint64_t left = n - i < AT_ONCE ? n - i : AT_ONCE, k = i % AT_ONCE;
    if (!k && !read_at(t, entries, left * sizeof *entries, dynamic->p_offset + i * sizeof *entries))
      break;
    Elf64_Dyn d = entries[k];
    if (d.d_tag == DT_NULL)
      break;
    if (d.d_tag == DT_STRTAB)
      names = offset_of(t, d.d_un.d_ptr);
    else if (d.d_tag == DT_NEEDED && n_needed < sizeof needed / sizeof *needed)
      needed[n_needed++] = d.d_un.d_val;
  }
  char name[NAME_BYTES];
  for (uint64_t i = 0; names && i < n_needed; i++) {
    read_name(t, names + needed[i], name);
    if (tide_sanitizer_of(name))
      return true;
  }
  return false;
}

static bool gains_privilege(const struct target *t)
{
  struct stat st;
  if (tide_sys_failed(TIDE_SYS(SYS_fstat, t->fd, &st)))
    return false;
  bool has_capabilities = TIDE_SYS(SYS_fgetxattr, t->fd, "security.capability", 0, 0) > 0;
  return tide_program_gains(&st, has_capabilities,
                            (struct tide_credentials){
                                .uid = (uint32_t)TIDE_SYS(SYS_getuid, 0),
                                .euid = (uint32_t)TIDE_SYS(SYS_geteuid, 0),
                                .gid = (uint32_t)TIDE_SYS(SYS_getgid, 0),
                                .egid = (uint32_t)TIDE_SYS(SYS_getegid, 0),
                            });
}

static bool is_unfit(const struct target *t, struct tide_exec_target *target)
{
  char loader[NAME_BYTES] = "";
  for (uint32_t i = 0; i < t->n; i++) {
    if (t->header[i].p_type == PT_INTERP)
      read_name(t, t->header[i].p_offset, loader);
    if (t->header[i].p_type == PT_DYNAMIC && needs_sanitizer(t, &t->header[i])) {
      target->takes_us = false;
      target->why = TIDE_WHY_SANITIZER;
      return true;
    }
  }
  target->takes_us = !tide_text_find(loader, "ld-musl");
  target->why = !loader[0]                            ? TIDE_WHY_STATIC
                : !target->takes_us                   ? TIDE_WHY_MUSL
                : !tide_text_find(loader, "ld-linux") ? TIDE_WHY_OTHER_LOADER
                : gains_privilege(t)                  ? TIDE_WHY_PRIVILEGED
                                                      : TIDE_WHY_NO_LIBRARY;
  if (target->why == TIDE_WHY_STATIC) // the loader itself takes preloads
    return !tide_text_find(target->path, "/ld-linux");
  if (target->why != TIDE_WHY_NO_LIBRARY)
    return true;
  target->why = TIDE_WHY_OWN_ALLOCATOR; // then what the hooks see is not all
  return tide_exec_allocator_inside(t->fd, &t->elf);
}

// Where PATH says; the next piece of it is returned, or NULL after the last.
static const char *candidate(const char *path, const char *file, struct tide_line *line)
{
  size_t n = 0;
  while (path[n] && path[n] != ':')
    n++;
  line->n = 0;
  tide_line_add_n(line, n ? path : ".", n ? n : 1);
  tide_line_add(line, "/");
  tide_line_add(line, file);
  return path[n] ? path + n + 1 : NULL;
}

static long open_file(const char *path)
{
  return TIDE_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

// The path where it was found is left in line.
static long open_searching(const char *file, const char *path, struct tide_line *line)
{
  long fd = -1;
  while (path && tide_sys_failed(fd)) {
    path = candidate(path, file, line);
    if (!tide_sys_failed(TIDE_SYS(SYS_faccessat, AT_FDCWD, line->text, 1)))
      fd = open_file(line->text);
  }
  return fd;
}

static void set_path(struct tide_exec_target *target, const char *path, size_t n)
{
  struct tide_line line = TIDE_LINE(target->path);
  tide_line_add_n(&line, path, n);
}

// Puts the interpreter of a script in the place of the script; false when it is none.
static bool follow_script(struct target *t, struct tide_exec_target *target)
{
  char line[LINE_BYTES];
  long n = TIDE_SYS(SYS_pread64, t->fd, line, sizeof line - 1, 0);
  if (n < 3 || line[0] != '#' || line[1] != '!')
    return false;
  line[n] = 0;
  const char *start = line + 2;
  while (*start == ' ' || *start == '\t')
    start++;
  size_t length = 0;
  while (start[length] && start[length] != ' ' && start[length] != '\t' && start[length] != '\n')
    length++;
  set_path(target, start, length);
  TIDE_SYS(SYS_close, t->fd);
  t->fd = open_file(target->path);
  return !tide_sys_failed(t->fd);
}

void tide_exec_target_look(const char *file, bool search, const char *path,
                           struct tide_exec_target *ret_target)
{
  ret_target->is_unfit = ret_target->is_told = ret_target->is_seen_to = false;
  ret_target->is_elf = false;
  ret_target->takes_us = !tide_sys_confined; // the filter stays with the next image
  ret_target->why = TIDE_WHY_UNKNOWN;
  ret_target->path[0] = 0;
  if (tide_sys_confined) {
    struct tide_line line = TIDE_LINE(ret_target->path);
    tide_line_add(&line, file ? file : "");
    return;
  }
  if (!file || tide_sys_sandboxed())
    return;
  bool plain = !search || tide_text_find(file, "/");
  struct target t;
  struct tide_line found = TIDE_LINE(ret_target->path);
  if (plain)
    tide_line_add(&found, file);
  t.fd = plain ? open_file(file) : open_searching(file, path, &found);
  for (int i = 0; i < MAX_SCRIPTS && !tide_sys_failed(t.fd) && follow_script(&t, ret_target); i++)
    ;
  if (tide_sys_failed(t.fd))
    return;
  enum kind kind = read_headers(&t, &ret_target->why);
  ret_target->is_elf = kind != NO_ELF;
  ret_target->is_unfit = kind == UNFIT || (kind == PLAIN && is_unfit(&t, ret_target));
  TIDE_SYS(SYS_close, t.fd);
}

static void tell_door(struct tide_exec_target *target, uint32_t flags, uint32_t subject)
{
  uint32_t own = tide_sys_pid();
  bool has_path = flags & (TIDE_DOOR_ABSENT | TIDE_DOOR_SPAWNS);
  struct tide_door_hello hello = {.magic = TIDE_DOOR_MAGIC,
                                  .version = TIDE_DOOR_VERSION,
                                  .pid = subject ? subject : own,
                                  .flags = flags,
                                  .store_bytes = tide_sys_tid(),
                                  .parent_pid = own,
                                  .why = (uint32_t)target->why};
  if (supervisor_door[0] && !tide_sys_sandboxed() &&
      tide_door_tell(supervisor_door, &hello, has_path ? target->path : "", has_path && !subject) ==
          TIDE_DOOR_SEEN_TO)
    target->is_seen_to = true;
}

// A static program hands its environment on, and where nobody takes it through its own exec one of
// musl's would not start with us in it. Where there is no musl its children may have us, and so may
// what valgrind's tools run: they are static and start nothing.
static void spare_musl(struct tide_exec_target *target)
{
  if (target->is_unfit && target->why == TIDE_WHY_STATIC && !target->is_seen_to &&
      !tide_text_find(target->path, "/valgrind/") &&
      !tide_sys_failed(TIDE_SYS(SYS_faccessat, AT_FDCWD, TIDE_MUSL_LOADER, 0)))
    target->takes_us = false;
}

void tide_exec_target_announce(struct tide_exec_target *target)
{
  if (target->is_told)
    return;
  if (target->is_unfit)
    tell_door(target, TIDE_DOOR_ABSENT, 0);
  else if (tide_boot_is_orphan())
    tell_door(target, TIDE_DOOR_PASSING, 0);
  target->is_told = target->is_unfit;
  spare_musl(target);
}

void tide_exec_target_announce_spawn(struct tide_exec_target *target)
{
  if (target->is_unfit)
    tell_door(target, TIDE_DOOR_SPAWNS, 0);
  spare_musl(target);
}

void tide_exec_target_returned(struct tide_exec_target *target, uint32_t child)
{
  if (target->is_seen_to && child)
    return;
  if (target->is_told || target->is_seen_to)
    tell_door(target, TIDE_DOOR_STAYED, 0);
  else if (target->is_unfit && child)
    tell_door(target, TIDE_DOOR_ABSENT, child);
  target->is_told = false;
}

void tide_exec_target_say(const struct tide_exec_target *target)
{
  bool is_static = target->why == TIDE_WHY_STATIC;
  if (target->is_seen_to || (is_static && supervisor_door[0])) // then the report says it
    return;
  if (tide_sys_confined && tide_boot_ready()) // nothing can be said
    tide_add_relaxed(&tide_store.children->n_lost, 1);
  char text[512];
  struct tide_line line = TIDE_LINE(text);
  tide_line_add(&line, "tidemark: this process is not recorded: ");
  tide_line_add(&line, is_static ? "it is static, and what it starts is not recorded either, "
                                   "because musl's programs would not start: "
                       : target->why == TIDE_WHY_TOO_LONG
                           ? "its arguments and environment leave no room for two variables: "
                           : "musl's loader or a sanitizer does not take the recorder: ");
  tide_line_add(&line, target->path[0] ? target->path : "a program given by its descriptor");
  tide_line_add(&line, "\n");
  tide_sys_say(text, line.n);
}

void tide_exec_target_is_long(struct tide_exec_target *target)
{
  if (target->is_unfit) // for another reason, and known
    return;
  target->is_unfit = true;
  target->why = TIDE_WHY_TOO_LONG;
  tide_exec_target_say(target);
}
