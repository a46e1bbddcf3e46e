// SPDX-License-Identifier: Apache-2.0
//
// Serving until somebody ends it: requests are answered, files are looked at once a second.
#pragma once
#include "serve/routes.h"
#include "serve/server.h"

// From now on SIGINT, SIGTERM and SIGHUP end the serving, or the process with status 0 where an
// answer takes long: there is nothing to lose.
void tide_serving_hear_signals(void);

// Until one of the signals, or (linger_s > 0) until nobody has asked for that long and no file that
// is shown is still being written.
void tide_serving_run(struct tide_server *server, struct tide_routes *routes, unsigned linger_s);
