// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says of a process by its descriptor.
#define _GNU_SOURCE
#include "supervise/pidfd.h"

#include "base/proc.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

// As in linux/pidfd.h of 6.15, which is newer than the headers we build with.
struct pid_info {
  uint64_t mask, cgroup;
  uint32_t pid, tgid, ppid;
  uint32_t ids[8];
  int32_t exit_code;
};
#define PID_INFO_PID UINT64_C(1)
#define PID_INFO_EXIT (UINT64_C(1) << 3)
#define PID_GET_INFO _IOWR(0xFF, 11, struct pid_info)
_Static_assert(sizeof(struct pid_info) == 64, "the first published size");

int tide_pid_fd_of_peer(int connection)
{
  int fd = -1;
  socklen_t length = sizeof fd;
  return getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) ? -1 : fd;
}

bool tide_pid_origin(int pid_fd, uint32_t pid, struct tide_pid_origin *ret_origin)
{
  struct pid_info info = {.mask = PID_INFO_PID};
  struct stat st;
  if (pid_fd < 0 || ioctl(pid_fd, PID_GET_INFO, &info) || !(info.mask & PID_INFO_PID) ||
      info.pid != pid || fstat(pid_fd, &st))
    return false;
  *ret_origin = (struct tide_pid_origin){.parent = info.ppid, .identity = st.st_ino};
  return true;
}

// Two sources, because neither lasts: a zombie shows its exit code in /proc until its parent has
// waited for it, and only then does its pidfd tell.
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
  struct tide_proc_stat stat;
  if (!tide_proc_stat(pid, &stat) || stat.state != 'Z')
    return false;
  *ret_status = stat.exit_status;
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
