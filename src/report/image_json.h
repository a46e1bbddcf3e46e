// SPDX-License-Identifier: Apache-2.0
//
// Parts that the JSON of several commands share. Each writes members into the open object.
#pragma once
#include "base/json.h"
#include "model/model.h"

// pid, ppid, exe, command, by_fork, start_ns, end_ns, end, end_value, origin, lacks.
void tide_image_json_identity(struct tide_json *json, const struct tide_image *image);

// unknown_frees … failed_allocations.
void tide_image_json_losses(struct tide_json *json, const struct tide_image *image);

// rss_at_peak_bytes, max_rss_bytes and what else is known of memory in use.
void tide_image_json_resident(struct tide_json *json, const struct tide_image *image);

// file, complete, finished, note, arch, duration_ns.
void tide_capture_json_facts(struct tide_json *json, const struct tide_capture *capture,
                             const char *file, bool complete);
// cost: what recording took of the run's processor time, null where that is not known.
void tide_capture_json_cost(struct tide_json *json, const struct tide_capture *capture);
