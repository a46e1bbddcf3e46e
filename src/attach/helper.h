// SPDX-License-Identifier: Apache-2.0
//
// The tracer as a process of its own, urgent while somebody stands still: attaches, waits to be
// told to detach, does so and ends. ptrace lets go of everything that a tracer leaves when it dies,
// so that its end harms nobody, whenever it comes.
#pragma once
#include "attach/job.h"

struct tide_helper;

// Attaches. Call it before any thread is started. On success the helper waits to be told.
enum tide_err tide_helper_start(const struct tide_job_options *options,
                                struct tide_helper **ret_helper, struct tide_attached *ret_attached,
                                struct tide_diag *diag);
// Detaches, and ends the helper. If the process has ended meanwhile, that is fine, too.
enum tide_err tide_helper_detach(struct tide_helper *helper, struct tide_attached *ret_attached,
                                 struct tide_diag *diag);
// Takes off whatever tidemark has put on the process, whoever did.
enum tide_err tide_helper_clear(const struct tide_job_options *options, bool *ret_found,
                                struct tide_diag *diag);
void tide_helper_free(struct tide_helper *helper); // NULL is fine
