// SPDX-License-Identifier: Apache-2.0
//
// Servers that keep profiles, and what each wants of one: how a request is put, how large a profile
// may be, and what its answer means.
//
//                 Pyroscope                              Parca
//   request       POST /push.v1.PusherService/Push       POST /parca.profilestore.v1alpha1.
//                 (protobuf)                             ProfileStoreService/WriteRaw (gRPC-Web)
//   allocated     since the push before, in the same     since the push before, in a profile of
//                 profile; its own deltas are off        its own: a duration makes all its columns
//                                                        deltas
//   at most       16,000 stacks, 4 MiB, 1,000 frames     the same: more stacks take it long
//
//                 OpenTelemetry (OTLP: collectors and what stands behind them)
//   request       POST /v1development/profiles (protobuf, gzip'ed): push/otlp.h
//   allocated     since the push before, in a profile of its own, as each column is
//   at most       the same
//
// The messages of the first two are alike, as Parca's was the model:
//
//   WriteRawRequest { series = 1 (Parca: 2) { labels = 1, samples = 2 { raw_profile = 1 } },
//                     normalized = 3 (Parca) }
//   labels: Pyroscope repeats { name = 1, value = 2 }; Parca has one message of such (1).
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "push/push_series.h"
#include "remote/exchange.h"

#include <stddef.h>
#include <stdint.h>

enum tide_push_kind { TIDE_PUSH_PYROSCOPE, TIDE_PUSH_PARCA, TIDE_PUSH_OTLP, TIDE_PUSH_KINDS_N };

enum { // what all take
  TIDE_PUSH_MAX_BYTES = (4 << 20) - 4096,
  TIDE_PUSH_MAX_STACKS = 16000,
  TIDE_PUSH_MAX_FRAMES = 1000,
};

struct tide_push_target {
  enum tide_push_kind kind;
  char *url;   // of its requests; owned
  char *base;  // what it begins with, as the user said it; owned
  char *shown; // "parca at http://…", for people; owned
};

// "pyroscope=http://host:4040". The target is all zero on failure.
enum tide_err tide_push_target_parse(const char *text, struct tide_push_target *ret_target,
                                     struct tide_diag *diag);
void tide_push_target_done(struct tide_push_target *target);

// "name=value": a name of letters, digits and _, not one of the servers' own. Both point into text,
// which is written to.
enum tide_err tide_push_label_parse(char *text, struct tide_push_label *ret_label,
                                    struct tide_diag *diag);

// The request that brings these, each under its labels and the name that heap profiles have. Those
// for OTLP are not packed (the request is), the others' are. Labels are sorted on the way.
enum tide_err tide_push_encode(enum tide_push_kind kind, struct tide_push_series *series,
                               size_t n_series, struct tide_buf *body, struct tide_diag *diag);

// NULL-terminated.
const char *const *tide_push_headers(enum tide_push_kind kind);

// Of a gRPC-Web answer: its first message, empty if there is none; its status, -1 if it says none.
struct tide_cursor tide_push_grpc_message(const struct tide_exchange *answer);
int tide_push_grpc_status(const struct tide_exchange *answer);

enum tide_push_verdict {
  TIDE_PUSH_TAKEN,
  TIDE_PUSH_AGAIN,   // it may take the same later
  TIDE_PUSH_REFUSED, // it never will
};

// What an answer means; why, in a sentence without its end, where it was not taken.
enum tide_push_verdict tide_push_judge(enum tide_push_kind kind, const struct tide_exchange *answer,
                                       char *why, size_t max);

// How many profiles of a request, each column's its own, an OTLP server says that it rejects; 0: it
// says none, or is no such server.
uint64_t tide_push_n_rejected(enum tide_push_kind kind, const struct tide_exchange *answer);
