// SPDX-License-Identifier: Apache-2.0
//
// One line on the terminal that says what takes so long, and is gone when it is done. It appears
// after a second and only where standard error is a terminal that can take a line back.
#pragma once

// What is being done now. Cheap enough to be called often; the clock starts with the first call.
// Not for several threads.
void tide_progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Nothing any more: takes the line back. To be called before anything is written to the terminal.
void tide_progress_stop(void);

// Of the calling thread nothing is ever drawn: it has no business with the terminal.
void tide_progress_mute(void);
