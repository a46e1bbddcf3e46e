// SPDX-License-Identifier: Apache-2.0
//
// pprof's profile.proto as heap profiles have it: of Go, jemalloc_pprof, gperftools through pprof,
// and ours. Columns are found by name: alloc_objects, alloc_space, inuse_objects, inuse_space, of
// which any may be missing; the values are unbiased already.
//
// A message is a row of fields in any order: the strings may come last. The file is read once, in
// passing; pprof_tables.h keeps what is needed until all of it has come. A message is at hand as a
// whole, so it has a limit.
//
// An address is that of the call. It becomes that of its file: a mapping of a program without
// position-independent code is where it was linked, another one is taken to be linked at 0. All
// modules then have a bias of 0, and names and files can be looked up alike.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "import/builder.h"
#include "import/importers.h"
#include "import/mappings.h"
#include "import/pprof_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LACKS                                                                                      \
  (TIDE_LACK_PEAK | TIDE_LACK_TEMP | TIDE_LACK_LIFETIMES | TIDE_LACK_LIFE_HIST |                   \
   TIDE_LACK_SIZE_HIST | TIDE_LACK_RESIZES | TIDE_LACK_THREADS | TIDE_LACK_TIMES |                 \
   TIDE_LACK_CLOCK)

enum profile_field {
  P_SAMPLE_TYPE = 1,
  P_SAMPLE = 2,
  P_MAPPING = 3,
  P_LOCATION = 4,
  P_FUNCTION = 5,
  P_STRING = 6,
  P_TIME_NANOS = 9,
  P_PERIOD_TYPE = 11,
  P_PERIOD = 12,
  P_COMMENT = 13,
  P_LAST = 15,
};
enum { MAX_CHAIN = 256, MAX_BUILD_ID = 32, MAX_MESSAGE = 16 << 20, MAX_HEAD = 20 };
enum column { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, COLUMNS_N };

struct reader {
  struct tide_stream *stream;
  struct tide_builder *builder;
  struct tide_diag *diag;
  struct tide_pprof_tables tables;
  int columns[COLUMNS_N]; // index of the sample type; -1: none
  bool has_period_type;
  uint64_t period; // 0: it is not told
};

typedef enum tide_err take_message(struct tide_pprof_tables *tables, struct tide_cursor message,
                                   uint64_t offset);
static take_message *const takers[P_LAST + 1] = {
    [P_SAMPLE_TYPE] = tide_pprof_take_type,  [P_SAMPLE] = tide_pprof_take_sample,
    [P_MAPPING] = tide_pprof_take_mapping,   [P_LOCATION] = tide_pprof_take_location,
    [P_FUNCTION] = tide_pprof_take_function, [P_STRING] = tide_pprof_take_string,
    [P_COMMENT] = tide_pprof_take_comments,
};

static bool is_expected(const struct tide_wire_field *field)
{
  bool is_varint = field->number == 7 || field->number == 8 || field->number == P_TIME_NANOS ||
                   field->number == 10 || field->number == 12 || field->number == 14 ||
                   field->number == P_LAST;
  if (field->number == P_COMMENT)
    return field->wire == TIDE_WIRE_VARINT || field->wire == TIDE_WIRE_BYTES;
  return field->number <= P_LAST && field->wire == (is_varint ? TIDE_WIRE_VARINT : TIDE_WIRE_BYTES);
}

// Protobuf has no magic. A profile begins with known fields of the right kinds and, unlike text,
// with small numbers.
bool tide_pprof_recognise(const uint8_t *head, size_t n)
{
  struct tide_wire_field field;
  size_t n_fields = 0;
  bool has_small = false;
  for (size_t i = 0; i < n && i < 8; i++)
    has_small |= head[i] < '\t';
  if (!has_small)
    return false;
  struct tide_cursor c = tide_cursor_make(head, n);
  while (tide_wire_next(&c, &field)) {
    if (!is_expected(&field))
      return false;
    n_fields++;
  }
  if (c.bad && n_fields == 0) { // one field longer than the head
    c = tide_cursor_make(head, n);
    uint64_t tag = tide_cursor_varint(&c), length = tide_cursor_varint(&c);
    return !c.bad && tag == (P_SAMPLE << 3 | TIDE_WIRE_BYTES) && length > n;
  }
  return n_fields > 0;
}

static enum tide_err breaks_off(const struct reader *r, uint64_t offset)
{
  enum tide_err err = tide_stream_status(r->stream, r->diag);
  return err ? err
             : tide_stream_fail(r->stream, TIDE_ERR_CUT, offset, r->diag, "the profile breaks off");
}

// False when the stream has less left.
static bool skip_bytes(struct tide_stream *stream, uint64_t n)
{
  while (n) {
    size_t left = tide_stream_fill(stream, 1);
    if (!left)
      return false;
    left = left < n ? left : (size_t)n;
    stream->at += left;
    n -= left;
  }
  return true;
}

// The bytes of a field that starts at `start`.
static enum tide_err take_bytes(struct reader *r, const struct tide_wire_field *f, uint64_t start)
{
  struct tide_stream *stream = r->stream;
  take_message *take = f->number <= P_LAST ? takers[f->number] : NULL;
  if (!take || f->value > MAX_MESSAGE) {
    if (!skip_bytes(stream, f->value))
      return breaks_off(r, start);
    return take ? tide_stream_fail(stream, TIDE_ERR_LIMIT, start, r->diag,
                                   "a message of %llu bytes is too long",
                                   (unsigned long long)f->value)
                : TIDE_ERR_OK;
  }
  size_t n = (size_t)f->value;
  if (tide_stream_fill(stream, n) < n)
    return breaks_off(r, start);
  enum tide_err err = take(&r->tables, tide_cursor_make(stream->at, n), tide_stream_offset(stream));
  stream->at += n;
  return err;
}

static enum tide_err take_field(struct reader *r)
{
  struct tide_stream *stream = r->stream;
  uint64_t start = tide_stream_offset(stream);
  size_t n = tide_stream_fill(stream, MAX_HEAD);
  struct tide_cursor c = tide_cursor_make(stream->at, n);
  struct tide_wire_field f;
  if (!tide_wire_head(&c, &f))
    return breaks_off(r, start);
  stream->at = c.at;
  if (f.number <= P_LAST && !is_expected(&f))
    return tide_pprof_wrong(&r->tables, start, "a field is of another kind");
  if (f.number == P_TIME_NANOS)
    r->builder->capture->start_realtime_ns = f.value;
  if (f.number == P_PERIOD)
    r->period = f.value;
  r->has_period_type |= f.number == P_PERIOD_TYPE;
  if (f.number == P_COMMENT && f.wire == TIDE_WIRE_VARINT)
    tide_pprof_take_comment(&r->tables, f.value);
  return f.wire == TIDE_WIRE_BYTES ? take_bytes(r, &f, start) : TIDE_ERR_OK;
}

static enum tide_err read_tables(struct reader *r)
{
  enum tide_err err = TIDE_ERR_OK;
  if (!tide_stream_fill(r->stream, 1) && !r->stream->err)
    return tide_fail(r->diag, TIDE_ERR_FORMAT, "%s is empty", r->stream->name);
  while (!err && tide_stream_fill(r->stream, 1))
    err = take_field(r);
  if (!err)
    err = tide_stream_status(r->stream, r->diag);
  return err ? err : tide_pprof_tables_check(&r->tables);
}

// "alloc_space" and so on; "objects" and "space" are what older profiles call those in use.
static enum tide_err find_columns(struct reader *r)
{
  static const struct {
    const char *word;
    enum column column;
  } words[] = {{"alloc_objects", ALLOC_OBJECTS}, {"alloc_space", ALLOC_SPACE},
               {"inuse_objects", INUSE_OBJECTS}, {"inuse_space", INUSE_SPACE},
               {"objects", INUSE_OBJECTS},       {"space", INUSE_SPACE}};
  for (int i = 0; i < COLUMNS_N; i++)
    r->columns[i] = -1;
  for (size_t w = 0; w < sizeof words / sizeof *words; w++)
    for (size_t i = 0; i < r->tables.n_types; i++)
      if (r->columns[words[w].column] < 0 &&
          strcmp(tide_pprof_string(&r->tables, r->tables.types[i]), words[w].word) == 0)
        r->columns[words[w].column] = (int)i;
  bool has_alloc = r->columns[ALLOC_SPACE] >= 0, has_inuse = r->columns[INUSE_SPACE] >= 0;
  if (!has_alloc && !has_inuse)
    return tide_fail(r->diag, TIDE_ERR_FORMAT,
                     "%s is a pprof profile, but not of a heap: it has neither inuse_space nor "
                     "alloc_space",
                     r->stream->name);
  uint32_t *lacks = &r->builder->image->lacks;
  *lacks |= (has_alloc ? 0u : TIDE_LACK_TOTAL) | (has_inuse ? 0u : TIDE_LACK_LIVE);
  if ((has_alloc && r->columns[ALLOC_OBJECTS] < 0) || (has_inuse && r->columns[INUSE_OBJECTS] < 0))
    *lacks |= TIDE_LACK_BLOCKS;
  return TIDE_ERR_OK;
}

static uint32_t parse_build_id(const char *hex, uint8_t id[MAX_BUILD_ID])
{
  size_t n = strlen(hex);
  if (n % 2 || n / 2 > MAX_BUILD_ID || strspn(hex, "0123456789abcdefABCDEF") != n)
    return 0;
  for (size_t i = 0; i < n / 2; i++) {
    char two[] = {hex[2 * i], hex[2 * i + 1], '\0'};
    id[i] = (uint8_t)strtoul(two, NULL, 16);
  }
  return (uint32_t)(n / 2);
}

// jemalloc_pprof has the path that the program was started by, as target/debug/x by cargo: it is
// taken from here, where it may be another file, which the build id then tells.
static uint16_t make_module(struct reader *r, const struct tide_pprof_mapping *m)
{
  uint8_t id[MAX_BUILD_ID];
  const char *path = tide_pprof_string(&r->tables, m->filename);
  uint32_t n_id = parse_build_id(tide_pprof_string(&r->tables, m->build_id), id);
  TIDE_CLEANUP_FREE char *found = n_id && path[0] != '/' ? realpath(path, NULL) : NULL;
  return tide_builder_module(r->builder, found ? found : path, m->start - m->bias,
                             m->limit - m->bias, 0, id, n_id);
}

// Where a mapping begins in its file's addresses: jemalloc_pprof up to 0.7 says it in a comment for
// each, "executableInfo=TYPE;OFFSET;ADDRESS". lld's code is not linked at its offset.
static bool linked_at(const struct tide_pprof_tables *t, size_t mapping_idx, uint64_t *ret_addr)
{
  static const char word[] = "executableInfo=";
  char *end;
  if (t->n_comments != t->n_mappings)
    return false;
  const char *at = tide_pprof_string(t, t->comments[mapping_idx]);
  at = strncmp(at, word, strlen(word)) == 0 ? strrchr(at, ';') : NULL;
  if (!at)
    return false;
  *ret_addr = strtoull(at + 1, &end, 16);
  return end > at + 1 && !*end;
}

// Ends where the last address is, for those that span everything.
static void make_modules(struct reader *r)
{
  struct tide_pprof_tables *t = &r->tables;
  for (size_t i = 0; i < t->n_locations; i++) {
    const struct tide_pprof_location *l = &t->locations[i];
    struct tide_pprof_mapping *m = tide_pprof_mapping_of(t, l->mapping_id);
    if (m && l->addr > m->last_addr)
      m->last_addr = l->addr;
  }
  for (size_t i = 0; i < t->n_mappings; i++) {
    struct tide_pprof_mapping *m = &t->mappings[i];
    bool is_fixed = m->start < TIDE_MAPPINGS_FIXED_BELOW || m->offset > m->start;
    uint64_t linked;
    m->bias = is_fixed ? 0 : m->start - m->offset;
    if (linked_at(t, i, &linked) && linked <= m->start)
      m->bias = m->start - linked;
    if (m->limit <= m->last_addr || m->limit > UINT64_MAX >> 8)
      m->limit = (m->last_addr | 4095) + 1;
    m->module = make_module(r, m);
  }
}

// The lines of a location, innermost first; gives their number.
static enum tide_err make_chain(const struct reader *r, const struct tide_pprof_location *l,
                                struct tide_names_frame *chain, size_t *ret_n)
{
  const struct tide_pprof_tables *t = &r->tables;
  size_t n = l->n_lines < MAX_CHAIN ? l->n_lines : MAX_CHAIN;
  for (size_t i = 0; i < n; i++) {
    const struct tide_pprof_line *line = &t->lines[l->first_line + i];
    const struct tide_pprof_function *function = tide_pprof_function_of(t, line->function_id);
    if (!function)
      return tide_pprof_wrong(t, l->offset, "a line is of no function");
    chain[i] = (struct tide_names_frame){.function = tide_pprof_string(t, function->name),
                                         .file = tide_pprof_string(t, function->filename),
                                         .line = line->line};
  }
  *ret_n = n;
  return TIDE_ERR_OK;
}

static enum tide_err make_places(struct reader *r)
{
  struct tide_names_frame chain[MAX_CHAIN];
  for (size_t i = 0; i < r->tables.n_locations; i++) {
    struct tide_pprof_location *l = &r->tables.locations[i];
    const struct tide_pprof_mapping *m = tide_pprof_mapping_of(&r->tables, l->mapping_id);
    uint16_t module = m ? m->module : 0;
    uint64_t addr = l->addr - (m ? m->bias : 0);
    size_t n = 0;
    enum tide_err err = make_chain(r, l, chain, &n);
    if (err)
      return err;
    bool is_cut = n == 1 && strcmp(chain[0].function, "[frames left out]") == 0;
    if (is_cut)
      l->place = (struct tide_import_place){.flags = TIDE_FRAME_CUT};
    else if (n)
      l->place = tide_builder_place(r->builder, module, l->addr ? addr : 0, chain, n);
    else
      l->place = (struct tide_import_place){addr, module, TIDE_FRAME_IS_EXACT};
  }
  return TIDE_ERR_OK;
}

static uint64_t value_of(const struct reader *r, const uint64_t *values, enum column column)
{
  return r->columns[column] < 0 ? 0 : values[r->columns[column]];
}

// Each sample was told as those that it stands for, by the mean size of its stack's blocks.
static uint64_t samples_of(const struct reader *r, uint64_t n, uint64_t bytes)
{
  if (r->period <= 1 || !n || !bytes)
    return 0;
  double mean = (double)bytes / (double)n;
  double n_samples = (double)n * -expm1(-mean / (double)r->period);
  return n_samples < 1 ? 1 : (uint64_t)llround(n_samples);
}

static void add_sums(struct reader *r, uint32_t stack, const uint64_t *values)
{
  struct tide_site *site = tide_builder_site(r->builder, stack);
  uint64_t n = value_of(r, values, ALLOC_OBJECTS), bytes = value_of(r, values, ALLOC_SPACE);
  uint64_t n_live = value_of(r, values, INUSE_OBJECTS), b_live = value_of(r, values, INUSE_SPACE);
  uint32_t lacks = r->builder->image->lacks;
  if (lacks & TIDE_LACK_TOTAL) { // at least what is in use was allocated
    n = n_live;
    bytes = b_live;
  }
  site->n_alloc += n;
  site->b_alloc += bytes;
  site->n_samples += samples_of(r, n, bytes);
  if (lacks & TIDE_LACK_LIVE)
    return;
  site->n_free += n - n_live;
  site->b_free += bytes - b_live;
}

static void make_sites(struct reader *r)
{
  struct tide_pprof_tables *t = &r->tables;
  TIDE_CLEANUP_FREE uint32_t *nodes = tide_alloc_array(t->stacks.n + 1, sizeof *nodes);
  tide_table_done(&t->stacks.table);
  for (size_t i = 1; i < t->stacks.n; i++) {
    const struct tide_trie_link *link = &t->stacks.links[i];
    nodes[i] = tide_builder_node(r->builder, nodes[link->parent], t->locations[link->value].place);
  }
  for (size_t i = 0; i < t->n_sums; i++) {
    uint32_t node = nodes[t->sum_links[i]];
    if (!t->sum_links[i]) // a stack of no frames
      node = tide_builder_node(r->builder, 0, (struct tide_import_place){.flags = TIDE_FRAME_LOST});
    add_sums(r, node, t->sums + i * t->n_values);
  }
}

// pprof -base writes what one profile has more than another one, which may be less than nothing.
static enum tide_err refuse_difference(const struct reader *r)
{
  const struct tide_pprof_tables *t = &r->tables;
  uint64_t alloc = 0, inuse = 0;
  for (size_t i = 0; i < t->n_sums; i++) {
    alloc += value_of(r, t->sums + i * t->n_values, ALLOC_SPACE);
    inuse += value_of(r, t->sums + i * t->n_values, INUSE_SPACE);
  }
  if ((int64_t)alloc >= 0 && (int64_t)inuse >= 0)
    return TIDE_ERR_OK;
  return tide_fail(r->diag, TIDE_ERR_UNSUPPORTED,
                   "%s holds less than no bytes: it is the difference of two profiles; "
                   "'tidemark diff' compares the two themselves",
                   r->stream->name);
}

// One for every byte are all. jemalloc_pprof tells of what the period is, and not how long.
static void say_sampling(struct reader *r)
{
  struct tide_image *image = r->builder->image;
  if (r->period == 1 || (!r->period && !r->has_period_type))
    return;
  tide_builder_sampled(r->builder, r->period ? r->period : TIDE_SAMPLED_SOMEHOW);
  free(image->origin);
  image->origin =
      r->period ? tide_sprintf("pprof heap profile, sampled every %" PRIu64 " bytes", r->period)
                : tide_strdup("pprof heap profile, sampled");
}

static enum tide_err read_all(struct reader *r)
{
  enum tide_err err = read_tables(r);
  if (!err)
    err = find_columns(r);
  if (!err)
    err = refuse_difference(r);
  if (err)
    return err;
  make_modules(r);
  if (r->tables.n_mappings) // the first is the program
    r->builder->image->exe =
        tide_strdup(tide_pprof_string(&r->tables, r->tables.mappings[0].filename));
  err = make_places(r);
  if (!err) {
    say_sampling(r);
    make_sites(r);
  }
  return err;
}

enum tide_err tide_pprof_read(struct tide_stream *stream, struct tide_capture **ret_capture,
                              struct tide_diag *diag)
{
  struct reader r = {.stream = stream, .diag = diag, .tables = {.stream = stream, .diag = diag}};
  r.builder = tide_builder_new("pprof heap profile", LACKS);
  enum tide_err err = read_all(&r);
  tide_pprof_tables_done(&r.tables);
  if (!err)
    err = tide_builder_finish(r.builder, ret_capture, diag);
  tide_builder_free(r.builder);
  return err;
}
