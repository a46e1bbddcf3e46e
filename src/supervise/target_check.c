// SPDX-License-Identifier: Apache-2.0
//
// Finding the program behind a command and judging it. The verdicts are about what the loader will
// do with LD_PRELOAD: a 32-bit program's loader would complain on its stderr, musl's would refuse
// to start it, a sanitizer's runtime would abort, so those run without; a static program's
// environment is passed on to its children, so that one keeps it.
#define _GNU_SOURCE
#include "supervise/target_check.h"

#include "base/alloc.h"
#include "supervise/target_elf.h"
#include "model/why_words.h"

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

// The ways a program can be; why says what is in the way, *ret_why is written when anything is.
static bool is_unfit(const char *path, const struct tide_target_elf *elf, enum tide_why *ret_why)
{
  if (!elf->is_elf)
    return false; // a script without a first line, or nothing we know: exec will tell
  if (elf->is_32_bit)
    *ret_why = TIDE_WHY_BITS_32;
  else if (elf->is_other_machine)
    *ret_why = TIDE_WHY_OTHER_MACHINE;
  else if (!elf->loader[0])
    *ret_why = TIDE_WHY_STATIC;
  else if (strstr(elf->loader, "ld-musl"))
    *ret_why = TIDE_WHY_MUSL;
  else if (!strstr(elf->loader, "ld-linux"))
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
  struct tide_target_elf elf;
  tide_target_elf_read(path, &elf);
  if (!is_unfit(path, &elf, ret_why))
    return false;
  *ret_detail = tide_strdup(*ret_why == TIDE_WHY_SANITIZER      ? elf.sanitizer
                            : *ret_why == TIDE_WHY_OTHER_LOADER ? elf.loader
                                                                : elf.allocator);
  return true;
}

// "PROGRAM <what>: <consequence>; <way out>"
static char *explain(const struct tide_target *target)
{
  TIDE_CLEANUP_FREE char *what = tide_why_sentence(target->why, target->detail);
  TIDE_CLEANUP_FREE char *way_out = tide_why_way_out(target->why, target->detail);
  const char *consequence = target->why == TIDE_WHY_STATIC
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
  const char *preloaded = tide_target_sanitizer_in(getenv("LD_PRELOAD"));
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
