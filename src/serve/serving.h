// SPDX-License-Identifier: Apache-2.0
//
// Serving until somebody ends it: requests are answered, sources are looked at once a second, and
// what costs something there is done only while somebody asks.
#pragma once
#include "serve/routes.h"
#include "serve/server.h"

// From now on SIGINT, SIGTERM and SIGHUP end the serving, or the process with status 0 where an
// answer takes long: there is nothing to lose.
void tide_serving_hear_signals(void);

// Until one of the signals, or (linger_s > 0) until nobody has asked for that long and nothing that
// is shown is still being recorded.
void tide_serving_run(struct tide_server *server, struct tide_routes *routes, unsigned linger_s);

// The same on a thread beside others, which has no business with signals: until is_over() says so,
// which is asked whenever the server is woken (its wake_fd).
void tide_serving_beside(struct tide_server *server, struct tide_routes *routes,
                         bool (*is_over)(void *context), void *context);
