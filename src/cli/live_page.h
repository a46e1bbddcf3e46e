// SPDX-License-Identifier: Apache-2.0
//
// The page of a run, served by a thread of the process that records it: from the first draft on, to
// the end. Then it goes on in the background, as a process of its own, while the run's ends with
// the command's status.
//
// The thread has descriptors of its own, as a process would: however many connections a page has
// and however many processes are recorded, neither takes the other's. It asks the recording by
// control.h, writes to nobody but its clients, and has no business with signals.
#pragma once
#include "cli/arguments.h"
#include "supervise/run.h"

struct tide_live_page;

// Before the run, and before any thread.
enum tide_err tide_live_page_new(const struct tide_arguments *arguments,
                                 struct tide_live_page **ret_page, struct tide_diag *diag);

// For tide_run_options, the page being the companion. It owns the control.
struct tide_control *tide_live_page_control(struct tide_live_page *page);
void tide_live_page_start(void *page, const char *output_path);
uint64_t tide_live_page_spent_ns(void *page);

// The run is over: shows its end, from its file or, if it has none, as it is; says where the page
// is, and leaves it in the background. A run without anything to show has no page. Frees the page
// as far as this process may: the server is the other's.
void tide_live_page_finish(struct tide_live_page *page, const struct tide_run_result *result);

// Of one that was never started.
void tide_live_page_free(struct tide_live_page *page); // NULL is fine
