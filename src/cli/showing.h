// SPDX-License-Identifier: Apache-2.0
//
// A page that is shown, of files or of a run: names as the command line says, a server, and what is
// said about its address.
#pragma once
#include "cli/arguments.h"
#include "serve/file_source.h"
#include "serve/routes.h"
#include "serve/server.h"
#include "view/rules.h"

struct tide_showing {
  const struct tide_arguments *arguments;
  struct tide_rules *rules;
  struct tide_exhibit_namer namer;
  struct tide_file_opener opener;
  struct tide_routes routes;
  struct tide_server *server; // NULL: not yet
};

// How long a page in the background is kept when nobody looks at it.
enum { TIDE_SHOWING_LINGER_S = 5 * 60 };

// What was asked for, looked at without doing anything: the page was built in, the editor's link
// is one.
enum tide_err tide_showing_check(const struct tide_arguments *arguments, struct tide_diag *diag);

// Without any capture yet. The showing must not move from then on.
enum tide_err tide_showing_init(struct tide_showing *showing,
                                const struct tide_arguments *arguments, struct tide_diag *diag);
void tide_showing_done(struct tide_showing *showing); // all zero is fine

// Takes the source over.
enum tide_err tide_showing_add(struct tide_showing *showing, struct tide_source *source,
                               struct tide_diag *diag);

// Listens, on the address and port of the arguments. wake_fd: as the server's option.
enum tide_err tide_showing_listen(struct tide_showing *showing, int wake_fd,
                                  struct tide_diag *diag);

// Over ssh: says by which command a browser on the user's own machine gets here.
void tide_showing_say_way(const struct tide_showing *showing);

// The process goes on in the background, and holds on to nothing of whoever started it: this is
// the first thing of a child.
void tide_showing_detach(void);
