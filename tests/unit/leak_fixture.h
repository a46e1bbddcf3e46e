// SPDX-License-Identifier: Apache-2.0
//
// A capture made by hand, of a program that leaks and does nothing else wrong, and what is found of
// it.
#pragma once
#include "findings/findings.h"

enum { LOOKS = 24, LEAKY = 1, STEADY = 2, FRAMES = 3, BLOCK = 1000, RUN_MS = 1000 };
#define MS UINT64_C(1000000)

// One place adds per_look blocks from each look to the next and frees none; another allocates three
// times as many and frees them.
struct tide_capture *tide_leaking_capture(int64_t per_look);

struct judged {
  struct tide_capture *capture;
  struct tide_profile *profile;
  struct tide_naming *naming;
  struct tide_findings *findings;
};

// Takes the capture.
struct judged tide_judge(struct tide_capture *capture);
void tide_judged_done(struct judged *j);
