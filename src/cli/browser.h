// SPDX-License-Identifier: Apache-2.0
//
// Opening the user's browser.
#pragma once
#include <stdbool.h>

// Whether there is one to open here: BROWSER names it, or there is a display and we are not on the
// far side of an ssh connection, where a browser would be slow or on the wrong machine.
bool tide_browser_is_here(void);

// Starts it, detached: it neither hears our signals nor writes to our terminal, and nobody waits
// for it. False: it could not be started.
bool tide_browser_open(const char *url);
