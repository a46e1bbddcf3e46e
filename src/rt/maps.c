// SPDX-License-Identifier: Apache-2.0
//
// Ranges of /proc/self/maps, one line after the other: "lo-hi rest".
#include "rt/maps.h"

#include "rt/sys.h"

#include <fcntl.h>
#include <sys/ioctl.h>

// The kernel's struct procmap_query, which older headers do not have.
struct query {
  uint64_t size, flags, address;
  uint64_t ret_start, ret_end;
  uint64_t unused[8]; // what else the kernel would tell
};
_Static_assert(sizeof(struct query) == 104, "the kernel's size");
#define QUERY _IOWR('f', 17, struct query)

bool tide_maps_open(struct tide_maps *maps)
{
  maps->fd = TIDE_SYS(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  maps->n = maps->at = 0;
  maps->given = NULL;
  return !tide_sys_failed(maps->fd);
}

void tide_maps_open_text(struct tide_maps *maps, const char *text, size_t n)
{
  maps->fd = -1;
  maps->n = maps->at = 0;
  maps->given = text;
  maps->n_given = n;
}

void tide_maps_close(struct tide_maps *maps)
{
  if (!maps->given)
    TIDE_SYS(SYS_close, maps->fd);
}

static long read_more(struct tide_maps *maps)
{
  if (!maps->given)
    return TIDE_SYS(SYS_read, maps->fd, maps->buffer, sizeof maps->buffer);
  size_t n = maps->n_given < sizeof maps->buffer ? maps->n_given : sizeof maps->buffer;
  for (size_t i = 0; i < n; i++)
    maps->buffer[i] = maps->given[i];
  maps->given += n;
  maps->n_given -= n;
  return (long)n;
}

// The next byte, or -1 at the end.
static int next_byte(struct tide_maps *maps)
{
  if (maps->at == maps->n) {
    maps->n = read_more(maps);
    maps->at = 0;
    if (maps->n <= 0) {
      maps->n = 0;
      return -1;
    }
  }
  return (unsigned char)maps->buffer[maps->at++];
}

// A hexadecimal number up to the given byte. False: something else stands there.
static bool hex_number(struct tide_maps *maps, int until, uint64_t *ret)
{
  uint64_t v = 0;
  for (int c; (c = next_byte(maps)) != until;) {
    bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
    if (!digit && !letter)
      return false;
    v = v << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
  }
  *ret = v;
  return true;
}

// Permissions begin with 'r' where the range can be read.
static bool next_range(struct tide_maps *maps, uint64_t *ret_lo, uint64_t *ret_hi,
                       bool *ret_readable)
{
  if (!hex_number(maps, '-', ret_lo) || !hex_number(maps, ' ', ret_hi))
    return false;
  int c = next_byte(maps);
  *ret_readable = c == 'r';
  while (c != '\n' && c >= 0)
    c = next_byte(maps);
  return true;
}

bool tide_maps_next(struct tide_maps *maps, uint64_t *ret_lo, uint64_t *ret_hi)
{
  bool readable;
  return next_range(maps, ret_lo, ret_hi, &readable);
}

bool tide_maps_next_readable(struct tide_maps *maps, uint64_t *ret_lo, uint64_t *ret_hi)
{
  bool readable = false, more = true;
  while (more && !readable)
    more = next_range(maps, ret_lo, ret_hi, &readable);
  return more;
}

// lo-hi rwxp offset device inode path
bool tide_maps_next_line(struct tide_maps *maps, struct tide_maps_line *ret_line)
{
  struct tide_maps_line line = {0};
  char flags[5];
  if (!hex_number(maps, '-', &line.lo) || !hex_number(maps, ' ', &line.hi))
    return false;
  for (unsigned i = 0; i < sizeof flags; i++)
    flags[i] = (char)next_byte(maps);
  if (!hex_number(maps, ' ', &line.offset))
    return false;
  line.readable = flags[0] == 'r';
  line.executable = flags[2] == 'x';
  int c = next_byte(maps);
  while (c != '\n' && c >= 0 && c != '/' && c != '[')
    c = next_byte(maps);
  size_t n = 0;
  for (; c != '\n' && c >= 0; c = next_byte(maps), n++)
    if (n < sizeof line.path - 1)
      line.path[n] = (char)c;
  if (n >= sizeof line.path)
    line.path[0] = 0;
  *ret_line = line;
  return true;
}

bool tide_maps_find(uint64_t address, uint64_t *ret_lo, uint64_t *ret_hi)
{
  struct tide_maps maps;
  struct query query = {.size = sizeof query, .address = address};
  if (!tide_maps_open(&maps))
    return false;
  bool found = !tide_sys_failed(TIDE_SYS(SYS_ioctl, maps.fd, QUERY, &query));
  if (found) {
    *ret_lo = query.ret_start;
    *ret_hi = query.ret_end;
  }
  while (!found && tide_maps_next(&maps, ret_lo, ret_hi))
    found = address >= *ret_lo && address < *ret_hi;
  tide_maps_close(&maps);
  return found;
}
