// SPDX-License-Identifier: Apache-2.0
//
// Assertions of the program's (tidemark.h): is a region within its bounds? If not, what was found
// and where it was allocated is said on stderr, as addresses in files: names are for the report.
//
// Nothing is allocated but one mapping for the time of the message. What a region logged is its own
// memory's word and the store's: numbers that lead anywhere are checked (store/layout.h, invariant
// 7).
#include "ask/ask.h"
#include "ask/now.h"
#include "ask/region.h"
#include "record/record.h"
#include "rt/sys.h"
#include "rt/text.h"

#include <errno.h>
#include <tidemark/tidemark.h>

enum { MOST_SITES = 5, MOST_FRAMES = 12 };

// ---- words ----

static void add_count(struct tide_line *line, uint64_t n, const char *one, const char *many)
{
  tide_line_number(line, n);
  tide_line_add(line, n == 1 ? one : many);
}

// Below nothing where more was freed than allocated.
static void add_signed(struct tide_line *line, int64_t n, const char *one, const char *many)
{
  if (n < 0)
    tide_line_add(line, "-");
  add_count(line, n < 0 ? -(uint64_t)n : (uint64_t)n, one, many);
}

static void say_line(struct tide_line *line)
{
  tide_line_add(line, "\n");
  tide_sys_say(line->text, line->n);
}

static void begin_line(struct tide_line *line, const char *where)
{
  tide_line_add(line, "tidemark: ");
  tide_line_add(line, where);
  if (*where)
    tide_line_add(line, ": ");
}

// ---- what is asked ----

static bool is_kept(const struct tidemark_stats *s, int what, uint64_t limit)
{
  int64_t most = limit < INT64_MAX ? (int64_t)limit : INT64_MAX;
  switch (what) {
  case TIDEMARK_MAX_BYTES: return s->max_bytes <= most;
  case TIDEMARK_MAX_ALLOCATIONS: return s->allocations <= limit;
  case TIDEMARK_MAX_LEFT_BYTES: return s->current_bytes <= most;
  case TIDEMARK_MAX_LEFT_BLOCKS: return s->current_blocks <= most;
  case TIDEMARK_EXACT_ALLOCATIONS: return s->allocations == limit;
  default: return s->bytes_allocated == limit; // TIDEMARK_EXACT_BYTES
  }
}

static void say_what(const struct tidemark_stats *s, int what, uint64_t limit, const char *where)
{
  char text[1024];
  struct tide_line line = TIDE_LINE(text);
  bool is_exact = what == TIDEMARK_EXACT_ALLOCATIONS || what == TIDEMARK_EXACT_BYTES;
  begin_line(&line, where);
  tide_line_add(&line, is_exact ? "exactly " : "at most ");
  switch (what) {
  case TIDEMARK_MAX_BYTES:
    add_count(&line, limit, " byte was", " bytes were");
    tide_line_add(&line, " to be live at once, and it came to ");
    add_signed(&line, s->max_bytes, " byte", " bytes");
    break;
  case TIDEMARK_MAX_LEFT_BYTES:
    add_count(&line, limit, " byte was", " bytes were");
    tide_line_add(&line, " to be left, and there is more: ");
    add_signed(&line, s->current_bytes, " byte", " bytes");
    break;
  case TIDEMARK_MAX_LEFT_BLOCKS:
    add_count(&line, limit, " block was", " blocks were");
    tide_line_add(&line, " to be left, and there are more: ");
    add_signed(&line, s->current_blocks, "", "");
    break;
  case TIDEMARK_EXACT_BYTES:
    add_count(&line, limit, " byte was", " bytes were");
    tide_line_add(&line, " to be allocated, and it came to ");
    tide_line_number(&line, s->bytes_allocated);
    break;
  default:
    add_count(&line, limit, " allocation was", " allocations were");
    tide_line_add(&line, " expected, and it came to ");
    tide_line_number(&line, s->allocations);
  }
  say_line(&line);
}

static void say_numbers(const struct tidemark_stats *s)
{
  char text[512];
  struct tide_line line = TIDE_LINE(text);
  begin_line(&line, "");
  tide_line_add(&line, "in all ");
  add_count(&line, s->allocations, " allocation", " allocations");
  tide_line_add(&line, ", ");
  add_count(&line, s->reallocations, " reallocation", " reallocations");
  tide_line_add(&line, ", ");
  add_count(&line, s->deallocations, " deallocation", " deallocations");
  tide_line_add(&line, "; ");
  add_signed(&line, s->max_bytes, " byte", " bytes");
  tide_line_add(&line, " at most, ");
  add_signed(&line, s->current_bytes, " byte", " bytes");
  tide_line_add(&line, " left in ");
  add_signed(&line, s->current_blocks, " block", " blocks");
  say_line(&line);
}

// ---- where ----

struct site {
  uint32_t cell;
  uint32_t n_blocks;
  uint64_t bytes;
};

struct scratch {
  struct tide_region_row rows[TIDE_LOGGED_MOST];
  struct site sites[TIDE_LOGGED_MOST];
  uint32_t n_rows, n_sites;
  uint64_t n_events;
};

// Of rows in the order of time: has the block ended since?
static bool has_ended(const struct scratch *s, uint32_t row)
{
  for (uint32_t i = row + 1; i < s->n_rows; i++)
    if (s->rows[i].addr == s->rows[row].addr)
      return true; // or it would not have been given out again
  return false;
}

static void add_to_site(struct scratch *s, uint64_t what)
{
  uint32_t i = 0, cell = TIDE_ROW_CELL(what);
  while (i < s->n_sites && s->sites[i].cell != cell)
    i++;
  if (i == s->n_sites)
    s->sites[s->n_sites++] = (struct site){.cell = cell};
  s->sites[i].n_blocks++;
  s->sites[i].bytes += TIDE_ROW_BYTES(what);
}

static void add_up_sites(struct scratch *s, bool only_left)
{
  for (uint32_t i = 0; i < s->n_rows; i++)
    if (s->rows[i].what && !(only_left && has_ended(s, i)))
      add_to_site(s, s->rows[i].what);
}

// The largest, which is taken away. NULL: there are none left.
static struct site take_largest(struct scratch *s)
{
  struct site *largest = NULL, taken = {0};
  for (uint32_t i = 0; i < s->n_sites; i++)
    if (s->sites[i].n_blocks && (!largest || s->sites[i].bytes > largest->bytes))
      largest = &s->sites[i];
  if (largest) {
    taken = *largest;
    largest->n_blocks = 0;
  }
  return taken;
}

static void add_hex(struct tide_line *line, uint64_t v)
{
  char digits[17];
  size_t i = sizeof digits - 1;
  digits[i] = 0;
  do
    digits[--i] = "0123456789abcdef"[v % 16];
  while (v /= 16);
  tide_line_add(line, "0x");
  tide_line_add(line, digits + i);
}

static void add_frame(struct tide_line *line, uint32_t node)
{
  uint64_t frame = tide_node_at(node)->frame, at = TIDE_FRAME_PC(frame);
  uint32_t module = TIDE_FRAME_MODULE(frame);
  at -= !(frame & TIDE_FRAME_EXACT); // of the call
  if (module && module < tide_load_acquire(&tide_store.n_modules)) {
    size_t n;
    const char *path = tide_now_text(tide_module_at(module)->path, &n);
    at -= tide_module_at(module)->bias;
    tide_line_add_n(line, path, n < 200 ? n : 200);
    tide_line_add(line, "+");
  }
  add_hex(line, at);
}

static void say_site(const struct site *site)
{
  char text[4096];
  struct tide_line line = TIDE_LINE(text);
  begin_line(&line, "");
  tide_line_add(&line, "  ");
  add_count(&line, site->bytes, " byte in ", " bytes in ");
  add_count(&line, site->n_blocks, " block", " blocks");
  uint32_t n_cells = tide_load_acquire(&tide_store.n_cells);
  uint32_t n_nodes = tide_load_acquire(&tide_store.n_nodes);
  uint32_t node = site->cell < n_cells ? tide_load_acquire(&tide_owner_at(site->cell)->stack) : 0;
  for (int i = 0; node >= TIDE_NODE_FIRST && node < n_nodes; node = tide_now_outer(node), i++) {
    if (tide_node_at(node)->flags & TIDE_FRAME_SCOPE)
      break;
    tide_line_add(&line, i ? "\ntidemark:       from " : "\ntidemark:     at ");
    if (i == MOST_FRAMES) {
      tide_line_add(&line, "others");
      break;
    }
    add_frame(&line, node);
  }
  say_line(&line);
}

static void say_sites(struct tide_thread *t, const struct tide_region *region, bool only_left)
{
  struct scratch *s = tide_sys_map_private(sizeof *s);
  if (!s)
    return;
  s->n_rows = tide_tally_rows(&t->tallied, region->whose, &region->start, s->rows, &s->n_events);
  add_up_sites(s, only_left);
  char text[200];
  struct tide_line line = TIDE_LINE(text);
  begin_line(&line, "");
  tide_line_add(&line, only_left ? "what is left was allocated here" : "allocated here");
  if (s->n_events > s->n_rows) {
    tide_line_add(&line, ", in the latest ");
    add_count(&line, s->n_rows, " event", " events");
  }
  tide_line_add(&line, s->n_sites > MOST_SITES ? ", the largest:" : ":");
  if (s->n_sites)
    say_line(&line);
  for (int i = 0; i < MOST_SITES; i++) {
    struct site site = take_largest(s);
    if (site.n_blocks)
      say_site(&site);
  }
  tide_sys_unmap(s, sizeof *s);
}

static void say_verdict(struct tide_thread *t, const struct tide_region *region,
                        const struct tidemark_stats *stats, int what, uint64_t limit,
                        const char *where)
{
  static const char next[] = "tidemark: names: 'tidemark report' of this recording, or "
                             "addr2line -Cfpie FILE ADDRESS\n";
  say_what(stats, what, limit, where);
  say_numbers(stats);
  say_sites(t, region, what == TIDEMARK_MAX_LEFT_BYTES || what == TIDEMARK_MAX_LEFT_BLOCKS);
  tide_sys_say(next, sizeof next - 1);
}

// ---- the call ----

// Once for each process: an assertion that cannot be judged is not broken, and not kept.
static void say_unjudged(const char *where)
{
  static bool is_said;
  if (__atomic_exchange_n(&is_said, true, __ATOMIC_RELAXED))
    return;
  char text[1024];
  struct tide_line line = TIDE_LINE(text);
  begin_line(&line, where);
  tide_line_add(&line, "cannot be judged: not every event of this region is known (recording is "
                       "or was off, only samples are recorded, or the region is not open)");
  say_line(&line);
}

static long judge_region(struct tide_seat *seat, const struct tide_region *region, int what,
                         uint64_t limit, const char *where)
{
  struct tide_thread *t;
  struct tidemark_stats stats;
  if (what < TIDEMARK_MAX_BYTES || what > TIDEMARK_EXACT_BYTES)
    return -EINVAL;
  long error = region->start.id ? tide_region_enter(seat, &t) : -ENODATA;
  if (error)
    return error;
  error = tide_region_read(t, region, &stats);
  bool kept = error || is_kept(&stats, what, limit);
  if (!kept)
    say_verdict(t, region, &stats, what, limit, where);
  tide_leave(t);
  return error ? error : !kept;
}

long tide_ask_region_check(struct tide_seat *seat, const void *region, int what, uint64_t limit,
                           const char *where)
{
  where = where ? where : "";
  long verdict = judge_region(seat, region, what, limit, where);
  if (verdict == -ENODATA)
    say_unjudged(where);
  return verdict;
}
