// SPDX-License-Identifier: Apache-2.0
//
// A store in a file. Without a supervisor nobody read the two clocks side by side at the end. Where
// the counter's rate is not part of the architecture, it is found, in this order:
//  1. by reading both clocks now, if the machine has not been started anew since the recording;
//  2. from the time the file was last written, if that gives a counter a processor could have;
//  3. by assuming 2.5 GHz: the order of events is right, their lengths are a guess.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/proc.h"
#include "model/image_sums.h"
#include "observe/store_read.h"
#include "observe/store_writer.h"
#include "rt/arch.h"
#include "store/layout.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u
#define SAME_BOOT_NS (2 * (double)NS_PER_S) // how far a clock set by hand may be off
#define ASSUMED_HZ 2.5e9

static uint64_t timespec_ns(struct timespec t)
{
  return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static bool is_plausible(double ns_per_tick)
{
  double hz = 1e9 / ns_per_tick * (1 << TIDE_TICK_SHIFT);
  return isfinite(hz) && hz > 1e6 && hz < 1e10;
}

// Now, if it is on the same clocks as the header's start: the difference between wall clock and
// monotonic clock is the moment of the boot.
static bool rate_from_now(const struct tide_store_header *h, double *ret_ns_per_tick)
{
  struct tide_clock_reading now = tide_clock_read();
  struct timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  double boot_now = (double)timespec_ns(wall) - (double)now.monotonic_ns;
  double boot_then = (double)h->start_realtime_ns - (double)h->start_monotonic_ns;
  if (fabs(boot_now - boot_then) > SAME_BOOT_NS || now.ticks <= h->start_ticks ||
      now.monotonic_ns <= h->start_monotonic_ns)
    return false;
  *ret_ns_per_tick =
      (double)(now.monotonic_ns - h->start_monotonic_ns) / (double)(now.ticks - h->start_ticks);
  return is_plausible(*ret_ns_per_tick);
}

static double rate_find(const struct tide_store_header *h, uint64_t last_ticks, uint64_t written_ns)
{
  double rate = h->ticks_per_second ? (double)NS_PER_S / (double)h->ticks_per_second : NAN;
  if (is_plausible(rate) || rate_from_now(h, &rate))
    return rate;
  if (last_ticks > h->start_ticks && written_ns > h->start_realtime_ns)
    rate = (double)(written_ns - h->start_realtime_ns) / (double)(last_ticks - h->start_ticks);
  return is_plausible(rate) ? rate : 1e9 * (1 << TIDE_TICK_SHIFT) / ASSUMED_HZ;
}

struct latest {
  const struct tide_store_header *header;
  uint64_t ticks;
};

static void latest_ticks(void *context, const struct tide_cell_block *block)
{
  struct latest *latest = context;
  for (uint32_t i = 0; i < block->n; i++) {
    uint64_t ticks = tide_store_ticks(latest->header, block->cells[i].t_last);
    if (block->owners[i].stack && ticks > latest->ticks)
      latest->ticks = ticks;
  }
}

bool tide_store_file_is(const char *path)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return false;
  struct tide_store_header header;
  ssize_t got = pread(fd, &header, sizeof header, 0);
  close(fd);
  return got == (ssize_t)sizeof header &&
         !memcmp(header.magic, TIDE_STORE_MAGIC, sizeof header.magic);
}

void tide_store_append_image(struct tide_store_view *view, uint64_t written_ns, bool is_living,
                             struct tide_capture *capture)
{
  const struct tide_store_header *h = &view->header;
  struct latest latest = {h, h->start_ticks};
  tide_store_view_nodes(view);
  tide_store_view_cells(view, latest_ticks, &latest);
  uint64_t peak_ticks =
      tide_store_ticks(h, h->max_ticks); // told by a free: of those no time is kept
  if (peak_ticks > latest.ticks)
    latest.ticks = peak_ticks;
  int64_t since_ns = (int64_t)(h->start_realtime_ns - capture->start_realtime_ns);
  struct tide_clock clock = {h->start_ticks, since_ns, rate_find(h, latest.ticks, written_ns)};
  double rate;
  uint64_t now_ticks = is_living && rate_from_now(h, &rate) ? tide_clock_read().ticks : 0;
  if (now_ticks > latest.ticks)
    latest.ticks = now_ticks;

  capture->arch = h->arch;
  capture->images =
      tide_realloc_array(capture->images, capture->n_images + 1, sizeof *capture->images);
  struct tide_image *image = &capture->images[capture->n_images++];
  *image = (struct tide_image){0};
  tide_store_read_image(view, &clock, latest.ticks, image);
  image->end_ns = tide_clock_time_ns(&clock, latest.ticks);
  tide_image_end_pause(image);
  if (capture->duration_ns < image->end_ns)
    capture->duration_ns = image->end_ns;
  tide_image_add_exact_snapshots(image);
}

// Its process has told that it ends (tide_boot_note_end()), and does not write any more. Of one
// that was killed that cannot be told: what is here may be a copy of what it went on writing to.
static bool has_ended(const struct tide_store_view *view, const struct stat *st)
{
  return view->header.cpu_ns && !tide_store_is_written(view->fd, st, view->header.pid);
}

static struct tide_capture *convert(struct tide_store_view *view, const struct stat *st)
{
  struct tide_capture *capture = tide_capture_new_here();
  capture->start_realtime_ns = view->header.start_realtime_ns;
  capture->finished = true;
  tide_store_append_image(view, timespec_ns(st->st_mtim), false, capture);
  if (has_ended(view, st)) {
    capture->images[0].end_kind = TIDE_END_EXITED;
    capture->images[0].end_value = -1;
  }
  return capture;
}

enum tide_err tide_store_file_read(const char *path, struct tide_capture **ret_capture,
                                   struct tide_diag *diag)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st;
  if (fd < 0 || fstat(fd, &st)) {
    enum tide_err err = tide_fail_errno(diag, "cannot open %s", path);
    if (fd >= 0)
      close(fd);
    return err;
  }
  struct tide_store_view view;
  enum tide_err err = tide_store_view_open(&view, fd, diag);
  if (err)
    return err;
  struct tide_diag why = {0};
  err = tide_store_view_refresh(&view, &why);
  if (err)
    err = tide_fail(diag, err, "%s: %s", path, why.text);
  else
    *ret_capture = convert(&view, &st);
  tide_store_view_close(&view);
  return err;
}

// ---- where it was made ----
//
// Facts about this machine, as the kernel tells them.

struct tide_capture *tide_capture_new_here(void)
{
  struct tide_capture *capture = tide_capture_new();
  struct utsname host;
  if (uname(&host) < 0)
    host = (struct utsname){0};
  capture->tool_version = tide_strdup(TIDE_VERSION);
  capture->arch = TIDE_ARCH_ID;
  capture->kernel_page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
  capture->hostname = tide_strdup(host.nodename);
  capture->kernel = tide_strdup(host.release);
  return capture;
}

unsigned tide_host_filters(void)
{
  unsigned n = (unsigned)tide_proc_status_number(0, "Seccomp_filters", 10);
  // Kernels before 5.9 do not count them.
  return n ? n : tide_proc_status_number(0, "Seccomp", 10) != 0;
}
