// SPDX-License-Identifier: Apache-2.0
//
// A capture that is shown: its source, what was last had of it, and the page's data of each of its
// processes, made when somebody first asks. The source is looked at again now and then; when it has
// something newer, that is shown. One that fails leaves what was shown before, with a note.
#pragma once
#include "model/capture.h"
#include "serve/errand.h"
#include "serve/reply.h"
#include "view/naming.h"

// How addresses are named; the command line knows.
struct tide_exhibit_namer {
  void *context;
  // The caller frees them; the image outlives them.
  struct tide_naming *(*name)(void *context, const struct tide_image *image);
  void (*named)(void *context); // no more names are looked up for now; may be NULL
};

// The page's data of one process image, or what is seen of it first, and the files its frames are
// in.
struct tide_exhibit_block {
  struct tide_body *data; // packed; NULL: not asked for yet
  uint32_t *file_texts;   // by rising text of the block …
  char **files;           // … the path
  size_t n_files;
};

struct tide_exhibit {
  struct tide_source *source;             // owned
  const struct tide_exhibit_namer *namer; // not owned
  const char *process;          // which process is shown first, as --process has it; NULL: largest
  struct tide_capture *capture; // never NULL
  size_t shown_idx;             // the image that is shown first
  uint64_t version;             // rises with everything that is shown differently
  char *note;                   // why the source itself may tell more; NULL: all is well
  struct tide_exhibit_block *blocks;  // per image of the capture: all of it …
  struct tide_exhibit_block *firsts;  // … and what is seen first
  struct tide_exhibit_making *making; // of the image whose first block was made last; NULL: none
  struct tide_errand errand;          // makes a whole block …
  size_t errand_idx;                  // … of this image
  // What others have for /metrics, written behind ours. NULL: nothing.
  void (*more_metrics)(void *context, struct tide_buf *out);
  void *more_context;
};

// Takes the source over. Fails when there is nothing to be had of it, or no such process.
enum tide_err tide_exhibit_open(struct tide_exhibit *exhibit, struct tide_source *source,
                                const struct tide_exhibit_namer *namer, const char *process,
                                struct tide_diag *diag);
void tide_exhibit_close(struct tide_exhibit *exhibit); // all zero is fine

// Looks whether there is something newer, which somebody wants or not; true: version has risen.
bool tide_exhibit_look(struct tide_exhibit *exhibit, bool is_wanted);

// Shows what there is at this moment, which is waited for, at most so many milliseconds. Fails when
// that is not to be had; what was shown before still is, and nothing is noted.
enum tide_err tide_exhibit_refresh(struct tide_exhibit *exhibit, uint32_t wait_ms,
                                   struct tide_diag *diag);

// From now on it comes from another source, which is taken over. What is shown stays until the
// next look.
void tide_exhibit_turn_to(struct tide_exhibit *exhibit, struct tide_source *source);

// Will there be something newer?
bool tide_exhibit_is_live(const struct tide_exhibit *exhibit);

// The block of an image, made if need be. image_idx must be one of the capture's. is_first: what is
// seen first; all of it, where that is not much more. NULL: a fork makes it, which must be
// allowed; ask again.
const struct tide_exhibit_block *tide_exhibit_block(struct tide_exhibit *exhibit, size_t image_idx,
                                                    bool is_first, bool may_fork);

// The path that a text of the block stands for; NULL when it is none of a frame's file.
const char *tide_exhibit_file(const struct tide_exhibit_block *block, uint32_t text);

// ---- files as sources ----
//
// A file that is looked at again and again, as a source of captures. A capture is replaced at once,
// by a new file under its name; another tool's file, or a store, is written to in place. So a file
// of another identity is read at once, one that only grew when it has come to rest, or after a
// while in any case. A file that is damaged or gone by then gives nothing but a sentence.

// How captures are read; the command line knows.
struct tide_file_opener {
  void *context;
  enum tide_err (*open)(void *context, const char *path, struct tide_capture **ret_capture,
                        struct tide_diag *diag);
};

// The opener must outlive the source.
struct tide_source *tide_file_source_new(const char *path, const struct tide_file_opener *opener);
