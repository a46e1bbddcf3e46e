// SPDX-License-Identifier: Apache-2.0
//
// What to do about a file without debug info depends on whose it is: a package's, by its path; a
// Rust program's, whose profile is in its path; or else a C or C++ program's.
#define _GNU_SOURCE
#include "symbol/advice.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "symbol/debugfile.h"
#include "symbol/package.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void advise(struct tide_symbol_module *m, const char *path, const char *format, va_list args)
{
  char *what = NULL;
  if (vasprintf(&what, format, args) < 0)
    return;
  write_note(m->object.note, path, what);
  free(what);
}

void tide_advise_of(struct tide_symbol_module *m, const char *path, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  advise(m, path, format, args);
  va_end(args);
}

void tide_advise(struct tide_symbol_module *m, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  advise(m, m->object.path, format, args);
  va_end(args);
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
  tide_advise_of(m, path, "%s", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

void tide_advise_no_debug_info(struct tide_symbol_module *m,
                               const struct tide_symbol_sources *sources,
                               const struct tide_debuginfod *servers)
{
  if (m->elf->debug == TIDE_ELF_DEBUG_ZSTD ||
      (m->debug && m->debug->debug == TIDE_ELF_DEBUG_ZSTD)) {
    tide_advise(m, "has zstd-packed debug info that cannot be unpacked: lines are unknown");
    return;
  }
  struct tide_buf text = {0};
  add_advice(&text, m, sources, servers);
  tide_advise(m, "has no debug info: %s unknown; %s",
              has_names(m) ? "lines are" : "lines and most names are", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

// Programs without -g are often linked with libraries that have it, Rust's own among them. One that
// was built with `debug = 1` still has code without: main(), which rustc makes up, or C without -g.
// What is packaged was built by others: some of it is in assembly, and no package would change
// that.
void tide_advise_no_lines_in_part(struct tide_symbol_module *m)
{
  if (is_packaged(m->object.path))
    return;
  struct tide_buf text = {0};
  tide_buf_text(&text, "has no debug info for some of its code");
  if (m->elf->by_rustc && m->lines && tide_dwarf_is_of_crates(m->lines)) {
    tide_buf_text(&text, " (the main() that rustc makes, C without -g): lines there are unknown");
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
    tide_advise(m,
                "has its debug info in %.60s, which libdw can read from version 0.191 on: "
                "inlined calls are unknown",
                tide_advice_name(package));
  else
    tide_advise(m,
                "has part of its debug info in %.60s, which is not there: some names and inlined "
                "calls are unknown",
                tide_advice_name(missing));
}
