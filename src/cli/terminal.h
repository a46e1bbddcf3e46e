// SPDX-License-Identifier: Apache-2.0
//
// What the user's terminal can show, asked once per stream.
#pragma once
#include "cli/arguments.h"
#include "report/screen.h"

// A screen for a stream: its width (80 when it is no terminal and COLUMNS says nothing), UTF-8 by
// the locale, colour by --color, NO_COLOR, CLICOLOR_FORCE and TERM.
struct tide_screen tide_terminal_screen(struct tide_sink *sink, FILE *stream,
                                        const struct tide_arguments *arguments);

// One line on standard error, "tidemark: …".
void tide_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
