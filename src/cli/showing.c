// SPDX-License-Identifier: Apache-2.0
//
// See showing.h.
#include "cli/showing.h"

#include "base/alloc.h"
#include "cli/browser.h"
#include "cli/capture_open.h"
#include "cli/naming_open.h"
#include "cli/terminal.h"
#include "page/html_report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
  const struct tide_showing *showing = context;
  return tide_naming_open(showing->arguments, image, showing->rules);
}

static void named(void *context)
{
  tide_progress_stop();
}

// ---- what was asked for ----

static const char *editor_of(const struct tide_arguments *arguments)
{
  const char *template = arguments->editor ? arguments->editor : getenv("TIDEMARK_EDITOR");
  return template && *template ? template : NULL;
}

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

enum tide_err tide_showing_check(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  enum tide_err err = tide_embedded_page_check(tide_embedded_page(), diag);
  return err ? err : check_editor(editor_of(arguments), diag);
}

// ---- showing ----

enum tide_err tide_showing_init(struct tide_showing *showing,
                                const struct tide_arguments *arguments, struct tide_diag *diag)
{
  *showing = (struct tide_showing){
      .arguments = arguments,
      .namer = {showing, name_image, named},
      .opener = {NULL, open_capture},
  };
  enum tide_err err = tide_showing_check(arguments, diag);
  if (!err)
    err = tide_rules_open(arguments, &showing->rules, diag);
  if (err)
    return err;
  tide_routes_init(&showing->routes, tide_embedded_page());
  showing->routes.editor = editor_of(arguments);
  return TIDE_ERR_OK;
}

void tide_showing_done(struct tide_showing *showing)
{
  tide_server_free(showing->server);
  tide_routes_done(&showing->routes);
  tide_rules_free(showing->rules);
  *showing = (struct tide_showing){0};
}

enum tide_err tide_showing_add(struct tide_showing *showing, struct tide_source *source,
                               struct tide_diag *diag)
{
  return tide_routes_add(&showing->routes, source, &showing->namer, showing->arguments->process,
                         diag);
}

enum tide_err tide_showing_listen(struct tide_showing *showing, int wake_fd, struct tide_diag *diag)
{
  const struct tide_arguments *arguments = showing->arguments;
  const struct tide_server_options options = {
      .address = arguments->listen ? arguments->listen : "127.0.0.1",
      .port = (uint16_t)arguments->port,
      .wake_fd = wake_fd,
      .answer = tide_routes_answer,
      .context = &showing->routes,
  };
  return tide_server_new(&options, &showing->server, diag);
}

void tide_showing_say_way(const struct tide_showing *showing)
{
  const char *address = showing->arguments->listen;
  TIDE_CLEANUP_FREE char *command = tide_browser_forwarding(tide_server_port(showing->server));
  if (command && (!address || strcmp(address, "127.0.0.1") == 0))
    tide_say("for a browser on your machine, run there: %s", command);
}

void tide_showing_detach(void)
{
  setsid();
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2 && null >= 0; fd++)
    dup2(null, fd);
  if (null > 2)
    close(null);
}
