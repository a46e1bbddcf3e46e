// SPDX-License-Identifier: Apache-2.0
//
// Profiles of a run that goes on, sent to servers that keep them (--push): every so often and at
// the end. A thread of the supervisor's asks the recording and makes them, one per server sends
// them (push/outbox.h); the program is neither stopped nor waited for.
//
// What they are of: push_moment.h.
#pragma once
#include "cli/arguments.h"
#include "supervise/control.h"
#include "supervise/run.h"
#include "view/rules.h"

struct tide_pushing;

// What was asked for, looked at without doing anything. Without --push: that no other option of it
// is there.
enum tide_err tide_pushing_check(const struct tide_arguments *arguments, struct tide_diag *diag);

// Before the run. control: of whoever else asks the recording; NULL: it gets one of its own.
// Arguments and rules must outlive it.
enum tide_err tide_pushing_new(const struct tide_arguments *arguments,
                               const struct tide_rules *rules, struct tide_control *control,
                               struct tide_pushing **ret_pushing, struct tide_diag *diag);
struct tide_control *tide_pushing_control(struct tide_pushing *pushing);
void tide_pushing_free(struct tide_pushing *pushing); // of one that was never started; NULL is fine

// The command has started: from now on there are threads.
void tide_pushing_start(struct tide_pushing *pushing, const char *name);
// Processor time of the thread that makes profiles.
uint64_t tide_pushing_spent_ns(const struct tide_pushing *pushing);

// What /metrics has of it. From any thread.
void tide_pushing_metrics(void *pushing, struct tide_buf *out);

// The run is over: sends the last profile and what waits, for five seconds (seven, if a server
// hangs), and says what was sent and what was not. Frees it.
void tide_pushing_finish(struct tide_pushing *pushing, const struct tide_run_result *result);
