// SPDX-License-Identifier: Apache-2.0
//
// One function per verb. Each returns the exit status: 0 done, 1 failed, 2 misunderstood; run: the
// command's own; check: 0 kept, 1 broken, 2 could not tell.
#pragma once
#include "cli/arguments.h"

int tide_cmd_run(const struct tide_arguments *arguments);
int tide_cmd_attach(const struct tide_arguments *arguments);
int tide_cmd_top(const struct tide_arguments *arguments);
int tide_cmd_ctl(const struct tide_arguments *arguments);
int tide_cmd_detach(const struct tide_arguments *arguments);
int tide_cmd_doctor(const struct tide_arguments *arguments);
int tide_cmd_maps(const struct tide_arguments *arguments);
int tide_cmd_report(const struct tide_arguments *arguments);
int tide_cmd_tree(const struct tide_arguments *arguments);
int tide_cmd_diff(const struct tide_arguments *arguments);
int tide_cmd_check(const struct tide_arguments *arguments);
int tide_cmd_explain(const struct tide_arguments *arguments);
int tide_cmd_merge(const struct tide_arguments *arguments);
int tide_cmd_fetch(const struct tide_arguments *arguments);
int tide_cmd_info(const struct tide_arguments *arguments);
int tide_cmd_html(const struct tide_arguments *arguments);
int tide_cmd_export(const struct tide_arguments *arguments);
int tide_cmd_symbolize(const struct tide_arguments *arguments);
int tide_cmd_view(const struct tide_arguments *arguments);
int tide_cmd_serve(const struct tide_arguments *arguments);
