// SPDX-License-Identifier: Apache-2.0
//
// Opening the user's browser.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// Whether there is one to open here: BROWSER names it, or there is a display and we are not on the
// far side of an ssh connection, where a browser would be slow or on the wrong machine.
bool tide_browser_is_here(void);

// The command that makes a port of this machine's loopback one of the machine that we are on by
// ssh; owned. NULL: we are not.
char *tide_browser_forwarding(uint16_t port);

// A process that becomes the browser when it is told an address, and ends when it never is. It is
// detached from the start: it neither hears our signals nor writes to our terminal, is nobody's
// child here, and has none of our descriptors. Gives what to tell it by; -1: it could not be
// started.
int tide_browser_prepare(void);
// Ends what tide_browser_prepare() gave. url NULL: there is nothing to open. False: it could not be
// told.
bool tide_browser_open(int fd, const char *url);
