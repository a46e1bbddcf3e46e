// SPDX-License-Identifier: Apache-2.0
//
// The user's terminal: what it can show, and what takes place on it beside the text.
#pragma once
#include "base/sink.h"
#include "cli/arguments.h"
#include "report/screen.h"
#include "symbol/symbol.h"

// ---- what it can show ----
//
// Asked once per stream.

// A screen for a stream: its width (80 when it is no terminal and COLUMNS says nothing), UTF-8 by
// the locale, colour by --color, NO_COLOR, CLICOLOR_FORCE and TERM.
struct tide_screen tide_terminal_screen(struct tide_sink *sink, FILE *stream,
                                        const struct tide_arguments *arguments);

// One line on standard error, "tidemark: …".
void tide_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Says what went wrong and gives the exit status for it.
int tide_cmd_failed(enum tide_err err, const struct tide_diag *diag);

// ---- progress ----
//
// One line on the terminal that says what takes so long, and is gone when it is done. It appears
// after a second and only where standard error is a terminal that can take a line back.

// What is being done now. Cheap enough to be called often; the clock starts with the first call.
// Not for several threads.
void tide_progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Nothing any more: takes the line back. To be called before anything is written to the terminal.
void tide_progress_stop(void);

// Of the calling thread nothing is ever drawn: it has no business with the terminal.
void tide_progress_mute(void);

// ---- downloads ----
//
// Downloads as a person sees them: one line that comes after a moment and goes when it is done, on
// a terminal only. Ctrl-C gives up the downloads, not the report.

// For one thread. Lives as long as the program.
const struct tide_symbol_watch *tide_download_watch(void);

// ---- the pager ----
//
// Text for people that may be longer than their screen.

// A sink for text on standard output: straight through, or collected for the pager when standard
// output is a terminal and nothing speaks against one (--no-pager, an empty TIDEMARK_PAGER or
// PAGER, TERM=dumb).
void tide_pager_begin(struct tide_sink *sink, const struct tide_arguments *arguments);

// Ends what begin began: text longer than the terminal is shown by $TIDEMARK_PAGER, $PAGER or less,
// and by none when that cannot be started. name is as for tide_sink_finish(). The sink is done.
enum tide_err tide_pager_finish(struct tide_sink *sink, const char *name, struct tide_diag *diag);
