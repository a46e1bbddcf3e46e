// SPDX-License-Identifier: Apache-2.0
//
// What to do about a file without debug info depends on whose it is: a package's, by its path; a
// Rust program's, whose profile is in its path; or else a C or C++ program's.
#define _GNU_SOURCE
#include "symbol/advice.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "symbol/debugfile.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- packages ----
//
// dpkg keeps the files of each package in /var/lib/dpkg/info/PACKAGE[:ARCH].list, one path a line.
// `dpkg -S` reads them all. Most libraries are in a package whose name starts like theirs
// (libzstd.so.1 is in libzstd1), and modules of one program come by the dozen in one package, so
// those lists are read first; all of them take some 10 ms for each thousand.

#define LISTS "/var/lib/dpkg/info"

// Is one of the paths a whole line of the file?
static bool lists(int dir, const char *name, const char *const paths[2])
{
  int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0)
    return false;
  char *text = MAP_FAILED;
  if (fstat(fd, &status) == 0 && status.st_size > 0)
    text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (text == MAP_FAILED)
    return false;
  size_t n = (size_t)status.st_size;
  bool found = false;
  for (int i = 0; i < 2 && !found; i++) {
    size_t len = strlen(paths[i]);
    const char *at = text, *end = text + n;
    while (!found && (at = memmem(at, (size_t)(end - at), paths[i], len))) {
      found = (at == text || at[-1] == '\n') && (at + len == end || at[len] == '\n');
      at += len;
    }
  }
  munmap(text, n);
  return found;
}

// Do the letters and digits of both start alike, as far as the shorter stem goes? The stem of a
// file ends where its ".so" does.
static bool sound_alike(const char *file, const char *package)
{
  size_t n = 0;
  const char *end = strstr(file, ".so");
  for (; *file && file != end; file++) {
    if (!isalnum((unsigned char)*file))
      continue;
    while (*package && !isalnum((unsigned char)*package))
      package++;
    if (tolower((unsigned char)*file) != *package++)
      return false;
    n++;
  }
  return n >= 2;
}

static bool is_list(const char *name)
{
  size_t n = strlen(name);
  return n > 5 && strcmp(name + n - 5, ".list") == 0;
}

// The name of the list that has one of the paths, owned; of those alike, or of the others.
static char *list_with_path(DIR *dir, const char *const paths[2], bool alike)
{
  const char *slash = strrchr(paths[0], '/');
  const char *file = slash ? slash + 1 : paths[0];
  rewinddir(dir);
  for (struct dirent *entry; (entry = readdir(dir));)
    if (is_list(entry->d_name) && sound_alike(file, entry->d_name) == alike &&
        lists(dirfd(dir), entry->d_name, paths))
      return tide_strdup(entry->d_name);
  return NULL;
}

// The list that had the file asked for last.
static _Thread_local char latest[256];

static char *search_all(DIR *dir, const char *const paths[2])
{
  if (latest[0] && lists(dirfd(dir), latest, paths))
    return tide_strdup(latest);
  char *list = list_with_path(dir, paths, true);
  if (!list)
    list = list_with_path(dir, paths, false);
  if (list && strlen(list) < sizeof latest)
    strcpy(latest, list);
  return list;
}

char *tide_package_of(const char *path)
{
  DIR *dir = opendir(LISTS);
  if (!dir)
    return NULL;
  // The lists have paths from before /lib became a link to /usr/lib as well as from after.
  TIDE_CLEANUP_FREE char *real = realpath(path, NULL);
  const char *at = real ? real : path;
  TIDE_CLEANUP_FREE char *merged = tide_sprintf("/usr%s", at);
  const char *other = strncmp(at, "/usr/", 5) == 0 ? at + 4 : merged;
  const char *const paths[2] = {at, other};
  char *list = search_all(dir, paths);
  closedir(dir);
  if (list) // PACKAGE:ARCH.list or PACKAGE.list
    list[strcspn(list, ":") < strlen(list) ? strcspn(list, ":") : strlen(list) - 5] = 0;
  return list;
}

// ---- notes ----

const char *tide_advice_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

enum { NOTE_MAX = sizeof((struct tide_symbol_object *)0)->note };

static void write_note(char note[NOTE_MAX], const char *path, const char *what)
{
  size_t used = strlen(what) + 2;
  if (strlen(path) + used > NOTE_MAX)
    path = tide_advice_name(path);
  int room = used < NOTE_MAX ? (int)(NOTE_MAX - used) : 0;
  snprintf(note, NOTE_MAX, "%.*s %s", room, path, what);
}

// The note, with the module's own path.
__attribute__((format(printf, 2, 3))) static void advise(struct tide_symbol_module *m,
                                                         const char *format, ...)
{
  va_list args;
  char *what = NULL;
  va_start(args, format);
  int n = vasprintf(&what, format, args);
  va_end(args);
  if (n < 0)
    return;
  write_note(m->object.note, m->object.path, what);
  free(what);
}

static bool is_packaged(const char *path)
{
  return (strncmp(path, "/usr/", 5) == 0 && strncmp(path, "/usr/local/", 11) != 0) ||
         strncmp(path, "/lib", 4) == 0 || strncmp(path, "/bin/", 5) == 0 ||
         strncmp(path, "/sbin/", 6) == 0;
}

// Cargo's name for the profile that a path under target/ belongs to; "release" when it does not
// tell. The programs of a profile are in target/[TRIPLE/]DIRECTORY/[deps/ or examples/].
static void cargo_profile(const char *path, char profile[64])
{
  const char *target = strstr(path, "/target/"), *end = strrchr(path, '/');
  strcpy(profile, "release");
  if (!target || target == end)
    return;
  for (const char *inner = strstr(target + 1, "/target/"); inner;
       inner = strstr(inner + 1, "/target/"))
    target = inner;
  const char *start = target + strlen("/target/");
  for (const char *part = start; part < end;) { // the last directory that is one of a profile
    size_t n = strcspn(part, "/");
    bool is_inner =
        (n == 4 && memcmp(part, "deps", 4) == 0) || (n == 8 && memcmp(part, "examples", 8) == 0);
    if (!is_inner && n < 64) {
      memcpy(profile, part, n);
      profile[n] = 0;
    }
    part += n + 1;
  }
  if (strcmp(profile, "debug") == 0)
    strcpy(profile, "dev"); // the one profile that is not called like its directory
}

// What debuginfod has to do with it, in a few words that follow the advice.
static void add_servers(struct tide_buf *text, const struct tide_debuginfod *servers)
{
  if (!tide_debuginfod_is_configured())
    tide_buf_text(text, ", or set DEBUGINFOD_URLS");
  else if (!servers)
    tide_buf_text(text, "; `tidemark report` can fetch it, as DEBUGINFOD_URLS is set");
  else if (tide_debuginfod_trouble(servers))
    tide_buf_printf(text, "; debuginfod: %s", tide_debuginfod_trouble(servers));
  else
    tide_buf_text(text, "; the debuginfod servers have none");
}

static void add_package_advice(struct tide_buf *text, const struct tide_symbol_module *m,
                               const struct tide_debuginfod *servers)
{
  TIDE_CLEANUP_FREE char *package = tide_package_of(m->object.path);
  if (package)
    tide_buf_printf(text, "install %s-dbgsym", package);
  else
    tide_buf_text(text, "install its debug symbols (-dbgsym, -debuginfo)");
  add_servers(text, servers);
}

static bool has_names(const struct tide_symbol_module *m)
{
  return m->elf->has_symtab || (m->debug && m->debug->has_symtab);
}

static void add_build_advice(struct tide_buf *text, const struct tide_symbol_module *m)
{
  char profile[64];
  if (m->elf->by_rustc) {
    cargo_profile(m->object.path, profile);
    tide_buf_printf(text, "add `debug = 1`%s under `[profile.%s]` in Cargo.toml and rebuild",
                    has_names(m) ? "" : " and `strip = false`", profile);
  } else {
    tide_buf_printf(text, "compile with -g%s", has_names(m) ? "" : " and do not strip");
  }
}

// How the reader names a directory of debug files, where there is a way.
static void add_directory(struct tide_buf *text, const char *before,
                          const struct tide_symbol_sources *sources)
{
  const char *way = sources->hints ? sources->hints(TIDE_HINT_DEBUG_DIR) : NULL;
  if (way)
    tide_buf_printf(text, "%s%s", before, way);
}

static void add_advice(struct tide_buf *text, const struct tide_symbol_module *m,
                       const struct tide_symbol_sources *sources,
                       const struct tide_debuginfod *servers)
{
  uint32_t crc;
  const char *link = tide_debugfile_link(m->elf, &crc);
  if (is_packaged(m->object.path)) {
    add_package_advice(text, m, servers);
    return;
  }
  if (link) {
    tide_buf_printf(text, "they are in %.60s", link);
    add_directory(text, ": ", sources);
  } else {
    add_build_advice(text, m);
  }
  if (tide_debuginfod_trouble(servers))
    add_servers(text, servers);
}

void tide_advise_unusable(struct tide_symbol_module *m, const char *path,
                          const struct tide_symbol_sources *sources,
                          const struct tide_debuginfod *servers, const char *why)
{
  struct tide_buf text = {0};
  tide_buf_printf(&text, "%s: its frames are shown as addresses", why);
  if (m->build_id_len)
    add_directory(&text, "; if a copy is kept, ", sources);
  if (tide_debuginfod_trouble(servers))
    tide_buf_printf(&text, "; debuginfod: %s", tide_debuginfod_trouble(servers));
  write_note(m->object.note, path, tide_buf_cstr(&text));
  tide_buf_done(&text);
}

void tide_advise_no_debug_info(struct tide_symbol_module *m,
                               const struct tide_symbol_sources *sources,
                               const struct tide_debuginfod *servers)
{
  if (m->elf->debug == TIDE_ELF_DEBUG_ZSTD ||
      (m->debug && m->debug->debug == TIDE_ELF_DEBUG_ZSTD)) {
    advise(m, "has zstd-packed debug info that cannot be unpacked: lines are unknown");
    return;
  }
  struct tide_buf text = {0};
  add_advice(&text, m, sources, servers);
  advise(m, "has no debug info: %s unknown; %s",
         has_names(m) ? "lines are" : "lines and most names are", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

// Programs without -g are often linked with libraries that have it, Rust's own among them. One that
// was built with `debug = 1` may still have code without, as C that was compiled without -g.
// What is packaged was built by others: some of it is in assembly, and no package would change
// that.
void tide_advise_no_lines_in_part(struct tide_symbol_module *m)
{
  if (is_packaged(m->object.path))
    return;
  struct tide_buf text = {0};
  tide_buf_text(&text, "has no debug info for some of its code");
  if (m->elf->by_rustc && m->lines && tide_dwarf_is_of_crates(m->lines)) {
    tide_buf_text(&text, " (C without -g): lines there are unknown");
  } else {
    tide_buf_text(&text, ": lines there are unknown; ");
    add_build_advice(&text, m);
  }
  write_note(m->object.part_note, m->object.path, tide_buf_cstr(&text));
  tide_buf_done(&text);
}

void tide_advise_missing_part(struct tide_symbol_module *m)
{
  const char *missing = m->dwarf ? tide_dwarf_missing(m->dwarf) : NULL;
  if (!missing || m->object.note[0])
    return;
  TIDE_CLEANUP_FREE char *package = tide_sprintf("%s.dwp", m->elf->path);
  if (access(package, F_OK) == 0)
    advise(m,
           "has its debug info in %.60s, which libdw can read from version 0.191 on: "
           "inlined calls are unknown",
           tide_advice_name(package));
  else
    advise(m,
           "has part of its debug info in %.60s, which is not there: some names and inlined "
           "calls are unknown",
           tide_advice_name(missing));
}
