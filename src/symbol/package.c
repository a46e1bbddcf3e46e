// SPDX-License-Identifier: Apache-2.0
//
// dpkg keeps the files of each package in /var/lib/dpkg/info/PACKAGE[:ARCH].list, one path a line.
// `dpkg -S` reads them all. Most libraries are in a package whose name starts like theirs
// (libzstd.so.1 is in libzstd1), and modules of one program come by the dozen in one package, so
// those lists are read first; all of them take some 10 ms for each thousand.
#define _GNU_SOURCE
#include "symbol/package.h"

#include "base/alloc.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
static char *search(DIR *dir, const char *const paths[2], bool alike)
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
  char *list = search(dir, paths, true);
  if (!list)
    list = search(dir, paths, false);
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
