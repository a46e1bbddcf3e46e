// SPDX-License-Identifier: Apache-2.0
//
// Finding the program behind a command and judging it. The verdicts are about what the loader will
// do with LD_PRELOAD: a 32-bit program's loader would complain on its stderr, musl's would refuse
// to start it, a sanitizer's runtime would abort, so those run without; a static program's
// environment is passed on to its children, so that one keeps it.
#define _GNU_SOURCE
#include "capture/target_check.h"

#include "base/alloc.h"
#include "capture/target_elf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

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

// Will the kernel tell the loader to distrust the environment? Only if it grants something we do
// not have: root running a root-owned setuid program gains nothing.
static bool gains_privilege(const char *path)
{
  struct stat st;
  if (stat(path, &st))
    return false;
  if (st.st_mode & S_ISUID && (st.st_uid != geteuid() || st.st_uid != getuid()))
    return true;
  if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
      (st.st_gid != getegid() || st.st_gid != getgid()))
    return true;
  return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static enum tide_target_kind judge(const char *path, const struct tide_target_elf *elf)
{
  if (!elf->is_elf)
    return TIDE_TARGET_FINE; // a script without a first line, or nothing we know: exec will tell
  if (elf->is_32_bit)
    return TIDE_TARGET_32_BIT;
  if (elf->is_other_machine)
    return TIDE_TARGET_OTHER_MACHINE;
  if (!elf->loader[0])
    return TIDE_TARGET_STATIC;
  if (strstr(elf->loader, "ld-musl"))
    return TIDE_TARGET_MUSL;
  if (!strstr(elf->loader, "ld-linux"))
    return TIDE_TARGET_OTHER_LOADER;
  if (gains_privilege(path))
    return TIDE_TARGET_PRIVILEGED;
  if (elf->sanitizer[0])
    return TIDE_TARGET_SANITIZER;
  return elf->allocator[0] ? TIDE_TARGET_OWN_ALLOCATOR : TIDE_TARGET_FINE;
}

#define NOTHING "it runs, but nothing of it is recorded"

// "PROGRAM <what>: <consequence>; <way out>"; a %s stands for the detail that was found.
static const struct {
  const char *what, *consequence, *way_out;
} VERDICTS[] = {
    [TIDE_TARGET_STATIC] = {"is statically linked, so the recorder cannot be loaded into it",
                            NOTHING " (programs it starts are)",
                            "link it dynamically, without -static (Rust: a *-linux-gnu target "
                            "without crt-static)"},
    [TIDE_TARGET_PRIVILEGED] = {"is setuid, setgid or has file capabilities, so the loader ignores "
                                "the recorder",
                                NOTHING,
                                "record a copy without them, or run tidemark as the user it would "
                                "become"},
    [TIDE_TARGET_32_BIT] = {"is a 32-bit program", NOTHING, "build it for 64 bits"},
    [TIDE_TARGET_OTHER_MACHINE] = {"is for another processor than this one", NOTHING,
                                   "record it where it is at home"},
    [TIDE_TARGET_MUSL] = {"uses musl, and the recorder needs glibc", NOTHING,
                          "build it for a *-linux-gnu target"},
    [TIDE_TARGET_OTHER_LOADER] = {"is started by %s, and the recorder needs glibc's loader",
                                  NOTHING, "build it for glibc"},
    [TIDE_TARGET_OWN_ALLOCATOR] = {"has %s linked in, which the recorder cannot see into",
                                   "only what goes through libc's allocator is recorded",
                                   "link the allocator as a shared library, or build without it "
                                   "for the recording"},
    [TIDE_TARGET_SANITIZER] = {"is built with %s, which must be loaded first and replaces the "
                               "allocator",
                               NOTHING, "record a build without -fsanitize"},
};

static char *explain(enum tide_target_kind kind, const char *path, const char *detail)
{
  if (kind == TIDE_TARGET_FINE)
    return NULL;
  const char *what = VERDICTS[kind].what, *gap = strstr(what, "%s");
  int n = gap ? (int)(gap - what) : (int)strlen(what);
  return tide_sprintf("%s %.*s%s%s: %s; %s", path, n, what, gap ? detail : "", gap ? gap + 2 : "",
                      VERDICTS[kind].consequence, VERDICTS[kind].way_out);
}

void tide_target_check(const char *command, struct tide_target *ret_target)
{
  *ret_target = (struct tide_target){.kind = TIDE_TARGET_FINE, .preload = true};
  char path[MAX_PATH_BYTES];
  if (!find_program(command, path, sizeof path))
    return;
  for (int i = 0; i < MAX_SCRIPTS && follow_script(path, sizeof path); i++)
    ;
  struct tide_target_elf elf;
  tide_target_elf_read(path, &elf);
  enum tide_target_kind kind = judge(path, &elf);
  const char *detail = kind == TIDE_TARGET_SANITIZER      ? elf.sanitizer
                       : kind == TIDE_TARGET_OTHER_LOADER ? elf.loader
                                                          : elf.allocator;
  ret_target->kind = kind;
  ret_target->preload =
      kind == TIDE_TARGET_FINE || kind == TIDE_TARGET_STATIC || kind == TIDE_TARGET_OWN_ALLOCATOR;
  ret_target->path = tide_strdup(path);
  ret_target->sentence = explain(kind, path, detail);
}

void tide_target_done(struct tide_target *target)
{
  free(target->path);
  free(target->sentence);
  *target = (struct tide_target){0};
}
