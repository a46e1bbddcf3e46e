// SPDX-License-Identifier: Apache-2.0
//
// What profilers and monitors ask a program for, in the dialects that they have: of Go's
// net/http/pprof, of gperftools, and of Prometheus.
//
//   /debug/pprof/                 what there is, for people
//   /debug/pprof/heap             pprof: allocated so far, and held now
//   /debug/pprof/allocs           the same, what was allocated shown first
//     ?debug=1                    as text; ?gc=N is taken and means nothing
//     ?seconds=N                  what changed in so many seconds, in each of the four columns
//   /debug/pprof/heap/flamegraph  what is held now as a picture (SVG)
//   /debug/pprof/cmdline          the command, its words ended by NULs
//   /debug/pprof/symbol           names of addresses, by POST
//   /pprof/heap, /cmdline, /symbol   gperftools' own
//   /metrics                      for Prometheus
//
// Each is of the moment of asking, and of the process that `report` would show or, if that has
// ended, of the largest that runs; ?process=PID takes another, ?process=all adds up those of the
// same program that run. What is not to be had now is 503, never
// an empty profile: whoever collects them would believe it.
#pragma once
#include "serve/exhibit.h"
#include "serve/reply.h"

// False: the path is none of these, and nothing was answered. exhibit NULL: there is nothing yet.
bool tide_profilers_answer(struct tide_exhibit *exhibit, const struct tide_request *request,
                           struct tide_reply *reply);
