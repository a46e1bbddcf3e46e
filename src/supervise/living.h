// SPDX-License-Identifier: Apache-2.0
//
// A recording that goes on, as a source of captures (model/capture.h): asks for a draft while
// somebody wants one, and gives it when it is there. On another thread than the recording's.
#pragma once
#include "model/capture.h"
#include "supervise/control.h"

struct tide_living_options {
  struct tide_control *control; // must outlive the source
  const char *name;             // what the capture is called: the path of the file it will be in
  int notify_fd;                // an eventfd, written to when a look will give something; 0: none
  // Called with each capture: to add what is known now and is not in a draft. May be NULL.
  void (*complete)(struct tide_capture *capture, const char *name);
};

struct tide_source *tide_living_new(const struct tide_living_options *options);

// The next look gives this draft, which is shared. is_last: the recording has ended, and there will
// be no other; NULL then: it is not to be had, and what was given last is all.
void tide_living_give(struct tide_source *living, struct tide_draft *draft, bool is_last);
