// SPDX-License-Identifier: Apache-2.0
//
// Heap profiles as text: gperftools' "heapprofile" and jemalloc's "heap_v2". Per stack of addresses
// the blocks and bytes in use at a moment and, in brackets, allocated in all; then the lines of
// /proc/PID/maps by which a reader finds the files that the addresses are of.
//
//  1. No names: stacks are of addresses as they ran, return addresses all of them, so that an exact
//     one is written one higher. Stacks that read alike are one.
//  2. Where two files were at the same addresses in turn, the later one is moved to where nothing
//     is, with its frames: readers know one file per address.
//  3. jemalloc samples, and a reader of its format scales by the interval in the head. 0 is the
//     interval of a profile that is exact: with it jeprof scales nothing, with 1 it would make a
//     block of one byte 1.6.
//  4. Readers want decimal digits: no growth, nothing negative, nothing that is not known. Where
//     totals are not known they are 0, as in the files of a jemalloc that does not count them.
#define _GNU_SOURCE
#include "export/exports.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "base/utf8.h"
#include "symbol/elf.h"

#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NO_STACK_ADDR = 1, PAGE_BYTES = 4096 };

struct numbers { // of a stack, or of all
  uint64_t blocks, bytes, n_alloc, b_alloc;
};

struct node { // of a tree of addresses from the outermost in: most stacks begin alike
  uint64_t addr;
  uint32_t outer; // 0: none; [0] stands for nothing
};

struct entry {
  struct numbers numbers;
  uint32_t node; // the innermost
};

struct writer {
  struct tide_sink *sink;
  struct tide_view *view;
  const struct tide_image *image;
  uint64_t *shift; // per module: how far its addresses are moved
  struct node *nodes;
  size_t n_nodes, cap_nodes;
  struct tide_id_index by_node;
  uint64_t *addrs; // scratch: of a stack, innermost first
  size_t n_addrs, cap_addrs;
  struct entry *entries; // per distinct stack of addresses
  uint32_t *entry_of;    // per node: its entry + 1; 0: none
  size_t n_entries, cap_entries, cap_entry_of;
  struct numbers sums;
};

static bool overlap(const struct tide_module *a, uint64_t start, const struct tide_module *b,
                    uint64_t b_start)
{
  return start < b_start + (b->end - b->start) && b_start < start + (a->end - a->start);
}

static void place_modules(struct writer *w)
{
  const struct tide_module *modules = w->image->modules;
  uint64_t free_start = 0;
  w->shift = tide_alloc_array(w->image->n_modules, sizeof *w->shift);
  for (size_t i = 1; i < w->image->n_modules; i++)
    if (modules[i].end > free_start)
      free_start = modules[i].end;
  for (size_t i = 1; i < w->image->n_modules; i++) {
    bool is_taken = false;
    for (size_t j = 1; j < i && !is_taken; j++)
      is_taken =
          overlap(&modules[i], modules[i].start, &modules[j], modules[j].start + w->shift[j]);
    if (!is_taken || modules[i].start >= modules[i].end)
      continue;
    free_start = (free_start + 2 * PAGE_BYTES) & ~(uint64_t)(PAGE_BYTES - 1);
    w->shift[i] = free_start - modules[i].start;
    free_start += modules[i].end - modules[i].start;
  }
}

static void push_addr(struct writer *w, uint64_t pc, uint16_t module, uint16_t flags)
{
  uint64_t addr = pc + w->shift[module] + (flags & TIDE_FRAME_IS_EXACT ? 1 : 0);
  if (flags & (TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST | TIDE_FRAME_SCOPE))
    return;
  TIDE_GROW(w->addrs, w->n_addrs, w->cap_addrs);
  w->addrs[w->n_addrs++] = addr;
}

static void push_frames(struct writer *w, uint32_t stack)
{
  const struct tide_frame *frames = w->image->frames;
  bool is_whole = w->view->all_frames && tide_filter_is_empty(w->view->filter);
  if (is_whole) { // no names needed
    for (uint32_t node = stack; node; node = frames[node].parent)
      push_addr(w, frames[node].pc, frames[node].module, frames[node].flags);
    return;
  }
  size_t n;
  const struct tide_view_frame *shown = tide_view_stack(w->view, stack, &n);
  for (size_t i = 0; i < n; i++) {
    const struct tide_named_frame *frame = shown[i].frame;
    bool is_outer = i > 0 && shown[i - 1].frame->inlined && shown[i - 1].frame->pc == frame->pc;
    if (!is_outer)
      push_addr(w, frame->pc, (uint16_t)frame->module, frame->flags);
  }
}

static void add_numbers(struct numbers *to, const struct numbers *more)
{
  to->blocks += more->blocks;
  to->bytes += more->bytes;
  to->n_alloc += more->n_alloc;
  to->b_alloc += more->b_alloc;
}

static bool same_node(const void *table, uint32_t id, const void *key)
{
  const struct node *a = &((const struct node *)table)[id], *b = key;
  return a->addr == b->addr && a->outer == b->outer;
}

static uint32_t add_node(struct writer *w, const struct node *node)
{
  uint32_t id = (uint32_t)w->n_nodes;
  TIDE_GROW(w->entry_of, w->n_nodes, w->cap_entry_of);
  TIDE_GROW(w->nodes, w->n_nodes, w->cap_nodes);
  w->entry_of[id] = 0;
  w->nodes[w->n_nodes++] = *node;
  return id;
}

static uint32_t node_within(struct writer *w, uint32_t outer, uint64_t addr)
{
  const struct node key = {addr, outer};
  uint64_t hash = tide_hash_word(tide_hash_word(0, outer), addr);
  uint32_t id = tide_id_index_find(&w->by_node, hash, same_node, w->nodes, &key);
  if (id == UINT32_MAX) {
    id = add_node(w, &key);
    tide_id_index_add(&w->by_node, hash, id);
  }
  return id;
}

static void add_site(struct writer *w, uint32_t stack, const struct numbers *numbers)
{
  uint32_t node = 0;
  w->n_addrs = 0;
  push_frames(w, stack);
  for (size_t i = w->n_addrs; i-- > 0;)
    node = node_within(w, node, w->addrs[i]);
  if (!node)
    node = node_within(w, 0, NO_STACK_ADDR);
  uint32_t *entry = &w->entry_of[node];
  if (!*entry) {
    TIDE_GROW(w->entries, w->n_entries, w->cap_entries);
    w->entries[w->n_entries++] = (struct entry){.node = node};
    *entry = (uint32_t)w->n_entries;
  }
  add_numbers(&w->entries[*entry - 1].numbers, numbers);
  add_numbers(&w->sums, numbers);
}

static uint64_t at_least_0(int64_t v)
{
  return v > 0 ? (uint64_t)v : 0;
}

// By their bytes in memory, innermost address first; a stack that is the start of another comes
// before it.
static int compare_addrs(const struct node *nodes, uint32_t left, uint32_t right)
{
  for (; left && right && left != right; left = nodes[left].outer, right = nodes[right].outer) {
    int order = memcmp(&nodes[left].addr, &nodes[right].addr, sizeof nodes->addr);
    if (order)
      return order;
  }
  return left == right ? 0 : left ? 1 : -1;
}

static int by_bytes(const void *left, const void *right, void *nodes)
{
  const struct entry *a = left, *b = right;
  if (a->numbers.bytes != b->numbers.bytes)
    return a->numbers.bytes < b->numbers.bytes ? 1 : -1;
  if (a->numbers.b_alloc != b->numbers.b_alloc)
    return a->numbers.b_alloc < b->numbers.b_alloc ? 1 : -1;
  return compare_addrs(nodes, a->node, b->node);
}

static void gather_stacks(struct writer *w, const struct tide_question *question)
{
  const struct tide_profile *profile = w->view->profile;
  bool has_totals = !(w->image->lacks & TIDE_LACK_TOTAL);
  struct tide_question of_bytes = *question, of_blocks = *question;
  of_bytes.unit = TIDE_UNIT_BYTES;
  of_blocks.unit = TIDE_UNIT_BLOCKS;
  TIDE_CLEANUP_FREE int64_t *bytes = tide_alloc_array(profile->n_sites, sizeof *bytes);
  TIDE_CLEANUP_FREE int64_t *blocks = tide_alloc_array(profile->n_sites, sizeof *blocks);
  tide_profile_weigh(profile, &of_bytes, bytes);
  tide_profile_weigh(profile, &of_blocks, blocks);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    const struct numbers numbers = {at_least_0(blocks[i]), at_least_0(bytes[i]),
                                    has_totals ? TIDE_OF_SITE(site, n_alloc) : 0,
                                    has_totals ? TIDE_OF_SITE(site, b_alloc) : 0};
    bool is_zero = !numbers.blocks && !numbers.bytes && !numbers.n_alloc && !numbers.b_alloc;
    if (tide_view_has(w->view, i) && !is_zero)
      add_site(w, site->stack, &numbers);
  }
  if (w->n_entries)
    qsort_r(w->entries, w->n_entries, sizeof *w->entries, by_bytes, w->nodes);
}

static void write_numbers(struct tide_sink *sink, const struct numbers *numbers)
{
  tide_sink_printf(sink, "%" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64 "]", numbers->blocks,
                   numbers->bytes, numbers->n_alloc, numbers->b_alloc);
}

static void write_addrs(const struct writer *w, uint32_t node)
{
  tide_sink_text(w->sink, "@");
  for (; node; node = w->nodes[node].outer)
    tide_sink_printf(w->sink, " 0x%" PRIx64, w->nodes[node].addr);
  tide_sink_text(w->sink, "\n");
}

static void write_map(const struct writer *w, size_t module, uint64_t start, uint64_t end,
                      uint64_t offset, bool is_code)
{
  TIDE_CLEANUP_FREE char *path = tide_utf8_clean(w->image->modules[module].path, true);
  if (start < end)
    tide_sink_printf(w->sink, "%08" PRIx64 "-%08" PRIx64 " r-%cp %08" PRIx64 " 00:00 0 %s\n",
                     start + w->shift[module], end + w->shift[module], is_code ? 'x' : '-', offset,
                     path);
}

// The file's own segments where it is at hand. Readers take a file's addresses from the offsets of
// its code, which some linkers do not lay out as in memory.
static bool write_segments(const struct writer *w, size_t idx)
{
  const struct tide_module *module = &w->image->modules[idx];
  struct tide_elf *elf;
  size_t n = 0;
  uint64_t at = module->start;
  if (tide_elf_open(module->path, &elf, NULL))
    return false;
  bool is_same =
      elf->build_id_len == module->build_id_len &&
      (!elf->build_id_len || memcmp(elf->build_id, module->build_id, elf->build_id_len) == 0);
  if (!is_same || elf_getphdrnum(elf->elf, &n))
    n = 0;
  for (size_t i = 0; i < n; i++) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
        !(segment.p_flags & PF_X))
      continue;
    uint64_t in_page = segment.p_vaddr % PAGE_BYTES;
    uint64_t start = module->bias + segment.p_vaddr - in_page;
    uint64_t end = module->bias + segment.p_vaddr + segment.p_memsz;
    if (start < at || end > module->end)
      continue;
    write_map(w, idx, at, start, 0, false); // whoever wants to know where the file begins
    write_map(w, idx, start, end, segment.p_offset - in_page, true);
    at = end;
  }
  tide_elf_free(elf);
  return at > module->start;
}

static void write_maps(const struct writer *w)
{
  tide_sink_text(w->sink, "\nMAPPED_LIBRARIES:\n");
  for (size_t i = 1; i < w->image->n_modules; i++) {
    const struct tide_module *module = &w->image->modules[i];
    if (!write_segments(w, i))
      write_map(w, i, module->start, module->end, 0, true);
  }
}

static void write_gperftools(struct writer *w)
{
  tide_sink_text(w->sink, "heap profile: ");
  write_numbers(w->sink, &w->sums);
  tide_sink_text(w->sink, " @ heapprofile\n");
  for (size_t i = 0; i < w->n_entries; i++) {
    write_numbers(w->sink, &w->entries[i].numbers);
    tide_sink_text(w->sink, " ");
    write_addrs(w, w->entries[i].node);
  }
}

static void write_jemalloc(struct writer *w)
{
  tide_sink_text(w->sink, "heap_v2/0\n  t*: ");
  write_numbers(w->sink, &w->sums);
  tide_sink_text(w->sink, "\n");
  for (size_t i = 0; i < w->n_entries; i++) {
    write_addrs(w, w->entries[i].node);
    tide_sink_text(w->sink, "  t*: ");
    write_numbers(w->sink, &w->entries[i].numbers);
    tide_sink_text(w->sink, "\n");
  }
}

static bool has_addresses(const struct tide_image *image)
{
  for (size_t i = 1; i < image->n_frames; i++) {
    const struct tide_module *module = &image->modules[image->frames[i].module];
    if (image->frames[i].module && module->start >= module->end)
      return false;
  }
  return true;
}

// Live at the end, unless the user named another moment, or the capture has another one only.
static enum tide_err find_question(const struct tide_view *view,
                                   const struct tide_export_options *options,
                                   struct tide_question *ret_question, struct tide_diag *diag)
{
  const struct tide_question *asked = &view->profile->question;
  const struct tide_image *image = view->profile->image;
  struct tide_question question = {.measure = TIDE_MEASURE_LIVE};
  if (options->measure_said)
    question = *asked;
  else if (!tide_measure_is_held(image, TIDE_MEASURE_LIVE))
    question.measure = TIDE_MEASURE_PEAK;
  bool is_moment = question.measure == TIDE_MEASURE_PEAK || question.measure == TIDE_MEASURE_LIVE ||
                   question.measure == TIDE_MEASURE_LEAK;
  if (!is_moment || question.window.from.given)
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_MOMENT_OR_PEAK,
                          "heap profiles hold what was live at a moment, and all allocations");
  if (image->lacks & TIDE_LACK_BLOCKS || !tide_measure_is_held(image, question.measure))
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "heap profiles hold blocks and bytes in use, which this capture does not");
  if (!has_addresses(image))
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "this capture has names, but not the addresses that heap profiles are made "
                     "of; pprof and folded hold names");
  *ret_question = question;
  return TIDE_ERR_OK;
}

static enum tide_err write_with(struct tide_sink *sink, struct tide_view *view,
                                const struct tide_export_options *options,
                                void (*write_stacks)(struct writer *), struct tide_diag *diag)
{
  struct writer w = {.sink = sink, .view = view, .image = view->profile->image};
  struct tide_question question;
  enum tide_err err = find_question(view, options, &question, diag);
  if (err)
    return err;
  place_modules(&w);
  add_node(&w, &(struct node){0});
  gather_stacks(&w, &question);
  write_stacks(&w);
  write_maps(&w);
  tide_id_index_done(&w.by_node);
  free(w.nodes);
  free(w.addrs);
  free(w.shift);
  free(w.entries);
  free(w.entry_of);
  return TIDE_ERR_OK;
}

enum tide_err tide_gperftools_write(struct tide_sink *sink, struct tide_view *view,
                                    const struct tide_export_options *options,
                                    struct tide_diag *diag)
{
  return write_with(sink, view, options, write_gperftools, diag);
}

enum tide_err tide_jemalloc_write(struct tide_sink *sink, struct tide_view *view,
                                  const struct tide_export_options *options, struct tide_diag *diag)
{
  return write_with(sink, view, options, write_jemalloc, diag);
}
