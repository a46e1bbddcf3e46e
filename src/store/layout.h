// SPDX-License-Identifier: Apache-2.0
//
// The store: one sparse shared mapping per process image, in which the profile lives while it is
// being made. The target writes numbers in place; anybody who maps the same file reads them.
// Nothing moves: address space is reserved once, tables grow by being touched.
//
// Freestanding: included by the recorder (inside the target) and by the supervisor (hosted).
//
// Invariants
//  1. A cell is written by one thread at a time, the one that holds its slot; a reader may be one
//     event behind in any field and never sees a torn word (all fields are naturally aligned). The
//     latest events may wait in the slot's pairs: a reader adds them.
//  2. live(stack) = sum over its cells of (b_alloc - b_free). A single cell may be negative: a
//     thread that frees another's block charges its own cell of that stack.
//  3. Peak share of a cell = cell.epoch == header.epoch ? ends.peak_bytes : live(cell); and if the
//     present total is above header.max_bytes, the peak is now and every share is live(cell). The
//     sum of the shares is what was live at that moment; header.ceiling is the most it can have
//     been at any moment when several threads had a part in it (total.h).
//  4. Nodes are append-only; a node's parent has a smaller id. Cell and node 0 mean "none".
//  5. A fork child never writes its parent's store, but for the page where it counts itself as not
//     recorded. It does not even have the rest mapped, or unmaps it before anything else.
//  6. An event belongs to the interval that it found in the header. Before a cell changes in a new
//     interval it notes its counters as they were at the end of its last one (its closing), so what
//     each stack did in each interval is known exactly, whenever anybody looks, as long as somebody
//     looks once in every interval (see observe/intervals.h).
//  7. The recorder believes nothing that it reads here. Whatever decides where it writes (layout,
//     counts of what was handed out, the cell of pairs, a thread's late chunks) it keeps in private
//     memory; what stands in the store of that is for readers. Numbers that it does read back
//     (totals, stamps, streaks) may be anything: they spoil the profile and nothing else. So may
//     the number of a cell's annex: it is cut to the table of such annexes, where anything may be
//     written.
//  8. A cell has only those annexes that it needed (ends, past, histograms, touches), in tables of
//     their own; annex 0 means "none". A cell whose only block has ended may need none: see
//     TIDE_SINGLE.
//  9. A cell of TIDE_FAMILY_EVENTS has no blocks: its counts are all 0, so that whoever counts
//     blocks need not know of it, and what happened there is in its ends (n_events, w_events).
#pragma once
#include "rt/base.h"
#include "store/codes.h"

#define TIDE_STORE_MAGIC "TideStor"
// Of the layout, whatever the program's own version. 10 is the first that every later reader opens:
// whoever raises it has the reader take the former one as well (observe/store_older.c), and keeps a
// store of the new one in tests/golden.
#define TIDE_STORE_VERSION 12u

enum tide_store_arch { TIDE_ARCH_X86_64 = 1, TIDE_ARCH_AARCH64 = 2 };

// Two clocks that only rise, compared as one. The epoch moves when a maximum is left behind, the
// interval when the supervisor takes a snapshot; both are read by every event.
struct tide_stamp {
  union {
    struct {
      uint32_t epoch, interval;
    };
    uint64_t both;
  };
};
enum { TIDE_FIRST_INTERVAL = 1, TIDE_LAST_INTERVAL = 4095 }; // a block keeps 12 bits of it

// What makes a thread look up, compared as one.
struct tide_pulse {
  union {
    struct {
      uint32_t code_gen; // rises when code is unloaded
      uint32_t beat;     // milliseconds, raised by the supervisor (record/clock.h), and once
                         // more whenever every thread is to look up (store/total.h)
    };
    uint64_t both;
  };
};

// The latest of a cell's events, so many in a row, fell into one bucket of a histogram, and are not
// in it yet: few stacks change their sizes often, and the histograms' lines stay out of the caches.
// A streak also has the number of an annex of the cell (annex.h): in its place, since annexes are
// 64 bytes or a multiple of that, it is an offset.
//
//   63 .. 34  33 .. 6  5 .. 0
//   count     annex    bucket
struct tide_streak {
  uint64_t word;
};
#define TIDE_STREAK_ONE (1ull << 34) // a count of one
#define TIDE_STREAK_MOST ((1u << 30) - 1)
#define TIDE_STREAK_ANNEX_UNIT 64u
static inline uint32_t tide_streak_count(struct tide_streak s)
{
  return (uint32_t)(s.word / TIDE_STREAK_ONE);
}
static inline uint32_t tide_streak_bucket(struct tide_streak s)
{
  return (uint32_t)s.word % TIDE_STREAK_ANNEX_UNIT;
}
static inline uint32_t tide_streak_annex(struct tide_streak s)
{
  return (uint32_t)(s.word % TIDE_STREAK_ONE / TIDE_STREAK_ANNEX_UNIT);
}
static inline struct tide_streak tide_streak_make(uint32_t annex, uint32_t bucket, uint32_t count)
{
  return (struct tide_streak){count * TIDE_STREAK_ONE + (uint64_t)annex * TIDE_STREAK_ANNEX_UNIT +
                              bucket};
}

// What a thread did to blocks allocated at one stack: a cache line, and as many annexes as needed.
struct tide_cell {
  uint64_t n_alloc, b_alloc; // a resize is a free at the old stack and an allocation at the new
  uint64_t n_free, b_free;
  struct tide_stamp stamp;  // as last seen
  uint64_t birth_live_sum;  // sum of births, in ticks, of the live blocks (mod 2^64)
  uint64_t t_last;          // ticks of the latest allocation
  struct tide_streak sizes; // of the latest allocations; its annex: the cell's ends
};
_Static_assert(sizeof(struct tide_cell) == 64, "a cache line");

// A single: a cell that had one block, which has ended, and nothing else. It has no annexes. Its
// stamp says so; the interval there is, by its bits:
//
//   31         26        25        24         23 .. 12  11 .. 0
//   is single  is whole  at peak   temporary  of birth  of the end
//
// "At peak": its share of the peak of the stamp's epoch is the block; else it is nothing. Its
// birth_live_sum is how long the block lived, in ticks, once it is whole. What comes before, in
// this order: the stamp, the counts, that sum, the stamp with that bit.
#define TIDE_SINGLE 0x80000000u
#define TIDE_SINGLE_WHOLE 0x04000000u
#define TIDE_SINGLE_AT_PEAK 0x02000000u
#define TIDE_SINGLE_TEMPORARY 0x01000000u
#define TIDE_SINGLE_BORN(interval) ((interval) >> 12 & 0xfff)
#define TIDE_SINGLE_ENDED(interval) ((interval)&0xfff)

// What ends of blocks, and peaks, need of a cell.
struct tide_ends {
  int64_t high_bytes;       // own maximum of live bytes of this cell, on falling edges; reader
                            // takes max(high_bytes, live)
  uint64_t life_sum;        // ticks, over freed blocks; a resized block lives on
  struct tide_streak lives; // of the latest frees; its annex: the cell's histograms
  union {
    struct {
      uint64_t n_temp, b_temp; // freed by their own thread within one further allocation
    };
    struct {
      uint64_t peak_blocks_spread, peak_bytes_spread; // of a store of samples: see tide_spreads
    };
    struct {
      uint64_t n_events, w_events; // of a cell of ad hoc events: how many, and their weights
    };
  };
  int64_t peak_bytes, peak_blocks; // live at the peak of the epoch of the cell's stamp
  uint32_t past, touches;          // the annexes of these names
};
_Static_assert(sizeof(struct tide_ends) == 64, "a cache line");

// What is seldom written of a cell. The older of the two closings is overwritten by the next.
struct tide_closing {
  uint64_t n_alloc, b_alloc, n_free, b_free; // as they were at the end of
  uint32_t interval;                         // this one; 0: no closing yet
  uint32_t pad;
};
// Of a store of samples (header.sample_bits), which knows nothing of resizes and temporaries: how
// many there were, and the variances of what is estimated from them (weight.h).
struct tide_spreads {
  uint64_t n_samples;
  uint64_t alloc_blocks, alloc_bytes, live_blocks, live_bytes;
};
struct tide_past {
  struct tide_closing closings[2];
  union {
    struct {
      uint64_t n_resize;         // allocations here that were resizes
      uint64_t b_resize_old;     // their old sizes, summed
      uint64_t b_resize_new;     // and their new ones
      uint64_t n_moved, b_moved; // resizes here whose block moved, and their old sizes
    };
    struct tide_spreads spreads;
  };
  uint64_t n_foreign; // freed by another thread than the one that allocated
};
_Static_assert(sizeof(struct tide_past) == 128, "two cache lines");

// How much of large blocks was in memory when they ended, of those that were looked at then
// (touch.h).
#define TIDE_LARGE_BITS 16
#define TIDE_LARGE_BYTES (1u << TIDE_LARGE_BITS)
struct tide_touches {
  uint64_t n_looked, b_looked; // the blocks, and their sizes
  uint64_t b_touched;          // of these bytes, on pages that were in memory
  uint64_t pad;
};
_Static_assert(sizeof(struct tide_touches) == 32, "half a cache line");

// Write-once facts of a cell, apart from the counters so that a free by another thread reads
// lines nobody writes. stack == 0: not in use (yet). Published by a release store of stack.
struct tide_owner {
  uint32_t stack;        // node id of the innermost frame
  uint32_t slot;         // thread slot
  uint64_t hash;         // of the whole stack
  uint64_t t_first : 56; // ticks when the cell was made
  uint64_t family : 8;   // enum tide_family, whose blocks these are: a stack has a cell for each
};

#define TIDE_SIZE_BUCKETS 32
#define TIDE_LIFE_BUCKETS 44
// Size bucket 0: 0..4 bytes, bucket k: 2^(k+1)+1 .. 2^(k+2) bytes; the last takes the rest.
// Life bucket 0: 0 ticks, bucket k: 2^(k-1) .. 2^k - 1 ticks; the last takes the rest.
// A second array of the same shape holds carries: the true count is carry * 2^32 + count.
// Blocks of size bucket TIDE_LARGE_BUCKET and above go no quick way (quick.h): some of them are to
// be looked at when they end. So they make no streak, which is what a quick way goes on with: the
// histogram has them at once, and the streak is of a bucket that there is not.
#define TIDE_LARGE_BUCKET 14u // 32,769 to 65,536 bytes
#define TIDE_NO_BUCKET 63u
struct tide_hist {
  uint32_t size[TIDE_SIZE_BUCKETS];
  uint32_t life[TIDE_LIFE_BUCKETS];
  uint32_t pad[4];
};
_Static_assert(sizeof(struct tide_hist) == 320, "five cache lines");

// Of 1 to 2^33 bytes. Of others, a bucket that there is not.
TIDE_HOT uint32_t tide_size_bucket_quickly(uint64_t size)
{
  return 62 - (uint32_t)__builtin_clzll((size - 1) | 3);
}

TIDE_HOT uint32_t tide_size_bucket(uint64_t size)
{
  uint32_t b = tide_size_bucket_quickly(size + !size);
  return b < TIDE_SIZE_BUCKETS ? b : TIDE_SIZE_BUCKETS - 1;
}

// Of up to 2^43 ticks. Of others, a bucket that there is not.
TIDE_HOT uint32_t tide_life_bucket_quickly(uint64_t ticks)
{
  return 63 - (uint32_t)__builtin_clzll(ticks << 1 | 1); // the bits of ticks: at most 63
}

TIDE_HOT uint32_t tide_life_bucket(uint64_t ticks)
{
  uint32_t b = tide_life_bucket_quickly(ticks);
  return b < TIDE_LIFE_BUCKETS ? b : TIDE_LIFE_BUCKETS - 1;
}

// Late frees: ends of blocks in another interval than that of their beginning, counted per cell (of
// whoever frees) and interval of birth. A chunk belongs to one thread and one interval until it is
// closed; the supervisor then takes its rows and frees it.
struct tide_late_row {
  uint64_t key; // low half: cell, high half: interval of birth
  uint64_t n_blocks, bytes;
};
#define TIDE_LATE_KEY(cell, born) ((uint64_t)(born) << 32 | (cell))
#define TIDE_LATE_CELL(key) ((uint32_t)(key))
#define TIDE_LATE_BORN(key) ((uint32_t)((key) >> 32))
enum tide_late_state { TIDE_LATE_FREE = 0, TIDE_LATE_TAKEN = 1, TIDE_LATE_CLOSED = 2 };
#define TIDE_LATE_ROWS 170
struct tide_late_chunk {
  uint32_t state; // enum tide_late_state; acquire and release on both sides
  uint32_t interval;
  uint32_t n_rows;
  uint32_t pad;
  struct tide_late_row rows[TIDE_LATE_ROWS];
};
_Static_assert(sizeof(struct tide_late_chunk) == 4096, "a page");

// A prefix of a stack; a stack is the id of its innermost node.
struct tide_node {
  uint64_t frame; // TIDE_FRAME_*: pc in the low 48 bits, module id above, exact bit on top
  uint32_t parent;
  uint32_t flags; // enum tide_frame_flags; one that is no stack has no TIDE_FRAME_CALL
};
#define TIDE_NODE_BITS 28 // of an id
#define TIDE_FRAME_PC(frame) ((frame) & ((1ull << 48) - 1))
#define TIDE_FRAME_MODULE(frame) ((uint32_t)((frame) >> 48) & 0x7fff)
#define TIDE_SCOPE_PC                                                                              \
  (1ull << 47) // of TIDE_FRAME_SCOPE: this, and where its name is in the text area
#define TIDE_SCOPE_TEXT(pc) ((uint32_t)(pc))
#define TIDE_FRAME_EXACT (1ull << 63) // pc is exact (after a signal frame): do not step back

// One loaded object as seen at some time: the same addresses may belong to several, in turn.
struct tide_store_module {
  uint64_t start, end, bias; // mapped range; bias = runtime address - ELF address
  uint64_t t_seen;           // ticks when first met
  uint32_t path;             // offset of a NUL-terminated string in the text area
  uint32_t generation;       // unloads before this one was met
  uint8_t build_id_len, build_id[31];
};

// The latest events of a thread that are not in their cell yet (see pairs.h): n_ended times a block
// was allocated there and freed before anything else happened, and perhaps one more is still there.
// The histogram of sizes has them already.
struct tide_pairs {
  uint64_t birth;    // ticks, of the latest block
  uint32_t cell;     // 0: nothing is waiting
  uint32_t interval; // the cell's
  uint64_t n_ended, b_ended;
  uint64_t open; // size + 1 of the one that is there; 0: none
};

// One per thread, on its own lines; outlives its thread and is adopted whole by a later one.
struct tide_thread_slot {
  int64_t held;        // live bytes: what its threads allocated less what they freed
  int64_t published;   // of that, in header.live_bytes; atomic, see total.h
  uint64_t adopted_at; // blocks born earlier belong to a former owner
  uint32_t id;
  uint32_t n_early;                  // first events, whose cost is in header.cold_ticks
  uint32_t tid;                      // present owner, 0 when free
  uint32_t n_owners;                 // threads that had it so far
  uint64_t sampled_ticks, n_sampled; // own cost, sampled (for the overhead estimate)
  char name[16];                     // thread name as of the last look
  struct tide_pairs pairs;           // its latest events
  uint64_t b_grown;                  // by resizes of blocks that grew
} __attribute__((aligned(128)));
_Static_assert(sizeof(struct tide_thread_slot) == 128, "two cache lines");

enum tide_store_state {
  TIDE_STATE_EMPTY = 0, // nobody has come yet
  TIDE_STATE_RECORDING = 1,
  TIDE_STATE_OFF = 2, // the recorder stepped aside: header.off_reason says why
};

enum {                   // header.flags
  TIDE_STORE_FORKED = 1, // a fork child's store
  TIDE_STORE_AGENT = 2,  // the recorder was put into the process, not preloaded
  TIDE_STORE_PARTLY = 4, // and could not hook all functions of its allocators
};

enum tide_off_reason {
  TIDE_OFF_NONE = 0,
  TIDE_OFF_NO_MEMORY, // the kernel refused memory for the recorder
  TIDE_OFF_INTERNAL,  // an internal check failed
  TIDE_OFF_FORBIDDEN, // the program gave up system calls or the cycle counter
};

// Where a table lives in the store. Its first n_near elements are near those of the other tables
// (TIDE_NEAR_*), the rest is where it would be if all were at offset.
//
//   | header, first elements of each table | cells ... | nodes ... | owners ... |
//     what a small process touches: a few pages, one page table
//
// A page far from all others costs the kernel four times as much as one beside them.
struct tide_area {
  uint64_t offset, capacity; // capacity in elements
  uint32_t near_offset, n_near;
};
struct tide_store_areas {
  struct tide_area slots, nodes, cells, hists, carries, owners, modules, text, pasts, lates, ends;
  struct tide_area touches;
  struct tide_area children; // one
  struct tide_area moments;  // may be empty
  // The recorder's own memory in the target, as addresses there: see rt/sys.h. Of struct
  // tide_range; 0 bytes: unused. May be empty. Not in a file.
  struct tide_area ranges;
};

// What fork children write, on pages of its own: all that they inherit of the store. Nobody reads
// it but to report it.
struct tide_store_children {
  uint64_t n_lost; // could not be recorded; atomic
};
#define TIDE_CHILDREN_BYTES 65536u // the largest page of all

// Outside of the store, in the target: mappings of the program's own, by address.
struct tide_page_range {
  uint64_t start, end;
  uint32_t cell;
  uint16_t counts;   // 1: its end is an unmap; 0: the rest of one that was cut in two
  uint16_t interval; // in which it was mapped
};
struct tide_page_table {
  struct tide_page_range *ranges;
  uint64_t n;
};

enum { TIDE_OBJECTS_MISSED_BYTES = 160 };

// A moment that was given a name, by somebody outside (observe/switches.h) or by the program itself
// (preload/control.c). Two names are ours.
#define TIDE_MOMENT_OFF "recording off"
#define TIDE_MOMENT_ON "recording on"
enum { TIDE_MOMENTS = 256, TIDE_MOMENT_NAME_BYTES = 56 };
struct tide_store_moment {
  uint64_t time_ns; // CLOCK_MONOTONIC
  char name[TIDE_MOMENT_NAME_BYTES];
};
_Static_assert(sizeof(struct tide_store_moment) == 64, "a cache line");

// Recording can be off for a while: header.paused. Ends of blocks that are known are counted all
// the same, so that what is live stays true. Written by whoever switches it, the supervisor or,
// where there is none, the command (observe/switches.h); the recorder begins with it.
struct tide_store_switches {
  uint64_t paused_since_ns; // CLOCK_MONOTONIC; has a meaning while it is
  uint64_t paused_ns;       // how long it was before
  uint32_t n_pauses;        // the present one included
  uint32_t n_moments;
  // How often is sampled from a thread's next draw on, in bits as header.sample_bits; 0: as then.
  uint32_t sample_bits;
  uint32_t sample_most_bits; // the largest of them so far; 0: it was never changed
  // How often was asked to look for the peak anew, from then on (header.peaks_restarted).
  uint32_t peaks_asked;
};

struct tide_store_header {
  // Line 1: read by every event, written rarely.
  struct tide_stamp stamp; // the interval is the supervisor's to raise
  struct tide_pulse pulse;
  uint32_t multi; // cells may be of more than one slot
  uint32_t state; // enum tide_store_state
  uint32_t off_reason;
  uint32_t paused; // not 0: new blocks are not recorded for now; see tide_store_switches
  // Line 2: written when a thread publishes (several) or on falling edges (one): see total.h.
  _Alignas(64) int64_t live_bytes; // the sum of what the slots published
  int64_t max_bytes;
  uint64_t max_ticks;
  int64_t ceiling;      // the total was never above this while several threads had a part in it
  uint64_t n_disturbed; // times another thread published than the one before
  uint32_t last_publisher;
  // Line 3: page-level totals; several threads, atomic.
  _Alignas(64) int64_t page_live_bytes;
  int64_t page_max_bytes;
  uint64_t page_n_map, page_b_map, page_n_unmap, page_b_unmap;
  uint32_t beat_seen; // the latest beat that any thread has looked at
  // Cold.
  _Alignas(64) uint32_t n_cells, n_nodes, n_slots, n_modules;
  uint32_t n_ends, n_pasts, n_hists, n_touches;         // annexes of cells
  uint32_t n_live_threads, max_live_threads, n_threads; // n_threads: ever
  // What recording costs, beside what the threads' slots say of it.
  uint64_t cold_ticks; // see rt/cost.h
  uint64_t boot_ns;    // processor time of the boot
  uint64_t cpu_ns;     // without a supervisor: of the process from boot to exit; 0: not known
  uint64_t start_cpu_ns;
  // Losses and oddities, all counted, atomic.
  uint64_t n_unknown_free; // frees of blocks from before we came (or passed to us wrongly)
  uint64_t n_lost_busy;    // events while the recorder was busy in the same thread
  uint64_t n_lost_full;    // events not counted at all: not even the LOST root had room; or not as
                           // a whole: no room for an annex of their cell
  uint64_t n_cut;          // stacks cut by the depth limit
  uint64_t n_broken;       // stacks whose walk ended before an outermost frame
  uint64_t n_guessed;      // stacks with at least one guessed frame
  uint64_t n_failed;       // allocations the allocator refused (NULL): not recorded
  // Identity, written once before state becomes RECORDING.
  _Alignas(64) char magic[8];
  uint32_t version, arch;
  uint64_t store_bytes;
  uint32_t pid, ppid;
  uint64_t start_ticks, start_monotonic_ns, start_realtime_ns;
  uint64_t ticks_per_second; // 0: unknown, the reader calibrates
  uint32_t depth_limit, flags;
  uint32_t sample_bits;     // one sample for 2^n bytes (weight.h); 0: every event is recorded
  uint64_t inherited_bytes; // live in the parent when this image was forked from it; else 0
  uint32_t exe, cmdline, cmdline_bytes, allocator; // offsets in the text area
  // There, too, 0: none: functions without which an allocator is not seen; all that are not hooked.
  uint64_t unhooked, refused;
  struct tide_store_areas areas;
  // Addresses in the target, for whoever can read its memory: of tide_live_map (live_walk.h), and
  // of the mappings of its own. 0: none.
  uint64_t live_map, page_table;
  // Late frees; atomic.
  _Alignas(64) uint32_t late_next; // chunk to try first
  uint32_t late_end;               // behind the last that was ever taken
  uint64_t n_late_lost;            // found no chunk: counted as frees, but not as late ones
  uint32_t n_ranges;               // more than the capacity: some are missing
  // Libraries that come and go, under the agent: it counts the loader's words, and a tracer that
  // has looked says up to which (attach/later.c), and what it could not hook.
  uint32_t objects_changed, objects_answered;
  char objects_missed[TIDE_OBJECTS_MISSED_BYTES]; // "": nothing
  struct tide_store_switches switches;
  // Of switches.peaks_asked, as many as were done: by the first thread that looks up. Where the two
  // differ nothing has happened since, and the peak is now.
  uint32_t peaks_restarted;
};

// Where tests/programs/own_maps.h switches the recording of its own process.
_Static_assert(__builtin_offsetof(struct tide_store_header, pulse.beat) == 12, "see there");
_Static_assert(__builtin_offsetof(struct tide_store_header, paused) == 28, "see there");

#define TIDE_STORE_HEADER_BYTES 4096u // a page of its own, but for first elements of tables

// The first elements of tables: how many, and where, in the order of their places. The ranges are
// there as a whole, and so are the cells, behind all others: cells are known by their addresses.
enum {
  TIDE_NEAR_SLOTS = 8,
  TIDE_NEAR_TEXT = 768,
  TIDE_NEAR_MODULES = 28,
  TIDE_NEAR_NODES = 384,
  TIDE_NEAR_OWNERS = 512,
  TIDE_NEAR_ENDS = 128,
  TIDE_NEAR_HISTS = 64,
  TIDE_NEAR_PASTS = 32,
  TIDE_NEAR_SLOTS_AT = 1280,
  TIDE_NEAR_TEXT_AT = TIDE_NEAR_SLOTS_AT + TIDE_NEAR_SLOTS * sizeof(struct tide_thread_slot),
  TIDE_RANGES_AT = TIDE_NEAR_TEXT_AT + TIDE_NEAR_TEXT,
  TIDE_NEAR_MODULES_AT = 69632, // a page that the ranges leave alone
  TIDE_NEAR_NODES_AT = TIDE_NEAR_MODULES_AT + 2048,
  TIDE_NEAR_OWNERS_AT = TIDE_NEAR_NODES_AT + TIDE_NEAR_NODES * sizeof(struct tide_node),
  TIDE_NEAR_ENDS_AT = TIDE_NEAR_OWNERS_AT + TIDE_NEAR_OWNERS * sizeof(struct tide_owner),
  TIDE_NEAR_HISTS_AT = TIDE_NEAR_ENDS_AT + TIDE_NEAR_ENDS * sizeof(struct tide_ends),
  TIDE_NEAR_PASTS_AT = TIDE_NEAR_HISTS_AT + TIDE_NEAR_HISTS * sizeof(struct tide_hist),
  TIDE_CELLS_AT = 131072,
};
_Static_assert(sizeof(struct tide_store_header) <= TIDE_NEAR_SLOTS_AT, "before the first slots");
_Static_assert(TIDE_NEAR_SLOTS_AT % sizeof(struct tide_thread_slot) == 0, "on their own lines");
_Static_assert(TIDE_NEAR_MODULES * sizeof(struct tide_store_module) <= 2048, "before the nodes");
_Static_assert(TIDE_NEAR_PASTS_AT + TIDE_NEAR_PASTS * sizeof(struct tide_past) <= TIDE_CELLS_AT,
               "before the cells");
#define TIDE_FIRST_CELL 64u // cells below are never handed out
