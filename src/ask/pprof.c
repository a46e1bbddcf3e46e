// SPDX-License-Identifier: Apache-2.0
//
// The profile of this moment for the program itself (tidemark.h): pprof's profile.proto, written as
// the store is read, with the addresses and build ids that are known here and no names.
//
// A cell's numbers are added up by the innermost node of its stack, in memory of the call's own,
// which also numbers what was written: locations and mappings are dense, from 1 up, because Parca
// takes nothing else. A location is a node, so that one address may have several.
//
// Of the store nothing is believed (store/layout.h, invariant 7): a number that leads anywhere is
// checked first.
#include "ask/ask.h"
#include "ask/now.h"
#include "record/record.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

// Fields of profile.proto.
enum { P_SAMPLE_TYPE = 1, P_SAMPLE, P_MAPPING, P_LOCATION, P_FUNCTION, P_STRING };
enum { P_TIME_NANOS = 9, P_PERIOD_TYPE = 11, P_PERIOD, P_DEFAULT_TYPE = 14 };
enum { V_TYPE = 1, V_UNIT };
enum { S_LOCATIONS = 1, S_VALUES };
enum { M_ID = 1, M_START, M_LIMIT, M_OFFSET, M_FILE, M_BUILD_ID };
enum { L_ID = 1, L_MAPPING, L_ADDRESS, L_LINE };
enum { F_ID = 1, F_NAME };

// Strings that every profile begins with. What a stack is called that was not kept is the last.
static const char *const words[] = {"",      "alloc_objects", "count",       "alloc_space",
                                    "bytes", "inuse_objects", "inuse_space", "space",
                                    "[lost]"};
enum { NONE, ALLOC_OBJECTS, COUNT, ALLOC_SPACE, BYTES, INUSE_OBJECTS, INUSE_SPACE, SPACE, LOST };
enum { N_WORDS = sizeof words / sizeof *words, N_COLUMNS = 4 };

struct sums {
  uint64_t columns[N_COLUMNS];
  uint32_t location; // 0: not written yet
};

struct writer {
  int fd;
  long error; // -errno; nothing is written from then on
  uint32_t n_nodes, n_modules;
  uint32_t n_locations, n_mappings, n_strings;
  size_t n_filled;
  // One mapping.
  struct sums *nodes;
  uint32_t *mappings; // of modules; 0: not written yet
  char buffer[16384]; // the rest follows
};

// ---- bytes ----

static void flush(struct writer *w)
{
  size_t n = 0;
  while (n < w->n_filled && !w->error) {
    long done = TIDE_SYS(SYS_write, w->fd, w->buffer + n, w->n_filled - n);
    if (done == 0)
      w->error = -EIO;
    else if (!tide_sys_failed(done))
      n += (size_t)done;
    else if (done != -EINTR)
      w->error = done;
  }
  w->n_filled = 0;
}

static void put_byte(struct writer *w, uint8_t byte)
{
  if (w->n_filled == sizeof w->buffer)
    flush(w);
  w->buffer[w->n_filled++] = (char)byte;
}

static void put_varint(struct writer *w, uint64_t v)
{
  for (; v >= 0x80; v >>= 7)
    put_byte(w, (uint8_t)(v | 0x80));
  put_byte(w, (uint8_t)v);
}

static uint32_t varint_bytes(uint64_t v)
{
  return (70 - (uint32_t)__builtin_clzll(v | 1)) / 7;
}

enum { IS_NUMBER = 0, IS_BYTES = 2 }; // wire types

static void put_number(struct writer *w, uint32_t field, uint64_t v)
{
  put_varint(w, field << 3 | IS_NUMBER);
  put_varint(w, v);
}

static uint32_t number_bytes(uint64_t v) // of a field below 16
{
  return 1 + varint_bytes(v);
}

// Its bytes are to follow.
static void put_length(struct writer *w, uint32_t field, uint64_t n)
{
  put_varint(w, field << 3 | IS_BYTES);
  put_varint(w, n);
}

// Gives its number.
static uint32_t put_string(struct writer *w, const char *text, size_t n)
{
  put_length(w, P_STRING, n);
  for (size_t i = 0; i < n; i++)
    put_byte(w, (uint8_t)text[i]);
  return w->n_strings++;
}

static void put_type(struct writer *w, uint32_t field, uint32_t type, uint32_t unit)
{
  put_length(w, field, number_bytes(type) + number_bytes(unit));
  put_number(w, V_TYPE, type);
  put_number(w, V_UNIT, unit);
}

// ---- mappings ----

static bool is_same_text(uint32_t a, uint32_t b)
{
  size_t n_a, n_b;
  const char *text_a = tide_now_text(a, &n_a), *text_b = tide_now_text(b, &n_b);
  return n_a == n_b && !memcmp(text_a, text_b, n_a);
}

static size_t build_id_of(const struct tide_store_module *m, char ret_hex[2 * sizeof m->build_id])
{
  static const char digits[] = "0123456789abcdef";
  size_t n = m->build_id_len <= sizeof m->build_id ? m->build_id_len : 0;
  for (size_t i = 0; i < n; i++) {
    ret_hex[2 * i] = digits[m->build_id[i] >> 4];
    ret_hex[2 * i + 1] = digits[m->build_id[i] & 15];
  }
  return 2 * n;
}

static bool is_same_file(const struct tide_store_module *a, const struct tide_store_module *b)
{
  return a->build_id_len == b->build_id_len && is_same_text(a->path, b->path) &&
         !memcmp(a->build_id, b->build_id, sizeof a->build_id);
}

// The whole file, whose addresses are those of its locations.
static uint32_t put_mapping(struct writer *w, uint32_t module)
{
  const struct tide_store_module *m = tide_module_at(module);
  for (uint32_t before = 1; before < module; before++)
    if (w->mappings[before] && is_same_file(tide_module_at(before), m))
      return w->mappings[before];
  char hex[2 * sizeof m->build_id];
  size_t n, n_hex = build_id_of(m, hex);
  const char *path = tide_now_text(m->path, &n);
  uint32_t file = put_string(w, path, n), build_id = n_hex ? put_string(w, hex, n_hex) : NONE;
  uint32_t id = ++w->n_mappings;
  put_length(w, P_MAPPING,
             number_bytes(id) + number_bytes(UINT64_MAX) + number_bytes(file) +
                 number_bytes(build_id));
  put_number(w, M_ID, id);
  put_number(w, M_LIMIT, UINT64_MAX);
  put_number(w, M_FILE, file);
  put_number(w, M_BUILD_ID, build_id);
  return id;
}

// The program is the first, which readers take for the profile's own file.
static void put_mappings(struct writer *w)
{
  uint32_t program = tide_store.header->exe;
  for (uint32_t id = 1; id < w->n_modules; id++)
    if (is_same_text(tide_module_at(id)->path, program)) {
      w->mappings[id] = put_mapping(w, id);
      break;
    }
  for (uint32_t id = 1; id < w->n_modules; id++)
    if (!w->mappings[id])
      w->mappings[id] = put_mapping(w, id);
}

// ---- stacks ----

static void put_location(struct writer *w, uint32_t node)
{
  uint64_t frame = tide_node_at(node)->frame, pc = TIDE_FRAME_PC(frame);
  uint32_t module = TIDE_FRAME_MODULE(frame), mapping = 0, id = ++w->n_locations;
  uint64_t at = pc - !(frame & TIDE_FRAME_EXACT); // of the call
  if (module && module < w->n_modules) {
    at -= tide_module_at(module)->bias;
    mapping = w->mappings[module];
  }
  put_length(w, P_LOCATION, number_bytes(id) + number_bytes(mapping) + number_bytes(at));
  put_number(w, L_ID, id);
  put_number(w, L_MAPPING, mapping);
  put_number(w, L_ADDRESS, at);
  w->nodes[node].location = id;
}

// One that is nothing but a name: of stacks that were not kept.
static void put_lost(struct writer *w)
{
  enum { THE_FUNCTION = 1 };
  uint32_t id = ++w->n_locations;
  put_length(w, P_FUNCTION, number_bytes(THE_FUNCTION) + number_bytes(LOST));
  put_number(w, F_ID, THE_FUNCTION);
  put_number(w, F_NAME, LOST);
  uint32_t n_line = number_bytes(THE_FUNCTION);
  put_length(w, P_LOCATION, number_bytes(id) + 2 + n_line);
  put_number(w, L_ID, id);
  put_length(w, L_LINE, n_line);
  put_number(w, 1, THE_FUNCTION);
  w->nodes[TIDE_NODE_ROOT_LOST].location = id;
}

// The next node outwards that is a frame: scopes are none.
static uint32_t next_frame(uint32_t node)
{
  do
    node = tide_now_outer(node);
  while (node >= TIDE_NODE_FIRST && tide_node_at(node)->flags & TIDE_FRAME_SCOPE);
  return node;
}

static void put_sample(struct writer *w, uint32_t stack)
{
  const struct sums *sums = &w->nodes[stack];
  uint64_t n_ids = 0, n_values = 0;
  for (uint32_t node = stack; node >= TIDE_NODE_FIRST; node = next_frame(node)) {
    if (!w->nodes[node].location)
      put_location(w, node);
    n_ids += varint_bytes(w->nodes[node].location);
  }
  if (stack < TIDE_NODE_FIRST) {
    put_lost(w);
    n_ids = varint_bytes(w->nodes[stack].location);
  }
  for (int i = 0; i < N_COLUMNS; i++)
    n_values += varint_bytes(sums->columns[i]);
  put_length(w, P_SAMPLE, 2 + varint_bytes(n_ids) + varint_bytes(n_values) + n_ids + n_values);
  put_length(w, S_LOCATIONS, n_ids);
  if (stack < TIDE_NODE_FIRST)
    put_varint(w, w->nodes[stack].location);
  for (uint32_t node = stack; node >= TIDE_NODE_FIRST; node = next_frame(node))
    put_varint(w, w->nodes[node].location);
  put_length(w, S_VALUES, n_values);
  for (int i = 0; i < N_COLUMNS; i++)
    put_varint(w, sums->columns[i]);
}

static void put_samples(struct writer *w)
{
  for (uint32_t stack = TIDE_NODE_ROOT_LOST; stack < w->n_nodes && !w->error; stack++)
    if (w->nodes[stack].columns[0] && tide_now_is_of_heap(stack)) {
      uint64_t *columns = w->nodes[stack].columns;
      for (int i = 2; i < N_COLUMNS; i++) // a free that came while it was read
        columns[i] = (int64_t)columns[i] < 0 ? 0 : columns[i];
      put_sample(w, stack);
    }
}

// ---- numbers ----

static void add_up(struct writer *w)
{
  uint32_t n_cells = tide_load_acquire(&tide_store.n_cells);
  for (uint32_t id = TIDE_FIRST_CELL; id < n_cells; id++) {
    uint32_t stack = tide_load_acquire(&tide_owner_at(id)->stack);
    if (!stack || stack >= w->n_nodes)
      continue; // not in use yet, or newer than this moment
    struct tide_cell cell = tide_now_cell(id, tide_owner_at(id)->slot);
    uint64_t *columns = w->nodes[stack].columns;
    columns[0] += cell.n_alloc;
    columns[1] += cell.b_alloc;
    columns[2] += cell.n_alloc - cell.n_free;
    columns[3] += cell.b_alloc - cell.b_free;
  }
}

static void put_profile(struct writer *w)
{
  for (uint32_t i = 0; i < N_WORDS; i++)
    put_string(w, words[i], tide_text_len(words[i]));
  put_type(w, P_SAMPLE_TYPE, ALLOC_OBJECTS, COUNT);
  put_type(w, P_SAMPLE_TYPE, ALLOC_SPACE, BYTES);
  put_type(w, P_SAMPLE_TYPE, INUSE_OBJECTS, COUNT);
  put_type(w, P_SAMPLE_TYPE, INUSE_SPACE, BYTES);
  put_type(w, P_PERIOD_TYPE, SPACE, BYTES);
  put_number(w, P_PERIOD, 1ull << tide_load_relaxed(&tide_samples.bits));
  put_number(w, P_DEFAULT_TYPE, INUSE_SPACE);
  struct timespec now = {0};
  TIDE_SYS(SYS_clock_gettime, CLOCK_REALTIME, &now);
  put_number(w, P_TIME_NANOS, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
  put_mappings(w);
  add_up(w);
  put_samples(w);
  flush(w);
}

long tide_ask_pprof_write(struct tide_seat *seat, int fd)
{
  if (!tide_boot(seat)) // which a fork child does here, if it has not yet
    return -ENODATA;
  if (tide_boot_is_paused()) // what is allocated meanwhile would be missing
    return -ENODATA;
  if (tide_sys_confined)
    return -EPERM;
  uint32_t n_nodes = tide_load_acquire(&tide_store.header->n_nodes);
  uint32_t n_modules = tide_load_acquire(&tide_store.header->n_modules);
  if (n_nodes > tide_store.areas.nodes.capacity || n_modules > tide_store.areas.modules.capacity)
    return -ENODATA; // somebody wrote there
  size_t bytes =
      sizeof(struct writer) + n_nodes * sizeof(struct sums) + n_modules * sizeof(uint32_t);
  long at = TIDE_SYS(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (tide_sys_failed(at))
    return at;
  struct writer *w = (struct writer *)at;
  tide_sys_adopt_map(w, bytes);
  w->fd = fd;
  w->n_nodes = n_nodes;
  w->n_modules = n_modules;
  w->nodes = (struct sums *)(w + 1);
  w->mappings = (uint32_t *)(w->nodes + n_nodes);
  put_profile(w);
  long error = w->error;
  tide_sys_unmap(w, bytes);
  return error;
}
