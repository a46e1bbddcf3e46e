// SPDX-License-Identifier: Apache-2.0
//
// Reads a .tide file: checks the header, then takes part after part until END or until one that is
// cut, damaged or malformed. What came before such a part is kept and the capture says where it
// stopped; only a file without a whole first image, or one that asks for absurd amounts of memory,
// is refused.
#define _GNU_SOURCE
#include "tide/file.h"

#include "base/alloc.h"
#include "base/given_file.h"
#include "model/rows.h"
#include "tide/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { HEAD_BYTES = 4096 }; // tell what a foreign file is

struct past_part { // one that was taken
  size_t at;       // where it begins
  uint8_t *raw;    // its payload, if another was packed behind it; owned
};

struct reader {
  const char *name;
  const uint8_t *data;
  size_t n, at;
  struct tide_capture *capture;
  struct tide_facts_extra facts;
  struct tide_budget budget;
  ZSTD_DCtx *zstd;
  struct past_part *past; // n_parts of them
  size_t cap_past;
  uint32_t n_parts;     // taken so far
  uint32_t table_image; // whose tables were met last
  bool in_tables;
  bool ended; // END was met
  char *note; // why it stopped, when it stopped early
};

static const char *part_name(uint16_t type)
{
  switch (type) {
#define X(name, number)                                                                            \
  case number: return #name;
    TIDE_PART_LIST(X)
#undef X
  default: return "unknown";
  }
}

// Notes why reading stops here. Called once per file.
static enum tide_err stop_reading(struct reader *r, enum tide_err err, const char *what,
                                  const struct tide_part *part, const char *why)
{
  TIDE_CLEANUP_FREE char *where =
      part ? tide_sprintf("in part %s of image %u", part_name(part->type), part->image)
           : tide_strdup("between parts");
  TIDE_CLEANUP_FREE char *count =
      r->n_parts ? tide_sprintf("%u of %u parts read", r->n_parts, r->facts.n_parts)
                 : tide_strdup("no part was whole");
  size_t byte = err == TIDE_ERR_CUT ? r->n : r->at; // where the file ends, or the part begins
  r->note =
      tide_sprintf("%s at byte %zu, %s%s%s; %s", what, byte, where, *why ? ": " : "", why, count);
  return err;
}

static bool crc_is_right(const uint8_t *part_start, const struct tide_part *part)
{
  uint8_t header[TIDE_PART_HEADER_BYTES];
  memcpy(header, part_start, sizeof header);
  memset(header + TIDE_PART_CRC_OFFSET, 0, 4);
  uLong crc = crc32_z(0, header, sizeof header);
  crc = crc32_z(crc, part_start + sizeof header, (size_t)part->stored_bytes);
  return (uint32_t)crc == part->crc;
}

static bool unpack_into(struct reader *r, const struct tide_part *part, size_t at, uint8_t *raw)
{
  const uint8_t *stored = r->data + at + TIDE_PART_HEADER_BYTES;
  size_t n = (size_t)part->raw_bytes;
  if (!(part->flags & TIDE_PART_STORED))
    return ZSTD_decompressDCtx(r->zstd, raw, n, stored, (size_t)part->stored_bytes) == n;
  if (n == part->stored_bytes && n)
    memcpy(raw, stored, n);
  return n == part->stored_bytes;
}

// Has zstd look at the payload of the root of a part, which is kept: it will be asked for again.
static enum tide_err refer_to_root(struct reader *r, const struct tide_part *part,
                                   const char **ret_why)
{
  struct tide_part root;
  *ret_why = "the part that it was packed behind is not there";
  if (part->root >= r->n_parts || !tide_part_header(r->data + r->past[part->root].at, &root) ||
      root.type != part->type || root.flags & TIDE_PART_BEHIND)
    return TIDE_ERR_DAMAGED;
  struct past_part *past = &r->past[part->root];
  size_t n = (size_t)root.raw_bytes;
  if (!past->raw) {
    *ret_why = "it unpacks to too much for a file of this size";
    if (!tide_budget_take(&r->budget, n, 1) || !(past->raw = malloc(n ? n : 1)))
      return TIDE_ERR_LIMIT;
    unpack_into(r, &root, past->at, past->raw); // it could be before
  }
  ZSTD_DCtx_refPrefix(r->zstd, past->raw, n);
  return TIDE_ERR_OK;
}

// The payload: inside the file when it is stored as is, else unpacked into *ret_unpacked (owned).
static enum tide_err unpack(struct reader *r, const struct tide_part *part,
                            struct tide_cursor *ret_payload, uint8_t **ret_unpacked,
                            const char **ret_why)
{
  size_t n = (size_t)part->raw_bytes;
  *ret_why = "it unpacks to too much for a file of this size";
  if (part->raw_bytes > TIDE_MAX_PART_BYTES || !tide_budget_take(&r->budget, n, 1))
    return TIDE_ERR_LIMIT;
  *ret_why = "it does not unpack";
  if (part->flags & TIDE_PART_STORED) {
    *ret_payload = tide_cursor_make(r->data + r->at + TIDE_PART_HEADER_BYTES, n);
    return n == part->stored_bytes ? TIDE_ERR_OK : TIDE_ERR_DAMAGED;
  }
  enum tide_err err =
      part->flags & TIDE_PART_BEHIND ? refer_to_root(r, part, ret_why) : TIDE_ERR_OK;
  if (err)
    return err;
  *ret_why = "it does not unpack";
  uint8_t *raw = malloc(n ? n : 1);
  if (!raw)
    return TIDE_ERR_LIMIT;
  if (!unpack_into(r, part, r->at, raw)) {
    free(raw);
    return TIDE_ERR_DAMAGED;
  }
  *ret_unpacked = raw;
  *ret_payload = tide_cursor_make(raw, n);
  return TIDE_ERR_OK;
}

static enum tide_err decode_end(struct reader *r, struct tide_cursor *in, const char **ret_why)
{
  uint64_t n_parts = tide_cursor_varint(in);
  if (in->bad || n_parts != r->n_parts + 1ull || r->capture->n_images != r->facts.n_images) {
    *ret_why = "the counts do not agree";
    return TIDE_ERR_DAMAGED;
  }
  for (size_t i = 0; i < r->capture->n_images; i++)
    if (r->capture->images[i].pieces) {
      *ret_why = "a snapshot has no end";
      return TIDE_ERR_DAMAGED;
    }
  r->ended = true;
  return TIDE_ERR_OK;
}

static enum tide_err decode_part(struct reader *r, const struct tide_part *part,
                                 struct tide_cursor *in, const char **ret_why)
{
  struct tide_capture *capture = r->capture;
  if (part->type == TIDE_PART_FACTS)
    return tide_decode_facts(in, capture, &r->facts, ret_why);
  if (part->type == TIDE_PART_END)
    return decode_end(r, in, ret_why);
  if (part->type == TIDE_PART_ROLL)
    return tide_decode_roll(in, &capture->roll, &r->budget, ret_why);
  if (part->type == TIDE_PART_COST)
    return tide_decode_cost(in, capture, ret_why);
  bool is_image = part->type == TIDE_PART_IMAGE;
  if (is_image ? part->image != capture->n_images : part->image >= capture->n_images) {
    *ret_why = "its image is not known";
    return TIDE_ERR_DAMAGED;
  }
  if (is_image)
    return tide_decode_image(in, capture, &r->budget, ret_why);
  return tide_decode_of_image(part, in, &capture->images[part->image], &r->budget, ret_why);
}

static bool type_is_known(uint16_t type)
{
  switch (type) {
#define X(name, number) case number:
    TIDE_PART_LIST(X)
#undef X
    return true;
  default: return false;
  }
}

// The part at r->at, whole and with a good checksum.
static enum tide_err take_part(struct reader *r, const struct tide_part *part)
{
  const char *why = "";
  if (part->sequence != r->n_parts)
    return stop_reading(r, TIDE_ERR_DAMAGED, "damaged", part, "a part is missing before it");
  if ((part->type == TIDE_PART_FACTS) != (r->n_parts == 0))
    return stop_reading(r, TIDE_ERR_DAMAGED, "damaged", part, "it is out of place");
  uint16_t own = part->type == TIDE_PART_SITES       ? TIDE_PART_BY_STACK
                 : part->type == TIDE_PART_SNAPSHOTS ? TIDE_PART_GOES_ON
                                                     : 0;
  if (part->flags & ~(TIDE_PART_STORED | TIDE_PART_BEHIND | own))
    return stop_reading(r, TIDE_ERR_DAMAGED, "damaged", part, "its flags are unknown");
  if (type_is_known(part->type)) {
    TIDE_CLEANUP_FREE uint8_t *unpacked = NULL;
    struct tide_cursor payload;
    enum tide_err err = unpack(r, part, &payload, &unpacked, &why);
    if (!err)
      err = decode_part(r, part, &payload, &why);
    if (err)
      return stop_reading(r, err, err == TIDE_ERR_LIMIT ? "refused" : "damaged", part, why);
  }
  TIDE_GROW(r->past, r->n_parts, r->cap_past);
  r->past[r->n_parts++] = (struct past_part){.at = r->at};
  return TIDE_ERR_OK;
}

// Tables come image by image, and in one of them the sites before the timeline: what follows a
// table tells that it is whole, even if it is itself cut.
static void note_whole(struct reader *r, const struct tide_part *part)
{
  struct tide_capture *capture = r->capture;
  bool is_table = part->type >= TIDE_PART_MODULES && part->type <= TIDE_PART_TIMELINE;
  bool is_late = part->type == TIDE_PART_MARKS || part->type == TIDE_PART_SYMBOLS;
  if (part->type == TIDE_PART_SNAPSHOTS || part->type == TIDE_PART_LATE_FREES ||
      part->type == TIDE_PART_END)
    for (size_t i = 0; i < capture->n_images; i++)
      capture->images[i].sites_are_all = true;
  if ((!is_table && !is_late) || part->image >= capture->n_images)
    return;
  if (r->in_tables && r->table_image != part->image)
    capture->images[r->table_image].sites_are_all = true;
  if (is_late || part->type == TIDE_PART_TIMELINE)
    capture->images[part->image].sites_are_all = true;
  r->table_image = part->image;
  r->in_tables = true;
}

static enum tide_err read_parts(struct reader *r)
{
  r->at = TIDE_FILE_HEADER_BYTES;
  while (!r->ended) {
    size_t left = r->n - r->at;
    struct tide_part part;
    if (left < TIDE_PART_HEADER_BYTES)
      return stop_reading(r, TIDE_ERR_CUT, "cut", NULL, left ? "" : "the end is missing");
    if (!tide_part_header(r->data + r->at, &part))
      return stop_reading(r, TIDE_ERR_DAMAGED, "damaged", NULL, "no part starts here");
    if (part.sequence == r->n_parts)
      note_whole(r, &part);
    if (part.stored_bytes > left - TIDE_PART_HEADER_BYTES)
      return stop_reading(r, TIDE_ERR_CUT, "cut", &part, "");
    if (!crc_is_right(r->data + r->at, &part))
      return stop_reading(r, TIDE_ERR_DAMAGED, "damaged", &part, "the checksum is wrong");
    enum tide_err err = take_part(r, &part);
    if (err)
      return err;
    r->at += TIDE_PART_HEADER_BYTES + (size_t)part.stored_bytes;
  }
  return TIDE_ERR_OK;
}

static enum tide_err check_file_header(const uint8_t *data, size_t n, const char *name,
                                       struct tide_diag *diag)
{
  if (n == 0)
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s is not a .tide capture: it is empty", name);
  size_t n_magic = n < TIDE_FILE_MAGIC_BYTES ? n : TIDE_FILE_MAGIC_BYTES;
  if (memcmp(data, TIDE_FILE_MAGIC, n_magic) != 0)
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s is not a .tide capture: it looks like %s", name,
                     tide_file_kind(data, n < HEAD_BYTES ? n : HEAD_BYTES));
  if (n < TIDE_FILE_HEADER_BYTES)
    return tide_fail_at(diag, TIDE_ERR_CUT, n, "%s is cut short: nothing is left in it", name);
  unsigned major = data[8] | data[9] << 8, minor = data[10] | data[11] << 8;
  if (major != TIDE_FILE_MAJOR)
    return tide_fail(
        diag, TIDE_ERR_VERSION,
        "%s has format version %u.%u; this tidemark reads version %u: use the tidemark "
        "that made it, or a newer one",
        name, major, minor, TIDE_FILE_MAJOR);
  return TIDE_ERR_OK;
}

static uint64_t budget_bytes(size_t file_bytes)
{
  uint64_t bytes = TIDE_MAX_READ_BASE_BYTES + (uint64_t)file_bytes * TIDE_MAX_READ_FACTOR;
  return bytes < TIDE_MAX_READ_BYTES ? bytes : TIDE_MAX_READ_BYTES;
}

enum tide_err tide_file_parse(const uint8_t *data, size_t n, const char *name,
                              struct tide_capture **ret_capture, struct tide_diag *diag)
{
  enum tide_err err = check_file_header(data, n, name, diag);
  if (err)
    return err;
  struct reader r = {.name = name, .data = data, .n = n, .capture = tide_capture_new()};
  r.budget.left_bytes = budget_bytes(n);
  r.zstd = ZSTD_createDCtx();
  err = r.zstd ? read_parts(&r)
               : stop_reading(&r, TIDE_ERR_LIMIT, "refused", NULL, "there is no memory");
  for (size_t i = 0; i < r.n_parts; i++)
    free(r.past[i].raw);
  free(r.past);
  ZSTD_freeDCtx(r.zstd);
  if (err && (err == TIDE_ERR_LIMIT || r.capture->n_images == 0)) {
    tide_capture_free(r.capture);
    tide_fail(diag, err, "%s cannot be read: %s", name, r.note);
    free(r.note);
    if (diag) {
      diag->has_offset = true;
      diag->offset = r.at;
    }
    return err;
  }
  r.capture->from_later = (unsigned)(data[10] | data[11] << 8) > TIDE_FILE_MINOR;
  r.capture->cut = err != TIDE_ERR_OK;
  r.capture->cut_note = r.note;
  for (size_t i = 0; err && i < r.capture->n_images; i++) {
    struct tide_image *image = &r.capture->images[i];
    image->is_part = !image->sites_are_all;
    image->resident_is_lost = !image->has_resident;
  }
  for (size_t i = 0; i < r.capture->n_images; i++)
    tide_image_finish_sites(&r.capture->images[i]);
  *ret_capture = r.capture;
  return TIDE_ERR_OK;
}

// Reads to the end of the file, or only far enough to see that it is no capture.
static enum tide_err slurp(int fd, const char *path, struct tide_buf *out, struct tide_diag *diag)
{
  for (;;) {
    size_t more = out->n < (64u << 10) ? (64u << 10) : out->n; // doubles
    uint8_t *to = tide_buf_extend(out, more);
    ssize_t got = read(fd, to, more);
    out->n -= more - (got > 0 ? (size_t)got : 0);
    if (got < 0 && errno == EISDIR)
      return tide_fail(diag, TIDE_ERR_FORMAT, "%s is not a .tide capture: it is a directory", path);
    if (got < 0 && errno != EINTR)
      return tide_fail_errno(diag, "cannot read %s", path);
    if (got == 0)
      return TIDE_ERR_OK;
    if (out->n >= TIDE_FILE_MAGIC_BYTES &&
        memcmp(out->data, TIDE_FILE_MAGIC, TIDE_FILE_MAGIC_BYTES) != 0)
      return TIDE_ERR_OK; // the parser will say what it is
    if (out->n > TIDE_MAX_FILE_BYTES)
      return tide_fail(diag, TIDE_ERR_LIMIT, "%s is larger than any capture", path);
  }
}

enum tide_err tide_file_read(const char *path, struct tide_capture **ret_capture,
                             struct tide_diag *diag)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return tide_fail_errno(diag, "cannot open %s", path);
  struct tide_buf bytes = {0};
  enum tide_err err = slurp(fd, path, &bytes, diag);
  close(fd);
  if (!err)
    err = tide_file_parse(bytes.data, bytes.n, path, ret_capture, diag);
  tide_buf_done(&bytes);
  return err;
}

bool tide_file_is(const char *path)
{
  uint8_t magic[TIDE_FILE_MAGIC_BYTES];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t got = fd < 0 ? 0 : pread(fd, magic, sizeof magic, 0);
  if (fd >= 0)
    close(fd);
  return got == (ssize_t)sizeof magic && memcmp(magic, TIDE_FILE_MAGIC, sizeof magic) == 0;
}
