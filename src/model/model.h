// SPDX-License-Identifier: Apache-2.0
//
// A capture in memory: what a .tide file holds, and what the supervisor builds from the stores.
// Plain data. Everything a struct points to is owned by it and freed by tide_capture_free().
// All times are nanoseconds since the start of the first image unless a name says otherwise.
#pragma once
#include "model/numbers.h"
#include "model/residence_table.h"
#include "store/codes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TIDE_SIZE_BUCKETS_N 32 // see store/layout.h for the bucket limits
#define TIDE_LIFE_BUCKETS_N 48 // bucket 0: 0 ns; bucket k: 2^(k-1) .. 2^k - 1 ns

// How much an image holds at most, whoever makes it.
#define TIDE_MAX_MODULES 65536u  // what a frame's 16 bits can name
#define TIDE_MAX_SNAPSHOTS 4096u // in a file; of one that is made here:
#define TIDE_MAX_RESIDENCES 64u
#define TIDE_SAMPLE_MAX_TICKS 1024
#define TIDE_SAMPLE_MAX_SNAPSHOTS 198 // two more are made at the end: peak and end

// A loaded object. Frames refer to it by index; module 0 is always "unknown" (path "").
struct tide_module {
  char *path; // absolute; "[vdso]" for the kernel's page
  uint8_t build_id[32];
  uint32_t build_id_len; // 0: none
  uint64_t start, end;   // runtime range
  uint64_t bias;         // runtime address - ELF address
  uint64_t first_ns;     // when the recorder first met it
  uint32_t generation;
};

// Trie of frames. nodes[0] is the root and stands for nothing; parent < own index.
struct tide_frame {
  uint64_t pc; // runtime address
  uint32_t parent;
  uint16_t module;
  uint16_t flags;
};

// What one thread slot did to the blocks of one stack. Sum the rows of a stack to get the stack's
// numbers.
struct tide_site {
  uint32_t stack;  // index in frames of the innermost frame
  uint32_t thread; // index in threads
  union {
    struct tide_counters counters;
    struct tide_counters;
  };
  // Histograms, see model/image_sums.h: a bit per bucket that is not empty, and where their counts
  // begin among the image's.
  uint32_t size_mask; // of allocations
  uint64_t life_mask; // of frees
  size_t first_count;
};

struct tide_counts { // of all sites' buckets
  uint64_t *items;
  size_t n, cap;
};

struct tide_thread_row {
  uint32_t tid;      // the latest owner of the slot
  uint32_t n_owners; // threads that shared this slot, one after another
  char name[16];     // "" when unknown
};

struct tide_tick { // one point of the timeline
  uint64_t time_ns;
  int64_t live_bytes, live_blocks;
  uint64_t n_alloc, b_alloc, n_free; // cumulative
  uint64_t rss_bytes;                // 0: not known at this moment; see rss_is_own
  int64_t page_bytes;                // mapped by the program itself through mmap and brk
  uint64_t n_resize;                 // cumulative
  int64_t b_resized;                 // cumulative: new sizes - old sizes
};

// Of what kinds the RSS was at one moment; as every RSS, see rss_is_own. What is swapped out is no
// part of it.
struct tide_rss_kinds {
  uint64_t time_ns, anonymous_bytes, file_bytes, shared_bytes, swapped_bytes;
};

// Live bytes and blocks of every stack at one moment (pages-level stacks included), and what was
// allocated since the snapshot before. Nobody looked at the moment of the peak, so its rows count
// nothing and its share is in the next one's. The last one is that of the end: over all snapshots
// the counts of a stack add up to those of its sites, exactly.
struct tide_snapshot_row {
  uint32_t stack;
  int64_t live_bytes, live_blocks;
  uint64_t n_alloc, b_alloc; // since the snapshot before it that is not the peak's
};
enum tide_snapshot_kind { TIDE_SNAPSHOT_TIMED, TIDE_SNAPSHOT_PEAK, TIDE_SNAPSHOT_END };
struct tide_snapshot {
  uint64_t time_ns;
  enum tide_snapshot_kind kind;
  struct tide_snapshot_row *rows; // by rising stack; rows of nothing but zeros left out
  size_t n_rows;
  struct tide_columns *packed; // has them instead, if it is not NULL: see model/rows.h
};

// Blocks of one stack that were allocated before one snapshot and freed after it: between which
// snapshots, by the index of the later of each two. Only these are told apart: blocks that were
// born and freed between the same two are not among them. A resize frees a block and allocates one.
struct tide_late_free {
  uint32_t stack;
  uint32_t born, freed; // indexes in snapshots, born < freed; never that of the peak
  uint64_t n_blocks, bytes;
};

// The order of an image's late frees.
static inline bool tide_late_free_is_before(const struct tide_late_free *a,
                                            const struct tide_late_free *b)
{
  if (a->freed != b->freed)
    return a->freed < b->freed;
  return a->stack != b->stack ? a->stack < b->stack : a->born < b->born;
}

// Ad hoc events that one thread slot counted at one stack. They are no part of the heap.
struct tide_event_row {
  uint32_t stack, thread; // indexes in frames and threads
  uint64_t n, weight;     // how many, and their weights; sums are modulo 2^64
  uint64_t first_ns, last_ns;
};

static inline bool tide_event_row_is_before(const struct tide_event_row *a,
                                            const struct tide_event_row *b)
{
  return a->stack != b->stack ? a->stack < b->stack : a->thread < b->thread;
}

// A moment with a name: the program gave it, or whoever controlled the recording. Several may share
// a name.
// What one of the largest stacks held at each tick: told in units, rounded down, and from samples
// of its threads between two snapshots, where it may be short of what threads that had little there
// then have allocated since.
struct tide_held_bytes {
  uint32_t stack;
  uint32_t shift; // of a unit of 2^shift bytes
  int64_t *bytes; // per tick; -1: not known
};

struct tide_mark {
  uint64_t time_ns;
  char *name;
};

// Names kept in a capture, so that it can be read where the programs are not: for a place, the
// chain of functions inlined there, innermost first. See model/stored_names.h.
struct tide_stored_frame {
  uint32_t function, file; // offsets in text; 0: unknown
  uint32_t line;           // 0: unknown
  bool inlined;            // inlined into the next frame
};
struct tide_stored_place {
  uint64_t addr;     // ELF address inside the instruction meant; in module 0 as it ran
  uint32_t module;   // index in modules
  uint32_t n_frames; // at least 1
  size_t first_frame;
};
struct tide_stored_names {
  struct tide_stored_place *places; // by rising module, then by rising address
  size_t n_places;
  struct tide_stored_frame *frames; // of all places, in their order
  size_t n_frames;
  char *text; // strings that end in NUL; the first is "". NULL when there are no places
  size_t text_bytes;
};

enum tide_end_kind {
  TIDE_END_UNKNOWN,  // still running, or lost sight of it
  TIDE_END_EXITED,   // end_value = exit status (-1: not known, a descendant)
  TIDE_END_SIGNALED, // end_value = signal
  TIDE_END_EXECED,   // replaced by another image of the same pid
  TIDE_END_DETACHED, // it was attached to and let go, and went on
};

struct tide_loss { // all counts of events or stacks; zero is what we want to see
  uint64_t n_unknown_free, n_lost_busy, n_lost_full, n_cut, n_broken, n_guessed, n_fork_lost;
  uint64_t n_failed; // allocations that returned NULL: information, not a loss
};

// What follows from the sites of an image, of the heap alone; see model/image_sums.h.
struct tide_image_sums {
  uint64_t n_alloc, b_alloc, n_free, b_free;
  int64_t live_blocks, live_bytes;
  int64_t before_blocks, before_bytes; // live when the numbers were reset, if they were
  uint64_t n_resize;
  int64_t resized_bytes; // new sizes - old sizes; has a meaning if the image has_resized_bytes
};

enum { TIDE_SAMPLED_SOMEHOW = 1 };

// A snapshot whose end has not been read yet: it is none before that.
struct tide_snapshot_pieces {
  struct tide_columns *changes, *counts; // a stack, which rises, and two numbers; NULL: none
  uint64_t next_change, next_count;      // the lowest stack that a further row may have
  bool has_counts;
};

// What of an image's heap one allocator gave.
struct tide_allocator {
  uint32_t family; // enum tide_family
  uint64_t n_alloc, b_alloc;
  int64_t live_blocks, live_bytes, peak_blocks, peak_bytes; // at the end, and at the image's peak
};

// One process image: from exec (or fork) to the next exec or the end.
struct tide_image {
  uint32_t pid, ppid;    // pid 0: several processes merged, or another tool did not tell
  uint32_t parent_image; // index + 1 of the image it came from by fork or exec; 0: none
  bool by_fork;          // it is a fork child that has not exec'ed
  bool by_agent;         // recorded by the agent, which sees every allocator; else preloaded
  char *exe;             // path of the program
  char *cmdline;         // argv joined by NULs, cmdline_len bytes
  uint32_t cmdline_len;
  char
      *missed_later; // a library that was loaded later and not hooked; NULL: none; while it is made
  char *unhooked;    // functions of an allocator that was not seen; NULL: none; while it is made
  char *refused;     // functions of allocators that could not be hooked, and why; NULL: not known
  char *allocator;   // path of the library whose malloc was next, or exe: its own; "" for libc
  uint64_t start_ns, end_ns;
  enum tide_end_kind end_kind;
  int32_t end_value;
  uint64_t inherited_bytes; // live in the parent at the fork
  uint32_t off_reason;      // enum tide_off_reason: 0 when it recorded to the end
  // Recording was off for a while, so many times and so long in all: blocks from then are not
  // known. is_paused: it was at the end.
  uint32_t n_pauses;
  uint64_t paused_ns;
  bool is_paused;
  uint64_t paused_from_ns; // the last of them, while it is made: not yet in paused_ns

  int64_t peak_bytes, peak_blocks;
  uint64_t peak_ns;
  uint64_t peak_bound_bytes; // 0: exact
  uint64_t max_rss_bytes;    // 0: not known
  uint64_t rss_at_peak_bytes;
  int64_t page_live_bytes, page_peak_bytes;
  uint64_t page_n_map, page_b_map, page_n_unmap, page_b_unmap;
  uint64_t recorder_ns; // time spent in the recorder, estimated by sampling
  uint64_t cpu_ns;      // user + system of the process where known, else 0
  uint32_t n_threads, max_live_threads, depth_limit;
  struct tide_loss loss;
  uint32_t lacks; // enum tide_lacks
  // 0: every event was counted. Else only some were, and what follows from them is an estimate: in
  // the mean one for so many bytes, and has_samples; or nobody says how (TIDE_SAMPLED_SOMEHOW).
  uint64_t sampled_every_bytes;
  bool is_resampled;          // that was changed meanwhile: it is the largest
  uint64_t sampled_now_bytes; // then, what it was at the end; 0: not known
  char *origin;               // the tool and format it was read from; NULL: ours
  // Filled by the reader, not stored:
  char *file;            // the file it was read from; NULL: none
  bool is_part;          // the file ended before all of its stacks
  bool sites_are_all;    // the reader's own: every row of sites was met
  bool resident_is_lost; // the file ended before what would be in has_resident and the like
  // Of a run with very many stacks, until it is written: frames, sites and the snapshots' rows are
  // in here and not in the tables below. See model/pack.h. NULL: they are below.
  struct tide_pack *pack;

  struct tide_module *modules; // [0] is "unknown"
  size_t n_modules;
  struct tide_frame *frames; // [0] is the root
  size_t n_frames;
  struct tide_site *sites;
  struct tide_columns *packed_sites; // has them instead, if it is not NULL: see model/rows.h
  size_t n_sites;
  struct tide_counts counts;       // of the sites' histograms
  struct tide_thread_row *threads; // [0] stands for "unknown"
  size_t n_threads_known;
  struct tide_tick *ticks;
  size_t n_ticks;
  struct tide_held_bytes *held; // what the largest stacks held at the ticks, by rising stack
  size_t n_held;
  struct tide_rss_kinds *rss_kinds; // by rising time
  size_t n_rss_kinds;
  struct tide_mark *marks; // by rising time
  size_t n_marks;
  struct tide_snapshot *snapshots; // by rising time
  size_t n_snapshots;
  struct tide_snapshot_pieces *pieces; // of a file that is being read; NULL: none
  struct tide_late_free *late_frees;   // by rising freed, then stack, then born; each once
  size_t n_late_frees;
  struct tide_event_row *events; // by rising stack, then thread; each once
  size_t n_events;
  bool of_events;                 // its sites are of those, and not of blocks: model/events.h
  struct tide_stored_names names; // empty unless somebody stored them
  // Numbers that the sites have. False: not known, and all zeros. Who has one has those before it.
#define TIDE_NUMBER_SINCE(flag, ...) bool flag;
#include "model/numbers.def"
  // What files before format 1.1 do not tell.
  bool has_counts; // n_alloc and b_alloc of the snapshots' rows
  // Since format 1.2: all late frees are known, and the snapshots are of one instant each.
  bool has_late_frees;
  // Since format 1.3.
  bool has_tick_resizes; // n_resize and b_resized of the ticks
  // Since format 1.4: what is known of the memory that was in use.
  bool has_resident;
  bool rss_is_own;             // every RSS is without the recorder's part
  uint64_t max_rss_ns;         // when the RSS was highest
  int64_t max_rss_live_bytes;  // what the heap held then; -1: not known, and max_rss_ns is later
  uint64_t recorder_rss_bytes; // the most that the recorder itself had in memory; 0: not known
  uint64_t rss_bound_bytes;    // rss_at_peak_bytes may be wrong by as much
  uint64_t untouched_bytes;    // of the heap at its peak, at least so much was in memory at no look
  uint64_t swapped_bytes;      // the most that was swapped out
  // Since format 1.6; by_agent is known only then. By falling bytes at the peak, each family once.
  bool has_allocators;
  struct tide_allocator *allocators;
  size_t n_allocators;
  struct tide_residence *residences; // where its memory was, at a few moments, by rising time
  size_t n_residences;
};

// What recording cost the run, all of its processes together. See tidemark-run(1).
struct tide_cost {
  uint64_t cpu_ns;        // user and system time of the processes, the recorder's part included
  uint64_t recorder_ns;   // that part, estimated
  uint64_t supervisor_ns; // what tidemark itself used meanwhile
};

// A program of the run that was not recorded, or not as a whole: all its processes of one reason.
struct tide_unrecorded {
  char *exe;    // path of the program; "": several that found no row of their own
  char *detail; // name of the allocator, loader or sanitizer that is the reason; ""
  char *parent; // path of the program that started the first of them; "": not known
  enum tide_why why;
  bool is_command;           // it is what the user started
  uint32_t pid;              // of the one with the most memory; 0: not known
  uint64_t n_processes;      // at least 1
  uint64_t start_ns, end_ns; // from the first that was seen to the last
  uint64_t max_rss_bytes;    // the most of any; 0: not known
  uint64_t recorded_bytes;   // the highest heap peak that was recorded of one all the same
};

// Which programs of a run were recorded and which were not. See model/capture.h.
struct tide_roll {
  bool is_known;        // false: nobody watched (a bare store, another tool, files before 1.4)
  bool at_least;        // an unrecorded program may have started others that nobody saw
  uint32_t command_pid; // what the user started; 0: not known, or several runs
  uint64_t n_recorded;  // images that were recorded as a whole, those not kept among them
  uint64_t n_refused;   // other processes that came for a store and were none of the run's
  struct tide_unrecorded *rows;
  size_t n_rows;
};

struct tide_capture {
  char *tool_version;
  uint32_t arch; // enum tide_store_arch
  uint32_t kernel_page_bytes;
  char *hostname, *kernel;
  uint64_t start_realtime_ns; // since the epoch
  uint64_t duration_ns;
  bool finished; // false: a checkpoint of a run that was not ended properly
  char *taken;   // of a dump: why it was taken while the run went on; NULL: it is none
  uint32_t
      n_images_left_out; // images that are not kept one by one, but in sums (before: not at all)
  struct tide_image *images; // by start
  size_t n_images;
  struct tide_roll roll; // since format 1.4
  bool has_cost;         // since format 1.4
  struct tide_cost cost;
  // Filled by the reader, not stored:
  bool from_later; // a later minor version wrote it: it may hold what this one does not know
  bool cut;        // the file ended early or a part was damaged
  char *cut_note;  // one sentence saying where; NULL when whole
};

// The command of a run in which nothing was recorded: the capture is about the roll.
static inline bool tide_image_is_unrecorded(const struct tide_image *image)
{
  return !image->origin && (image->lacks & TIDE_LACK_NUMBERS) == TIDE_LACK_NUMBERS;
}

// Makes one of a process of which nothing is known, the tables of an image with their first rows:
// whoever knows more fills it in. exe is copied; the result is one image, the caller's.
struct tide_image *tide_image_unrecorded(uint32_t pid, const char *exe);

struct tide_capture *tide_capture_new(void);
void tide_capture_free(struct tide_capture *capture); // NULL is fine
void tide_image_done(struct tide_image *image);       // frees what it points to; zeroed is fine
// Of a snapshot that was not read to its end.
void tide_image_drop_pieces(struct tide_image *image);
void tide_image_drop_held(struct tide_image *image);

// What a message calls an image: its file, or else what it was read from.
static inline const char *tide_image_source(const struct tide_image *image)
{
  return image->file ? image->file : image->origin ? image->origin : "the capture";
}

// What the origin of a sum begins with that other tools have a part in.
#define TIDE_ORIGIN_SUM "sum of "

// Whether an image is the sum of several (see merge/merge.h).
static inline bool tide_image_is_merged(const struct tide_image *image)
{
  return image->pid == 0 && (!image->origin || strncmp(image->origin, TIDE_ORIGIN_SUM,
                                                       sizeof TIDE_ORIGIN_SUM - 1) == 0);
}

// Whether an image is the sum of processes that the capture of a run does not keep one by one.
static inline bool tide_image_is_rest(const struct tide_capture *capture,
                                      const struct tide_image *image)
{
  return capture->n_images_left_out && tide_image_is_merged(image);
}
