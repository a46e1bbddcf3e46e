// SPDX-License-Identifier: Apache-2.0
//
// Finding the program behind a command and judging it. The verdicts are about what the loader will
// do with LD_PRELOAD: a 32-bit program's loader would complain on its stderr, musl's would refuse
// to start it, a sanitizer's runtime would abort, so those run without; a static program's
// environment is passed on to its children, so that one keeps it.
#define _GNU_SOURCE
#include "supervise/target_check.h"

#include "base/alloc.h"
#include "model/capture.h"
#include "rt/arch.h"
#include "store/layout.h"
#include "store/program_signs.h"
#include "store/rust_names.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

// ---- what its file says ----
//
// Reading an executable's headers and symbols. An allocator that is linked in shows by symbols it
// defines; in a stripped file, by the messages it would print. Only global symbols are looked at,
// and of a stripped file only .rodata: some 7 ms for a compiler. A run asks up to three times for
// its command, before it starts and when it has ended, so the latest file is remembered.

struct target_elf {
  bool is_elf;
  bool is_32_bit, is_other_machine;
  char loader[256];   // the dynamic loader it asks for; "" when it is static
  char allocator[64]; // the allocator it carries, named if known (of a static program only then);
                      // "" when it uses libc's
  char sanitizer[64]; // "AddressSanitizer" and the like; "" when there is none
  bool has_us_around; // it tells the recorder of what its allocator does (program_signs.h)
  uint64_t static_bytes; // that it has without asking for them: .bss
  struct {
    bool shims;      // __rust_alloc and the like: of the program's own allocator, or jumps to
    bool dealloc;    // __rust_dealloc: no jump to free, which would have become a part of others
    bool library;    // that of the standard library, __rdl_alloc, which is libc's
    bool separately; // not optimized as a whole: then the latter has a symbol where it is used
    bool own;        // __rg_alloc: the own one, by an older compiler
    bool memalign;   // it calls or has posix_memalign, as the standard library's does
    enum tide_rust_kind kind;
  } rust;
};

#define OUR_MACHINE (TIDE_ARCH_ID == TIDE_ARCH_X86_64 ? EM_X86_64 : EM_AARCH64)

struct file {
  const uint8_t *data;
  uint64_t n;
};

// The bytes [offset, offset + n) of the file; NULL when they are not all there.
static const void *bytes_at(const struct file *file, uint64_t offset, uint64_t n)
{
  return offset <= file->n && n <= file->n - offset ? file->data + offset : NULL;
}

static const struct {
  const char *symbol, *name;
} KNOWN[] = {
#define ROW(symbol, name) {symbol, name},
    TIDE_ALLOCATOR_SIGNS(ROW) TIDE_SANITIZER_SIGNS(ROW)
#undef ROW
};

static const struct {
  const char *symbol, *name;
} CALLED[] = {
#define ROW(symbol, name) {symbol, name},
    TIDE_ALLOCATOR_CALLS(ROW)
#undef ROW
};

static const struct {
  const char *text, *name;
} MESSAGES[] = {
    {"<jemalloc>: ", "jemalloc"},
    {"mimalloc: ", "mimalloc"},
    {"tcmalloc: ", "tcmalloc"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is_defined_global(const Elf64_Sym *symbol)
{
  unsigned char bind = ELF64_ST_BIND(symbol->st_info);
  return symbol->st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK);
}

// A name in a string table, NULL when it does not end inside.
static const char *string_at(const char *strings, uint64_t n, uint64_t offset)
{
  bool ends = offset < n && (!strings[n - 1] || memchr(strings + offset, 0, n - offset));
  return ends ? strings + offset : NULL;
}

static void judge_symbol(const char *name, bool *defines_malloc, struct target_elf *elf)
{
  *defines_malloc |= tide_allocator_sign_is(name, TIDE_SIGN_OF_ANY);
  for (size_t i = 0; i < COUNT(KNOWN) && !elf->allocator[0]; i++)
    if (tide_allocator_sign_is(name, KNOWN[i].symbol))
      snprintf(elf->allocator, sizeof elf->allocator, "%s", KNOWN[i].name);
}

static bool is_needed(const Elf64_Sym *symbol)
{
  return symbol->st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL;
}

static void judge_call(const char *name, struct target_elf *elf)
{
  elf->has_us_around |= tide_allocator_sign_is(name, TIDE_SIGN_OF_US_AROUND);
  for (size_t i = 0; i < COUNT(CALLED) && !elf->allocator[0]; i++)
    if (tide_allocator_sign_is(name, CALLED[i].symbol))
      snprintf(elf->allocator, sizeof elf->allocator, "%s", CALLED[i].name);
}

// Rust's names are mostly of local symbols, and posix_memalign is mostly undefined.
static void judge_rust_symbol(const char *name, bool is_defined, struct target_elf *elf)
{
  char plain[TIDE_RUST_NAME_BYTES];
  if (name[0] == 'p' && !strcmp(name, "posix_memalign"))
    elf->rust.memalign = true;
  if (name[0] != '_' || !is_defined || !strchr("RZ_", name[1]))
    return;
  if (name[1] != '_' && !strstr(name, "7___rustc")) // as hardly any name of a program in C++ has
    return;
  name = tide_rust_plain_name(name, plain);
  if (strncmp(name, "__r", 3) != 0) // as all of these begin; a program in C++ has many others
    return;
  elf->rust.shims |= !strcmp(name, "__rust_alloc") || !strcmp(name, "__rust_realloc");
  elf->rust.dealloc |= !strcmp(name, "__rust_dealloc");
  elf->rust.library |= !strcmp(name, "__rdl_alloc");
  elf->rust.own |= !strcmp(name, "__rg_alloc");
  elf->rust.separately |= !strncmp(name, "__rust_no_alloc_shim_is_unstable", 32);
}

static void judge_symbols(const struct file *file, const Elf64_Shdr *table,
                          const Elf64_Shdr *strings, bool *defines_malloc, struct target_elf *elf)
{
  const Elf64_Sym *symbols = bytes_at(file, table->sh_offset, table->sh_size);
  const char *text = bytes_at(file, strings->sh_offset, strings->sh_size);
  if (!symbols || !text || table->sh_offset % 8)
    return;
  for (uint64_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
    const char *name = string_at(text, strings->sh_size, symbols[i].st_name);
    if (!name || !*name)
      continue;
    judge_rust_symbol(name, symbols[i].st_shndx != SHN_UNDEF, elf);
    if (is_defined_global(&symbols[i]))
      judge_symbol(name, defines_malloc, elf);
    else if (is_needed(&symbols[i]))
      judge_call(name, elf);
  }
}

static void judge_needed(const struct file *file, const Elf64_Shdr *table,
                         const Elf64_Shdr *strings, struct target_elf *elf)
{
  const Elf64_Dyn *dynamic = bytes_at(file, table->sh_offset, table->sh_size);
  const char *text = bytes_at(file, strings->sh_offset, strings->sh_size);
  if (!dynamic || !text || table->sh_offset % 8)
    return;
  for (uint64_t i = 0; i < table->sh_size / sizeof *dynamic; i++) {
    if (dynamic[i].d_tag != DT_NEEDED)
      continue;
    const char *name = string_at(text, strings->sh_size, dynamic[i].d_un.d_val);
    const char *sanitizer = name ? tide_sanitizer_of(name) : NULL;
    if (sanitizer)
      snprintf(elf->sanitizer, sizeof elf->sanitizer, "%s", sanitizer);
  }
}

enum { STRIDE = 64, AROUND = 16 }; // bytes; no message is longer than AROUND

// Does one of the next STRIDE bytes end the word in a message, as all of them do? The compiler
// makes a few instructions of it.
static bool may_be_message(const uint8_t *text)
{
  uint8_t any = 0;
  for (int i = 0; i < STRIDE; i++)
    any |= (text[i] == 'c') & ((text[i + 1] == ':') | (text[i + 1] == '>'));
  return any;
}

static void find_message(const uint8_t *text, uint64_t n, struct target_elf *elf)
{
  for (size_t i = 0; i < COUNT(MESSAGES) && !elf->allocator[0]; i++)
    if (memmem(text, n, MESSAGES[i].text, strlen(MESSAGES[i].text)))
      snprintf(elf->allocator, sizeof elf->allocator, "%s", MESSAGES[i].name);
}

static void judge_messages(const struct file *file, const Elf64_Shdr *rodata,
                           struct target_elf *elf)
{
  uint64_t n = rodata->sh_size, at = 0;
  const uint8_t *text = bytes_at(file, rodata->sh_offset, n);
  if (!text)
    return;
  for (; n - at > STRIDE + AROUND && !elf->allocator[0]; at += STRIDE)
    if (may_be_message(text + at)) {
      uint64_t before = at < AROUND ? at : AROUND;
      find_message(text + at - before, before + STRIDE + AROUND, elf);
    }
  at -= at < AROUND ? at : AROUND;
  find_message(text + at, n - at, elf);
}

static bool has_text(const struct file *file, const Elf64_Shdr *section, const char *text)
{
  const void *bytes = section ? bytes_at(file, section->sh_offset, section->sh_size) : NULL;
  return bytes && memmem(bytes, section->sh_size, text, strlen(text));
}

struct texts {
  const Elf64_Shdr *rodata, *comment, *debug; // NULL: it has none
};

// By what the compiler leaves in a comment; where that is gone, as in Debian's packages, by the
// paths of its library in messages: /rustc/…, or wherever a distribution has built it.
static bool is_compiled_by_rust(const struct file *file, const struct texts *in)
{
  static const char *const PATHS[] = {"/rustc/", "library/std/src/", "library/alloc/src/"};
  if (in->comment)
    return has_text(file, in->comment, "rustc version");
  for (size_t i = 0; i < COUNT(PATHS); i++)
    if (has_text(file, in->rodata, PATHS[i]))
      return true;
  return false;
}

// A Rust program has an allocator of its own where it has not the standard library's. Optimized as
// a whole it may have either inlined. Then the names of what was inlined tell, in the debug info
// that the standard library comes with, or that posix_memalign is missing; and without symbols
// nothing does.
static enum tide_rust_kind rust_kind(const struct file *file, const struct texts *in,
                                     bool knows_symbols, const struct target_elf *elf)
{
  if (elf->rust.own || (elf->rust.shims && elf->rust.separately))
    return elf->rust.library ? TIDE_RUST_OF_LIBRARY : TIDE_RUST_OF_ITS_OWN;
  if (in->comment && !elf->rust.shims && !is_compiled_by_rust(file, in))
    return TIDE_RUST_NONE; // the least to read
  if (!has_text(file, in->rodata, "memory allocation of ") ||
      (!elf->rust.shims && !is_compiled_by_rust(file, in)))
    return TIDE_RUST_NONE;
  if (elf->rust.library || has_text(file, in->debug, "__rdl_alloc"))
    return TIDE_RUST_OF_LIBRARY;
  if (elf->rust.dealloc || (knows_symbols && !elf->rust.memalign))
    return TIDE_RUST_OF_ITS_OWN;
  return TIDE_RUST_UNTOLD;
}

static void note_text(const char *name, const Elf64_Shdr *section, struct texts *texts)
{
  if (!strcmp(name, ".rodata"))
    texts->rodata = section;
  if (!strcmp(name, ".comment"))
    texts->comment = section;
  if (!strcmp(name, ".debug_str"))
    texts->debug = section;
}

static void read_sections(const struct file *file, const Elf64_Ehdr *head, struct target_elf *elf)
{
  const Elf64_Shdr *sections =
      bytes_at(file, head->e_shoff, (uint64_t)head->e_shnum * sizeof *sections);
  if (!sections || head->e_shentsize != sizeof *sections || head->e_shoff % 8 ||
      head->e_shstrndx >= head->e_shnum)
    return;
  const Elf64_Shdr *names = &sections[head->e_shstrndx];
  struct texts texts = {0};
  const char *name_text = bytes_at(file, names->sh_offset, names->sh_size);
  bool defines_malloc = false, has_symbols = false;
  for (unsigned i = 0; i < head->e_shnum; i++) {
    const Elf64_Shdr *s = &sections[i];
    const Elf64_Shdr *strings = s->sh_link < head->e_shnum ? &sections[s->sh_link] : names;
    if (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM)
      judge_symbols(file, s, strings, &defines_malloc, elf);
    else if (s->sh_type == SHT_DYNAMIC)
      judge_needed(file, s, strings, elf);
    has_symbols |= s->sh_type == SHT_SYMTAB;
    const char *name = name_text ? string_at(name_text, names->sh_size, s->sh_name) : NULL;
    if (name && s->sh_type == SHT_PROGBITS)
      note_text(name, s, &texts);
    if (s->sh_type == SHT_NOBITS && !(s->sh_flags & SHF_TLS))
      elf->static_bytes += s->sh_size;
    if (name && !strcmp(name, ".go.buildinfo"))
      snprintf(elf->allocator, sizeof elf->allocator, "%s", "Go's runtime");
  }
  if ((!has_symbols || defines_malloc) && !elf->allocator[0] && texts.rodata)
    judge_messages(file, texts.rodata, elf);
  bool is_anybodys = defines_malloc && elf->loader[0]; // of a program in C++, with parts in Rust
  if (!elf->allocator[0] && !is_anybodys)
    elf->rust.kind = rust_kind(file, &texts, has_symbols || elf->loader[0], elf);
  if (elf->rust.kind == TIDE_RUST_OF_ITS_OWN)
    snprintf(elf->allocator, sizeof elf->allocator, "%s", TIDE_RUST_OWN);
  if (defines_malloc && !elf->allocator[0] && elf->loader[0]) // a static one has libc's
    snprintf(elf->allocator, sizeof elf->allocator, "an allocator of its own");
  if (elf->has_us_around && !strstr(elf->allocator, "Sanitizer")) {
    elf->allocator[0] = 0;
    elf->rust.kind = TIDE_RUST_NONE;
  }
}

static void read_loader(const struct file *file, const Elf64_Ehdr *head, struct target_elf *elf)
{
  const Elf64_Phdr *segments =
      bytes_at(file, head->e_phoff, (uint64_t)head->e_phnum * sizeof *segments);
  if (!segments || head->e_phentsize != sizeof *segments || head->e_phoff % 8)
    return;
  for (unsigned i = 0; i < head->e_phnum; i++) {
    if (segments[i].p_type != PT_INTERP)
      continue;
    const char *text = bytes_at(file, segments[i].p_offset, segments[i].p_filesz);
    if (text)
      snprintf(elf->loader, sizeof elf->loader, "%.*s", (int)(segments[i].p_filesz & 0xffff), text);
  }
}

static void read_file(const struct file *file, struct target_elf *elf)
{
  const unsigned char *ident = bytes_at(file, 0, EI_NIDENT);
  if (!ident || memcmp(ident, ELFMAG, SELFMAG))
    return;
  elf->is_elf = true;
  elf->is_32_bit = ident[EI_CLASS] != ELFCLASS64;
  const Elf64_Ehdr *head = bytes_at(file, 0, sizeof *head);
  if (elf->is_32_bit || !head)
    return;
  elf->is_other_machine = head->e_machine != OUR_MACHINE || ident[EI_DATA] != ELFDATA2LSB;
  if (elf->is_other_machine)
    return;
  read_loader(file, head, elf);
  read_sections(file, head, elf);
}

// The latest file that was read, of any thread's.
static struct {
  pthread_mutex_t lock;
  struct stat st; // st_size 0: none
  struct target_elf elf;
} latest = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool same_time(struct timespec a, struct timespec b)
{
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool recall_file(const struct stat *st, struct target_elf *ret_elf)
{
  pthread_mutex_lock(&latest.lock);
  const struct stat *known = &latest.st;
  bool same = st->st_dev == known->st_dev && st->st_ino == known->st_ino &&
              st->st_size == known->st_size && same_time(st->st_mtim, known->st_mtim) &&
              same_time(st->st_ctim, known->st_ctim);
  if (same)
    *ret_elf = latest.elf;
  pthread_mutex_unlock(&latest.lock);
  return same;
}

// Times of files are not exact: one that was changed a moment ago may change again unseen.
static void remember_file(const struct stat *st, const struct target_elf *elf)
{
  enum { SETTLED_S = 2 };
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) || st->st_ctim.tv_sec > now.tv_sec - SETTLED_S)
    return;
  pthread_mutex_lock(&latest.lock);
  latest.st = *st;
  latest.elf = *elf;
  pthread_mutex_unlock(&latest.lock);
}

static void read_mapped(int fd, const struct stat *st, struct target_elf *elf)
{
  void *map = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED)
    return;
  read_file(&(struct file){map, (uint64_t)st->st_size}, elf);
  munmap(map, (size_t)st->st_size);
  remember_file(st, elf);
}

static void read_target_elf(const char *path, struct target_elf *ret_elf)
{
  *ret_elf = (struct target_elf){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st;
  if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
      !recall_file(&st, ret_elf))
    read_mapped(fd, &st, ret_elf);
  if (fd >= 0)
    close(fd);
}

// ---- the verdict ----

#define MAX_PATH_BYTES 4096
#define MAX_SCRIPTS 5 // as the kernel: an interpreter may be a script itself

static bool is_program(const char *path)
{
  struct stat st;
  return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

static bool find_in_path(const char *command, char *ret_path, size_t size)
{
  const char *path = getenv("PATH");
  for (const char *dir = path ? path : "/bin:/usr/bin";;) {
    size_t n = strcspn(dir, ":");
    int written = snprintf(ret_path, size, "%.*s%s%s", (int)n, dir, n ? "/" : "", command);
    if (written > 0 && (size_t)written < size && is_program(ret_path))
      return true;
    if (!dir[n])
      return false;
    dir += n + 1;
  }
}

static bool find_program(const char *command, char *ret_path, size_t size)
{
  if (!strchr(command, '/'))
    return *command && find_in_path(command, ret_path, size);
  return (size_t)snprintf(ret_path, size, "%s", command) < size && is_program(ret_path);
}

// Replaces path by the interpreter of the script it names; false when it is no script.
static bool follow_script(char *path, size_t size)
{
  char line[256];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
  if (fd >= 0)
    close(fd);
  if (n < 2 || line[0] != '#' || line[1] != '!')
    return false;
  line[n] = 0;
  const char *start = line + 2 + strspn(line + 2, " \t");
  size_t length = strcspn(start, " \t\r\n");
  return length && (size_t)snprintf(path, size, "%.*s", (int)length, start) < size;
}

static bool gains_privilege(const char *path)
{
  struct stat st;
  if (stat(path, &st))
    return false;
  bool has_capabilities = getxattr(path, "security.capability", NULL, 0) > 0;
  return tide_program_gains(
      &st, has_capabilities,
      (struct tide_credentials){
          .uid = getuid(), .euid = geteuid(), .gid = getgid(), .egid = getegid()});
}

// The ways a program can be; why says what is in the way, *ret_why is written when anything is.
static bool is_unfit(const char *path, const struct target_elf *elf, enum tide_why *ret_why)
{
  bool is_loader = !elf->loader[0] && strstr(path, "/ld-linux"); // it takes preloads, too
  const char *loader = is_loader ? path : elf->loader;
  if (!elf->is_elf)
    return false; // a script without a first line, or nothing we know: exec will tell
  if (elf->is_32_bit)
    *ret_why = TIDE_WHY_BITS_32;
  else if (elf->is_other_machine)
    *ret_why = TIDE_WHY_OTHER_MACHINE;
  else if (!loader[0])
    *ret_why = TIDE_WHY_STATIC;
  else if (strstr(loader, "ld-musl"))
    *ret_why = TIDE_WHY_MUSL;
  else if (!strstr(loader, "ld-linux"))
    *ret_why = TIDE_WHY_OTHER_LOADER;
  else if (gains_privilege(path))
    *ret_why = TIDE_WHY_PRIVILEGED;
  else if (elf->sanitizer[0])
    *ret_why = TIDE_WHY_SANITIZER;
  else if (elf->allocator[0])
    *ret_why = TIDE_WHY_OWN_ALLOCATOR;
  else
    return false;
  return true;
}

bool tide_target_judge(const char *path, enum tide_why *ret_why, char **ret_detail)
{
  struct target_elf elf;
  read_target_elf(path, &elf);
  if (!is_unfit(path, &elf, ret_why))
    return false;
  *ret_detail = tide_strdup(*ret_why == TIDE_WHY_SANITIZER      ? elf.sanitizer
                            : *ret_why == TIDE_WHY_OTHER_LOADER ? elf.loader
                                                                : elf.allocator);
  return true;
}

struct tide_target_rust tide_target_rust(const char *path)
{
  struct target_elf elf;
  read_target_elf(path, &elf);
  return (struct tide_target_rust){elf.rust.kind, elf.rust.memalign, elf.static_bytes};
}

bool tide_target_musl_is_here(void)
{
  return !access(TIDE_MUSL_LOADER, F_OK);
}

// "PROGRAM <what>: <consequence>; <way out>"
static char *explain(const struct tide_target *target)
{
  TIDE_CLEANUP_FREE char *what = tide_why_sentence(target->why, target->detail);
  TIDE_CLEANUP_FREE char *way_out = tide_why_way_out(target->why, target->detail);
  const char *consequence = target->why == TIDE_WHY_STATIC && tide_target_musl_is_here()
                                ? "neither it nor what it starts is recorded (programs of musl's, "
                                  "which this machine has, would not start)"
                            : target->why == TIDE_WHY_STATIC
                                ? "its memory is not recorded (programs it starts are)"
                            : target->why == TIDE_WHY_OWN_ALLOCATOR
                                ? "only what goes through libc's allocator is recorded"
                                : "its memory is not recorded";
  return tide_sprintf("%s %s: %s%s%s", target->path, what, consequence, way_out ? "; " : "",
                      way_out ? way_out : "");
}

void tide_target_check(const char *command, struct tide_target *ret_target)
{
  *ret_target = (struct tide_target){.preload = true};
  char path[MAX_PATH_BYTES];
  if (!find_program(command, path, sizeof path))
    return;
  for (int i = 0; i < MAX_SCRIPTS && follow_script(path, sizeof path); i++)
    ;
  ret_target->path = tide_strdup(path);
  ret_target->unfit = tide_target_judge(path, &ret_target->why, &ret_target->detail);
  const char *preloaded = tide_sanitizer_in(getenv("LD_PRELOAD"));
  if (!ret_target->unfit && preloaded) {
    ret_target->unfit = true;
    ret_target->why = TIDE_WHY_SANITIZER;
    ret_target->detail = tide_strdup(preloaded);
  }
  if (!ret_target->unfit)
    return;
  ret_target->preload =
      ret_target->why == TIDE_WHY_STATIC || ret_target->why == TIDE_WHY_OWN_ALLOCATOR;
  ret_target->sentence = explain(ret_target);
}

void tide_target_done(struct tide_target *target)
{
  free(target->path);
  free(target->detail);
  free(target->sentence);
  *target = (struct tide_target){0};
}
