// SPDX-License-Identifier: Apache-2.0
//
// Two sources, because neither lasts: a zombie shows its exit code in /proc until its parent has
// waited for it, and only then does its pidfd tell.
#define _GNU_SOURCE
#include "supervise/pid_end.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

// As in linux/pidfd.h of 6.15, which is newer than the headers we build with.
struct pid_info {
  uint64_t mask, cgroup;
  uint32_t pid, tgid, ppid;
  uint32_t ids[8];
  int32_t exit_code;
};
#define PID_INFO_EXIT (UINT64_C(1) << 3)
#define PID_GET_INFO _IOWR(0xFF, 11, struct pid_info)
_Static_assert(sizeof(struct pid_info) == 64, "the first published size");

static bool ask_pid_fd(int pid_fd, int *ret_status)
{
  struct pid_info info = {.mask = PID_INFO_EXIT};
  if (pid_fd < 0 || ioctl(pid_fd, PID_GET_INFO, &info) || !(info.mask & PID_INFO_EXIT))
    return false;
  *ret_status = info.exit_code;
  return true;
}

static bool ask_zombie(uint32_t pid, int *ret_status)
{
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%u/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0)
    close(fd);
  text[n > 0 ? n : 0] = 0;
  const char *state = strrchr(text, ')'); // the name before may hold anything
  const char *last = strrchr(text, ' ');  // field 52: the exit code
  if (!state || strncmp(state, ") Z ", 4) != 0 || !last)
    return false;
  *ret_status = atoi(last);
  return true;
}

bool tide_pid_end(int pid_fd, uint32_t pid, enum tide_end_kind *ret_kind, int32_t *ret_value)
{
  int status;
  *ret_kind = TIDE_END_EXITED;
  *ret_value = -1;
  bool is_kept = ask_pid_fd(pid_fd, &status);
  if (!is_kept && !ask_zombie(pid, &status)) {
    is_kept = ask_pid_fd(pid_fd, &status); // for a parent that waited between the first two looks
    if (!is_kept)
      return false;
  }
  if (WIFSIGNALED(status))
    *ret_kind = TIDE_END_SIGNALED;
  *ret_value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return is_kept;
}
