// SPDX-License-Identifier: Apache-2.0
//
// HTTP on one address of this machine, for one page, or for profilers and monitors, too. Everything
// here happens on the caller's thread, when it calls tide_server_turn(): an answer may take its
// time and use what is not made for threads. Only GET and HEAD are served, and POST to profilers'
// lists of addresses; nothing is read from files here, and every answer tells the browser to run
// and load nothing that the page's own policy does not name.
#pragma once
#include "serve/guard.h"
#include "serve/reply.h"

#include <signal.h>

// Fills the reply, which is all zero. The guard has let the request in.
typedef void tide_server_answer(void *context, const struct tide_request *request,
                                struct tide_reply *reply);

struct tide_server_options {
  const char *address;  // as inet_pton() reads it
  uint16_t port;        // 0: any that is free
  uint32_t patience_ms; // with whoever connects but is not let in; 0: as it should be
  // For profilers and monitors: the token may also come as "Authorization: Bearer", and processes
  // of this user (or of root) on this machine need none.
  bool is_open;
  const char *token; // to use; NULL: a new one. With is_open alone
  int wake_fd;       // an eventfd by which another thread ends a wait; 0: none. Not owned
  tide_server_answer *answer;
  void *context;
};

struct tide_server;

// Listens. A port in use is TIDE_ERR_EXISTS. Whoever comes waits until it is started, by the thread
// that will serve, which may have descriptors of its own.
enum tide_err tide_server_new(const struct tide_server_options *options,
                              struct tide_server **ret_server, struct tide_diag *diag);
enum tide_err tide_server_start(struct tide_server *server, struct tide_diag *diag);
void tide_server_free(struct tide_server *server); // ends all connections; NULL is fine

// The address of the page, with the token. Lives as long as the server.
const char *tide_server_url(const struct tide_server *server);

// The same without the token, for whoever needs none, and the token. Live as long as the server.
const char *tide_server_base_url(const struct tide_server *server);
const char *tide_server_token(const struct tide_server *server);

// What a thread with descriptors of its own must keep, before it starts the server.
int tide_server_fd(const struct tide_server *server);

uint16_t tide_server_port(const struct tide_server *server);

// An address that leads to that one, once and for this user's own processes (and root's) alone: for
// a browser's command line, which others can read.
const char *tide_server_ticket_url(const struct tide_server *server);

// Waits until there is something to do, at most so many milliseconds; tide_server_turn() then does
// it. While it waits, the signal mask is the one given (NULL: as it is); a signal that is handled
// ends the wait. True: another thread did, by wake_fd.
bool tide_server_await(struct tide_server *server, int wait_ms, const sigset_t *mask);
void tide_server_turn(struct tide_server *server);

// How many requests were let in so far.
uint64_t tide_server_n_asked(const struct tide_server *server);
