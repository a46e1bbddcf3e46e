// SPDX-License-Identifier: Apache-2.0
//
// The report for machines: schema "tidemark-report-1". Keys are only ever added within a schema.
// Byte and event numbers are exact integers; frames are complete and innermost first.
#pragma once
#include "base/sink.h"
#include "view/view.h"

// Sites ranked by rank; n_sites 0 gives all. file is the capture's name, or NULL.
void tide_report_json_write(struct tide_sink *sink, struct tide_view *view, const char *file,
                            size_t n_sites);
