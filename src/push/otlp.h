// SPDX-License-Identifier: Apache-2.0
//
// Profiles as OpenTelemetry has them (opentelemetry.proto.profiles.v1development, as the package
// opentelemetry-proto 1.45.2 has it; still called alpha there), made from pprof's.
//
//   pprof                          OTLP
//   one profile, a row of columns  a profile per column, since each has one type of sample
//   tables in each profile         one dictionary for the whole request; entry 0 of a table is
//                                  "none", and no entry is there twice
//   a sample's list of locations   a number in the table of stacks
//   a mapping's build id           its attribute process.executable.build_id.gnu
//   comments                       an attribute, pprof.profile.comment
//   labels of the series           attributes of the resource: service.name, host.name,
//                                  process.pid (a number); the user's under their own names
//
// What was allocated is of a range of time: it has a duration and the time of its beginning. What
// is held is of a moment.
#pragma once
#include "push/push_series.h"

#include "base/err.h"

// The message of a request, not packed. TIDE_ERR_FORMAT: a profile is not one.
enum tide_err tide_otlp_encode(const struct tide_push_series *series, size_t n_series,
                               struct tide_buf *message, struct tide_diag *diag);
