// SPDX-License-Identifier: Apache-2.0
//
// DHAT's JSON, version 2: valgrind's (heap, copy and ad-hoc mode), dhat-rs's, and ours. A point per
// stack, with what was allocated, and of heap mode what was live at the peak and at the end.
//
// Points come before the table of frames their stacks refer to, so they are kept until that is
// read: the numbers packed, as most are small, the stacks in a trie of frame numbers. Such a stack
// then becomes one of the builder's from the innermost frame on that another stack has already made
// one of.
//
// Frames that follow each other at one address are one place with inlined calls. The same frame
// again is a recursion, not an inlined call.
//
// Of lifetimes DHAT knows the sum over all blocks of a point. It is shared out between freed and
// live blocks by their number, so that the mean is DHAT's and the sum stays.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "import/builder.h"
#include "import/importers.h"
#include "import/json_read.h"
#include "import/stack_trie.h"
#include "model/image_sums.h"

#include <stdlib.h>
#include <string.h>

#define LACKS                                                                                      \
  (TIDE_LACK_TEMP | TIDE_LACK_LIFE_HIST | TIDE_LACK_SIZE_HIST | TIDE_LACK_RESIZES |                \
   TIDE_LACK_THREADS | TIDE_LACK_TIMES)
#define LACKS_WITHOUT_LIFETIMES (TIDE_LACK_PEAK | TIDE_LACK_LIVE | TIDE_LACK_LIFETIMES)
enum { MAX_STACK = 65536, MAX_CHAIN = 256 };

enum number { TB, TBK, TL, MB, MBK, GB, GBK, EB, EBK, NUMBERS_N };
static const char *const number_keys[NUMBERS_N] = {"tb", "tbk", "tl", "mb", "mbk",
                                                   "gb", "gbk", "eb", "ebk"};

struct point {
  uint64_t numbers[NUMBERS_N];
  uint32_t stack; // in the trie
};

struct reader {
  struct tide_json_read json;
  struct tide_builder *builder;
  struct tide_buf points; // stack and numbers of each as varints
  struct tide_trie trie;  // of frame numbers
  uint32_t *nodes; // the builder's, per link whose callee is no part of its place; 0: not made yet
  uint32_t *stack; // of the point being read, innermost first; later the run being built
  uint32_t *runs;  // links where they end
  size_t n_stack, cap_stack, cap_runs;
  struct tide_buf text;             // of all frames, each with a NUL
  size_t *frames;                   // offsets in text
  uint64_t *addresses;              // of the frames
  struct tide_import_place *places; // of the frames alone; flags 0: not made yet
  size_t n_frames, cap_frames, cap_addresses;
  uint64_t version, te, tg;
  double ns_per_unit; // 0: the unit is no time
  bool has_lifetimes, has_version, has_points, has_frames;
  char *mode, *unit;
  const char *why; // what is wrong though it is JSON
};

bool tide_dhat_recognise(const uint8_t *head, size_t n)
{
  size_t at = 0;
  while (at < n && (head[at] == ' ' || head[at] == '\n' || head[at] == '\t' || head[at] == '\r'))
    at++;
  return at < n && head[at] == '{' && memmem(head, n, "\"dhatFileVersion\"", 17);
}

static bool wrong_file(struct reader *r, const char *why)
{
  r->why = why;
  return false;
}

static bool read_number(struct reader *r, enum tide_json_event event, uint64_t *ret_value)
{
  if (event == TIDE_JSON_BAD)
    return false;
  if (event != TIDE_JSON_NUMBER || !tide_json_read_u64(&r->json, ret_value) ||
      *ret_value > INT64_MAX)
    return wrong_file(r, "a whole number was expected");
  return true;
}

static bool read_stack(struct reader *r, enum tide_json_event event)
{
  r->n_stack = 0;
  if (event != TIDE_JSON_ARRAY)
    return event == TIDE_JSON_BAD ? false : wrong_file(r, "a list of frames was expected");
  while ((event = tide_json_read_next(&r->json)) != TIDE_JSON_ARRAY_END) {
    uint64_t frame;
    if (!read_number(r, event, &frame))
      return false;
    if (frame >= UINT32_MAX || r->n_stack == MAX_STACK)
      return wrong_file(r, "a stack is absurd");
    TIDE_GROW(r->stack, r->n_stack, r->cap_stack);
    r->stack[r->n_stack++] = (uint32_t)frame;
  }
  return true;
}

static void put_point(struct reader *r, const struct point *point)
{
  tide_buf_varint(&r->points, point->stack);
  for (size_t i = 0; i < NUMBERS_N; i++)
    tide_buf_varint(&r->points, point->numbers[i]);
}

static struct point get_point(struct tide_cursor *points)
{
  struct point point = {.stack = (uint32_t)tide_cursor_varint(points)};
  for (size_t i = 0; i < NUMBERS_N; i++)
    point.numbers[i] = tide_cursor_varint(points);
  return point;
}

static bool read_point(struct reader *r)
{
  struct point point = {0};
  unsigned met = 0;
  bool has_stack = false;
  enum tide_json_event event;
  while ((event = tide_json_read_next(&r->json)) == TIDE_JSON_KEY) {
    const char *key = tide_json_read_text(&r->json);
    size_t which = 0;
    while (which < NUMBERS_N && strcmp(key, number_keys[which]) != 0)
      which++;
    bool is_stack = strcmp(key, "fs") == 0;
    event = tide_json_read_next(&r->json);
    if (which < NUMBERS_N ? !read_number(r, event, &point.numbers[which])
        : is_stack        ? !read_stack(r, event)
                          : !tide_json_read_skip(&r->json, event))
      return false;
    met |= which < NUMBERS_N ? 1u << which : 0;
    has_stack = has_stack || is_stack;
  }
  if (event == TIDE_JSON_BAD)
    return false;
  unsigned needed = r->has_lifetimes ? (1u << NUMBERS_N) - 1 : 1u << TB | 1u << TBK;
  if (!has_stack || (met & needed) != needed)
    return wrong_file(r, "a point lacks one of its numbers");
  if (r->trie.n + r->n_stack >= UINT32_MAX)
    return wrong_file(r, "there are too many stacks");
  point.stack = tide_trie_put(&r->trie, r->stack, r->n_stack);
  put_point(r, &point);
  return true;
}

static bool read_points(struct reader *r, enum tide_json_event event)
{
  if (event != TIDE_JSON_ARRAY)
    return event == TIDE_JSON_BAD ? false : wrong_file(r, "a list of points was expected");
  while ((event = tide_json_read_next(&r->json)) == TIDE_JSON_OBJECT)
    if (!read_point(r))
      return false;
  r->has_points = event == TIDE_JSON_ARRAY_END;
  return r->has_points || event == TIDE_JSON_BAD ? r->has_points : wrong_file(r, "no point");
}

static uint64_t address_of(const char *text)
{
  return strncmp(text, "0x", 2) == 0 ? strtoull(text, NULL, 16) : 0;
}

static bool read_frames(struct reader *r, enum tide_json_event event)
{
  if (event != TIDE_JSON_ARRAY)
    return event == TIDE_JSON_BAD ? false : wrong_file(r, "a list of frames was expected");
  while ((event = tide_json_read_next(&r->json)) == TIDE_JSON_TEXT) {
    size_t n = r->n_frames;
    TIDE_GROW(r->frames, n, r->cap_frames);
    TIDE_GROW(r->addresses, n, r->cap_addresses);
    r->frames[n] = r->text.n;
    r->addresses[n] = address_of(tide_json_read_text(&r->json));
    r->n_frames++;
    tide_buf_append(&r->text, r->json.text.data, r->json.text.n);
  }
  r->has_frames = event == TIDE_JSON_ARRAY_END;
  return r->has_frames || event == TIDE_JSON_BAD ? r->has_frames : wrong_file(r, "no frame");
}

static bool read_text(struct reader *r, enum tide_json_event event, char **ret_text)
{
  if (event != TIDE_JSON_TEXT)
    return event == TIDE_JSON_BAD ? false : wrong_file(r, "a text was expected");
  free(*ret_text);
  *ret_text = tide_strdup(tide_json_read_text(&r->json));
  return true;
}

static double ns_per(const char *unit)
{
  static const struct {
    const char *unit;
    double ns;
  } units[] = {{"ns", 1}, {"µs", 1e3}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(unit, units[i].unit) == 0)
      return units[i].ns;
  return 0;
}

static bool read_command(struct reader *r, enum tide_json_event event)
{
  TIDE_CLEANUP_FREE char *text = NULL;
  if (!read_text(r, event, &text))
    return false;
  tide_builder_command(r->builder, text, strlen(text));
  return true;
}

static bool read_member(struct reader *r, const char *key)
{
  char name[24];
  uint64_t pid = 0;
  strncpy(name, key, sizeof name - 1);
  name[sizeof name - 1] = 0;
  enum tide_json_event event = tide_json_read_next(&r->json);
  if (strcmp(name, "dhatFileVersion") == 0)
    return r->has_version = true, read_number(r, event, &r->version);
  if (strcmp(name, "mode") == 0)
    return read_text(r, event, &r->mode);
  if (strcmp(name, "bklt") == 0)
    return r->has_lifetimes = event == TIDE_JSON_TRUE, event != TIDE_JSON_BAD;
  if (strcmp(name, "tu") == 0)
    return read_text(r, event, &r->unit);
  if (strcmp(name, "cmd") == 0)
    return read_command(r, event);
  if (strcmp(name, "te") == 0)
    return read_number(r, event, &r->te);
  if (strcmp(name, "tg") == 0)
    return read_number(r, event, &r->tg);
  if (strcmp(name, "pps") == 0)
    return read_points(r, event);
  if (strcmp(name, "ftbl") == 0)
    return read_frames(r, event);
  if (strcmp(name, "pid") != 0)
    return tide_json_read_skip(&r->json, event);
  if (!read_number(r, event, &pid))
    return false;
  r->builder->image->pid = (uint32_t)pid;
  return true;
}

static bool read_document(struct reader *r)
{
  enum tide_json_event event = tide_json_read_next(&r->json);
  if (event != TIDE_JSON_OBJECT)
    return event == TIDE_JSON_BAD ? false : wrong_file(r, "an object was expected");
  while ((event = tide_json_read_next(&r->json)) == TIDE_JSON_KEY) {
    if (!read_member(r, tide_json_read_text(&r->json)))
      return false;
    if (r->has_version && r->version != 2)
      return false;
  }
  return event == TIDE_JSON_OBJECT_END;
}

// How many frames from i on (outermost first) are one place.
static size_t place_length(const struct reader *r, const uint32_t *frames, size_t n)
{
  size_t length = 1;
  uint64_t addr = frames[0] < r->n_frames ? r->addresses[frames[0]] : 0;
  for (; addr && length < n && length < MAX_CHAIN; length++) {
    uint32_t next = frames[length];
    if (next >= r->n_frames || r->addresses[next] != addr)
      break;
    for (size_t i = 0; i < length; i++)
      if (frames[i] == next)
        return length;
  }
  return length;
}

// The place of n frames, outermost first.
static struct tide_import_place place_of(struct reader *r, const uint32_t *frames, size_t n)
{
  struct tide_names_frame chain[MAX_CHAIN];
  struct tide_buf scratch[MAX_CHAIN] = {0};
  struct tide_frame_text frame = {.object = ""};
  for (size_t i = 0; i < n; i++) {
    uint32_t which = frames[n - 1 - i];
    const char *text =
        which < r->n_frames ? (const char *)r->text.data + r->frames[which] : ""; // cut off
    tide_frame_text_parse(text, strlen(text), &scratch[i], &frame);
    chain[i] = frame.name;
  }
  uint16_t module = tide_builder_named_module(r->builder, frame.object);
  struct tide_import_place place = tide_builder_place(r->builder, module, frame.addr, chain, n);
  for (size_t i = 0; i < n; i++)
    tide_buf_done(&scratch[i]);
  return place;
}

// Most places are one frame, and most frames are in many stacks.
static struct tide_import_place known_place_of(struct reader *r, const uint32_t *frames, size_t n)
{
  if (n > 1 || frames[0] >= r->n_frames)
    return place_of(r, frames, n);
  struct tide_import_place *place = &r->places[frames[0]];
  if (!place->flags)
    *place = place_of(r, frames, 1);
  return *place;
}

static uint64_t address_at(const struct reader *r, uint32_t frame)
{
  return frame < r->n_frames ? r->addresses[frame] : 0;
}

// The frames from a link outwards that may share places: all of one address. Outermost first in
// r->stack; gives the link that called them.
static uint32_t take_run(struct reader *r, uint32_t link)
{
  uint64_t addr = address_at(r, r->trie.links[link].value);
  r->n_stack = 0;
  do {
    TIDE_GROW(r->stack, r->n_stack, r->cap_stack);
    r->stack[r->n_stack++] = r->trie.links[link].value;
    link = r->trie.links[link].parent;
  } while (link && addr && address_at(r, r->trie.links[link].value) == addr);
  for (size_t i = 0, k = r->n_stack; i + 1 < k; i++, k--) {
    uint32_t other = r->stack[i];
    r->stack[i] = r->stack[k - 1];
    r->stack[k - 1] = other;
  }
  return link;
}

// The links between runs from `link` outwards that have no node yet, innermost first.
static size_t find_runs(struct reader *r, uint32_t link)
{
  size_t n = 0;
  while (link && !r->nodes[link]) {
    TIDE_GROW(r->runs, n, r->cap_runs);
    r->runs[n++] = link;
    link = take_run(r, link);
  }
  return n;
}

static uint32_t build_stack(struct reader *r, uint32_t link)
{
  if (!link)
    return tide_builder_node(r->builder, 0, (struct tide_import_place){.flags = TIDE_FRAME_LOST});
  for (size_t n = find_runs(r, link); n-- > 0;) {
    uint32_t node = r->nodes[take_run(r, r->runs[n])];
    for (size_t i = 0, length; i < r->n_stack; i += length) {
      length = place_length(r, r->stack + i, r->n_stack - i);
      node = tide_builder_node(r->builder, node, known_place_of(r, r->stack + i, length));
    }
    r->nodes[r->runs[n]] = node;
  }
  return r->nodes[link];
}

// Numbers from a file may be too many for any sum; then it wraps.
static void add_wrapping(int64_t *sum, uint64_t more)
{
  *sum = (int64_t)((uint64_t)*sum + more);
}

static void add_point(struct reader *r, const struct point *point)
{
  const uint64_t *n = point->numbers;
  struct tide_site *site = tide_builder_site(r->builder, build_stack(r, point->stack));
  uint64_t freed = n[TBK] > n[EBK] ? n[TBK] - n[EBK] : 0;
  site->n_alloc += n[TBK];
  site->b_alloc += n[TB];
  site->n_free += freed;
  site->b_free += n[TB] > n[EB] ? n[TB] - n[EB] : 0;
  add_wrapping(&site->peak_bytes, n[GB]);
  add_wrapping(&site->peak_blocks, n[GBK]);
  // valgrind keeps the maximum up to date only while the whole heap is at its own.
  uint64_t most = n[MB] > n[GB] ? n[MB] : n[GB];
  add_wrapping(&site->high_bytes, most > n[EB] ? most : n[EB]);
  double life_ns = (double)n[TL] * r->ns_per_unit;
  double share = n[TBK] ? (double)freed / (double)n[TBK] : 0;
  if (life_ns < 9e18) {
    site->life_ns += (uint64_t)(life_ns * share);
    site->age_ns += (int64_t)((uint64_t)life_ns - (uint64_t)(life_ns * share));
  }
  add_wrapping(&r->builder->image->peak_bytes, n[GB]);
  add_wrapping(&r->builder->image->peak_blocks, n[GBK]);
}

static void free_points(struct reader *r)
{
  tide_trie_done(&r->trie);
  tide_buf_done(&r->points);
  free(r->nodes);
  free(r->places);
  r->nodes = NULL;
  r->places = NULL;
}

static uint64_t in_ns(const struct reader *r, uint64_t time)
{
  double ns = (double)time * r->ns_per_unit;
  return ns < 9e18 ? (uint64_t)ns : 0;
}

// Ends with no more in memory than the builder holds.
static void build_points(struct reader *r)
{
  tide_table_done(&r->trie.table);
  r->nodes = tide_alloc_array(r->trie.n, sizeof *r->nodes);
  r->places = tide_alloc_array(r->n_frames, sizeof *r->places);
  struct tide_cursor points = tide_cursor_make(r->points.data, r->points.n);
  while (tide_cursor_left(&points)) {
    struct point point = get_point(&points);
    add_point(r, &point);
  }
  free_points(r);
}

static void fill_image(struct reader *r)
{
  struct tide_image *image = r->builder->image;
  r->ns_per_unit = r->unit ? ns_per(r->unit) : 0;
  build_points(r);
  if (r->ns_per_unit == 0)
    image->lacks |= TIDE_LACK_CLOCK | TIDE_LACK_LIFETIMES;
  if (!r->has_lifetimes)
    image->lacks |= LACKS_WITHOUT_LIFETIMES;
  image->end_ns = r->builder->capture->duration_ns = in_ns(r, r->te);
  image->peak_ns = in_ns(r, r->tg < r->te ? r->tg : r->te);
  if (r->has_lifetimes)
    tide_image_add_exact_snapshots(image);
  image->has_counts = false; // nobody looked at when what was allocated
  free(image->origin);
  image->origin = tide_sprintf("DHAT (%s)", r->mode ? r->mode : "heap");
}

static enum tide_err finish_capture(struct reader *r, bool whole, struct tide_capture **ret_capture,
                                    struct tide_diag *diag)
{
  const struct tide_stream *stream = r->json.stream;
  uint64_t offset = tide_stream_offset(stream);
  if (r->has_version && r->version != 2)
    return tide_stream_fail(stream, TIDE_ERR_VERSION, offset, diag,
                            "DHAT's version %llu is not known, only 2 is",
                            (unsigned long long)r->version);
  if (r->why)
    return tide_stream_fail(stream, TIDE_ERR_FORMAT, offset, diag, "not as DHAT writes it: %s",
                            r->why);
  struct tide_diag why = {0};
  enum tide_err err = whole ? TIDE_ERR_OK : tide_json_read_fail(&r->json, &why);
  bool usable = err == TIDE_ERR_CUT && r->has_points && r->n_frames;
  if (!whole && !usable) {
    if (diag)
      *diag = why;
    return err;
  }
  if (whole && (!r->has_version || !r->has_points || !r->has_frames))
    return tide_stream_fail(stream, TIDE_ERR_FORMAT, offset, diag,
                            "not as DHAT writes it: points or frames are missing");
  if (!whole)
    tide_builder_cut(r->builder, why.text);
  fill_image(r);
  return tide_builder_finish(r->builder, ret_capture, diag);
}

enum tide_err tide_dhat_read(struct tide_stream *stream, struct tide_capture **ret_capture,
                             struct tide_diag *diag)
{
  struct reader r = {0};
  tide_json_read_init(&r.json, stream);
  r.builder = tide_builder_new("DHAT", LACKS);
  bool whole = read_document(&r);
  enum tide_err err = finish_capture(&r, whole, ret_capture, diag);
  tide_json_read_done(&r.json);
  tide_builder_free(r.builder);
  free_points(&r);
  tide_buf_done(&r.text);
  free(r.stack);
  free(r.runs);
  free(r.frames);
  free(r.addresses);
  free(r.mode);
  free(r.unit);
  return err;
}
