// SPDX-License-Identifier: Apache-2.0
//
// Tables over growing arrays. Names go to the stored names as they come: a place remembers the
// fingerprint of its chain, to tell the same from another one at the same address.
#include "import/builder.h"

#include "base/alloc.h"
#include "import/table.h"
#include "model/image_sums.h"
#include "tide/format.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MODULES = TIDE_MAX_MODULES - 1, MAX_GENERATIONS = 64, SNAPSHOT_ROWS = 1 << 17 };

struct named_place {
  uint64_t addr, fingerprint;
  uint16_t module;
};

struct tide_builder_inner {
  size_t cap_modules, cap_frames, cap_sites, cap_ticks, cap_snapshots;
  struct tide_table modules, frames, by_chain, by_addr;
  struct named_place *places;
  size_t n_places, cap_places;
  struct tide_names_builder *names;
  uint32_t *site_of_node; // site + 1
  size_t cap_nodes;
  uint64_t n_invented;
  size_t n_snapshot_rows;
};

struct tide_builder *tide_builder_new(const char *origin, uint32_t lacks)
{
  struct tide_builder *b = tide_alloc(sizeof *b);
  b->own = tide_alloc(sizeof *b->own);
  b->own->names = tide_names_builder_new();
  b->capture = tide_capture_new();
  b->capture->finished = true;
  b->capture->images = tide_alloc(sizeof *b->capture->images);
  b->capture->n_images = 1;
  struct tide_image *image = b->image = b->capture->images;
  image->origin = tide_strdup(origin);
  image->lacks = lacks;
  image->modules = tide_alloc(sizeof *image->modules);
  image->modules[0].path = tide_strdup("");
  image->n_modules = b->own->cap_modules = 1;
  image->frames = tide_alloc(sizeof *image->frames);
  image->n_frames = b->own->cap_frames = 1;
  image->threads = tide_alloc(sizeof *image->threads);
  image->n_threads_known = 1;
  return b;
}

void tide_builder_free(struct tide_builder *b)
{
  if (!b)
    return;
  struct tide_builder_inner *own = b->own;
  tide_capture_free(b->capture);
  tide_table_done(&own->modules);
  tide_table_done(&own->frames);
  tide_table_done(&own->by_chain);
  tide_table_done(&own->by_addr);
  tide_names_builder_free(own->names);
  free(own->places);
  free(own->site_of_node);
  free(own);
  free(b);
}

// An argument in quotes, from the one that opens it: '…' with '\\'' for a quote. Gives where it
// ends; NULL: it is quoted in another way, or not meant to be.
static const char *take_quoted(const char *at, const char *end, struct tide_buf *out)
{
  for (at++;;) {
    const char *quote = at < end ? memchr(at, '\'', (size_t)(end - at)) : NULL;
    if (!quote)
      return NULL;
    tide_buf_append(out, at, (size_t)(quote - at));
    at = quote + 1;
    if (at == end || *at == ' ')
      return at;
    if (end - at < 3 || memcmp(at, "\\''", 3) != 0)
      return NULL;
    tide_buf_u8(out, '\'');
    at += 3;
  }
}

// The arguments, each followed by a NUL. False: somewhere the quotes are not ours.
static bool split_command(const char *at, const char *end, bool quoted, struct tide_buf *out)
{
  while (at < end) {
    if (quoted && *at == '\'') {
      at = take_quoted(at, end, out);
      if (!at)
        return false;
    } else {
      const char *space = memchr(at, ' ', (size_t)(end - at));
      size_t n = (size_t)((space ? space : end) - at);
      tide_buf_append(out, at, n);
      at += n;
    }
    tide_buf_u8(out, 0);
    at += at < end;
  }
  return true;
}

void tide_builder_command(struct tide_builder *b, const char *text, size_t n)
{
  struct tide_image *image = b->image;
  struct tide_buf out = {0};
  n = strnlen(text, n);
  if (!split_command(text, text + n, true, &out)) {
    out.n = 0;
    split_command(text, text + n, false, &out);
  }
  free(image->cmdline);
  free(image->exe);
  image->cmdline_len = (uint32_t)out.n;
  tide_buf_u8(&out, 0);
  image->cmdline = (char *)out.data;
  image->exe = tide_strdup(image->cmdline);
}

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
  for (const uint8_t *p = data; n--; p++)
    h = (h ^ *p) * 0x100000001b3u; // FNV-1a
  return h;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
  return hash_bytes(h, text ? text : "", text ? strlen(text) + 1 : 1);
}

static bool same_module(const void *context, const void *key, uint32_t position)
{
  const struct tide_module *a = &((const struct tide_image *)context)->modules[position], *b = key;
  return a->start == b->start && a->end == b->end && a->bias == b->bias &&
         a->generation == b->generation && strcmp(a->path, b->path) == 0;
}

// Takes over the path.
static uint16_t put_module(struct tide_builder *b, struct tide_module *module)
{
  struct tide_image *image = b->image;
  if (!*module->path || image->n_modules == MAX_MODULES) {
    free(module->path);
    return 0;
  }
  uint32_t hash = tide_table_mix(hash_text(module->generation, module->path), module->start);
  uint32_t at = tide_table_put(&b->own->modules, hash, same_module, image, module,
                               (uint32_t)image->n_modules);
  if (at < image->n_modules) {
    free(module->path);
    return (uint16_t)at;
  }
  TIDE_GROW(image->modules, image->n_modules, b->own->cap_modules);
  image->modules[image->n_modules++] = *module;
  return (uint16_t)at;
}

uint16_t tide_builder_module(struct tide_builder *b, const char *path, uint64_t start, uint64_t end,
                             uint64_t bias, const uint8_t *build_id, uint32_t build_id_len)
{
  struct tide_module module = {.path = tide_strdup(path), .start = start, .end = end, .bias = bias};
  if (build_id_len && build_id_len <= sizeof module.build_id) {
    memcpy(module.build_id, build_id, build_id_len);
    module.build_id_len = build_id_len;
  }
  return put_module(b, &module);
}

uint16_t tide_builder_named_module(struct tide_builder *b, const char *path)
{
  return tide_builder_module(b, path, 0, 0, 0, NULL, 0);
}

static uint64_t fingerprint(const struct tide_names_frame *chain, size_t n)
{
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < n; i++) {
    h = hash_text(h, chain[i].function);
    h = hash_text(h, chain[i].file);
    h = hash_bytes(h, &chain[i].line, sizeof chain[i].line);
  }
  return h;
}

static bool same_addr(const void *context, const void *key, uint32_t position)
{
  const struct named_place *a = &((const struct tide_builder_inner *)context)->places[position];
  const struct named_place *b = key;
  return a->module == b->module && a->addr == b->addr;
}

static bool same_chain(const void *context, const void *key, uint32_t position)
{
  const struct named_place *a = &((const struct tide_builder_inner *)context)->places[position];
  const struct named_place *b = key;
  return a->module == b->module && a->fingerprint == b->fingerprint;
}

static void keep_place(struct tide_builder *b, const struct named_place *place,
                       const struct tide_names_frame *chain, size_t n)
{
  struct tide_builder_inner *own = b->own;
  TIDE_GROW(own->places, own->n_places, own->cap_places);
  own->places[own->n_places++] = *place;
  struct tide_names_frame *copy = tide_alloc_array(n, sizeof *copy);
  for (size_t i = 0; i < n; i++) {
    copy[i] = chain[i];
    copy[i].inlined = i + 1 < n;
  }
  tide_names_builder_add(own->names, place->module, place->addr, copy, n);
  free(copy);
}

// The next free row for whoever puts something in a table of places.
static uint32_t put_place(struct tide_builder *b, struct tide_table *table, uint32_t hash,
                          tide_table_same *same, const struct named_place *place)
{
  return tide_table_put(table, hash, same, b->own, place, (uint32_t)b->own->n_places);
}

static uint64_t invented(struct tide_builder *b, uint16_t module,
                         const struct tide_names_frame *chain, size_t n)
{
  struct tide_builder_inner *own = b->own;
  struct named_place place = {.module = module, .fingerprint = fingerprint(chain, n)};
  uint32_t hash = tide_table_mix(place.fingerprint, module);
  uint32_t at = put_place(b, &own->by_chain, hash, same_chain, &place);
  if (at < own->n_places)
    return own->places[at].addr;
  place.addr = ++own->n_invented;
  keep_place(b, &place, chain, n);
  return place.addr;
}

// Another object at the same addresses; the same one again when it was met before. 0: no more.
static uint16_t next_generation(struct tide_builder *b, uint16_t module)
{
  struct tide_module next = b->image->modules[module];
  if (next.generation == MAX_GENERATIONS)
    return 0;
  next.path = tide_strdup(*next.path ? next.path : "[unknown]");
  next.generation++;
  return put_module(b, &next);
}

static struct tide_import_place invented_place(struct tide_builder *b, uint16_t module,
                                               const struct tide_names_frame *chain, size_t n)
{
  // Never in the unknown module: there the made up addresses would meet real ones.
  struct tide_import_place place = {.module = module, .flags = TIDE_FRAME_IS_EXACT};
  if (!module)
    place.module = tide_builder_named_module(b, "[names]");
  place.pc = invented(b, place.module, chain, n);
  return place;
}

struct tide_import_place tide_builder_place(struct tide_builder *b, uint16_t module, uint64_t addr,
                                            const struct tide_names_frame *chain, size_t n)
{
  struct tide_builder_inner *own = b->own;
  struct named_place named = {addr, fingerprint(chain, n), module};
  if (!addr)
    return invented_place(b, module, chain, n);
  for (;;) {
    uint32_t hash = tide_table_mix(addr, named.module);
    uint32_t at = put_place(b, &own->by_addr, hash, same_addr, &named);
    if (at == own->n_places)
      keep_place(b, &named, chain, n);
    if (own->places[at].fingerprint == named.fingerprint)
      return (struct tide_import_place){addr, named.module, TIDE_FRAME_IS_EXACT};
    named.module = next_generation(b, named.module);
    if (!named.module)
      return invented_place(b, module, chain, n);
  }
}

static bool same_node(const void *context, const void *key, uint32_t position)
{
  const struct tide_frame *a = &((const struct tide_image *)context)->frames[position], *b = key;
  return a->pc == b->pc && a->parent == b->parent && a->module == b->module && a->flags == b->flags;
}

uint32_t tide_builder_node(struct tide_builder *b, uint32_t parent, struct tide_import_place place)
{
  struct tide_image *image = b->image;
  struct tide_frame frame = {place.pc, parent, place.module, place.flags};
  if (image->n_frames == UINT32_MAX)
    return parent;
  uint32_t hash = tide_table_mix(place.pc, (uint64_t)parent << 16 ^ place.module);
  uint32_t at =
      tide_table_put(&b->own->frames, hash, same_node, image, &frame, (uint32_t)image->n_frames);
  if (at == image->n_frames) {
    TIDE_GROW(image->frames, image->n_frames, b->own->cap_frames);
    image->frames[image->n_frames++] = frame;
  }
  return at;
}

struct tide_site *tide_builder_site(struct tide_builder *b, uint32_t node)
{
  struct tide_builder_inner *own = b->own;
  struct tide_image *image = b->image;
  if (node >= own->cap_nodes) {
    size_t cap = node + node / 2 + 64u;
    own->site_of_node = tide_realloc_array(own->site_of_node, cap, sizeof *own->site_of_node);
    memset(own->site_of_node + own->cap_nodes, 0, (cap - own->cap_nodes) * sizeof(uint32_t));
    own->cap_nodes = cap;
  }
  uint32_t *site = &own->site_of_node[node];
  if (!*site) {
    TIDE_GROW(image->sites, image->n_sites, own->cap_sites);
    image->sites[image->n_sites++] = (struct tide_site){.stack = node};
    *site = (uint32_t)image->n_sites;
  }
  return &image->sites[*site - 1];
}

void tide_builder_tick(struct tide_builder *b, const struct tide_tick *tick)
{
  struct tide_image *image = b->image;
  if (image->n_ticks == TIDE_SAMPLE_MAX_TICKS) {
    size_t kept = 0;
    for (size_t i = 1; i < image->n_ticks; i += 2)
      image->ticks[kept++] = image->ticks[i];
    image->n_ticks = kept;
  }
  TIDE_GROW(image->ticks, image->n_ticks, b->own->cap_ticks);
  image->ticks[image->n_ticks++] = *tick;
}

// Every other timed one goes; the last stays.
static void thin_snapshots(struct tide_builder *b)
{
  struct tide_image *image = b->image;
  size_t kept = 0, n_timed = 0;
  b->own->n_snapshot_rows = 0;
  for (size_t i = 0; i < image->n_snapshots; i++) {
    struct tide_snapshot *s = &image->snapshots[i];
    bool goes = s->kind == TIDE_SNAPSHOT_TIMED && n_timed++ % 2 == 0 && i + 1 < image->n_snapshots;
    if (!goes) {
      b->own->n_snapshot_rows += s->n_rows;
      image->snapshots[kept++] = *s;
      continue;
    }
    tide_snapshot_add_counts(s + 1, s->rows, s->n_rows);
    free(s->rows);
  }
  image->n_snapshots = kept;
}

void tide_builder_snapshot(struct tide_builder *b, struct tide_snapshot snapshot)
{
  struct tide_image *image = b->image;
  size_t most = SNAPSHOT_ROWS + 2 * image->n_frames; // in proportion to all the rest
  bool rows_are_many = b->own->n_snapshot_rows + snapshot.n_rows > most;
  if (image->n_snapshots == TIDE_SAMPLE_MAX_SNAPSHOTS || (rows_are_many && image->n_snapshots > 1))
    thin_snapshots(b);
  TIDE_GROW(image->snapshots, image->n_snapshots, b->own->cap_snapshots);
  image->snapshots[image->n_snapshots++] = snapshot;
  b->own->n_snapshot_rows += snapshot.n_rows;
}

void tide_builder_sampled(struct tide_builder *builder, uint64_t every_bytes)
{
  struct tide_image *image = builder->image;
  image->sampled_every_bytes = every_bytes;
  if (every_bytes > TIDE_SAMPLED_SOMEHOW) // and so all that comes before it in the list
    image->has_samples = image->has_resized_bytes = image->has_temp_bytes = true;
}

void tide_builder_cut(struct tide_builder *b, const char *note)
{
  free(b->capture->cut_note);
  b->capture->cut_note = tide_strdup(note);
  b->capture->cut = true;
}

static void fill_text(char **text)
{
  if (!*text)
    *text = tide_strdup("");
}

enum tide_err tide_builder_finish(struct tide_builder *b, struct tide_capture **ret_capture,
                                  struct tide_diag *diag)
{
  struct tide_image *image = b->image;
  fill_text(&b->capture->tool_version);
  fill_text(&b->capture->hostname);
  fill_text(&b->capture->kernel);
  fill_text(&image->exe);
  fill_text(&image->cmdline);
  fill_text(&image->allocator);
  if (!tide_names_builder_finish(b->own->names, image))
    return tide_fail(diag, TIDE_ERR_LIMIT, "the names are more than 4 GiB");
  enum tide_err err = tide_capture_check(b->capture, diag);
  if (err)
    return err;
  *ret_capture = b->capture;
  b->capture = NULL;
  b->image = NULL;
  return TIDE_ERR_OK;
}
