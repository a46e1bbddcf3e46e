// SPDX-License-Identifier: Apache-2.0
//
// Programs that give up system calls. A seccomp filter may kill the program for a call that only
// the recorder makes: before it is put on, everything that is likely to be needed is got, and after
// that no call is made. Recording goes on until something would need one.
#pragma once
#include "rt/base.h"

// Was a filter put on this process after the run began, before this image did? Told by
// /proc/self/status, which takes only calls that the loader has made already. run_filters: how many
// the supervisor itself is under; UINT32_MAX: not known, and the ancestors are asked instead.
bool tide_sandbox_inherited(uint32_t run_filters);
