// SPDX-License-Identifier: Apache-2.0
//
// The door's name is no secret, and it is free again when the supervisor has ended: any user may
// sit there. Whoever hands out a store sees the command line and decides what the recorder reads;
// so the kernel is asked who listens.
#include "record/peer.h"

#include "rt/sys.h"
#include "rt/text.h"

#include <fcntl.h>
#include <sys/socket.h>

enum { DEFAULT_OVERFLOW_UID = 65534 };

// The beginning of a file as a string; empty if it cannot be read.
static void read_line(const char *path, char *text, size_t bytes)
{
  long fd = TIDE_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), n = 0;
  if (!tide_sys_failed(fd)) {
    n = TIDE_SYS(SYS_read, fd, text, bytes - 1);
    TIDE_SYS(SYS_close, fd);
  }
  text[n > 0 ? n : 0] = 0;
}

// The user that the kernel shows in the place of one who has no number in our namespace.
static uint64_t overflow_uid(void)
{
  char text[32];
  bool ok;
  read_line("/proc/sys/kernel/overflowuid", text, sizeof text);
  uint64_t uid = tide_text_number(text, &ok);
  return ok ? uid : DEFAULT_OVERFLOW_UID;
}

// Has every user a number here, as in the first namespace? "0 0 4294967295", in columns.
static bool all_users_are_known(void)
{
  static const char whole[] = "004294967295\n";
  char text[128];
  size_t n = 0;
  read_line("/proc/self/uid_map", text, sizeof text);
  for (const char *p = text; *p; p++)
    if (*p != ' ' && (n >= sizeof whole - 1 || *p != whole[n++]))
      return false;
  return n == sizeof whole - 1;
}

// Real, effective and saved: one that may become another user again belongs to both.
static bool is_our_only_user(uint32_t uid)
{
  uint32_t real, effective, saved;
  return !tide_sys_failed(TIDE_SYS(SYS_getresuid, &real, &effective, &saved)) && uid == real &&
         uid == effective && uid == saved;
}

bool tide_peer_is_believed(long fd)
{
  struct ucred peer;
  socklen_t n = sizeof peer;
  if (tide_sys_failed(TIDE_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &n)) ||
      n != sizeof peer)
    return false;
  return peer.uid == 0 ||
         (is_our_only_user(peer.uid) && (peer.uid != overflow_uid() || all_users_are_known()));
}
