// SPDX-License-Identifier: Apache-2.0
//
// What the chapters of the watch share: watch_thread.c has the thread, who comes and who
// goes; watched.c one living image, looked at and turned into plain data; watch_draft.c the run so
// far; watch_dump.c when that becomes a file of its own.
#pragma once
#include "supervise/absent.h"
#include "supervise/desk.h"
#include "supervise/gallery.h"
#include "supervise/heart.h"
#include "supervise/limits.h"
#include "supervise/lookout.h"
#include "supervise/pace.h"
#include "supervise/watch.h"
#include "observe/sample.h"

#include <pthread.h>

struct tide_watched {
  uint32_t number; // in the gallery
  struct tide_door_visit visit;
  struct tide_store_view view;
  struct tide_sampler sampler;
  struct tide_lookout_tables tables; // of its memory
  uint32_t *beat;                    // NULL: it goes without
  bool sampling;                     // the store is ready
  bool broken;                       // it is no store: not to be looked at again
  bool ended;                        // seen by its pidfd
  uint64_t look_ns;                  // CLOCK_MONOTONIC: when to look next
  uint32_t n_retries;                // looks before it was ready
};

struct tide_watch_arrival {
  struct tide_door_visit visit;
  char *exe;    // of a word about a process without a store; else NULL
  char *parent; // likewise
};

struct tide_watch_dumping {
  uint64_t next_ns, walk_ns; // CLOCK_MONOTONIC: when to look next, at all and at what was allocated
  uint64_t allocated_bytes;  // as of the last look
  struct tide_limits *limits; // NULL: nobody asked
};

struct tide_watch {
  struct tide_watch_options options;
  pthread_t thread;
  bool running;
  int wake_fd, epoll_fd;
  // Under the lock: what the door's thread leaves for us.
  pthread_mutex_t lock;
  struct tide_watch_arrival *arrivals;
  size_t n_arrivals, cap_arrivals;
  size_t n_open;   // images whose descriptors are open
  size_t max_open; // never changes
  bool stop, visited, root_ended;
  bool is_paused;      // recording is off; only we change it
  uint32_t resampled;  // how often is sampled since somebody said so, in bits; 0: as options say
  bool will_come_back; // our thread takes arrivals within a round, unasked
  struct tide_watch_end root_end;
  int store_errno; // of the last that could not be given a store; 0: none
  // The watch's own.
  struct tide_desk *desk; // NULL: nobody can tell us anything
  struct tide_heart *heart;
  bool has_agents; // a process has come with the agent: its fork children, too, come by the door
  struct tide_lookout *lookout;
  struct tide_absents *absents;
  uint64_t absents_ns; // CLOCK_MONOTONIC: when to look for them next
  struct tide_watched **living;
  size_t n_living, cap_living;
  struct tide_gallery gallery;
  size_t kept_rows;              // snapshot rows in the gallery
  uint64_t kept_cells;           // of images that have ended
  uint64_t kept_allocated_bytes; // by them
  uint64_t recorder_ns;          // of all images that have ended
  uint32_t n_pids;               // how many different processes came
  bool ends_are_kept;            // the kernel tells how a process ended even when it is long gone
  bool has_origin;
  uint64_t origin_ns, origin_ticks; // time 0, on CLOCK_MONOTONIC and (0: not known) in ticks
  uint64_t start_realtime_ns;
  struct tide_pace pace; // of drafts
  uint64_t n_drafts;     // made so far
  struct tide_watch_dumping dumping;
};

// ---- watched.c ----

void tide_watched_free(struct tide_watch *watch, struct tide_watched *w);

// On the capture's clock.
uint64_t tide_watch_since_origin(const struct tide_watch *watch, uint64_t monotonic_ns);

// Is there a store to read? Opens the image's timeline when there first is.
bool tide_watched_is_ready(struct tide_watch *watch, struct tide_watched *w, uint64_t now_ns);

enum tide_how_read {
  TIDE_READ_WHOLE,
  TIDE_READ_BRIEF, // without what it held at earlier moments
  TIDE_READ_LAST,  // nobody writes the store any more, and it is read for the last time
};

// The image as of end_ns.
void tide_watched_read(struct tide_watch *watch, struct tide_watched *w, uint64_t end_ns,
                       enum tide_how_read how, struct tide_image *ret_image);

// The image is over: turns it into plain data and lets go of its descriptors. One whose process
// said that it would become a program that is not recorded was over then.
void tide_watch_finish(struct tide_watch *watch, size_t at, const struct tide_watch_end *given);
// Of an ended process the kernel may still know how.
void tide_watch_finish_descendant(struct tide_watch *watch, size_t at, enum tide_end_kind kind,
                                  uint64_t time_ns);

// Hands the table that was taken last to its image.
void tide_watch_collect_table(struct tide_watch *watch);

bool tide_watched_has_ended(const struct tide_watched *w);

// Looks at whoever is due; returns when the next one is.
uint64_t tide_watch_look_around(struct tide_watch *watch);

// ---- watch_draft.c ----

// Without images.
struct tide_capture *tide_watch_new_capture(const struct tide_watch *watch, uint64_t now_ns);

// The capture so far. taken: why it is taken as a dump; NULL: it is none. TIDE_ERR_EMPTY: nothing
// is recorded yet.
enum tide_err tide_watch_make_draft(struct tide_watch *watch, bool is_brief, const char *taken,
                                    struct tide_draft **ret_draft, struct tide_diag *diag);
// Of all living images, now; gives of how many.
uint32_t tide_watch_take_snapshots(struct tide_watch *watch, bool is_mark);

// Answers whoever asks, and writes a checkpoint, as far as either is due; returns when the next is.
uint64_t tide_watch_serve_drafts(struct tide_watch *watch);

// ---- watch_dump.c ----

// Takes a dump if one is due; returns when to look next.
uint64_t tide_watch_serve_dumps(struct tide_watch *watch);

// ---- watch_thread.c ----

// Takes in whom the door's thread has left for us. True: the watch shall stop.
bool tide_watch_take_arrivals(struct tide_watch *watch);

// ---- watch_desk.c ----

int tide_watch_answer(void *watch, const struct tide_desk_ask *ask, bool is_allowed,
                      struct tide_desk_answer *answer); // a tide_desk_answerer
