// SPDX-License-Identifier: Apache-2.0
//
// What the process was started with, read from its initial stack: the first hook call may come
// before libc has set up environ.
#pragma once
#include "rt/base.h"

struct tide_environment {
  const char *const *argv; // as on the initial stack
  uint64_t argc;
  const char *options;   // value of TIDEMARK_OPTIONS; "" when not set
  const char *preload;   // value of LD_PRELOAD; ""
  uint64_t vdso;         // start of the vDSO; 0: none
  uint64_t stack_top;    // of the main thread
  uint64_t stack_origin; // its stack pointer when the process began
};

void tide_environment_read(struct tide_environment *ret_environment);
