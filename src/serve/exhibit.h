// SPDX-License-Identifier: Apache-2.0
//
// A capture that is shown: the file, what was read of it, and the page's data of each of its
// processes, made when somebody first asks. The file is looked at again now and then; when it has
// changed (a run that goes on writes a checkpoint) it is read anew. A file that is damaged or gone
// by then leaves what was shown before, with a note.
#pragma once
#include "model/model.h"
#include "serve/file_state.h"
#include "serve/reply.h"
#include "view/naming.h"

// How captures are had and addresses named; the command line knows.
struct tide_exhibit_source {
  void *context;
  enum tide_err (*open)(void *context, const char *path, struct tide_capture **ret_capture,
                        struct tide_diag *diag);
  // The caller frees them; the image outlives them.
  struct tide_naming *(*name)(void *context, const struct tide_image *image);
  void (*named)(void *context); // no more names are looked up for now; may be NULL
};

// The page's data of one process image, and the files its frames are in.
struct tide_exhibit_block {
  struct tide_body *data; // packed; NULL: not asked for yet
  uint32_t *file_texts;   // by rising text of the block …
  char **files;           // … the path
  size_t n_files;
};

struct tide_exhibit {
  const struct tide_exhibit_source *source; // not owned
  char *path;
  const char *process;          // which process is shown first, as --process has it; NULL: largest
  struct tide_capture *capture; // never NULL
  size_t shown_idx;             // the image that is shown first
  uint64_t version;             // rises with everything that is shown differently
  char *note;                   // why the file itself may tell more; NULL: all is well
  struct tide_exhibit_block *blocks; // per image of the capture
  struct tide_file_state read, seen;
  unsigned restless;
};

// Fails when the file cannot be read or has no such process.
enum tide_err tide_exhibit_open(struct tide_exhibit *exhibit,
                                const struct tide_exhibit_source *source, const char *path,
                                const char *process, struct tide_diag *diag);
void tide_exhibit_close(struct tide_exhibit *exhibit); // all zero is fine

// Looks whether the file has changed; true: version has risen.
bool tide_exhibit_look(struct tide_exhibit *exhibit);

// Will the file change? That of a run which is not at its end, as far as can be seen.
bool tide_exhibit_is_live(const struct tide_exhibit *exhibit);

// The block of an image, made if need be. image_idx must be one of the capture's.
const struct tide_exhibit_block *tide_exhibit_block(struct tide_exhibit *exhibit, size_t image_idx);

// The path that a text of the block stands for; NULL when it is none of a frame's file.
const char *tide_exhibit_file(const struct tide_exhibit_block *block, uint32_t text);
