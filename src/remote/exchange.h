// SPDX-License-Identifier: Apache-2.0
//
// One HTTP request and its answer, within limits: of time, of bytes, of redirections (five, and
// only to HTTP). Certificates are verified; SSL_CERT_FILE names others than the system's. The token
// goes to the host that it is for and to no other, wherever that redirects to.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_exchange_ask {
  const char *url;
  const char *token;          // "Authorization: Bearer"; NULL: none
  const char *const *headers; // "Name: value", NULL-terminated; NULL: none
  const void *body;           // sent by POST; NULL: GET, unless there is a read
  uint64_t body_bytes;
  // Where so many bytes come from instead, piece by piece; SIZE_MAX: there are no more. NULL: not.
  size_t (*read)(void *read_context, void *to, size_t max);
  void *read_context;
  bool is_put; // what is read is sent by PUT
  uint32_t connect_ms, all_ms;
  uint64_t max_bytes; // of the answer, unpacked
  // A status is answer enough: one whose body is too large, cut or too slow is a success that has
  // what came of it, so that nobody asks again for what was done.
  bool is_by_status;
  // Asked about once a second and oftener: true gives up, with TIDE_ERR_LIMIT. NULL: never.
  bool (*is_over)(void *context);
  void *context;
};

struct tide_exchange {
  unsigned status;           // of HTTP
  char type[128];            // Content-Type; "": none
  char url[1024];            // that answered, after redirections; without a password
  uint32_t retry_s;          // Retry-After; 0: not said
  char grpc_status[16];      // of a gRPC-Web answer without a body; "": none
  char grpc_message[160];    // likewise
  bool is_cut, is_too_large; // of one by status: the body is not all of it
  struct tide_buf body;
};

// On success there was a whole answer, whatever its status. A failure's sentence names the address.
enum tide_err tide_exchange_run(const struct tide_exchange_ask *ask,
                                struct tide_exchange *ret_exchange, struct tide_diag *diag);
void tide_exchange_done(struct tide_exchange *exchange);

// A copy without "user:password@", for people; owned.
char *tide_url_shown(const char *url);
