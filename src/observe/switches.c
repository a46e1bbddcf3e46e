// SPDX-License-Identifier: Apache-2.0
//
// Written by pwrite(), as a file may shrink under us. What is switched is written before the pulse
// is raised, which makes threads look (tide_boot_is_paused()); without a supervisor there is no
// beat, and they look at every event.
#define _GNU_SOURCE
#include "observe/switches.h"

#include "base/units.h"
#include "base/utf8.h"
#include "store/weight.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct tide_store_header, field)

static void put_at(int fd, const void *from, size_t n, size_t at)
{
  (void)!pwrite(fd, from, n, (off_t)at);
}

static bool read_now(const struct tide_store_view *view, struct tide_store_switches *ret,
                     uint32_t *ret_paused)
{
  return pread(view->fd, ret, sizeof *ret, (off_t)AT(switches)) == (ssize_t)sizeof *ret &&
         pread(view->fd, ret_paused, sizeof *ret_paused, (off_t)AT(paused)) ==
             (ssize_t)sizeof *ret_paused;
}

static void call_threads(struct tide_store_view *view)
{
  struct tide_store_header *shared = tide_store_view_shared(view);
  if (shared)
    __atomic_fetch_add(&shared->pulse.beat, 1, __ATOMIC_RELEASE);
}

bool tide_switch_pause(struct tide_store_view *view, bool is_off, uint64_t now_ns)
{
  struct tide_store_switches s;
  uint32_t paused;
  if (!read_now(view, &s, &paused) || !!paused == is_off)
    return false;
  tide_switch_mark(view, is_off ? TIDE_MOMENT_OFF : TIDE_MOMENT_ON, now_ns);
  if (!read_now(view, &s, &paused))
    return false;
  if (is_off) {
    s.paused_since_ns = now_ns;
    s.n_pauses++;
  } else {
    s.paused_ns += now_ns > s.paused_since_ns ? now_ns - s.paused_since_ns : 0;
  }
  paused = is_off;
  put_at(view->fd, &s, sizeof s, AT(switches));
  put_at(view->fd, &paused, sizeof paused, AT(paused));
  call_threads(view);
  return true;
}

void tide_switch_begin_paused(int fd, uint64_t now_ns)
{
  const struct tide_store_switches s = {.paused_since_ns = now_ns, .n_pauses = 1};
  const uint32_t paused = 1;
  put_at(fd, &s, sizeof s, AT(switches));
  put_at(fd, &paused, sizeof paused, AT(paused));
}

uint32_t tide_switch_sample_bits(const struct tide_store_header *h)
{
  uint32_t bits = h->switches.sample_bits;
  return h->sample_bits && bits >= TIDE_SAMPLE_MIN_BITS && bits <= TIDE_SAMPLE_MAX_BITS
             ? bits
             : h->sample_bits;
}

void tide_switch_begin_sampled(int fd, uint32_t bits)
{
  put_at(fd, &bits, sizeof bits, AT(switches.sample_bits));
}

bool tide_switch_sample(struct tide_store_view *view, uint32_t bits, uint64_t now_ns)
{
  struct tide_store_header h = view->header;
  uint32_t paused;
  if (!h.sample_bits || !read_now(view, &h.switches, &paused) ||
      tide_switch_sample_bits(&h) == bits)
    return false;
  char size[TIDE_UNITS_MAX], name[TIDE_MOMENT_NAME_BYTES];
  snprintf(name, sizeof name, "a sample for %s",
           tide_units_bytes(size, tide_exact((int64_t)1 << bits), TIDE_STYLE_PLAIN));
  tide_switch_mark(view, name, now_ns);
  uint32_t most = h.switches.sample_most_bits;
  most = most > h.sample_bits ? most : h.sample_bits;
  most = most > bits ? most : bits;
  put_at(view->fd, &most, sizeof most, AT(switches.sample_most_bits));
  put_at(view->fd, &bits, sizeof bits, AT(switches.sample_bits));
  return true;
}

// The recorder itself raises the maximum of what is mapped whenever that is higher: it may be
// lowered beside it, and is looked at again for what came in between.
static void restart_pages(struct tide_store_header *shared)
{
  int64_t live = __atomic_load_n(&shared->page_live_bytes, __ATOMIC_SEQ_CST), max = live;
  __atomic_store_n(&shared->page_max_bytes, live, __ATOMIC_SEQ_CST);
  live = __atomic_load_n(&shared->page_live_bytes, __ATOMIC_SEQ_CST);
  while (live > max && !__atomic_compare_exchange_n(&shared->page_max_bytes, &max, live, false,
                                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    ;
}

bool tide_switch_restart_peak(struct tide_store_view *view)
{
  struct tide_store_header *shared = tide_store_view_shared(view);
  if (!shared)
    return false;
  restart_pages(shared);
  __atomic_fetch_add(&shared->switches.peaks_asked, 1, __ATOMIC_RELEASE);
  call_threads(view);
  return true;
}

bool tide_switch_mark(struct tide_store_view *view, const char *name, uint64_t now_ns)
{
  struct tide_store_switches s;
  struct tide_store_moment row = {.time_ns = now_ns};
  const struct tide_area *area = &view->areas.moments;
  uint32_t paused;
  if (!view->ready || !read_now(view, &s, &paused) || s.n_moments >= TIDE_MOMENTS ||
      s.n_moments >= area->capacity)
    return false;
  strncpy(row.name, name, sizeof row.name - 1);
  put_at(view->fd, &row, sizeof row, area->offset + s.n_moments * sizeof row);
  s.n_moments++;
  put_at(view->fd, &s.n_moments, sizeof s.n_moments, AT(switches.n_moments));
  return true;
}

enum tide_err tide_mark_check(const char *name, struct tide_diag *diag)
{
  size_t n = strlen(name);
  if (!n || n > TIDE_MARK_NAME_MOST)
    return tide_fail(diag, TIDE_ERR_USAGE, "a mark's name has 1 to %d bytes, this one has %zu",
                     TIDE_MARK_NAME_MOST, n);
  for (size_t i = 0, length; i < n; i += length) {
    length = tide_utf8_length(name + i, n - i);
    if (!length || (unsigned char)name[i] < ' ' || name[i] == 127)
      return tide_fail(diag, TIDE_ERR_USAGE,
                       "a mark's name is UTF-8 text without control characters");
  }
  return TIDE_ERR_OK;
}
