// SPDX-License-Identifier: Apache-2.0
//
// Names come from binaries we did not build. Here they are bytes with a length; what is not UTF-8
// becomes U+FFFD, everything else stays as it is: showing it harmlessly is the page's business.
//
// An address is turned into frames once; a node of the image then costs a look-up per frame.
#include "page/page_sites.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "report/info.h"
#include "view/paths.h"

#include <stdlib.h>
#include <string.h>

struct page_frame { // a key: no padding
  uint64_t address;
  uint32_t function, file, crate, line, module;
  uint16_t layer, flags;
};

struct page_node {
  uint32_t parent, frame;
};

static uint32_t add_text(struct tide_page_names *names, const char *text)
{
  return tide_intern_text(&names->texts, text ? tide_utf8_mend(text, &names->scratch) : "");
}

static uint32_t add_crate(struct tide_page_names *names, const char *function, uint32_t text)
{
  if (!text)
    return 0;
  if (text >= names->n_crates) {
    size_t n = names->texts.n * 2;
    names->crates = tide_realloc_array(names->crates, n, sizeof *names->crates);
    memset(names->crates + names->n_crates, 0, (n - names->n_crates) * sizeof *names->crates);
    names->n_crates = n;
  }
  if (!names->crates[text]) {
    TIDE_CLEANUP_FREE char *crate = tide_crate_of(function);
    names->crates[text] = add_text(names, crate) + 1;
  }
  return names->crates[text] - 1;
}

static uint32_t add_module(struct tide_page_names *names, uint32_t module)
{
  if (!names->of_module[module]) {
    uint32_t path = add_text(names, names->image->modules[module].path);
    names->of_module[module] = tide_intern_add(&names->modules, &path, sizeof path) + 1;
  }
  return names->of_module[module] - 1;
}

static uint16_t flags_of(const struct tide_named_frame *frame)
{
  // Names are looked up, and a scope is a function by its name.
  uint32_t stored = frame->flags & TIDE_FRAME_STORED & ~(TIDE_FRAME_IS_EXACT | TIDE_FRAME_SCOPE);
  return (uint16_t)(stored | (frame->inlined ? TIDE_FRAME_INLINED : 0));
}

static uint32_t add_frame(struct tide_page_names *names, const struct tide_named_frame *frame)
{
  struct page_frame key = {
      .function = add_text(names, frame->function),
      .file = add_text(names, frame->file),
      .line = frame->line,
      .module = add_module(names, frame->module),
      .layer = (uint16_t)frame->layer,
      .flags = flags_of(frame),
  };
  key.crate = add_crate(names, frame->function, key.function);
  if (!key.function)
    key.address = tide_naming_elf_address(names->naming, frame);
  return tide_intern_add(&names->frames, &key, sizeof key);
}

static uint32_t add_node(struct tide_page_names *names, uint32_t parent, uint32_t frame)
{
  struct page_node key = {parent, frame};
  return tide_intern_add(&names->nodes, &key, sizeof key);
}

void tide_page_names_init(struct tide_page_names *names, const struct tide_image *image,
                          struct tide_naming *naming)
{
  *names = (struct tide_page_names){.image = image, .naming = naming};
  names->of_module = tide_alloc_array(image->n_modules + 1, sizeof *names->of_module);
  names->of_node = tide_alloc_array(image->n_frames + 1, sizeof *names->of_node);
  names->of_node[0] = 1;
  uint32_t nothing = add_text(names, NULL);
  tide_intern_add(&names->modules, &nothing, sizeof nothing);
  add_node(names, 0, UINT32_MAX); // the root: no other node has such a frame
}

void tide_page_names_done(struct tide_page_names *names)
{
  tide_intern_done(&names->texts);
  tide_intern_done(&names->modules);
  tide_intern_done(&names->frames);
  tide_intern_done(&names->nodes);
  tide_buf_done(&names->scratch);
  free(names->of_module);
  free(names->of_node);
  free(names->crates);
  free(names->chains);
  free(names->ids);
  free(names->way);
  *names = (struct tide_page_names){0};
}

// The frames of an address of the naming, innermost first.
static const uint32_t *chain_of(struct tide_page_names *names, uint32_t node, size_t *ret_n)
{
  const struct tide_named_frame *frames = tide_naming_of_node(names->naming, node, ret_n);
  size_t address = tide_naming_address(names->naming, node);
  if (address >= names->n_chains) {
    size_t n = address * 2 + 1024;
    names->chains = tide_realloc_array(names->chains, n, sizeof *names->chains);
    memset(names->chains + names->n_chains, 0, (n - names->n_chains) * sizeof *names->chains);
    names->n_chains = n;
  }
  if (!names->chains[address]) {
    names->chains[address] = names->n_ids + 1;
    for (size_t i = 0; i < *ret_n; i++) {
      TIDE_GROW(names->ids, names->n_ids, names->cap_ids);
      names->ids[names->n_ids++] = add_frame(names, &frames[i]);
    }
  }
  return names->ids + names->chains[address] - 1;
}

static void name_node(struct tide_page_names *names, uint32_t node)
{
  size_t n;
  uint32_t at = names->of_node[names->image->frames[node].parent] - 1;
  const uint32_t *frames = chain_of(names, node, &n);
  while (n-- > 0)
    at = add_node(names, at, frames[n]);
  names->of_node[node] = at + 1;
}

// Outwards to a node that is known, and from there inwards again. Not by recursion: stacks may be
// very deep.
uint32_t tide_page_names_node(struct tide_page_names *names, uint32_t node)
{
  size_t n = 0;
  for (uint32_t at = node; !names->of_node[at]; at = names->image->frames[at].parent) {
    TIDE_GROW(names->way, n, names->cap_way);
    names->way[n++] = at;
  }
  while (n-- > 0)
    name_node(names, names->way[n]);
  return names->of_node[node] - 1;
}

uint32_t tide_page_names_place(struct tide_page_names *names, const struct tide_named_frame *frame)
{
  struct page_frame key = {
      .function = add_text(names, frame->function),
      .file = add_text(names, frame->file),
      .line = frame->line,
  };
  if (!key.file)
    key.module = add_module(names, frame->module);
  if (!key.function)
    key.address = tide_naming_elf_address(names->naming, frame);
  return tide_intern_add(&names->frames, &key, sizeof key);
}

uint32_t tide_page_names_other(struct tide_page_names *names, const struct tide_page_other *other)
{
  struct page_frame root = {.flags = TIDE_FRAME_PAGES};
  struct page_frame some = {.flags = TIDE_FRAME_PRUNED, .function = add_text(names, "[other]")};
  uint32_t at = tide_page_names_node(names, other->top);
  if (other->of_pages)
    at = add_node(names, at, tide_intern_add(&names->frames, &root, sizeof root));
  at = add_node(names, at, tide_intern_add(&names->frames, &some, sizeof some));
  return other->place ? add_node(names, at, add_frame(names, other->place)) : at;
}

static void write_frames(struct tide_page_names *names, struct tide_page_column *columns)
{
  for (size_t i = 0; i < names->frames.n; i++) {
    size_t n;
    struct page_frame frame;
    memcpy(&frame, tide_intern_get(&names->frames, (uint32_t)i, &n), sizeof frame);
    tide_page_column_add(&columns[TIDE_PAGE_FRAME_FUNCTION], frame.function);
    tide_page_column_add(&columns[TIDE_PAGE_FRAME_FILE], frame.file);
    tide_page_column_add(&columns[TIDE_PAGE_FRAME_CRATE], frame.crate);
    tide_page_column_add(&columns[TIDE_PAGE_FRAME_LINE], frame.line);
    tide_page_column_add(&columns[TIDE_PAGE_FRAME_MODULE], frame.module);
    tide_page_column_add(&columns[TIDE_PAGE_FRAME_ADDRESS], (double)frame.address);
    tide_page_column_add(&columns[TIDE_PAGE_FRAME_LAYER], frame.layer);
    tide_page_column_add(&columns[TIDE_PAGE_FRAME_FLAGS], frame.flags);
  }
}

static void write_nodes(struct tide_page_names *names, struct tide_page_column *columns)
{
  tide_page_column_add(&columns[TIDE_PAGE_NODE_UP], 0);
  tide_page_column_add(&columns[TIDE_PAGE_NODE_FRAME], 0);
  for (size_t i = 1; i < names->nodes.n; i++) {
    size_t n;
    struct page_node node;
    memcpy(&node, tide_intern_get(&names->nodes, (uint32_t)i, &n), sizeof node);
    tide_page_column_add(&columns[TIDE_PAGE_NODE_UP], (double)(i - node.parent));
    tide_page_column_add(&columns[TIDE_PAGE_NODE_FRAME], node.frame);
  }
}

// The build of a module of the page, as a text. Of several modules of one path, the first.
static uint32_t build_of(struct tide_page_names *names, uint32_t number)
{
  const struct tide_image *image = names->image;
  for (size_t i = 1; i < image->n_modules; i++) {
    char hex[65];
    if (names->of_module[i] != number + 1)
      continue;
    tide_module_build_id(&image->modules[i], hex);
    return add_text(names, hex);
  }
  return 0;
}

static void write_modules(struct tide_page_names *names, struct tide_page_column *columns)
{
  for (uint32_t i = 0; i < names->modules.n; i++) {
    size_t n;
    uint32_t path;
    memcpy(&path, tide_intern_get(&names->modules, i, &n), sizeof path);
    tide_page_column_add(&columns[TIDE_PAGE_MODULE_PATH], path);
    tide_page_column_add(&columns[TIDE_PAGE_MODULE_BUILD], build_of(names, i));
  }
}

void tide_page_names_write(struct tide_page_names *names, struct tide_page_column *columns)
{
  write_frames(names, columns);
  write_nodes(names, columns);
  write_modules(names, columns);
  for (size_t i = 0; i < names->texts.n; i++)
    tide_page_column_add(&columns[TIDE_PAGE_TEXT_END], (double)names->texts.ends[i]);
  tide_page_column_take(&columns[TIDE_PAGE_TEXT], &names->texts.bytes);
}
