// SPDX-License-Identifier: Apache-2.0
//
// From a store to an image: the numbers a target left in its shared memory, as plain data with
// times in nanoseconds. Exact when the target has ended or is between two events; while it runs,
// single rows may be an event behind each other.
#pragma once
#include "base/err.h"
#include "model/model.h"
#include "observe/clock.h"
#include "observe/store_view.h"

// Fills *ret_image, which the caller frees with tide_image_done(). The view must be ready and
// refreshed. end_ticks is the moment up to which live blocks have lived; 0 takes the latest moment
// found in the store. Left for the caller, being unknown to the store: parent_image, the
// end, RSS and CPU time, timeline and snapshots.
void tide_store_read_image(struct tide_store_view *view, const struct tide_clock *clock,
                           uint64_t end_ticks, struct tide_image *ret_image);

// Its end is known: a pause that goes on is told up to there.
void tide_image_end_pause(struct tide_image *image);

// The same of a store of very many stacks, into a packed image (pack.h), but for the snapshots, for
// which the pack has what is needed. end_ticks must be known.
void tide_store_pack_image(struct tide_store_view *view, const struct tide_clock *clock,
                           uint64_t end_ticks, struct tide_image *ret_image);

// Fewer are read into rows: quicker, and the memory does not matter.
#define TIDE_PACK_CELLS 32768u

// ---- from a file ----
//
// A store that a bare LD_PRELOAD left in a file (tidemark.<program>.<pid>.store), opened as a
// capture: exact totals, the peak and the end, but no timeline, as nobody was watching.

// Does the file look like a store? False also when it cannot be read.
bool tide_store_file_is(const char *path);

// The store as a capture of one image. The caller frees it with tide_capture_free(). The file may
// be of a program that still runs, was killed in the middle of an event, or damaged: every index
// is checked, and what makes no sense is left out.
enum tide_err tide_store_file_read(const char *path, struct tide_capture **ret_capture,
                                   struct tide_diag *diag);

// One more image of a capture: of a store whose view is ready and refreshed, last written at
// written_ns, on the time line that begins with the capture, which is not later than the store.
// is_living: its process goes on, so that it ends now and not with its latest event.
void tide_store_append_image(struct tide_store_view *view, uint64_t written_ns, bool is_living,
                             struct tide_capture *capture);

// ---- where it was made ----
//
// What a capture says about where it was made.

// An empty capture with version, architecture, page size, host and kernel of this machine.
struct tide_capture *tide_capture_new_here(void);

// Seccomp filters that this process is under, as in a container: those of a run are under them,
// too, and the recorder goes by what is more than that. 0 where the kernel does not tell.
unsigned tide_host_filters(void);
