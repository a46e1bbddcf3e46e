// SPDX-License-Identifier: Apache-2.0
//
// tidemark view: the page of a capture, or of two, served until Ctrl-C. The address is the one line
// on standard output; what we have to say goes to standard error.
#include "base/alloc.h"
#include "cli/browser.h"
#include "cli/capture_open.h"
#include "cli/commands.h"
#include "cli/naming_open.h"
#include "cli/progress.h"
#include "cli/rules_open.h"
#include "cli/terminal.h"
#include "page/embedded_page.h"
#include "serve/serving.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINGER_S = 5 * 60, PORT_MAX = 65535 };

struct showing {
  const struct tide_arguments *arguments;
  struct tide_rules *rules;
  struct tide_exhibit_source source;
  struct tide_routes routes;
  struct tide_server *server;
};

// ---- where captures and names come from ----

static enum tide_err open_capture(void *context, const char *path,
                                  struct tide_capture **ret_capture, struct tide_diag *diag)
{
  struct tide_opened opened;
  enum tide_err err = tide_capture_open(path, &opened, diag);
  if (err)
    return err;
  *ret_capture = opened.capture;
  opened.capture = NULL;
  tide_opened_done(&opened);
  return TIDE_ERR_OK;
}

static struct tide_naming *name_image(void *context, const struct tide_image *image)
{
  const struct showing *showing = context;
  return tide_naming_open(showing->arguments, image, showing->rules);
}

static void named(void *context)
{
  tide_progress_stop();
}

// ---- what was asked for ----

// A link that the page offers as it is: nothing that a browser would run.
static enum tide_err check_editor(const char *template, struct tide_diag *diag)
{
  size_t n = template ? strspn(template, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789+-.")
                      : 0;
  if (template && (n == 0 || strncmp(template + n, "://", 3) != 0 || !strstr(template, "%f")))
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "\"%s\" is no link to an editor; one is vscode://file%%f:%%l, with %%f for "
                     "the file and %%l for the line",
                     template);
  return TIDE_ERR_OK;
}

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

static const char *editor_of(const struct tide_arguments *arguments)
{
  const char *template = arguments->editor ? arguments->editor : getenv("TIDEMARK_EDITOR");
  return template && *template ? template : NULL;
}

static enum tide_err open_exhibits(struct showing *showing, struct tide_diag *diag)
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
        tide_routes_add(&showing->routes, &showing->source, path, arguments->process, diag);
    if (err)
      return err;
  }
  return TIDE_ERR_OK;
}

// ---- serving ----

static enum tide_err start(struct showing *showing, struct tide_diag *diag)
{
  const struct tide_arguments *arguments = showing->arguments;
  const struct tide_embedded_page *page = tide_embedded_page();
  enum tide_err err = tide_embedded_page_check(page, diag);
  if (err)
    return err;
  tide_routes_init(&showing->routes, page);
  showing->routes.editor = editor_of(arguments);
  err = check_view_arguments(arguments, diag);
  if (!err)
    err = check_editor(showing->routes.editor, diag);
  if (!err)
    err = tide_rules_open(arguments, &showing->rules, diag);
  if (!err)
    err = open_exhibits(showing, diag);
  if (err)
    return err;
  const struct tide_server_options options = {
      .address = arguments->listen ? arguments->listen : "127.0.0.1",
      .port = (uint16_t)arguments->port,
      .answer = tide_routes_answer,
      .context = &showing->routes,
  };
  return tide_server_new(&options, &showing->server, diag);
}

// To a browser on another machine.
static void tell_way(const struct showing *showing)
{
  const char *address = showing->arguments->listen;
  TIDE_CLEANUP_FREE char *command = tide_browser_forwarding(tide_server_port(showing->server));
  if (command && (!address || strcmp(address, "127.0.0.1") == 0))
    tide_say("for a browser on your machine, run there: %s", command);
}

static void say_address(const struct showing *showing)
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
    tell_way(showing);
  else if (!arguments->no_open && !tide_browser_open(tide_server_ticket_url(showing->server)))
    tide_say("cannot start a browser; open the address yourself");
}

// Goes on in the background, and holds on to nothing of whoever started us.
static void detach(void)
{
  pid_t pid = fork();
  if (pid > 0)
    _exit(0); // not exit(): the server is the child's now
  if (pid < 0)
    return; // then in the foreground
  setsid();
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2 && null >= 0; fd++)
    dup2(null, fd);
  if (null > 2)
    close(null);
}

int tide_cmd_view(const struct tide_arguments *arguments)
{
  struct showing showing = {.arguments = arguments};
  struct tide_diag diag = {0};
  showing.source = (struct tide_exhibit_source){&showing, open_capture, name_image, named};
  enum tide_err err = start(&showing, &diag);
  if (!err) {
    tide_serving_hear_signals();
    say_address(&showing);
    if (arguments->detach)
      detach();
    tide_serving_run(showing.server, &showing.routes, arguments->detach ? LINGER_S : 0);
  }
  tide_server_free(showing.server);
  tide_routes_done(&showing.routes);
  tide_rules_free(showing.rules);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
