// SPDX-License-Identifier: Apache-2.0
//
// Dumps of a run (dumps.h): the figures that they go by, and the captures. See watch_inside.h.
//
// Figures are gathered between two rounds of the watch, from what the recorder keeps anyway and
// from /proc: nothing is asked of the target. Bytes that were allocated take a walk over all stacks
// and are therefore known less often than the rest, as the cost of a walk allows.
#define _GNU_SOURCE
#include "supervise/watch_inside.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>

#define WALK_REST 100u
#define FIRST_NS UINT64_C(5000000) // between two looks whether anything is recorded

static uint64_t thread_cpu_ns(void)
{
  struct timespec spent;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return (uint64_t)spent.tv_sec * 1000000000 + (uint64_t)spent.tv_nsec;
}

// By all that are living and all that have ended.
static uint64_t allocated_so_far(struct tide_watch *watch, uint64_t now_ns)
{
  if (now_ns < watch->dumping.walk_ns)
    return watch->dumping.allocated_bytes;
  uint64_t before_ns = thread_cpu_ns(), bytes = watch->kept_allocated_bytes;
  for (size_t i = 0; i < watch->n_living; i++)
    if (watch->living[i]->sampling && !watch->living[i]->broken)
      bytes += tide_sampler_allocated(&watch->living[i]->view);
  watch->dumping.walk_ns = now_ns + WALK_REST * (thread_cpu_ns() - before_ns);
  watch->dumping.allocated_bytes = bytes;
  return bytes;
}

static void add_image(struct tide_watch *watch, struct tide_watched *w, bool with_rss,
                      struct tide_dump_figures *figures)
{
  struct tide_store_totals totals;
  if (!tide_watched_is_ready(watch, w, figures->now_ns))
    return;
  tide_store_view_totals(&w->view, &totals);
  figures->live_bytes += totals.live_bytes > 0 ? (uint64_t)totals.live_bytes : 0;
  uint64_t rss = with_rss ? tide_resident_all(&w->sampler.rss.resident, &w->view) : 0;
  figures->rss_bytes = rss > figures->rss_bytes ? rss : figures->rss_bytes;
}

static void gather_figures(struct tide_watch *watch, struct tide_limit *limit,
                           struct tide_dump_figures *figures)
{
  struct tide_dumps *dumps = watch->options.dumps;
  bool with_rss = tide_dumps_needs(dumps, TIDE_DUMP_RSS);
  bool with_heap = tide_dumps_needs(dumps, TIDE_DUMP_GROWTH) ||
                   tide_dumps_needs(dumps, TIDE_DUMP_PEAK) ||
                   tide_dumps_needs(dumps, TIDE_DUMP_ALLOCATED);
  for (size_t i = 0; (with_rss || with_heap) && i < watch->n_living; i++)
    add_image(watch, watch->living[i], with_rss, figures);
  if (tide_dumps_needs(dumps, TIDE_DUMP_ALLOCATED))
    figures->allocated_bytes = allocated_so_far(watch, figures->now_ns);
  if (!tide_dumps_needs(dumps, TIDE_DUMP_LIMIT))
    return;
  if (!watch->dumping.limits)
    watch->dumping.limits = tide_limits_new("", watch->options.root_pid);
  if (!tide_limits_nearest(watch->dumping.limits, figures->now_ns, limit))
    return;
  figures->used_bytes = limit->used_bytes;
  figures->most_bytes = limit->most_bytes;
  figures->limit = limit->what;
}

static void dump_now(struct tide_watch *watch, const char *why)
{
  struct tide_dumps *dumps = watch->options.dumps;
  struct tide_draft *draft = NULL;
  struct tide_diag diag = {0};
  uint64_t before_ns = tide_monotonic_ns();
  if (tide_watch_make_draft(watch, false, why, &draft, &diag))
    tide_dumps_failed(dumps, &diag, why);
  else
    tide_dumps_put(dumps, &draft->bytes, why);
  tide_draft_free(draft);
  tide_dumps_took(dumps, before_ns, tide_monotonic_ns());
}

uint64_t tide_watch_serve_dumps(struct tide_watch *watch)
{
  struct tide_dumps *dumps = watch->options.dumps;
  uint64_t now_ns = tide_monotonic_ns();
  if (!dumps)
    return UINT64_MAX;
  bool is_asked = tide_dumps_is_asked(dumps);
  if (now_ns < watch->dumping.next_ns && !is_asked)
    return watch->dumping.next_ns;
  if (!watch->has_origin && !is_asked) { // nothing is recorded yet, and nothing would be in it
    watch->dumping.next_ns = now_ns + FIRST_NS;
    return watch->dumping.next_ns;
  }
  struct tide_limit limit = {0};
  struct tide_dump_figures figures = {.now_ns = now_ns};
  uint64_t before_ns = thread_cpu_ns();
  gather_figures(watch, &limit, &figures);
  uint64_t cost_ns = thread_cpu_ns() - before_ns;
  TIDE_CLEANUP_FREE char *why = tide_dumps_due(dumps, &figures);
  if (why)
    dump_now(watch, why);
  watch->dumping.next_ns = tide_dumps_next_ns(dumps, &figures, cost_ns);
  return watch->dumping.next_ns;
}

void tide_watch_dump(struct tide_watch *watch)
{
  if (!watch->options.dumps)
    return;
  tide_dumps_ask(watch->options.dumps);
  eventfd_write(watch->wake_fd, 1);
}
