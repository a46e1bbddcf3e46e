// SPDX-License-Identifier: Apache-2.0
//
// Numbers of the .tide format that writer and reader share; docs/tide-format.md is the truth.
// Private to src/tide.
//
// The payload of a part is made and read by one pair of functions per part type: encoders append
// to a buffer and cannot fail, decoders add to an image all or nothing. Neither knows about part
// headers, checksums or compression.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"

#define TIDE_FILE_MAGIC "\x89TIDE\r\n\x1a"
#define TIDE_FILE_MAGIC_BYTES 8u
#define TIDE_FILE_HEADER_BYTES 16u
#define TIDE_FILE_MAJOR 1u
#define TIDE_FILE_MINOR 6u

#define TIDE_PART_MAGIC 0x54524150u // "PART"
#define TIDE_PART_HEADER_BYTES 40u
#define TIDE_PART_CRC_OFFSET 32u
// Flags.
#define TIDE_PART_STORED 1u   // the payload is not compressed
#define TIDE_PART_BEHIND 2u   // it was compressed behind the payload of another part, its root
#define TIDE_PART_BY_STACK 4u // of SITES: a row's stack and times are told by the row before
#define TIDE_PART_GOES_ON 8u  // of SNAPSHOTS: its only snapshot goes on in the next part

#define TIDE_PART_LIST(X)                                                                          \
  X(FACTS, 1)                                                                                      \
  X(IMAGE, 2)                                                                                      \
  X(MODULES, 3)                                                                                    \
  X(THREADS, 4)                                                                                    \
  X(FRAMES, 5)                                                                                     \
  X(SITES, 6)                                                                                      \
  X(TIMELINE, 7)                                                                                   \
  X(SNAPSHOTS, 8)                                                                                  \
  X(MARKS, 9)                                                                                      \
  X(SYMBOLS, 10)                                                                                   \
  X(LATE_FREES, 11)                                                                                \
  X(ROLL, 12)                                                                                      \
  X(RESIDENT, 13)                                                                                  \
  X(COST, 14)                                                                                      \
  X(ALLOCATORS, 15)                                                                                \
  X(RESIDENCE, 16)                                                                                 \
  X(EVENTS, 17)                                                                                    \
  X(HELD, 18)                                                                                      \
  X(RSS_KINDS, 19)                                                                                 \
  X(END, 255)

enum tide_part_type {
#define X(name, number) TIDE_PART_##name = number,
  TIDE_PART_LIST(X)
#undef X
};

enum { // of IMAGE: what there is more
  TIDE_IMAGE_SPREADS = 1,
  TIDE_IMAGE_PAUSES = 2,
  TIDE_IMAGE_RESAMPLED = 4,
  TIDE_IMAGE_SAMPLED_NOW = 8,
  TIDE_IMAGE_RESET = 16,
};

struct tide_part {
  uint16_t type, flags;
  uint32_t image, sequence;
  uint64_t raw_bytes, stored_bytes;
  uint32_t crc;
  uint32_t root; // a sequence number
};

// What a hostile file may cost, see the end of docs/tide-format.md.
#define TIDE_MAX_PART_BYTES (256ull << 20)
#define TIDE_MAX_READ_BASE_BYTES (64ull << 20)
#define TIDE_MAX_READ_FACTOR 1024u
#define TIDE_MAX_READ_BYTES (16ull << 30)
#define TIDE_MAX_FILE_BYTES (4ull << 30)
#define TIDE_MAX_UNIT_NS 1000000000u // of times in SITES

// Rows per part. A cut loses at most one part of what comes last.
#define TIDE_ROWS_MODULES 4096u
#define TIDE_ROWS_FRAMES 65536u
#define TIDE_ROWS_SITES 2048u // 360 KB of sites: columns are gathered within the cache
#define TIDE_ROWS_OTHER 16384u
#define TIDE_SNAPSHOTS_BYTES (512u << 10) // a part is closed once it holds this much
#define TIDE_ROWS_SYMBOLS 8192u
#define TIDE_SYMBOLS_BYTES (64u << 20) // of strings, each as often as it is used; likewise

void tide_encode_facts(struct tide_buf *out, const struct tide_capture *capture, uint32_t n_parts);
void tide_encode_roll(struct tide_buf *out, const struct tide_roll *roll);
void tide_encode_cost(struct tide_buf *out, const struct tide_cost *cost);
void tide_encode_resident(struct tide_buf *out, const struct tide_image *image);
void tide_encode_allocators(struct tide_buf *out, const struct tide_image *image);
void tide_encode_held(struct tide_buf *out, const struct tide_image *image);
void tide_encode_rss_kinds(struct tide_buf *out, const struct tide_image *image);
bool tide_rss_kinds_are_valid(const struct tide_image *image);
bool tide_held_is_valid(const struct tide_image *image, size_t n_frames);
void tide_encode_residence(struct tide_buf *out, const struct tide_residence *table);
void tide_encode_image(struct tide_buf *out, const struct tide_image *image);
// Rows first .. first + n of a table; modules, threads and frames without row 0.
void tide_encode_modules(struct tide_buf *out, const struct tide_image *image, size_t first,
                         size_t n);
void tide_encode_threads(struct tide_buf *out, const struct tide_image *image, size_t first,
                         size_t n);
// The frames are those from first on.
void tide_encode_frames(struct tide_buf *out, const struct tide_frame *nodes, size_t first,
                        size_t n);
void tide_encode_timeline(struct tide_buf *out, const struct tide_image *image, size_t first,
                          size_t n);
void tide_encode_marks(struct tide_buf *out, const struct tide_image *image, size_t first,
                       size_t n);
// The rows are those from first on, in the order of the file; their buckets are the image's. Spoils
// their stacks and times.
void tide_encode_sites(struct tide_buf *out, const struct tide_image *image, struct tide_site *rows,
                       size_t first, size_t n);
// Where the next part of SNAPSHOTS begins: at a snapshot, or at a row of one that goes on.
struct tide_snapshot_place {
  size_t snapshot, row;
};
// As many snapshots as fit one part, at least one, or a piece of one that has too many rows for
// that. Moves the place. True: the snapshot goes on.
bool tide_encode_snapshots(struct tide_buf *out, const struct tide_image *image,
                           struct tide_snapshot_place *place);
// Changes, and counts, of one snapshot in a part, at most: they take 25 bytes each at most. Tests
// have fewer.
extern size_t tide_snapshot_rows;
void tide_encode_events(struct tide_buf *out, const struct tide_image *image, size_t first,
                        size_t n);
void tide_encode_late_frees(struct tide_buf *out, const struct tide_image *image, size_t first,
                            size_t n);
// The same as of snapshots for the places of the stored names.
size_t tide_encode_symbols(struct tide_buf *out, const struct tide_image *image, size_t first);

// Memory a read may still take. Decoders call tide_budget_take() before they allocate.
struct tide_budget {
  uint64_t left_bytes;
};
bool tide_budget_take(struct tide_budget *budget, uint64_t n, uint64_t bytes_each);

struct tide_facts_extra { // in the FACTS part, but not in the model
  uint32_t n_images, n_parts;
};

// Decoders give TIDE_ERR_DAMAGED with the reason in *ret_why (static text) for payloads that
// break a rule, TIDE_ERR_LIMIT when the budget is spent; the model is then as before.
enum tide_err tide_decode_facts(struct tide_cursor *in, struct tide_capture *capture,
                                struct tide_facts_extra *ret_extra, const char **ret_why);
enum tide_err tide_decode_roll(struct tide_cursor *in, struct tide_roll *roll,
                               struct tide_budget *budget, const char **ret_why);
enum tide_err tide_decode_image(struct tide_cursor *in, struct tide_capture *capture,
                                struct tide_budget *budget, const char **ret_why);
enum tide_err tide_decode_cost(struct tide_cursor *in, struct tide_capture *capture,
                               const char **ret_why);
// Any part that belongs to one image; types it does not know are left alone.
enum tide_err tide_decode_of_image(const struct tide_part *part, struct tide_cursor *in,
                                   struct tide_image *image, struct tide_budget *budget,
                                   const char **ret_why);
enum tide_err tide_decode_resident(struct tide_cursor *in, struct tide_image *image,
                                   const char **ret_why);
enum tide_err tide_decode_rss_kinds(struct tide_cursor *in, struct tide_image *image,
                                    struct tide_budget *budget, const char **ret_why);
enum tide_err tide_decode_held(struct tide_cursor *in, struct tide_image *image,
                               struct tide_budget *budget, const char **ret_why);
enum tide_err tide_decode_allocators(struct tide_cursor *in, struct tide_image *image,
                                     const char **ret_why);
enum tide_err tide_decode_residence(struct tide_cursor *in, struct tide_image *image,
                                    struct tide_budget *budget, const char **ret_why);
enum tide_err tide_decode_sites(struct tide_cursor *in, bool by_stack, struct tide_image *image,
                                struct tide_budget *budget, const char **ret_why);
enum tide_err tide_decode_snapshots(struct tide_cursor *in, bool goes_on, struct tide_image *image,
                                    struct tide_budget *budget, const char **ret_why);
enum tide_err tide_decode_late_frees(struct tide_cursor *in, struct tide_image *image,
                                     struct tide_budget *budget, const char **ret_why);
enum tide_err tide_decode_symbols(struct tide_cursor *in, struct tide_image *image,
                                  struct tide_budget *budget, const char **ret_why);

// Does the capture keep the promises of model.h that the file relies on (indexes in range,
// parents before children, rows rising)? Names the first breach.
enum tide_err tide_capture_check(const struct tide_capture *capture, struct tide_diag *diag);

// The bytes of a whole file, appended to out.
enum tide_err tide_file_encode(const struct tide_capture *capture, struct tide_buf *out,
                               struct tide_diag *diag);
