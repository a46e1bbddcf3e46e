// SPDX-License-Identifier: Apache-2.0
//
// Filters that were there before us, as /proc tells. Containers put one on all that they run, and
// whoever records there is under it as well: only a filter more than that is a reason to keep
// still.
#include "record/sandbox.h"

#include "rt/sys.h"
#include "rt/text.h"

#include <fcntl.h>

enum { STATUS_BYTES = 4096 };

static bool read_status(const char *path, char *text)
{
  long fd = TIDE_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (tide_sys_failed(fd))
    return false;
  long n = TIDE_SYS(SYS_read, fd, text, STATUS_BYTES - 1);
  TIDE_SYS(SYS_close, fd);
  text[n > 0 ? n : 0] = 0;
  return n > 0;
}

static uint32_t number_of(const char *status, const char *key)
{
  const char *at = tide_text_find(status, key);
  bool ok;
  return at ? (uint32_t)tide_text_number(at + tide_text_len(key), &ok) : 0;
}

// Kernels before 5.9 count none: there, one is as good as several. Both lines are near the end of a
// text that every process reads when it starts, so it is searched once.
static uint32_t filters_in(const char *status)
{
  const char *mode = tide_text_find(status, "\nSeccomp:\t");
  if (!mode || !number_of(mode, "\nSeccomp:\t"))
    return 0;
  uint32_t n = number_of(mode, "\nSeccomp_filters:\t");
  return n ? n : 1;
}

// The fewest that any ancestor is under, as far as they can be seen: in a container all are under
// the same ones, and the parent of the first process has the number 0.
static uint32_t fewest_filters(char *status, uint32_t fewest)
{
  enum { MAX_ANCESTORS = 256 };
  for (int i = 0; i < MAX_ANCESTORS; i++) {
    char path[64];
    struct tide_line line = TIDE_LINE(path);
    uint32_t parent = number_of(status, "\nPPid:\t");
    tide_line_add(&line, "/proc/");
    tide_line_number(&line, parent);
    tide_line_add(&line, "/status");
    if (!parent || !read_status(path, status))
      break;
    uint32_t n = filters_in(status);
    fewest = n < fewest ? n : fewest;
  }
  return fewest;
}

bool tide_sandbox_inherited(uint32_t run_filters)
{
  char status[STATUS_BYTES];
  if (!read_status("/proc/self/status", status))
    return false;
  uint32_t own = filters_in(status);
  if (!own)
    return false;
  tide_sys_filtered_at_start = true;
  uint32_t usual = run_filters != UINT32_MAX ? run_filters : fewest_filters(status, own);
  return own > usual;
}
