// SPDX-License-Identifier: Apache-2.0
//
// What `tidemark top` shows: the graph, the ranked places, what the reader chose. Captures and keys
// in, a canvas out; it knows no terminal, no clock and no process, so tests can judge every screen.
//
//   capture ──▶ tide_top_take() ──┐
//                                 ├──▶ state ──▶ tide_top_draw() ──▶ canvas
//   key ──────▶ tide_top_key() ───┘       └──▶ a wish: quit, end the command, dump
//
// Names, places and numbers are those of the report: the same view, groups and questions.
// One thread at a time. Memory is that of the capture shown and of a fixed number of looks.
#pragma once
#include "top/canvas.h"
#include "view/naming.h"

// Keys that are no characters; characters are themselves, as Unicode has them.
enum tide_top_key {
  TIDE_TOP_KEY_NONE = 0x200000,
  TIDE_TOP_KEY_UP,
  TIDE_TOP_KEY_DOWN,
  TIDE_TOP_KEY_PAGE_UP,
  TIDE_TOP_KEY_PAGE_DOWN,
  TIDE_TOP_KEY_HOME,
  TIDE_TOP_KEY_END,
  TIDE_TOP_KEY_LEFT,
  TIDE_TOP_KEY_RIGHT,
  TIDE_TOP_KEY_ENTER,
  TIDE_TOP_KEY_ESCAPE,
  TIDE_TOP_KEY_BACKSPACE,
  TIDE_TOP_KEY_OTHER, // one that means nothing here
};

enum tide_top_wish { // of whoever pressed a key, for whoever has the process
  TIDE_TOP_WISH_NONE,
  TIDE_TOP_WISH_QUIT,
  TIDE_TOP_WISH_END, // quit, and the command shall end
  TIDE_TOP_WISH_DUMP,
};

struct tide_top_options {
  const char *how;     // how it is watched: "attached", "a finished capture"
  const char *quits;   // what q does, a sentence for the help
  bool asks;           // q asks what becomes of the command, while it runs
  bool is_static;      // there will be one capture: the graph is of the whole run
  const char *process; // which process, as --process has it; NULL: the one that leads
  int sort;            // in tide_sort_words; -1: what is live or, of a static one, what leads
  bool utf8;
  enum tide_units units;
  // Names for an image, which are freed here; the image outlives them.
  void *context;
  struct tide_naming *(*name)(void *context, const struct tide_image *image);
};

struct tide_top;

// What the options point to must outlive it.
struct tide_top *tide_top_new(const struct tide_top_options *options);
void tide_top_free(struct tide_top *top); // NULL is fine

// Shows a capture, which is taken over. rss_bytes: as it is now; 0: as the capture has it. Where
// nothing was allocated or freed since the last one, that stays, and little is done. Fails when
// there is no such process; what was shown stays.
enum tide_err tide_top_take(struct tide_top *top, struct tide_capture *capture, uint64_t rss_bytes,
                            struct tide_diag *diag);
// There will be no other capture: why, "exited 0", is copied. From then on q asks nothing.
void tide_top_end(struct tide_top *top, const char *why);

enum tide_top_wish tide_top_key(struct tide_top *top, unsigned key);

// Nothing new shall be taken.
bool tide_top_is_paused(const struct tide_top *top);
// How many marks were set.
uint32_t tide_top_marks(const struct tide_top *top);
// The capture shown; NULL: none yet. The top's.
const struct tide_capture *tide_top_capture(const struct tide_top *top);

// A line above the keys, until the next key.
void tide_top_say(struct tide_top *top, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Rises whenever something would be drawn differently.
uint64_t tide_top_version(const struct tide_top *top);
// All of the canvas, which has its size.
void tide_top_draw(struct tide_top *top, struct tide_canvas *canvas);
