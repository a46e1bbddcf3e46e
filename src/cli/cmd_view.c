// SPDX-License-Identifier: Apache-2.0
//
// tidemark view: the page of a capture, or of two, served until Ctrl-C. The address is the one line
// on standard output; what we have to say goes to standard error.
#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/opening.h"
#include "cli/showing.h"
#include "cli/terminal.h"
#include "serve/routes.h"

#include <stdio.h>
#include <unistd.h>

enum { PORT_MAX = 65535 };

static enum tide_err check_view_arguments(const struct tide_arguments *arguments,
                                          struct tide_diag *diag)
{
  if (arguments->n_rest > TIDE_ROUTES_MAX_CAPTURES)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "one file, or two to compare: \"%s\" is one too many; 'tidemark merge' adds "
                     "files up",
                     arguments->rest[TIDE_ROUTES_MAX_CAPTURES]);
  if (arguments->port > PORT_MAX)
    return tide_fail(diag, TIDE_ERR_USAGE, "--port takes a number up to %d", PORT_MAX);
  return TIDE_ERR_OK;
}

static enum tide_err open_exhibits(struct tide_showing *showing, struct tide_diag *diag)
{
  const struct tide_arguments *arguments = showing->arguments;
  TIDE_CLEANUP_FREE char *newest = arguments->n_rest ? NULL : tide_capture_newest();
  size_t n = arguments->n_rest ? arguments->n_rest : 1;
  if (newest)
    tide_say("reading %s", newest);
  else if (!arguments->n_rest)
    return tide_capture_none(diag);
  for (size_t i = 0; i < n; i++) {
    const char *path = newest ? newest : arguments->rest[i];
    enum tide_err err =
        tide_showing_add(showing, tide_file_source_new(path, &showing->opener), diag);
    if (err)
      return err;
  }
  return TIDE_ERR_OK;
}

static enum tide_err start_showing(struct tide_showing *showing,
                                   const struct tide_arguments *arguments, struct tide_diag *diag)
{
  enum tide_err err = check_view_arguments(arguments, diag);
  if (!err)
    err = tide_showing_init(showing, arguments, diag);
  if (!err)
    err = open_exhibits(showing, diag);
  return err ? err : tide_showing_listen(showing, 0, diag);
}

static void say_address(const struct tide_showing *showing)
{
  const struct tide_arguments *arguments = showing->arguments;
  const char *url = tide_server_url(showing->server);
  const char *end =
      arguments->detach ? "it ends five minutes after the last look" : "Ctrl-C ends it";
  printf("%s\n", url);
  fflush(stdout);
  if (arguments->listen && !tide_guard_is_loopback(arguments->listen))
    tide_say(
        "the page can be reached from other machines, unencrypted, by whoever has its address");
  if (isatty(STDOUT_FILENO))
    tide_say("the page is at this address; %s", end);
  else
    tide_say("the page is at %s ; %s", url, end);
  if (!tide_browser_is_here())
    tide_showing_say_way(showing);
  else if (!arguments->no_open &&
           !tide_browser_open(tide_browser_prepare(), tide_server_ticket_url(showing->server)))
    tide_say("cannot start a browser; open the address yourself");
}

// Where there can be no other process, in the foreground.
static void detach(void)
{
  pid_t pid = fork();
  if (pid > 0)
    _exit(0); // not exit(): the server is the child's now
  if (pid == 0)
    tide_showing_detach();
}

int tide_cmd_view(const struct tide_arguments *arguments)
{
  struct tide_showing showing = {0};
  struct tide_diag diag = {0};
  enum tide_err err = start_showing(&showing, arguments, &diag);
  if (!err) {
    tide_serving_hear_signals();
    say_address(&showing);
    if (arguments->detach)
      detach();
    tide_serving_run(showing.server, &showing.routes,
                     arguments->detach ? TIDE_SHOWING_LINGER_S : 0);
  }
  tide_showing_done(&showing);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
