// SPDX-License-Identifier: Apache-2.0
//
// libcurl, loaded when something is to be fetched or sent: with what it brings along (TLS, HTTP/2,
// Kerberos, LDAP …) it would cost every other command some milliseconds at its start.
#pragma once
#include "base/err.h"

#include <curl/curl.h>

#define TIDE_CURL_FUNCTIONS(X)                                                                     \
  X(global_init)                                                                                   \
  X(easy_init)                                                                                     \
  X(easy_setopt)                                                                                   \
  X(easy_perform)                                                                                  \
  X(easy_getinfo)                                                                                  \
  X(easy_reset)                                                                                    \
  X(easy_strerror)                                                                                 \
  X(easy_cleanup)                                                                                  \
  X(slist_append)                                                                                  \
  X(slist_free_all)

// The header's macros check types where the function's own name is called; here it is a pointer.
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define TIDE_CURL_MEMBER(name) __typeof__(curl_##name) *name;
struct tide_curl {
  TIDE_CURL_FUNCTIONS(TIDE_CURL_MEMBER)
};
#undef TIDE_CURL_MEMBER

// Loaded once and never unloaded, by whoever comes first; for any thread. Before it is, no member
// may be called.
extern struct tide_curl tide_curl;
enum tide_err tide_curl_load(struct tide_diag *diag);
