// SPDX-License-Identifier: Apache-2.0
//
// Makes a capture of one image from what a foreign file says. A reader creates a builder, fills in
// the image's plain facts itself (`image`), turns stacks into nodes and adds numbers to the site of
// each. Everything is kept once: modules, places, nodes, sites.
//
//   builder = tide_builder_new("massif 3.19", TIDE_LACK_BLOCKS | …);
//   place = tide_builder_place(builder, module, address, &frame, 1);
//   node = tide_builder_node(builder, parent, place);            // root: parent 0
//   tide_builder_site(builder, node)->b_alloc += …;
//   tide_builder_finish(builder, &capture, diag);
//
// Limits against absurd files: 2^32 - 1 nodes, 65,535 modules (more become unknown).
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"
#include "model/stored_names.h"

// Where a frame is: an address in a module, with or without names of its own.
struct tide_import_place {
  uint64_t pc;
  uint16_t module, flags;
};

struct tide_builder {
  struct tide_capture *capture; // owned until finished
  struct tide_image *image;     // the capture's; facts are the reader's to fill in
  struct tide_builder_inner *own;
};

// origin is what the report calls the source: the tool and the format. lacks: enum tide_lacks.
struct tide_builder *tide_builder_new(const char *origin, uint32_t lacks);
void tide_builder_free(struct tide_builder *builder); // NULL is fine

// The command line, as a file has it in one text: arguments with spaces between them, and where all
// of them are quoted for a shell as ours are, without the quotes. The program is the first.
void tide_builder_command(struct tide_builder *builder, const char *text, size_t n);

// The module of that path, range and bias; 0, the unknown one, for the path "".
uint16_t tide_builder_module(struct tide_builder *builder, const char *path, uint64_t start,
                             uint64_t end, uint64_t bias, const uint8_t *build_id,
                             uint32_t build_id_len);
// The module of that path whose addresses are not to be looked up: it comes with names.
uint16_t tide_builder_named_module(struct tide_builder *builder, const char *path);

// A place with names: a chain of n frames (n > 0), innermost first, each but the last inlined into
// the next. With the address the source gives it, or 0 for one that has none: then one is made up,
// the same for the same chain. When the address has other names already, the module is taken for
// another one loaded there later. The texts are copied.
struct tide_import_place tide_builder_place(struct tide_builder *builder, uint16_t module,
                                            uint64_t addr, const struct tide_names_frame *chain,
                                            size_t n);

// The node of a place called from parent (0: the root, for the outermost).
uint32_t tide_builder_node(struct tide_builder *builder, uint32_t parent,
                           struct tide_import_place place);

// The numbers of a stack, zero at first. Valid until the next call. Node 0 stands for no stack.
struct tide_site *tide_builder_site(struct tide_builder *builder, uint32_t node);

// One more point of the timeline, one more snapshot (rows by rising node; taken over), times not
// falling. Both thin out as they become many; a snapshot that goes leaves its counts to the next.
void tide_builder_tick(struct tide_builder *builder, const struct tide_tick *tick);
void tide_builder_snapshot(struct tide_builder *builder, struct tide_snapshot snapshot);

// What is added is estimated from samples, one for so many bytes, and the sites tell n_samples; or
// TIDE_SAMPLED_SOMEHOW.
void tide_builder_sampled(struct tide_builder *builder, uint64_t every_bytes);

// The file ended early: the capture says so in these words.
void tide_builder_cut(struct tide_builder *builder, const char *note);

// The capture, checked. The builder is empty afterwards and only good to be freed.
enum tide_err tide_builder_finish(struct tide_builder *builder, struct tide_capture **ret_capture,
                                  struct tide_diag *diag);

// ---- frames as text ----
//
// A frame as valgrind's tools and dhat-rs write it:
//
//   0x10917A: f (p.c:3)          0x48455EF: malloc (in /usr/libexec/…/vgpreload_dhat.so)
//   0x10917A: f (src/p.rs:3:9)   0x10917A: ???
//
// Function names hold any characters, parentheses too; what is in the last pair decides.

struct tide_frame_text {
  uint64_t addr; // 0: none
  struct tide_names_frame name;
  const char *object; // "": not told
};

// Texts point into scratch, valid until it changes. Any text gives a frame: what is not understood
// is taken for the function's name.
void tide_frame_text_parse(const char *text, size_t n, struct tide_buf *scratch,
                           struct tide_frame_text *ret_frame);

// The place of a chain of frames that share one address (n > 0), innermost first.
struct tide_import_place tide_frame_text_place(struct tide_builder *builder,
                                               const struct tide_frame_text *frame);
