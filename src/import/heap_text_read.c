// SPDX-License-Identifier: Apache-2.0
//
// Heap profiles as text: gperftools' of the heap profiler ("heapprofile", exact) and of the
// sampling allocator ("heap_v2/R"), Go's of old ("heap/R", R twice the interval), and jemalloc's:
//
//   heap profile:  1024:  4096 [ 2048:  8192] @ heapprofile      heap_v2/524288
//     1024:  4096 [ 2048:  8192] @ 0x4005d0 0x400610               t*: 1024: 4096 [0: 0]
//   MAPPED_LIBRARIES:                                            @ 0x4005d0 0x400610
//   00400000-00401000 r-xp 00000000 08:01 42 /bin/program          t*: 1024: 4096 [0: 0]
//
// Some write "--- Memory map: ---" where gperftools has MAPPED_LIBRARIES, and pprof takes both.
// Blocks and bytes in use, in brackets those allocated in all. A sampled stack of C blocks and S
// bytes stands for 1 / (1 - exp(-(S / C) / R)) times as much, as jeprof, pprof and Go have it.
// Totals are absent where all are zero, or where a sampler repeats what is in use.
//
// Files come last, so frames first are of no module, and get theirs at the end.
#include "base/alloc.h"
#include "import/importers.h"
#include "import/mappings.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LACKS                                                                                      \
  (TIDE_LACK_PEAK | TIDE_LACK_TEMP | TIDE_LACK_LIFETIMES | TIDE_LACK_LIFE_HIST |                   \
   TIDE_LACK_SIZE_HIST | TIDE_LACK_RESIZES | TIDE_LACK_THREADS | TIDE_LACK_TIMES |                 \
   TIDE_LACK_CLOCK)

enum { MAX_FRAMES = 4096, NO_STACK_ADDR = 1 };

static const char gperftools_head[] = "heap profile:", jemalloc_head[] = "heap_v2/";
static const char *const maps_lines[] = {"MAPPED_LIBRARIES:", "--- Memory map: ---"};

struct numbers {
  uint64_t blocks, bytes, n_alloc, b_alloc;
};

struct reader {
  struct tide_stream *stream;
  struct tide_builder *builder;
  struct tide_mappings mappings;
  struct tide_diag *diag;
  bool is_jemalloc, is_go;
  uint64_t interval_bytes; // 0: exact
  uint64_t addrs[MAX_FRAMES];
  uint32_t stack; // jemalloc: the one that numbers are of
  bool has_stack;
  bool has_totals, totals_differ; // any is not 0; any is not what is in use
};

static bool text_starts(const char *text, size_t n, const char *with)
{
  return n >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

bool tide_heap_text_recognise(const uint8_t *head, size_t n)
{
  return text_starts((const char *)head, n, gperftools_head) ||
         (text_starts((const char *)head, n, jemalloc_head) && n > strlen(jemalloc_head) &&
          isdigit(head[strlen(jemalloc_head)]));
}

static enum tide_err wrong_line(struct reader *r, const struct tide_stream_line *line,
                                const char *what)
{
  return tide_stream_fail(r->stream, TIDE_ERR_FORMAT, line->offset, r->diag,
                          "not as a heap profile is written: %s", what);
}

static void skip_spaces(const char **at, const char *end)
{
  while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
    ++*at;
}

static bool take_char(const char **at, const char *end, char c)
{
  skip_spaces(at, end);
  if (*at == end || **at != c)
    return false;
  ++*at;
  return true;
}

static bool take_u64(const char **at, const char *end, uint64_t *ret_value)
{
  uint64_t value = 0;
  skip_spaces(at, end);
  const char *start = *at;
  for (; *at < end && isdigit((unsigned char)**at); ++*at) {
    if (value > INT64_MAX / 10 - 1) // the model's numbers are signed
      return false;
    value = value * 10 + (uint64_t)(**at - '0');
  }
  *ret_value = value;
  return *at > start;
}

static bool take_numbers(const char **at, const char *end, struct numbers *n)
{
  return take_u64(at, end, &n->blocks) && take_char(at, end, ':') && take_u64(at, end, &n->bytes) &&
         take_char(at, end, '[') && take_u64(at, end, &n->n_alloc) && take_char(at, end, ':') &&
         take_u64(at, end, &n->b_alloc) && take_char(at, end, ']');
}

static uint64_t scale_sample(uint64_t value, double by)
{
  double result = (double)value * by;
  return result < 0x1p62 ? (uint64_t)llround(result) : (uint64_t)1 << 62;
}

static void unbias(uint64_t *blocks, uint64_t *bytes, uint64_t interval_bytes)
{
  if (!interval_bytes || !*blocks || !*bytes)
    return;
  double mean = (double)*bytes / (double)*blocks;
  double scale = 1 / -expm1(-mean / (double)interval_bytes);
  *blocks = scale_sample(*blocks, scale);
  *bytes = scale_sample(*bytes, scale);
}

// The node of "0x1 0x2 …", innermost first; at most the innermost MAX_FRAMES count.
static bool take_stack(struct reader *r, const char *at, const char *end, uint32_t *ret_stack)
{
  size_t n = 0;
  uint32_t node = 0;
  bool is_cut = false;
  for (skip_spaces(&at, end); at < end; skip_spaces(&at, end)) {
    char *after;
    if (end - at < 3 || at[0] != '0' || at[1] != 'x' || !isxdigit((unsigned char)at[2]))
      return false;
    uint64_t addr = strtoull(at, &after, 16);
    if (after > end || after - at > 18)
      return false;
    is_cut |= n == MAX_FRAMES;
    if (n < MAX_FRAMES)
      r->addrs[n++] = addr;
    at = after;
  }
  if (n == 0 || (n == 1 && r->addrs[0] <= NO_STACK_ADDR)) {
    *ret_stack =
        tide_builder_node(r->builder, 0, (struct tide_import_place){.flags = TIDE_FRAME_LOST});
    return true;
  }
  if (is_cut)
    node = tide_builder_node(r->builder, 0, (struct tide_import_place){.flags = TIDE_FRAME_CUT});
  while (n-- > 0)
    node = tide_builder_node(r->builder, node, (struct tide_import_place){.pc = r->addrs[n]});
  *ret_stack = node;
  return true;
}

static void add_sample(struct reader *r, uint32_t stack, struct numbers n)
{
  r->has_totals |= n.n_alloc || n.b_alloc;
  r->totals_differ |= n.n_alloc != n.blocks || n.b_alloc != n.bytes;
  uint64_t n_samples = n.n_alloc > n.blocks ? n.n_alloc : n.blocks;
  unbias(&n.blocks, &n.bytes, r->interval_bytes);
  unbias(&n.n_alloc, &n.b_alloc, r->interval_bytes);
  struct tide_site *site = tide_builder_site(r->builder, stack);
  site->n_alloc += n.n_alloc;
  site->b_alloc += n.b_alloc;
  site->n_free += n.n_alloc - n.blocks; // modulo 2^64: totals may come as zeros
  site->b_free += n.b_alloc - n.bytes;
  site->n_samples += r->interval_bytes > 1 ? n_samples : 0;
}

static enum tide_err read_gperftools_line(struct reader *r, const struct tide_stream_line *line)
{
  const char *at = line->text, *end = line->text + line->n;
  struct numbers numbers;
  uint32_t stack;
  if (!take_numbers(&at, end, &numbers) || !take_char(&at, end, '@'))
    return wrong_line(r, line, "'blocks: bytes [blocks: bytes] @ addresses' expected");
  if (!take_stack(r, at, end, &stack))
    return wrong_line(r, line, "an address is not one");
  add_sample(r, stack, numbers);
  return TIDE_ERR_OK;
}

static enum tide_err read_jemalloc_line(struct reader *r, const struct tide_stream_line *line)
{
  const char *at = line->text, *end = line->text + line->n;
  struct numbers numbers;
  if (take_char(&at, end, '@')) {
    r->has_stack = true;
    return take_stack(r, at, end, &r->stack) ? TIDE_ERR_OK
                                             : wrong_line(r, line, "an address is not one");
  }
  if (!take_char(&at, end, 't'))
    return wrong_line(r, line, "'@ addresses' or 't*: blocks: bytes [blocks: bytes]' expected");
  bool is_sum = take_char(&at, end, '*');
  uint64_t thread;
  if ((!is_sum && !take_u64(&at, end, &thread)) || !take_char(&at, end, ':') ||
      !take_numbers(&at, end, &numbers))
    return wrong_line(r, line, "'t*: blocks: bytes [blocks: bytes]' expected");
  if (is_sum && r->has_stack)
    add_sample(r, r->stack, numbers);
  return TIDE_ERR_OK;
}

static enum tide_err read_line(struct reader *r, const struct tide_stream_line *line)
{
  const char *at = line->text, *end = line->text + line->n;
  skip_spaces(&at, end);
  if (at == end || *at == '#') // Go has names in comments, and nothing mapped
    return TIDE_ERR_OK;
  return r->is_jemalloc ? read_jemalloc_line(r, line) : read_gperftools_line(r, line);
}

// "@ heapprofile", "@ heap_v2/524288", "@ heap/1048576".
static bool read_kind(struct reader *r, const char *at, const char *end)
{
  size_t n = (size_t)(end - at);
  uint64_t interval = 0;
  if (text_starts(at, n, "heapprofile") || n == 0)
    return true;
  r->is_go = text_starts(at, n, "heap/");
  if (!r->is_go && !text_starts(at, n, "heap_v2/") && !text_starts(at, n, "heapz_v2/"))
    return false;
  at = (const char *)memchr(at, '/', n) + 1;
  if (!take_u64(&at, end, &interval))
    return false;
  r->interval_bytes = r->is_go ? interval / 2 : interval;
  return true;
}

static enum tide_err read_head(struct reader *r)
{
  struct tide_stream_line line;
  struct numbers sums;
  if (!tide_stream_line(r->stream, &line))
    return tide_stream_status(r->stream, r->diag);
  const char *at = line.text, *end = line.text + line.n;
  while (end > at && isspace((unsigned char)end[-1]))
    end--;
  r->is_jemalloc = text_starts(at, line.n, jemalloc_head);
  if (r->is_jemalloc) {
    at += strlen(jemalloc_head);
    return take_u64(&at, end, &r->interval_bytes) ? TIDE_ERR_OK
                                                  : wrong_line(r, &line, "no interval");
  }
  at += strlen(gperftools_head);
  if (!take_numbers(&at, end, &sums))
    return wrong_line(r, &line, "'heap profile: blocks: bytes [blocks: bytes]' expected");
  take_char(&at, end, '@');
  skip_spaces(&at, end);
  if (!read_kind(r, at, end))
    return wrong_line(r, &line, "it is of a kind that tells no heap (heapprofile and heap_v2 do)");
  return TIDE_ERR_OK;
}

static bool is_maps_line(const struct tide_stream_line *line)
{
  const char *at = line->text, *end = line->text + line->n;
  skip_spaces(&at, end);
  for (size_t i = 0; i < sizeof maps_lines / sizeof *maps_lines; i++)
    if (text_starts(at, (size_t)(end - at), maps_lines[i]))
      return true;
  return false;
}

static enum tide_err read_stacks(struct reader *r, bool *ret_has_maps)
{
  struct tide_stream_line line;
  *ret_has_maps = false;
  while (tide_stream_line(r->stream, &line)) {
    if (!line.is_whole)
      return TIDE_ERR_OK; // half a number is none
    if (is_maps_line(&line)) {
      *ret_has_maps = true;
      return TIDE_ERR_OK;
    }
    enum tide_err err = read_line(r, &line);
    if (err)
      return err;
  }
  return TIDE_ERR_OK;
}

// "libc.so.6", "[vdso]". In the kernel's own list the program comes first, but not in everyone's.
static bool is_library(const char *path)
{
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *so = strstr(name, ".so");
  return *name == '[' || (so && (so[3] == 0 || so[3] == '.' || so[3] == '-'));
}

// Lines of other kinds are skipped: gperftools has some of its own there.
static void read_maps(struct reader *r)
{
  struct tide_stream_line line;
  while (tide_stream_line(r->stream, &line))
    tide_mappings_add(&r->mappings, &line);
  tide_mappings_build(&r->mappings, r->builder);
  struct tide_image *image = r->builder->image;
  for (size_t i = 1; i < image->n_frames; i++) {
    struct tide_frame *frame = &image->frames[i];
    if (!(frame->flags & (TIDE_FRAME_LOST | TIDE_FRAME_CUT)))
      frame->module = tide_segments_find(&r->mappings.segments, frame->pc - 1);
  }
  for (size_t i = 0; i < r->mappings.n && !image->exe; i++)
    if (!is_library(r->mappings.items[i].path))
      image->exe = tide_strdup(r->mappings.items[i].path);
}

static void say_origin(struct reader *r)
{
  const char *tool = r->is_jemalloc ? "jemalloc" : r->is_go ? "Go" : "gperftools";
  struct tide_image *image = r->builder->image;
  free(image->origin);
  image->origin = r->interval_bytes
                      ? tide_sprintf("%s heap profile, sampled every %" PRIu64 " bytes", tool,
                                     r->interval_bytes)
                      : tide_sprintf("%s heap profile", tool);
  if (r->interval_bytes > 1) // one for every byte are all
    tide_builder_sampled(r->builder, r->interval_bytes);
}

// Without totals, or with ones that are too small, at least what is in use was allocated.
static void settle_totals(struct reader *r)
{
  struct tide_image *image = r->builder->image;
  bool sampler_repeats = r->interval_bytes && !r->totals_differ;
  bool is_lacking = !r->has_totals || sampler_repeats;
  if (is_lacking)
    image->lacks |= TIDE_LACK_TOTAL;
  for (size_t i = 0; i < image->n_sites; i++) {
    struct tide_site *site = &image->sites[i];
    if (is_lacking || (int64_t)site->n_free < 0) {
      site->n_alloc -= site->n_free;
      site->n_free = 0;
    }
    if (is_lacking || (int64_t)site->b_free < 0) {
      site->b_alloc -= site->b_free;
      site->b_free = 0;
    }
  }
}

static enum tide_err read_all(struct reader *r)
{
  bool has_maps = false;
  enum tide_err err = read_head(r);
  if (!err)
    err = read_stacks(r, &has_maps);
  if (err)
    return err;
  if (has_maps)
    read_maps(r);
  struct tide_diag how = {0};
  err = tide_stream_status(r->stream, &how);
  if (!err && !has_maps && !r->is_go)
    err = tide_stream_fail(r->stream, TIDE_ERR_CUT, tide_stream_offset(r->stream), &how,
                           "it ends before its list of mapped files");
  if (err)
    tide_builder_cut(r->builder, how.text);
  say_origin(r);
  settle_totals(r);
  return TIDE_ERR_OK;
}

enum tide_err tide_heap_text_read(struct tide_stream *stream, struct tide_capture **ret_capture,
                                  struct tide_diag *diag)
{
  struct reader *r = tide_alloc(sizeof *r);
  r->stream = stream;
  r->diag = diag;
  r->builder = tide_builder_new("heap profile", LACKS);
  enum tide_err err = read_all(r);
  if (!err)
    err = tide_builder_finish(r->builder, ret_capture, diag);
  tide_builder_free(r->builder);
  tide_mappings_done(&r->mappings);
  free(r);
  return err;
}
