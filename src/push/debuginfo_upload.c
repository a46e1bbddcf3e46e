// SPDX-License-Identifier: Apache-2.0
//
// See debuginfo_upload.h.
#define _GNU_SOURCE
#include "push/debuginfo_upload.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "base/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  CHUNK_BYTES = 1 << 20,
  MAX_FILE_BYTES = 1000000000, // Parca's own limit, unless told otherwise
  CONNECT_MS = 5000,
  CALL_MS = 30000,
  FILE_MS = 600000,
  ANSWER_MAX_BYTES = 64 << 10,
  GRPC_ALREADY_EXISTS = 6,
  GRPC_FAILED_PRECONDITION = 9,
};
enum strategy { STRATEGY_GRPC = 1, STRATEGY_SIGNED_URL = 2 };

// The bytes of a request that brings a file, as they are asked for: frames, if to Parca itself.
struct file_stream {
  int fd;
  uint64_t size, at;    // of the file; read so far
  bool is_framed;       // each piece has a head
  struct tide_buf head; // before the next piece
  size_t head_at;       // written so far
  uint64_t piece_left;  // of the file, behind the head
};

struct instructions {
  char *upload_id, *signed_url; // owned
  enum strategy strategy;
};

// ---- a file as a request ----

static void put_grpc_head(struct tide_buf *buf, size_t n)
{
  const uint8_t head[] = {0, (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
  tide_buf_append(buf, head, sizeof head);
}

static void put_chunk_head(struct tide_buf *buf, uint64_t n)
{
  struct tide_buf field = {0};
  tide_buf_varint(&field, 2 << 3 | TIDE_WIRE_BYTES);
  tide_buf_varint(&field, n);
  put_grpc_head(buf, field.n + (size_t)n);
  tide_buf_append(buf, field.data, field.n);
  tide_buf_done(&field);
}

static uint64_t next_piece(const struct file_stream *s)
{
  uint64_t left = s->size - s->at;
  return s->is_framed && left > CHUNK_BYTES ? CHUNK_BYTES : left;
}

static uint64_t bytes_of_stream(const struct file_stream *s)
{
  uint64_t n = s->head.n + s->size;
  for (uint64_t at = 0; s->is_framed && at < s->size; at += CHUNK_BYTES) {
    struct tide_buf head = {0};
    put_chunk_head(&head, s->size - at < CHUNK_BYTES ? s->size - at : CHUNK_BYTES);
    n += head.n;
    tide_buf_done(&head);
  }
  return n;
}

// SIZE_MAX: the file has become shorter, or cannot be read.
static size_t read_stream(void *context, void *to, size_t max)
{
  struct file_stream *s = context;
  if (s->head_at == s->head.n && !s->piece_left && s->at < s->size) {
    s->piece_left = next_piece(s);
    s->head_at = 0;
    tide_buf_clear(&s->head);
    if (s->is_framed)
      put_chunk_head(&s->head, s->piece_left);
  }
  if (s->head_at < s->head.n) {
    size_t n = s->head.n - s->head_at < max ? s->head.n - s->head_at : max;
    memcpy(to, s->head.data + s->head_at, n);
    s->head_at += n;
    return n;
  }
  size_t n = s->piece_left < max ? (size_t)s->piece_left : max;
  ssize_t got = n ? pread(s->fd, to, n, (off_t)s->at) : 0;
  if (n && got <= 0)
    return SIZE_MAX;
  s->at += (uint64_t)got;
  s->piece_left -= (uint64_t)got;
  return (size_t)got;
}

// ---- calls ----

static enum tide_push_verdict run_exchange(const struct tide_upload *u,
                                           struct tide_exchange_ask *ask,
                                           struct tide_exchange *answer, char *why, size_t max)
{
  struct tide_diag diag = {0};
  ask->connect_ms = CONNECT_MS;
  ask->max_bytes = ANSWER_MAX_BYTES;
  ask->is_over = u->is_over;
  ask->context = u->context;
  *why = 0;
  if (tide_exchange_run(ask, answer, &diag)) {
    snprintf(why, max, "%.300s", diag.text);
    return TIDE_PUSH_AGAIN;
  }
  return TIDE_PUSH_TAKEN;
}

// Takes the message, or the stream instead. The answer is the caller's.
static enum tide_push_verdict call_parca(const struct tide_upload *u, const char *method,
                                         struct tide_buf *message, struct file_stream *stream,
                                         struct tide_exchange *answer, char *why, size_t max)
{
  struct tide_buf body = {0};
  TIDE_CLEANUP_FREE char *url =
      tide_sprintf("%s/parca.debuginfo.v1alpha1.DebuginfoService/%s", u->base_url, method);
  struct tide_exchange_ask ask = {
      .url = url,
      .token = u->token,
      .headers = tide_push_headers(TIDE_PUSH_PARCA),
      .all_ms = stream ? FILE_MS : CALL_MS,
  };
  if (stream) {
    ask.read = read_stream;
    ask.read_context = stream;
    ask.body_bytes = bytes_of_stream(stream);
  } else {
    put_grpc_head(&body, message->n);
    tide_buf_append(&body, message->data, message->n);
    ask.body = body.data;
    ask.body_bytes = body.n;
  }
  enum tide_push_verdict verdict = run_exchange(u, &ask, answer, why, max);
  if (verdict == TIDE_PUSH_TAKEN)
    verdict = tide_push_judge(TIDE_PUSH_PARCA, answer, why, max);
  tide_buf_done(&body);
  if (message)
    tide_buf_done(message);
  return verdict;
}

static void put_text(struct tide_buf *buf, unsigned field, const char *text)
{
  tide_wire_put_bytes(buf, field, text, strlen(text));
}

static char *text_of(const struct tide_wire_field *f)
{
  return tide_strndup((const char *)f->bytes.at, tide_cursor_left(&f->bytes));
}

static enum tide_push_verdict ask_whether(const struct tide_upload *u, const char *hash,
                                          bool *ret_wants, char *why, size_t max)
{
  struct tide_buf message = {0};
  struct tide_exchange answer = {0};
  struct tide_wire_field f;
  put_text(&message, 1, u->build_id);
  put_text(&message, 2, hash);
  enum tide_push_verdict verdict =
      call_parca(u, "ShouldInitiateUpload", &message, NULL, &answer, why, max);
  struct tide_cursor told = tide_push_grpc_message(&answer);
  *ret_wants = false;
  while (verdict == TIDE_PUSH_TAKEN && tide_wire_next(&told, &f))
    if (f.number == 1 && f.wire == TIDE_WIRE_VARINT)
      *ret_wants = f.value;
  tide_exchange_done(&answer);
  return verdict;
}

static void read_instructions(struct tide_cursor told, struct instructions *ret)
{
  struct tide_wire_field f, inner;
  while (tide_wire_next(&told, &f))
    while (f.number == 1 && f.wire == TIDE_WIRE_BYTES && tide_wire_next(&f.bytes, &inner))
      if (inner.number == 2 && inner.wire == TIDE_WIRE_BYTES && !ret->upload_id)
        ret->upload_id = text_of(&inner);
      else if (inner.number == 3 && inner.wire == TIDE_WIRE_VARINT)
        ret->strategy = (enum strategy)inner.value;
      else if (inner.number == 4 && inner.wire == TIDE_WIRE_BYTES && !ret->signed_url)
        ret->signed_url = text_of(&inner);
}

// Where several bring the same file, only the first is told to.
static enum tide_push_verdict initiate_upload(const struct tide_upload *u, const char *hash,
                                              uint64_t size, struct instructions *ret,
                                              bool *ret_was_there, char *why, size_t max)
{
  struct tide_buf message = {0};
  struct tide_exchange answer = {0};
  put_text(&message, 1, u->build_id);
  tide_wire_put_u64(&message, 2, size);
  put_text(&message, 3, hash);
  enum tide_push_verdict verdict =
      call_parca(u, "InitiateUpload", &message, NULL, &answer, why, max);
  if (verdict == TIDE_PUSH_TAKEN) {
    read_instructions(tide_push_grpc_message(&answer), ret);
  } else if (verdict == TIDE_PUSH_REFUSED) {
    int status = tide_push_grpc_status(&answer);
    *ret_was_there = status == GRPC_ALREADY_EXISTS || status == GRPC_FAILED_PRECONDITION;
  }
  tide_exchange_done(&answer);
  return verdict;
}

static enum tide_push_verdict put_signed(const struct tide_upload *u, const char *url,
                                         struct file_stream *stream, char *why, size_t max)
{
  struct tide_exchange answer = {0};
  struct tide_exchange_ask ask = {
      .url = url,
      .is_put = true,
      .read = read_stream,
      .read_context = stream,
      .body_bytes = stream->size,
      .all_ms = FILE_MS,
  };
  enum tide_push_verdict verdict = run_exchange(u, &ask, &answer, why, max);
  if (verdict == TIDE_PUSH_TAKEN)
    verdict = tide_push_judge(TIDE_PUSH_PYROSCOPE, &answer, why, max); // by its status alone
  tide_exchange_done(&answer);
  return verdict;
}

static enum tide_push_verdict bring_file(const struct tide_upload *u, int fd, uint64_t size,
                                         const struct instructions *how, char *why, size_t max)
{
  struct file_stream stream = {.fd = fd, .size = size};
  struct tide_exchange answer = {0};
  struct tide_buf info = {0}, message = {0};
  bool is_signed = how->strategy == STRATEGY_SIGNED_URL;
  if (!how->upload_id || (is_signed ? !how->signed_url : how->strategy != STRATEGY_GRPC)) {
    snprintf(why, max, "it says not how to upload");
    return TIDE_PUSH_REFUSED;
  }
  if (is_signed)
    return put_signed(u, how->signed_url, &stream, why, max);
  put_text(&info, 1, u->build_id);
  put_text(&info, 2, how->upload_id);
  tide_wire_put_nested(&message, 1, &info);
  put_grpc_head(&stream.head, message.n);
  tide_buf_append(&stream.head, message.data, message.n);
  stream.is_framed = true;
  enum tide_push_verdict verdict = call_parca(u, "Upload", NULL, &stream, &answer, why, max);
  tide_buf_done(&message);
  tide_buf_done(&stream.head);
  tide_exchange_done(&answer);
  return verdict;
}

static enum tide_push_verdict mark_finished(const struct tide_upload *u,
                                            const struct instructions *how, char *why, size_t max)
{
  struct tide_buf message = {0};
  struct tide_exchange answer = {0};
  put_text(&message, 1, u->build_id);
  put_text(&message, 2, how->upload_id);
  enum tide_push_verdict verdict =
      call_parca(u, "MarkUploadFinished", &message, NULL, &answer, why, max);
  tide_exchange_done(&answer);
  return verdict;
}

// ---- the whole ----

// By what a server tells one file of a build id from another. "": it cannot be read.
static void hash_file(int fd, uint64_t size, char out[20])
{
  enum { PIECE = 64 << 10 };
  TIDE_CLEANUP_FREE uint8_t *piece = tide_alloc(PIECE);
  uint64_t hash = 0;
  *out = 0;
  for (uint64_t at = 0; at < size;) {
    ssize_t got = pread(fd, piece, PIECE, (off_t)at);
    if (got <= 0)
      return;
    hash = tide_hash_bytes(hash, piece, (size_t)got);
    at += (uint64_t)got;
  }
  snprintf(out, 20, "%016llx", (unsigned long long)hash);
}

static enum tide_push_verdict upload_open(const struct tide_upload *u, int fd, uint64_t size,
                                          bool *ret_was_there, char *why, size_t max)
{
  char hash[20];
  struct instructions how = {0};
  bool wants = false;
  hash_file(fd, size, hash);
  if (!*hash || !size || size > MAX_FILE_BYTES) {
    snprintf(why, max, "%s: %s", u->path, *hash ? "it has 0 bytes, or too many" : strerror(errno));
    return TIDE_PUSH_REFUSED;
  }
  enum tide_push_verdict verdict = ask_whether(u, hash, &wants, why, max);
  *ret_was_there = verdict == TIDE_PUSH_TAKEN && !wants;
  if (verdict != TIDE_PUSH_TAKEN || !wants)
    return verdict;
  verdict = initiate_upload(u, hash, size, &how, ret_was_there, why, max);
  bool is_begun = verdict == TIDE_PUSH_TAKEN;
  if (is_begun)
    verdict = bring_file(u, fd, size, &how, why, max);
  if (is_begun && verdict == TIDE_PUSH_TAKEN)
    verdict = mark_finished(u, &how, why, max);
  if (is_begun && verdict == TIDE_PUSH_AGAIN)
    verdict = TIDE_PUSH_REFUSED; // it takes no other until it has forgotten this one
  free(how.upload_id);
  free(how.signed_url);
  return *ret_was_there ? TIDE_PUSH_TAKEN : verdict;
}

enum tide_push_verdict tide_upload_run(const struct tide_upload *upload, bool *ret_was_there,
                                       char *why, size_t max)
{
  struct stat stat;
  *ret_was_there = false;
  int fd = open(upload->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &stat) || !S_ISREG(stat.st_mode)) {
    snprintf(why, max, "%s: %s", upload->path, fd < 0 ? strerror(errno) : "not a file");
    if (fd >= 0)
      close(fd);
    return TIDE_PUSH_REFUSED;
  }
  enum tide_push_verdict verdict =
      upload_open(upload, fd, (uint64_t)stat.st_size, ret_was_there, why, max);
  close(fd);
  return verdict;
}
