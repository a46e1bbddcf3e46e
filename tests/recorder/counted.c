// SPDX-License-Identifier: Apache-2.0
//
// The preload library's line counts, where it is built for them (-Drecorder_counted=true, for
// tools/coverage.py). gcov's own way allocates, opens files through libc and adds up in place; here
// each process writes its counts down at its end, by calls of the recorder's own. A process that is
// killed, or forbids itself such calls, leaves none.
#include "rt/sys.h"
#include "rt/text.h"

#include <fcntl.h>
#include <gcov.h>
#include <sys/syscall.h>

enum { FILES = 1024, BUFFER_BYTES = 1 << 16 }; // later processes write over earlier ones' files

extern const struct gcov_info *const __start_tide_counted[];
extern const struct gcov_info *const __stop_tide_counted[];

// The kinds of counters are told apart by these; nothing is ever merged here.
void __gcov_merge_add(void *counters, unsigned n);
void __gcov_merge_add(void *counters, unsigned n) {}

static struct {
  long fd;
  size_t n;
  char bytes[BUFFER_BYTES];
} out TIDE_BULKY;

static void flush(void)
{
  TIDE_SYS(SYS_write, out.fd, out.bytes, out.n);
  out.n = 0;
}

static void put(const void *data, unsigned n, void *context)
{
  for (unsigned i = 0; i < n; i++) {
    if (out.n == BUFFER_BYTES)
      flush();
    out.bytes[out.n++] = ((const char *)data)[i];
  }
}

// A record begins with the name of its file, which no counts begin with.
static void put_name(const char *name, void *context)
{
  static const char mark[] = "\ncounts of ";
  put(mark, sizeof mark - 1, context);
  put(name, (unsigned)tide_text_len(name) + 1, context);
}

static void *refuse(unsigned bytes, void *context)
{
  return NULL;
}

__attribute__((destructor)) static void write_counts(void)
{
  char path[512];
  struct tide_line line = TIDE_LINE(path);
  tide_line_add(&line, TIDE_COUNTED_DIR "/");
  tide_line_number(&line, tide_sys_pid() % FILES);
  out.fd = TIDE_SYS(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (tide_sys_failed(out.fd))
    return;
  for (const struct gcov_info *const *at = __start_tide_counted; at < __stop_tide_counted; at++)
    __gcov_info_to_gcda(*at, put_name, put, refuse, NULL);
  flush();
  TIDE_SYS(SYS_close, out.fd);
}
