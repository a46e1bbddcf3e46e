// SPDX-License-Identifier: Apache-2.0
//
// TIDEMARK_OPTIONS="key=value,…". Unknown keys are reported once, never fatal.
#pragma once
#include "rt/base.h"

struct tide_options {
  char door[108];    // socket=NAME: the supervisor's door, an abstract socket
  char output[1024]; // out=PATTERN: the store file without a supervisor; %p pid, %n program
  uint32_t depth;    // depth=N: keep at most N frames per stack; 0: all
  uint32_t filters; // filters=N: seccomp filters that the supervisor is under; UINT32_MAX: not said
  bool follow;      // follow=0: leave fork children and exec successors alone
  char unknown[64]; // the first key we do not know; "" when all is well
};

void tide_options_parse(const char *text, struct tide_options *ret_options);
