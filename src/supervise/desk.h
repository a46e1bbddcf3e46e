// SPDX-License-Identifier: Apache-2.0
//
// The desk: where another process of the same user tells a recording what to do while it goes on
// (tidemark ctl). An abstract socket with a name that is told by nobody: who wants something of a
// process looks for all desks (/proc/net/unix) and asks each whether the process is its own.
//
//     tidemark ctl             a recording's watch
//     ────────────             ───────────────────
//     connect, one packet ───▶ is it mine? who asks?
//     one packet ◀──────────── done, and perhaps a descriptor     both close
//
// Answered are its own user and root, by the kernel's word. The watch answers on its own thread,
// between two rounds; whoever connects and says nothing costs a descriptor, of which there are few,
// and then the oldest goes.
#pragma once
#include "base/err.h"
#include "store/desk_words.h"

#include <stdbool.h>

// Why a recording of all events is not sampled from now on.
#define TIDE_DESK_NOT_SAMPLED                                                                      \
  "every event is recorded, so there is no interval to change: a recording by samples is to be "   \
  "begun anew ('tidemark attach' does so without a restart)"

// ---- in the supervisor ----

struct tide_desk;

// NULL: there is none to be had; then nobody is answered.
struct tide_desk *tide_desk_open(void);
void tide_desk_close(struct tide_desk *desk); // NULL is fine
// Readable when somebody waits for tide_desk_serve().
int tide_desk_fd(const struct tide_desk *desk);

// Fills in the answer; gives a descriptor to go along, which is closed then, or -1. Who asks may do
// so if is_allowed.
typedef int tide_desk_answerer(void *context, const struct tide_desk_ask *ask, bool is_allowed,
                               struct tide_desk_answer *answer);
void tide_desk_serve(struct tide_desk *desk, tide_desk_answerer *answerer, void *context);

// ---- who asks ----

// TIDE_ERR_NOT_FOUND: no recording has that process. ret_fd: what came along, the caller's; -1:
// nothing.
enum tide_err tide_desk_call(const struct tide_desk_ask *ask, struct tide_desk_answer *ret_answer,
                             int *ret_fd, struct tide_diag *diag);
