// SPDX-License-Identifier: Apache-2.0
//
// What is known of a run apart from its stacks, as members of the open object: shared by the report
// for machines and by the page, so that both say the same.
#pragma once
#include "base/json.h"
#include "base/sink.h"
#include "model/model.h"
#include "profile/profile.h"
#include "words/statements.h"

// ---- what is left out ----
//
// What an image does not hold (enum tide_lacks), in the words of what is written for machines: a
// number that is lacking is left out of JSON and an empty cell of CSV, never zero.

// Whether the member or column of this name lacks in an image that lacks these.
bool tide_lacking(uint32_t lacks, const char *key);

// From now on members that lack in the image are left out.
void tide_lacking_leave_out(struct tide_json *json, const struct tide_image *image);

// "lacks": a list of what, as in ["peak", "blocks"].
void tide_lacking_json(struct tide_json *json, const struct tide_image *image);

// ---- how exact ----
//
// How exact the numbers of a document are, for machines: every document that has numbers of an
// image has this beside them.

// A member that says it of one kind of numbers alone: {"is": "within", "bound_bytes": 210944}
void tide_exactness_json_of(struct tide_json *json, const char *key, const struct tide_image *image,
                            enum tide_figure figure);

// The member "exactness" of the object that is open.
void tide_exactness_json(struct tide_json *json, const struct tide_image *image);

// The cell of a line of CSV: "exact", or what is not, as in "peak:within:210944 live:estimated".
void tide_exactness_csv(struct tide_sink *sink, const struct tide_profile *profile);

// ---- one image ----
//
// Parts that the JSON of several commands share. Each writes members into the open object.

// pid, ppid, exe, command, by_fork, start_ns, end_ns, end, end_value, origin, lacks.
void tide_image_json_identity(struct tide_json *json, const struct tide_image *image);

// allocators and recorded_by: null where they are not known.
void tide_image_json_allocators(struct tide_json *json, const struct tide_image *image);

// pauses, paused_ns and marks.
void tide_image_json_moments(struct tide_json *json, const struct tide_image *image);

// unknown_frees … failed_allocations.
void tide_image_json_losses(struct tide_json *json, const struct tide_image *image);

// rss_at_peak_bytes, max_rss_bytes and what else is known of memory in use.
void tide_image_json_resident(struct tide_json *json, const struct tide_image *image);

// file, complete, finished, note, arch, duration_ns.
void tide_capture_json_facts(struct tide_json *json, const struct tide_capture *capture,
                             const char *file, bool complete);
// cost: what recording took of the run's processor time, null where that is not known.
void tide_capture_json_cost(struct tide_json *json, const struct tide_capture *capture);

// ---- sentences ----
//
// What happened, in sentences, for programs.

// A member of the open object: program, title (its parts), sentences. NULL is null.
void tide_statements_json(struct tide_json *json, const char *key,
                          const struct tide_statements *statements);

// ---- the run ----

// capture, image, images, totals, pages, completeness; file is the capture's name, or NULL. Members
// that the image lacks are left out if the writer was told (tide_lacking).
// "mean_life_ns" of so many lives; null where none has ended.
void tide_json_mean_life(struct tide_json *json, uint64_t life_ns, uint64_t n_ended);
// "mean_age_ns" of the blocks live at the end; null where there are none, or it is not known.
void tide_json_mean_age(struct tide_json *json, int64_t age_ns, int64_t live_blocks);

void tide_profile_json_facts(struct tide_json *json, const struct tide_profile *profile,
                             const char *file);

// images: every process image of the capture, its peak and its allocations.
void tide_capture_json_images(struct tide_json *json, const struct tide_capture *capture);
