// SPDX-License-Identifier: Apache-2.0
//
// heaptrack's files: every event as a line, so everything a capture holds is found by playing them
// back (import/replay.h). All numbers are hexadecimal; indexes count from 1, but for those of 'a'.
//
//   v VERSION FORMAT   x EXE   X COMMAND   I PAGE_BYTES PAGES   A   c MILLISECONDS   R RSS_PAGES
//   interpreted: s TEXT   i IP MODULE [FUNCTION FILE LINE]…   t IP_INDEX PARENT
//                a SIZE TRACE   + A_INDEX   - A_INDEX
//   raw:         m PATH BIAS [VADDR BYTES]… ("m -" forgets all)   t IP PARENT
//                + SIZE TRACE POINTER   - POINTER
//
// From format 3 on texts have their length in front. Format 0 was interpreted, with pointers in its
// events. In the interpreted file a free names only the size and the stack of its block: what was
// temporary is then counted as heaptrack does, too high where blocks of one size and stack
// follow each other. Its own reader counts the first free of the first stack as well; we do not.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "import/builder.h"
#include "import/importers.h"
#include "import/mappings.h"
#include "import/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LACKS (TIDE_LACK_LIFETIMES | TIDE_LACK_LIFE_HIST | TIDE_LACK_RESIZES | TIDE_LACK_THREADS)
#define MAX_FORMAT 3u
enum { MAX_INLINED = 256 };

struct reader {
  struct tide_stream *stream;
  struct tide_builder *builder;
  struct tide_replay replay;
  struct tide_buf text; // of all strings, each with a NUL
  size_t *strings;      // offsets in text
  size_t n_strings, cap_strings;
  struct tide_import_place *ips;
  size_t n_ips, cap_ips;
  uint32_t *traces; // nodes
  size_t n_traces, cap_traces;
  uint32_t *stacks; // of nodes: the replay's number + 1
  size_t cap_stacks;
  struct tide_segments segments;
  struct tide_import_map live;
  char *exe;
  uint64_t version, format, page_bytes;
  bool is_raw, by_pointer, has_events;
  bool in_command; // up to the system's line all is of the command: arguments may have lines
  uint64_t last;   // index or pointer of the allocation just before; NONE: another event came since
  const char *why; // what is wrong with the line that made us stop
};
#define NONE UINT64_MAX

struct words { // the rest of a line
  const char *at, *end;
};

static bool take_hex(struct words *w, uint64_t *ret_value)
{
  uint64_t value = 0;
  while (w->at < w->end && *w->at == ' ')
    w->at++;
  const char *start = w->at;
  for (; w->at < w->end && *w->at != ' '; w->at++) {
    unsigned c = (unsigned char)*w->at, digit = c - '0';
    if (digit > 9) {
      digit = (c | 0x20) - 'a' + 10;
      if (digit < 10 || digit > 15)
        return false;
    }
    if (value >> 60)
      return false;
    value = value << 4 | digit;
  }
  *ret_value = value;
  return w->at > start;
}

bool tide_heaptrack_recognise(const uint8_t *head, size_t n)
{
  const uint8_t *newline = n ? memchr(head, '\n', n) : NULL;
  bool has_return = newline && newline > head && newline[-1] == '\r'; // it was on another system
  struct words w = {(const char *)head + 2, (const char *)(has_return ? newline - 1 : newline)};
  uint64_t version, format;
  if (!newline || newline - head < 3 || memcmp(head, "v ", 2) != 0 || !take_hex(&w, &version))
    return n > 2 && memcmp(head, "X ", 2) == 0 && newline && newline + 2 < head + n &&
           newline[2] == ' ' && strchr("sImA", newline[1]); // format 0 had no version
  return w.at == w.end || take_hex(&w, &format);
}

static bool wrong_file(struct reader *r, const char *why)
{
  r->why = why;
  return false;
}

// A text: with its length in front (format 3), which may span lines, or the whole rest.
static bool take_text(struct reader *r, struct words *w, const char **ret_text, size_t *ret_n)
{
  uint64_t n = (uint64_t)(w->end - w->at);
  if (r->format >= 3) {
    if (!take_hex(w, &n))
      return wrong_file(r, "a text has no length");
    w->at += w->at < w->end;
  }
  if (n > (uint64_t)(w->end - w->at))
    return wrong_file(r, "a text is shorter than it says");
  *ret_text = w->at;
  *ret_n = (size_t)n;
  w->at += n;
  return true;
}

static bool read_version(struct reader *r, struct words *w)
{
  if (!take_hex(w, &r->version))
    return wrong_file(r, "the version is no number");
  if (!take_hex(w, &r->format))
    r->format = r->version == 0x10200 ? 1 : 0; // what 1.0 wrote
  return true;
}

static bool read_string(struct reader *r, struct words *w)
{
  const char *text;
  size_t n;
  if (!take_text(r, w, &text, &n))
    return false;
  TIDE_GROW(r->strings, r->n_strings, r->cap_strings);
  r->strings[r->n_strings++] = r->text.n;
  tide_buf_append(&r->text, text, n);
  tide_buf_u8(&r->text, 0);
  return true;
}

// Of index 0, which means none: NULL.
static bool string_of(struct reader *r, uint64_t index, const char **ret_text)
{
  if (index > r->n_strings)
    return wrong_file(r, "a text is not known");
  *ret_text = index ? (const char *)r->text.data + r->strings[index - 1] : NULL;
  return true;
}

static bool take_frame(struct reader *r, struct words *w, struct tide_names_frame *ret_frame)
{
  uint64_t function, file = 0, line = 0;
  if (!take_hex(w, &function))
    return false;
  bool has_line = take_hex(w, &file) && take_hex(w, &line);
  ret_frame->line = has_line && line <= UINT32_MAX ? (uint32_t)line : 0;
  ret_frame->inlined = false;
  return string_of(r, function, &ret_frame->function) && string_of(r, file, &ret_frame->file);
}

static bool read_ip(struct reader *r, struct words *w)
{
  struct tide_names_frame frames[MAX_INLINED];
  uint64_t ip, module;
  const char *path;
  size_t n = 0;
  if (!take_hex(w, &ip) || !take_hex(w, &module) || !string_of(r, module, &path))
    return wrong_file(r, r->why ? r->why : "an address is not whole");
  while (w->at < w->end && n < MAX_INLINED && take_frame(r, w, &frames[n]))
    n++;
  if (r->why)
    return false;
  if (n == 0)
    frames[n++] = (struct tide_names_frame){0};
  uint16_t idx = tide_builder_named_module(r->builder, path ? path : "");
  TIDE_GROW(r->ips, r->n_ips, r->cap_ips);
  r->ips[r->n_ips++] = tide_builder_place(r->builder, idx, ip, frames, n);
  return true;
}

static bool read_trace(struct reader *r, struct words *w)
{
  uint64_t ip, parent;
  if (!take_hex(w, &ip) || !take_hex(w, &parent) || parent > r->n_traces)
    return wrong_file(r, "a stack is not whole");
  struct tide_import_place place = {.pc = ip};
  if (r->is_raw)
    place.module = tide_segments_find(&r->segments, ip ? ip - 1 : 0);
  else if (ip == 0 || ip > r->n_ips)
    return wrong_file(r, "a frame is not known");
  else
    place = r->ips[ip - 1];
  TIDE_GROW(r->traces, r->n_traces, r->cap_traces);
  uint32_t above = parent ? r->traces[parent - 1] : 0;
  r->traces[r->n_traces++] = tide_builder_node(r->builder, above, place);
  return true;
}

// Trace 0 means that heaptrack found no stack.
static bool stack_of(struct reader *r, uint64_t trace, uint32_t *ret_stack)
{
  static const struct tide_import_place lost = {.flags = TIDE_FRAME_LOST};
  if (trace > r->n_traces)
    return wrong_file(r, "a stack is not known");
  uint32_t node = trace ? r->traces[trace - 1] : tide_builder_node(r->builder, 0, lost);
  if (node >= r->cap_stacks) {
    size_t cap = node + node / 2 + 64u;
    r->stacks = tide_realloc_array(r->stacks, cap, sizeof *r->stacks);
    memset(r->stacks + r->cap_stacks, 0, (cap - r->cap_stacks) * sizeof *r->stacks);
    r->cap_stacks = cap;
  }
  if (!r->stacks[node])
    r->stacks[node] = tide_replay_stack_new(&r->replay, node) + 1;
  *ret_stack = r->stacks[node] - 1;
  return true;
}

static bool read_kind(struct reader *r, struct words *w)
{
  uint64_t size, trace;
  uint32_t stack;
  if (!take_hex(w, &size) || !take_hex(w, &trace))
    return wrong_file(r, "an allocation is not whole");
  if (!stack_of(r, trace, &stack))
    return false;
  tide_replay_kind_new(&r->replay, stack, size);
  return true;
}

// A pointer that is live already was freed behind heaptrack's back: it is free now.
static bool alloc_pointer(struct reader *r, uint64_t size, struct words *w)
{
  uint64_t trace;
  uint32_t stack;
  struct tide_live_block block, old;
  if (!take_hex(w, &trace) || !take_hex(w, &block.addr))
    return wrong_file(r, "an allocation is not whole");
  if (!stack_of(r, trace, &stack))
    return false;
  if (tide_live_map_take(&r->live, block.addr, &old))
    tide_replay_free(&r->replay, old.kind, false);
  block.kind = tide_replay_kind_of(&r->replay, stack, size);
  if (!tide_live_map_put(&r->live, &block))
    return true;
  tide_replay_alloc(&r->replay, block.kind);
  r->last = block.addr;
  return true;
}

static bool read_alloc(struct reader *r, struct words *w)
{
  uint64_t first;
  if (!take_hex(w, &first))
    return wrong_file(r, "an allocation is not whole");
  if (!r->has_events)
    r->by_pointer = w->at < w->end;
  r->has_events = true;
  if (r->by_pointer)
    return alloc_pointer(r, first, w);
  if (first >= r->replay.n_kinds)
    return wrong_file(r, "an allocation is not known");
  tide_replay_alloc(&r->replay, (uint32_t)first);
  r->last = first;
  return true;
}

// What is not known to be live came from before heaptrack was attached.
static bool read_free(struct reader *r, struct words *w)
{
  uint64_t which;
  if (!take_hex(w, &which))
    return wrong_file(r, "a free is not whole");
  bool temporary = r->last == which;
  r->last = NONE;
  struct tide_live_block block = {.kind = (uint32_t)which};
  bool known =
      r->by_pointer ? tide_live_map_take(&r->live, which, &block) : which < r->replay.n_kinds;
  if (!known && !r->by_pointer && r->has_events)
    return wrong_file(r, "a freed allocation is not known");
  if (!known || !tide_replay_free(&r->replay, block.kind, temporary))
    r->builder->image->loss.n_unknown_free++;
  return true;
}

static bool read_module(struct reader *r, struct words *w)
{
  const char *text;
  size_t n;
  uint64_t bias, vaddr, bytes;
  r->is_raw = true;
  if (r->format < 3) { // one word
    const char *space = memchr(w->at, ' ', (size_t)(w->end - w->at));
    text = w->at;
    n = space ? (size_t)(space - w->at) : (size_t)(w->end - w->at);
    w->at += n;
  } else if (!take_text(r, w, &text, &n)) {
    return false;
  }
  if (n == 1 && *text == '-') {
    tide_segments_clear(&r->segments);
    return true;
  }
  if (!take_hex(w, &bias))
    return wrong_file(r, "a module has no address");
  bool is_exe = n == 0 || (n == 1 && *text == 'x');
  TIDE_CLEANUP_FREE char *path = is_exe ? tide_strdup(r->exe ? r->exe : "") : tide_strndup(text, n);
  struct tide_segment segments[64];
  size_t n_segments = 0;
  uint64_t low = UINT64_MAX, high = 0;
  while (n_segments < 64 && take_hex(w, &vaddr) && take_hex(w, &bytes)) {
    uint64_t start = bias + vaddr, end = start + bytes;
    if (end < start)
      return wrong_file(r, "a module is larger than memory");
    segments[n_segments++] = (struct tide_segment){start, end, 0};
    low = start < low ? start : low;
    high = end > high ? end : high;
  }
  if (n_segments == 0)
    return true;
  const char *shown = strncmp(path, "linux-vdso", 10) == 0 ? "[vdso]" : path;
  uint16_t module = tide_builder_module(r->builder, shown, low, high, bias, NULL, 0);
  for (size_t i = 0; i < n_segments; i++) {
    segments[i].module = module;
    tide_segments_add(&r->segments, segments[i]);
  }
  return true;
}

static bool read_exe(struct reader *r, struct words *w)
{
  const char *text;
  size_t n;
  r->is_raw = true;
  if (!take_text(r, w, &text, &n))
    return false;
  free(r->exe);
  r->exe = tide_strndup(text, n);
  return true;
}

static bool read_command(struct reader *r, struct words *w)
{
  struct tide_image *image = r->builder->image;
  if (image->cmdline)
    return true;
  tide_builder_command(r->builder, w->at, (size_t)(w->end - w->at));
  r->in_command = r->format >= 3; // nothing is known to tell where it ends in older ones
  return true;
}

static bool read_time(struct reader *r, struct words *w)
{
  uint64_t ms;
  if (!take_hex(w, &ms) || ms > UINT64_MAX / 1000000 / 4)
    return wrong_file(r, "the time is no number");
  tide_replay_time(&r->replay, ms * 1000000);
  return true;
}

static bool read_rss(struct reader *r, struct words *w)
{
  uint64_t pages;
  if (take_hex(w, &pages) && pages < UINT64_MAX / 65536)
    tide_replay_rss(&r->replay, pages * r->page_bytes);
  return true;
}

static bool read_system(struct reader *r, struct words *w)
{
  uint64_t bytes;
  if (take_hex(w, &bytes) && bytes <= 65536)
    r->page_bytes = bytes;
  return true;
}

// "I PAGE_BYTES PAGES", which heaptrack writes behind the command.
static bool is_system(const struct tide_stream_line *line)
{
  struct words w = {line->text + 2, line->text + line->n};
  uint64_t number;
  return line->n > 2 && memcmp(line->text, "I ", 2) == 0 && take_hex(&w, &number) &&
         take_hex(&w, &number) && w.at == w.end;
}

static bool read_line(struct reader *r, const struct tide_stream_line *line)
{
  struct words w = {line->text, line->text + line->n};
  r->in_command = r->in_command && !is_system(line);
  if (r->in_command)
    return true;
  if (line->n == 0 || line->text[0] == '#')
    return true;
  if (line->n == 1 ? line->text[0] != 'A' : line->text[1] != ' ')
    return wrong_file(r, "no kind of line");
  w.at += line->n == 1 ? 1 : 2;
  switch (line->text[0]) {
  case '+': return read_alloc(r, &w);
  case '-': return read_free(r, &w);
  case 'a': return read_kind(r, &w);
  case 't': return read_trace(r, &w);
  case 'i': return read_ip(r, &w);
  case 's': return read_string(r, &w);
  case 'm': return read_module(r, &w);
  case 'c': return read_time(r, &w);
  case 'R': return read_rss(r, &w);
  case 'v': return read_version(r, &w);
  case 'x': return read_exe(r, &w);
  case 'X': return read_command(r, &w);
  case 'I': return read_system(r, &w);
  case 'A':
  case 'S': return true;
  default: return wrong_file(r, "no kind of line");
  }
}

// Plays what there is; on the way out `why` and the offset of the line that ended it.
static uint64_t play(struct reader *r)
{
  struct tide_stream_line line = {0};
  while (tide_stream_line(r->stream, &line)) {
    if (!line.is_whole) {
      r->why = "it ends in the middle of a line";
      break;
    }
    if (!read_line(r, &line))
      break;
    if (r->format > MAX_FORMAT)
      break;
  }
  return line.offset;
}

static void name_origin(struct reader *r)
{
  struct tide_image *image = r->builder->image;
  free(image->origin);
  image->origin = tide_sprintf("heaptrack %u.%u.%u%s", (unsigned)(r->version >> 16 & 0xff),
                               (unsigned)(r->version >> 8 & 0xff), (unsigned)(r->version & 0xff),
                               r->is_raw ? " (raw)" : "");
  if (r->exe && *r->exe) {
    free(image->exe);
    image->exe = tide_strdup(r->exe);
  }
}

// The tables are as large as what they made: gone before more is built.
static void drop_tables(struct reader *r)
{
  tide_buf_done(&r->text);
  free(r->strings);
  free(r->ips);
  free(r->traces);
  free(r->stacks);
  r->strings = NULL;
  r->ips = NULL;
  r->traces = r->stacks = NULL;
  tide_segments_done(&r->segments);
  tide_live_map_done(&r->live);
}

static enum tide_err finish_capture(struct reader *r, uint64_t offset,
                                    struct tide_capture **ret_capture, struct tide_diag *diag)
{
  struct tide_diag why = {0};
  enum tide_err err = tide_stream_status(r->stream, &why);
  if (r->format > MAX_FORMAT)
    return tide_fail(diag, TIDE_ERR_VERSION,
                     "%s has heaptrack's file format %llu; this tidemark reads formats up to %u",
                     r->stream->name, (unsigned long long)r->format, MAX_FORMAT);
  if (r->why && !err)
    err = tide_stream_fail(r->stream, TIDE_ERR_DAMAGED, offset, &why, "%s", r->why);
  if (!err && !r->has_events)
    err = tide_stream_fail(r->stream, TIDE_ERR_EMPTY, tide_stream_offset(r->stream), &why,
                           "no allocation was recorded");
  if (err && (err == TIDE_ERR_LIMIT || !r->has_events)) {
    if (diag)
      *diag = why;
    return err;
  }
  if (err)
    tide_builder_cut(r->builder, why.text);
  name_origin(r);
  drop_tables(r);
  tide_replay_finish(&r->replay);
  return tide_builder_finish(r->builder, ret_capture, diag);
}

enum tide_err tide_heaptrack_read(struct tide_stream *stream, struct tide_capture **ret_capture,
                                  struct tide_diag *diag)
{
  struct reader r = {.stream = stream, .page_bytes = 4096, .last = NONE};
  r.builder = tide_builder_new("heaptrack", LACKS);
  tide_replay_init(&r.replay, r.builder);
  uint64_t offset = play(&r);
  enum tide_err err = finish_capture(&r, offset, ret_capture, diag);
  drop_tables(&r);
  free(r.exe);
  tide_replay_done(&r.replay);
  tide_builder_free(r.builder);
  return err;
}
