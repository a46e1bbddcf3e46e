// SPDX-License-Identifier: Apache-2.0
//
// A page that is shown, of files or of a run: names as the command line says, a server, and what is
// said about its address.
#pragma once
#include "cli/arguments.h"
#include "serve/exhibit.h"
#include "serve/routes.h"
#include "serve/server.h"
#include "supervise/run.h"
#include "view/rules.h"

#include <stdbool.h>
#include <stdint.h>

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

// Listens, on the address and port of the arguments. wake_fd: as the server's option. Of --serve,
// says where.
enum tide_err tide_showing_listen(struct tide_showing *showing, int wake_fd,
                                  struct tide_diag *diag);

// Over ssh: says by which command a browser on the user's own machine gets here.
void tide_showing_say_way(const struct tide_showing *showing);

// The process goes on in the background, and holds on to nothing of whoever started it: this is
// the first thing of a child.
void tide_showing_detach(void);

// ---- the user's browser ----
//
// Opening the user's browser.

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

// ---- the page of a run ----
//
// The page of a run, served by a thread of the process that records it: from the first draft on, to
// the end. Then it goes on in the background, as a process of its own, while the run's ends with
// the command's status.
//
// The thread has descriptors of its own, as a process would: however many connections a page has
// and however many processes are recorded, neither takes the other's. It asks the recording by
// control.h, writes to nobody but its clients, and has no business with signals.

struct tide_live_page;

// What goes together of what was asked for.
enum tide_err tide_live_page_check(const struct tide_arguments *arguments, struct tide_diag *diag);

// Before the run, and before any thread. With --serve it listens from now on, to the run's end.
enum tide_err tide_live_page_new(const struct tide_arguments *arguments,
                                 struct tide_live_page **ret_page, struct tide_diag *diag);

// For tide_run_options, the page being the companion. It owns the control.
struct tide_control *tide_live_page_control(struct tide_live_page *page);
// What /metrics has besides; NULL: nothing, from now on. Never called after that.
void tide_live_page_set_metrics(struct tide_live_page *page,
                                void (*write)(void *context, struct tide_buf *out), void *context);
void tide_live_page_start(void *page, const char *output_path);
uint64_t tide_live_page_spent_ns(void *page);

// The run is over: shows its end, from its file or, if it has none, as it is; says where the page
// is, and leaves it in the background. A run without anything to show has no page. Frees the page
// as far as this process may: the server is the other's.
void tide_live_page_finish(struct tide_live_page *page, const struct tide_run_result *result);

// Of one that was never started.
void tide_live_page_free(struct tide_live_page *page); // NULL is fine
