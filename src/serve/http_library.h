// SPDX-License-Identifier: Apache-2.0
//
// libmicrohttpd, loaded when a page is to be served: it brings GnuTLS and nine more libraries
// along, which would cost every other command some 4 ms at its start.
#pragma once
#include "base/err.h"

#include <microhttpd.h>

#define TIDE_HTTP_FUNCTIONS(X)                                                                     \
  X(add_response_header)                                                                           \
  X(create_response_from_buffer_with_free_callback_cls)                                            \
  X(destroy_response)                                                                              \
  X(get_connection_info)                                                                           \
  X(get_fdset)                                                                                     \
  X(get_timeout)                                                                                   \
  X(lookup_connection_value)                                                                       \
  X(queue_response)                                                                                \
  X(resume_connection)                                                                             \
  X(run_from_select)                                                                               \
  X(start_daemon)                                                                                  \
  X(stop_daemon)                                                                                   \
  X(suspend_connection)

#define TIDE_HTTP_MEMBER(name) __typeof__(MHD_##name) *name;
struct tide_http {
  TIDE_HTTP_FUNCTIONS(TIDE_HTTP_MEMBER)
};
#undef TIDE_HTTP_MEMBER

// Loaded once and never unloaded. Before it is, no member may be called.
extern struct tide_http tide_http;
enum tide_err tide_http_load(struct tide_diag *diag);
