// SPDX-License-Identifier: Apache-2.0
//
// The report for machines: schema "tidemark-report-2". Keys are only ever added within a schema.
// Byte and event numbers are exact integers; stacks are complete, and written once each.
#pragma once
#include "base/sink.h"
#include "view/groups.h"
#include "view/suppressions.h"

struct tide_report_json_options {
  const struct tide_suppressions *suppressions; // applied; NULL: none
  const char *file;                             // the capture's name, or NULL
  size_t n;                                     // sites, and groups; 0: all
  bool weightless;                              // sites that weigh nothing, too
  const enum tide_group_kind *group;            // NULL: no groups
};

void tide_report_json_write(struct tide_sink *sink, struct tide_view *view,
                            const struct tide_report_json_options *options);
