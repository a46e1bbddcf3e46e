// SPDX-License-Identifier: Apache-2.0
//
// A look into the file that is about to be run: its loader, and the libraries it needs. Nothing is
// kept; this may be a vfork child.
#include "record/exec_target.h"

#include "record/boot.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "store/store.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

enum { MAX_HEADERS = 32, MAX_NEEDED = 256, NAME_BYTES = 48 };

extern char **environ;

struct target {
  long fd;
  uint32_t n;
  Elf64_Phdr header[MAX_HEADERS];
};

static bool read_at(const struct target *t, void *to, size_t n, uint64_t at)
{
  return TIDE_SYS(SYS_pread64, t->fd, to, n, at) == (long)n;
}

static bool read_headers(struct target *t)
{
  Elf64_Ehdr elf;
  if (!read_at(t, &elf, sizeof elf, 0) || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof *t->header)
    return false; // a script, or nothing that could load us anyway
  t->n = elf.e_phnum < MAX_HEADERS ? elf.e_phnum : MAX_HEADERS;
  return read_at(t, t->header, t->n * sizeof *t->header, elf.e_phoff);
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

static bool needs_asan(const struct target *t, const Elf64_Phdr *dynamic)
{
  uint64_t needed[16], n_needed = 0, names = 0;
  for (uint64_t i = 0; i < MAX_NEEDED && i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
    Elf64_Dyn d;
    if (!read_at(t, &d, sizeof d, dynamic->p_offset + i * sizeof d) || d.d_tag == DT_NULL)
      break;
    if (d.d_tag == DT_STRTAB)
      names = offset_of(t, d.d_un.d_ptr);
    else if (d.d_tag == DT_NEEDED && n_needed < sizeof needed / sizeof *needed)
      needed[n_needed++] = d.d_un.d_val;
  }
  char name[NAME_BYTES];
  for (uint64_t i = 0; names && i < n_needed; i++) {
    read_name(t, names + needed[i], name);
    if (tide_text_starts(name, "libasan.so") || tide_text_starts(name, "libclang_rt.asan"))
      return true;
  }
  return false;
}

static bool fits(const struct target *t)
{
  char loader[NAME_BYTES];
  for (uint32_t i = 0; i < t->n; i++) {
    if (t->header[i].p_type == PT_INTERP) {
      read_name(t, t->header[i].p_offset, loader);
      if (tide_text_find(loader, "ld-musl"))
        return false;
    }
    if (t->header[i].p_type == PT_DYNAMIC && needs_asan(t, &t->header[i]))
      return false;
  }
  return true;
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

static long open_searching(const char *file)
{
  const char *path = NULL;
  for (char **e = environ; e && *e && !path; e++)
    if (tide_text_starts(*e, "PATH="))
      path = *e + sizeof "PATH=" - 1;
  long fd = -1;
  while (path && tide_sys_failed(fd)) {
    char text[1024];
    struct tide_line line = TIDE_LINE(text);
    path = candidate(path, file, &line);
    if (!tide_sys_failed(TIDE_SYS(SYS_faccessat, AT_FDCWD, text, 1)))
      fd = TIDE_SYS(SYS_openat, AT_FDCWD, text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  }
  return fd;
}

bool tide_exec_target_fits(const char *file, bool search)
{
  if (tide_sys_confined) // the filter stays with the next image, which would do what it forbids
    return false;
  if (!file || tide_sys_sandboxed())
    return true;
  bool plain = !search || tide_text_find(file, "/");
  struct target t;
  t.fd = plain ? TIDE_SYS(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
               : open_searching(file);
  if (tide_sys_failed(t.fd))
    return true;
  bool yes = !read_headers(&t) || fits(&t);
  TIDE_SYS(SYS_close, t.fd);
  return yes;
}

void tide_exec_target_say(const char *file, enum tide_unfit why)
{
  if (tide_sys_confined && tide_boot_ready()) // nothing can be said
    tide_add_relaxed(&tide_store.children->n_lost, 1);
  char text[512];
  struct tide_line line = TIDE_LINE(text);
  tide_line_add(&line, "tidemark: this process is not recorded: ");
  tide_line_add(&line, why == TIDE_UNFIT_LONG
                           ? "its arguments and environment leave no room for two variables: "
                           : "musl's loader or AddressSanitizer does not take the recorder: ");
  tide_line_add(&line, file ? file : "a program given by its descriptor");
  tide_line_add(&line, "\n");
  tide_sys_say(text, line.n);
}
