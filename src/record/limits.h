// SPDX-License-Identifier: Apache-2.0
//
// RLIMIT_AS and RLIMIT_DATA count mappings, ours too. A program must fail where it would have
// failed without us: the limit it runs under is kept higher by what we have mapped, and it is
// shown the number it set or was started with.
#pragma once
#include "rt/base.h"

#include <sys/resource.h>

// Looks at the limits this image was started with and makes room for bytes more, where that is
// allowed. Returns the address space the recorder should think it has.
uint64_t tide_limits_start(void);
void tide_limits_make_room(uint64_t bytes);

// The next image gets the true limits.
void tide_limits_before_exec(void);
// Room for what is mapped by now, and no more: after an exec that failed, or much was unmapped.
void tide_limits_settle(void);

// The program sets a limit of its own (NULL: it only asks), in two halves around the real call.
struct tide_limits_change {
  struct rlimit set;   // what to give the kernel in its place
  struct rlimit shown; // what the program is to take the old one for
  int which;
  bool is_shown, is_kept;
};
void tide_limits_change_begin(unsigned resource, const struct rlimit *limit,
                              struct tide_limits_change *ret_change);
// It has succeeded, and wrote the old limit to old, unless that is NULL.
void tide_limits_change_done(const struct tide_limits_change *change, const struct rlimit *limit,
                             struct rlimit *old);
