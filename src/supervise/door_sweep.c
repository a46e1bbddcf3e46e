// SPDX-License-Identifier: Apache-2.0
//
// Sockets of doors whose supervisor was killed stay in the directory; the next run clears them
// away. Nothing goes that could be somebody's: it must have our kind of name, be a socket of this
// user's, be some seconds old, be of a process that is gone, and have nobody listening. The last
// two go together, since a pid of another namespace may say nothing here, and a door that is just
// being opened does not listen yet.
#define _GNU_SOURCE
#include "supervise/door.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { NAME_DIGITS = 32, LEAST_AGE_S = 10 };

// "tidemark-PID-" and 32 digits of a lower-case hexadecimal number; 0: another name.
static pid_t owner_in(const char *name)
{
  static const char prefix[] = "tidemark-";
  char *end;
  if (strncmp(name, prefix, sizeof prefix - 1) != 0 || !isdigit((unsigned char)name[9]))
    return 0;
  errno = 0;
  long pid = strtol(name + 9, &end, 10);
  bool good = !errno && pid > 0 && pid <= INT32_MAX && *end == '-' &&
              strlen(end + 1) == NAME_DIGITS && strspn(end + 1, "0123456789abcdef") == NAME_DIGITS;
  return good ? (pid_t)pid : 0;
}

static bool is_old_socket(const char *path)
{
  struct stat st;
  return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid() &&
         st.st_mtime < time(NULL) - LEAST_AGE_S;
}

static bool nobody_listens(const struct sockaddr_un *address)
{
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return false;
  bool refused =
      connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
  close(fd);
  return refused;
}

void tide_door_sweep(const char *directory)
{
  DIR *dir = opendir(directory);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pid_t owner = owner_in(entry->d_name);
    if (!owner || kill(owner, 0) == 0 || errno != ESRCH)
      continue;
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%s%s", directory, entry->d_name);
    if (n > 0 && (size_t)n < sizeof address.sun_path && is_old_socket(address.sun_path) &&
        nobody_listens(&address))
      unlink(address.sun_path);
  }
  if (dir)
    closedir(dir);
}
