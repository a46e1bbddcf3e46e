// SPDX-License-Identifier: Apache-2.0
//
// See push_target.h.
#include "push/push_target.h"

#include "base/alloc.h"
#include "base/sink.h"
#include "base/wire.h"
#include "push/otlp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { GRPC_DEADLINE = 4, GRPC_EXHAUSTED = 8, GRPC_ABORTED = 10, GRPC_UNAVAILABLE = 14 };
enum { FRAME_HEAD_BYTES = 5, TRAILERS_FLAG = 0x80, VALUE_MAX_BYTES = 2048 };

static const struct kind_row {
  const char *word, *path;
  const char *headers[3];
} kinds[TIDE_PUSH_KINDS_N] = {
    [TIDE_PUSH_PYROSCOPE] = {"pyroscope",
                             "/push.v1.PusherService/Push",
                             {"Content-Type: application/proto", "Accept: application/proto"}},
    [TIDE_PUSH_PARCA] = {"parca",
                         "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
                         {"Content-Type: application/grpc-web+proto", "X-Grpc-Web: 1"}},
    [TIDE_PUSH_OTLP] = {"otlp",
                        "/v1development/profiles",
                        {"Content-Type: application/x-protobuf", "Content-Encoding: gzip"}},
};

// ---- what the user says ----

enum tide_err tide_push_target_parse(const char *text, struct tide_push_target *ret_target,
                                     struct tide_diag *diag)
{
  const char *url = strchr(text, '=');
  size_t n_word = url ? (size_t)(url - text) : 0;
  *ret_target = (struct tide_push_target){0};
  for (unsigned i = 0; url && i < TIDE_PUSH_KINDS_N; i++) {
    if (strlen(kinds[i].word) != n_word || strncmp(text, kinds[i].word, n_word) != 0)
      continue;
    if (strncasecmp(++url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
      break;
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
      n--;
    TIDE_CLEANUP_FREE char *base = tide_strndup(url, n);
    TIDE_CLEANUP_FREE char *shown = tide_url_shown(base);
    *ret_target = (struct tide_push_target){
        .kind = (enum tide_push_kind)i,
        .base = tide_strdup(base),
        .url = tide_sprintf("%s%s", base, kinds[i].path),
        .shown = tide_sprintf("%s at %s", kinds[i].word, shown),
    };
    return TIDE_ERR_OK;
  }
  return tide_fail(diag, TIDE_ERR_USAGE,
                   "\"%s\" is nowhere to push to; pyroscope=http://HOST:4040, "
                   "parca=https://HOST:7070 and otlp=http://HOST:4318 are",
                   text);
}

void tide_push_target_done(struct tide_push_target *target)
{
  free(target->url);
  free(target->base);
  free(target->shown);
  *target = (struct tide_push_target){0};
}

enum tide_err tide_push_label_parse(char *text, struct tide_push_label *ret_label,
                                    struct tide_diag *diag)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  char *equals = strchr(text, '=');
  size_t n_name = equals ? (size_t)(equals - text) : 0;
  bool is_name = n_name && strspn(text, letters) == n_name && !strchr("0123456789", *text) &&
                 strncmp(text, "__", 2) != 0;
  if (!is_name || !equals[1] || strlen(equals + 1) > VALUE_MAX_BYTES)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "\"%s\" is no label; one is region=eu, its name of letters, digits and _",
                     text);
  *equals = 0;
  *ret_label = (struct tide_push_label){text, equals + 1};
  return TIDE_ERR_OK;
}

// ---- requests ----

void tide_push_series_done(struct tide_push_series *series)
{
  for (size_t i = 0; i < TIDE_PUSH_MAX_PROFILES; i++)
    tide_buf_done(&series->profiles[i]);
  *series = (struct tide_push_series){0};
}

static void put_label(struct tide_buf *buf, const struct tide_push_label *label)
{
  struct tide_buf pair = {0};
  tide_wire_put_bytes(&pair, 1, label->name, strlen(label->name));
  tide_wire_put_bytes(&pair, 2, label->value, strlen(label->value));
  tide_wire_put_nested(buf, 1, &pair);
}

static int by_name(const void *a, const void *b)
{
  return strcmp(((const struct tide_push_label *)a)->name,
                ((const struct tide_push_label *)b)->name);
}

static void put_raw_series(struct tide_buf *message, const struct tide_push_series *from,
                           bool is_parca)
{
  static const struct tide_push_label own[] = {{"__delta__", "false"}, {"__name__", "memory"}};
  struct tide_buf set = {0}, series = {0};
  if (!is_parca) // it would take the difference of differences
    put_label(&set, &own[0]);
  put_label(&set, &own[1]); // "__" comes before all of the user's but capitals
  for (size_t i = 0; i < from->n_labels; i++)
    put_label(&set, &from->labels[i]);
  if (is_parca)
    tide_wire_put_bytes(&series, 1, set.data, set.n);
  else
    tide_buf_append(&series, set.data, set.n);
  tide_buf_done(&set);
  for (size_t i = 0; i < from->n_profiles; i++) {
    struct tide_buf sample = {0};
    tide_wire_put_bytes(&sample, 1, from->profiles[i].data, from->profiles[i].n);
    tide_wire_put_nested(&series, 2, &sample);
  }
  tide_wire_put_nested(message, is_parca ? 2 : 1, &series);
}

// What a gRPC message begins with.
static void put_frame_head(struct tide_buf *body, size_t n)
{
  const uint8_t head[FRAME_HEAD_BYTES] = {0, (uint8_t)(n >> 24), (uint8_t)(n >> 16),
                                          (uint8_t)(n >> 8), (uint8_t)n};
  tide_buf_append(body, head, sizeof head);
}

static void put_packed(const struct tide_buf *message, struct tide_buf *body)
{
  struct tide_sink sink;
  tide_sink_init(&sink, NULL);
  struct tide_gzip *gzip = tide_gzip_new(&sink);
  tide_gzip_bytes(gzip, message->data, message->n);
  tide_gzip_finish(gzip);
  tide_buf_append(body, sink.buf.data, sink.buf.n);
  tide_sink_done(&sink);
}

enum tide_err tide_push_encode(enum tide_push_kind kind, struct tide_push_series *series,
                               size_t n_series, struct tide_buf *body, struct tide_diag *diag)
{
  struct tide_buf message = {0};
  enum tide_err err = TIDE_ERR_OK;
  for (size_t i = 0; i < n_series; i++)
    qsort(series[i].labels, series[i].n_labels, sizeof *series[i].labels, by_name);
  if (kind == TIDE_PUSH_OTLP) {
    err = tide_otlp_encode(series, n_series, &message, diag);
    if (!err)
      put_packed(&message, body);
  } else {
    bool is_parca = kind == TIDE_PUSH_PARCA;
    for (size_t i = 0; i < n_series; i++)
      put_raw_series(&message, &series[i], is_parca);
    if (is_parca) { // addresses are those in the files
      tide_wire_put_u64(&message, 3, 1);
      put_frame_head(body, message.n);
    }
    tide_buf_append(body, message.data, message.n);
  }
  tide_buf_done(&message);
  return err;
}

const char *const *tide_push_headers(enum tide_push_kind kind)
{
  return kinds[kind].headers;
}

// ---- answers ----

// As far as it is plain text, in one line.
static void plain_words(const uint8_t *text, size_t n, char *out, size_t max)
{
  size_t k = 0;
  for (size_t i = 0; i < n && k + 1 < max && k < 200 && text[i] != '\n' && text[i] != '\r'; i++)
    out[k++] = text[i] >= ' ' && text[i] < 127 ? (char)text[i] : '?';
  out[k] = 0;
}

static enum tide_push_verdict judge_http(const struct tide_exchange *answer, char *why, size_t max)
{
  char said[201];
  unsigned status = answer->status;
  if (status >= 200 && status < 300)
    return TIDE_PUSH_TAKEN;
  plain_words(answer->body.data, answer->body.n, said, sizeof said);
  snprintf(why, max, "it answers with HTTP %u%s%s%s", status, *said ? ": " : "", said,
           status == 401 || status == 403 ? " (which token does it want?)"
           : status == 404                ? " (is that its address?)"
                                          : "");
  return status == 408 || status == 429 || status >= 500 ? TIDE_PUSH_AGAIN : TIDE_PUSH_REFUSED;
}

// The value of a line "name: value" of trailers; false: there is none.
static bool find_trailer(const uint8_t *text, size_t n, const char *name, char *out, size_t max)
{
  size_t n_name = strlen(name);
  for (size_t at = 0; at < n;) {
    const uint8_t *end = memchr(text + at, '\n', n - at);
    size_t n_line = end ? (size_t)(end - text) - at : n - at;
    if (n_line > n_name && text[at + n_name] == ':' &&
        strncasecmp((const char *)text + at, name, n_name) == 0) {
      size_t from = at + n_name + 1;
      while (from < at + n_line && text[from] == ' ')
        from++;
      plain_words(text + from, at + n_line - from, out, max);
      return true;
    }
    at += n_line + 1;
  }
  return false;
}

// The trailers come in a frame of their own, the last, or instead of all frames as headers.
static bool find_grpc_status(const struct tide_exchange *answer, char *status, size_t n_status,
                             char *message, size_t n_message)
{
  const uint8_t *at = answer->body.data, *end = at + answer->body.n;
  *status = *message = 0;
  while (end - at >= FRAME_HEAD_BYTES) {
    uint32_t n = (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
    bool is_trailers = *at & TRAILERS_FLAG;
    at += FRAME_HEAD_BYTES;
    if (n > (size_t)(end - at))
      break;
    if (is_trailers) {
      find_trailer(at, n, "grpc-message", message, n_message);
      return find_trailer(at, n, "grpc-status", status, n_status);
    }
    at += n;
  }
  snprintf(status, n_status, "%s", answer->grpc_status);
  plain_words((const uint8_t *)answer->grpc_message, strlen(answer->grpc_message), message,
              n_message);
  return *status;
}

struct tide_cursor tide_push_grpc_message(const struct tide_exchange *answer)
{
  const uint8_t *at = answer->body.data;
  if (answer->body.n < FRAME_HEAD_BYTES || *at & TRAILERS_FLAG)
    return tide_cursor_make("", 0);
  uint32_t n = (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
  bool is_whole = n <= answer->body.n - FRAME_HEAD_BYTES;
  return tide_cursor_make(at + FRAME_HEAD_BYTES, is_whole ? n : 0);
}

int tide_push_grpc_status(const struct tide_exchange *answer)
{
  char status[16], message[201];
  return find_grpc_status(answer, status, sizeof status, message, sizeof message) ? atoi(status)
                                                                                  : -1;
}

static enum tide_push_verdict judge_grpc(const struct tide_exchange *answer, char *why, size_t max)
{
  char status[16], message[201];
  enum tide_push_verdict verdict = judge_http(answer, why, max);
  if (verdict != TIDE_PUSH_TAKEN)
    return verdict;
  if (!find_grpc_status(answer, status, sizeof status, message, sizeof message)) {
    bool may_come = answer->is_cut && !answer->is_too_large; // its last frame would say
    snprintf(why, max, "%s",
             may_come ? "its answer ends before its gRPC status"
                      : "its answer is not gRPC-Web (is that its address?)");
    return may_come ? TIDE_PUSH_AGAIN : TIDE_PUSH_REFUSED;
  }
  if (strcmp(status, "0") == 0)
    return TIDE_PUSH_TAKEN;
  snprintf(why, max, "it answers with gRPC status %s%s%s", status, *message ? ": " : "", message);
  switch (atoi(status)) {
  case GRPC_DEADLINE:
  case GRPC_EXHAUSTED:
  case GRPC_ABORTED:
  case GRPC_UNAVAILABLE: return TIDE_PUSH_AGAIN;
  default: return TIDE_PUSH_REFUSED;
  }
}

// { partial_success = 1 { rejected = 1, message = 2 } }; said: the message, in plain words.
static uint64_t read_rejected(const struct tide_exchange *answer, char *said, size_t max)
{
  struct tide_cursor message = tide_cursor_make(answer->body.data, answer->body.n);
  struct tide_wire_field f, inner;
  uint64_t n_rejected = 0;
  while (tide_wire_next(&message, &f))
    while (f.number == 1 && f.wire == TIDE_WIRE_BYTES && tide_wire_next(&f.bytes, &inner))
      if (inner.number == 1 && inner.wire == TIDE_WIRE_VARINT)
        n_rejected = inner.value;
      else if (inner.number == 2 && inner.wire == TIDE_WIRE_BYTES)
        plain_words(inner.bytes.at, tide_cursor_left(&inner.bytes), said, max);
  return n_rejected;
}

// OTLP names the statuses that may be tried again. A 200 may say that some were rejected.
static enum tide_push_verdict judge_otlp(const struct tide_exchange *answer, char *why, size_t max)
{
  unsigned status = answer->status;
  bool is_passing = status == 429 || (status >= 502 && status <= 504);
  char said[201] = "";
  if (judge_http(answer, why, max) != TIDE_PUSH_TAKEN)
    return is_passing ? TIDE_PUSH_AGAIN : TIDE_PUSH_REFUSED;
  uint64_t n_rejected = read_rejected(answer, said, sizeof said);
  if (!n_rejected)
    return TIDE_PUSH_TAKEN;
  snprintf(why, max, "it rejects %llu%s%s", (unsigned long long)n_rejected, *said ? ": " : "",
           said);
  return TIDE_PUSH_REFUSED;
}

enum tide_push_verdict tide_push_judge(enum tide_push_kind kind, const struct tide_exchange *answer,
                                       char *why, size_t max)
{
  *why = 0;
  switch (kind) {
  case TIDE_PUSH_PARCA: return judge_grpc(answer, why, max);
  case TIDE_PUSH_OTLP: return judge_otlp(answer, why, max);
  default: return judge_http(answer, why, max);
  }
}

uint64_t tide_push_n_rejected(enum tide_push_kind kind, const struct tide_exchange *answer)
{
  char said[1];
  return kind == TIDE_PUSH_OTLP ? read_rejected(answer, said, sizeof said) : 0;
}
