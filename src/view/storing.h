// SPDX-License-Identifier: Apache-2.0
//
// Names put into a capture, so that it can be read where its programs are not.
#pragma once
#include "model/model.h"
#include "view/resolver.h"

struct tide_lack {               // a module some addresses of which lack names or lines
  const char *path;              // in the capture
  char *note;                    // why, and what to do; owned; "" when nobody can tell
  size_t n_nameless, n_lineless; // distinct addresses; those without a name lack lines as well
};

struct tide_storing { // distinct addresses, those of all images summed
  size_t n_addresses, n_named, n_lined;
  size_t n_new;            // whose names were not stored before, or are better now
  struct tide_lack *lacks; // the most addresses first
  size_t n_lacks;
};

// Looks up every address of every image and stores what was found. Names that are stored with a
// function and a line for each frame are not asked for again; others are replaced by better ones
// only. Fails when the names are more than a capture can hold.
enum tide_err tide_storing_run(struct tide_capture *capture, struct tide_resolver *resolver,
                               struct tide_storing *ret_storing, struct tide_diag *diag);
void tide_storing_done(struct tide_storing *storing);

// ---- code made at run time ----
//
// Names of code that programs made while they ran (just-in-time compilers), from the maps they
// wrote for perf. The maps outlive the programs, but not for long: a run keeps the names of what it
// recorded in its capture.

#define TIDE_JIT_MAPS_DIR "/tmp"

// Looks for DIR/perf-PID.map of every image that has frames in unknown code, and stores the names
// it has for them in the image. A map that cannot be of that run, by its owner or its time, is not
// believed. Gives how many addresses got a name.
size_t tide_jit_names_add(struct tide_capture *capture, const char *dir);
