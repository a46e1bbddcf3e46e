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

// Starts it, detached: it neither hears our signals nor writes to our terminal, and nobody waits
// for it. False: it could not be started.
bool tide_browser_open(const char *url);
