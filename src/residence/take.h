// SPDX-License-Identifier: Apache-2.0
//
// Taking the table of a process (model/residence_table.h): from outside, from what is in memory and
// what is written there. Nobody is stopped for it.
#pragma once
#include "base/err.h"
#include "model/residence_table.h"

// The sites' stacks are those of the recorder's store. store_fd is that of the image that is
// looked at, which stays the caller's: a process that has become another one meanwhile is refused
// (TIDE_ERR_NOT_FOUND). -1: it is found in the process, and *ret_store_fd is a copy, which is the
// caller's to close, or -1: nobody records there. Else ret_store_fd may be NULL.
enum tide_err tide_residence_take(uint32_t pid, int store_fd, struct tide_residence *ret_residence,
                                  int *ret_store_fd, struct tide_diag *diag);

// A copy of the store alone, of a process that somebody records, the caller's to close; -1: nobody
// does.
enum tide_err tide_residence_store(uint32_t pid, int *ret_store_fd, struct tide_diag *diag);
