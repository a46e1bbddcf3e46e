// SPDX-License-Identifier: Apache-2.0
//
// See showing.h.
#define _GNU_SOURCE
#include "cli/showing.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "page/html_report.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- where captures and names come from ----

static enum tide_err open_capture(void *context, const char *path,
                                  struct tide_capture **ret_capture, struct tide_diag *diag)
{
  const struct tide_showing *showing = context;
  struct tide_opened opened;
  enum tide_err err = tide_capture_open(showing->arguments, path, &opened, diag);
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
  // Profilers need no page.
  enum tide_err err =
      arguments->serve ? TIDE_ERR_OK : tide_embedded_page_check(tide_embedded_page(), diag);
  return err ? err : check_editor(editor_of(arguments), diag);
}

// ---- showing ----

enum tide_err tide_showing_init(struct tide_showing *showing,
                                const struct tide_arguments *arguments, struct tide_diag *diag)
{
  *showing = (struct tide_showing){
      .arguments = arguments,
      .namer = {showing, name_image, named},
      .opener = {showing, open_capture},
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

// ---- where to listen ----

enum { PROFILERS_PORT = 6060, PORT_MAX = 65535 };

// "127.0.0.1:6060", "[::1]:6060", ":6060", "6060" or "127.0.0.1". Gives the address; free() it.
static char *parse_place(const char *text, uint16_t *ret_port)
{
  const char *colon = strrchr(text, ':');
  bool is_number = *text && !text[strspn(text, "0123456789")];
  bool has_port = colon && (text[0] == '[' ? colon[-1] == ']' : colon == strchr(text, ':'));
  const char *port = is_number ? text : has_port ? colon + 1 : NULL;
  unsigned long n = port && strlen(port) < 7 ? strtoul(port, NULL, 10) : 0;
  if (port && (!*port || port[strspn(port, "0123456789")] || n > PORT_MAX))
    return NULL;
  *ret_port = port ? (uint16_t)n : PROFILERS_PORT;
  size_t n_address = is_number ? 0 : has_port ? (size_t)(colon - text) : strlen(text);
  if (!n_address)
    return tide_strdup("127.0.0.1");
  if (text[0] == '[' && text[n_address - 1] == ']')
    return tide_strndup(text + 1, n_address - 2);
  return tide_strndup(text, n_address);
}

static void say_profilers(const struct tide_showing *showing, const char *address)
{
  const char *url = tide_server_base_url(showing->server);
  if (showing->arguments->quiet)
    return;
  tide_say("profiles are at %sdebug/pprof/heap , the page at %stidemark/", url, url);
  if (showing->arguments->token_file)
    tide_say("whoever is not you on this machine needs the token in %s",
             showing->arguments->token_file);
  else
    tide_say("whoever is not you on this machine needs the token: Authorization: Bearer %s",
             tide_server_token(showing->server));
  if (!tide_guard_is_loopback(address))
    tide_say("it can be reached from other machines, unencrypted");
}

static enum tide_err listen_for_profilers(struct tide_showing *showing, int wake_fd,
                                          struct tide_diag *diag)
{
  const struct tide_arguments *arguments = showing->arguments;
  uint16_t port = 0;
  TIDE_CLEANUP_FREE char *address = parse_place(arguments->serve, &port);
  TIDE_CLEANUP_FREE char *token = NULL;
  if (!address)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "\"%s\" is nowhere to serve; 127.0.0.1:6060, [::1]:6060 and 6060 are",
                     arguments->serve);
  enum tide_err err =
      arguments->token_file ? tide_token_read(arguments->token_file, &token, diag) : TIDE_ERR_OK;
  if (err)
    return err;
  const struct tide_server_options options = {
      .address = address,
      .port = port,
      .is_open = true,
      .token = token,
      .wake_fd = wake_fd,
      .answer = tide_routes_answer,
      .context = &showing->routes,
  };
  err = tide_server_new(&options, &showing->server, diag);
  showing->routes.serves_profilers = true;
  if (!err)
    say_profilers(showing, address);
  return err;
}

enum tide_err tide_showing_listen(struct tide_showing *showing, int wake_fd, struct tide_diag *diag)
{
  const struct tide_arguments *arguments = showing->arguments;
  if (arguments->serve)
    return listen_for_profilers(showing, wake_fd, diag);
  const struct tide_server_options options = {
      .address = arguments->listen ? arguments->listen : "127.0.0.1",
      .port = (uint16_t)arguments->port,
      .wake_fd = wake_fd,
      .answer = tide_routes_answer,
      .context = &showing->routes,
  };
  enum tide_err err = tide_server_new(&options, &showing->server, diag);
  return err ? err : tide_server_start(showing->server, diag);
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

// ---- the user's browser ----
//
// BROWSER is a shell command, or several separated by colons of which the first is taken; %s in it
// stands for the address. Without it xdg-open knows. Forked twice, so that the browser is nobody's
// child here and no zombie stays: not even that of `run --wait`, which is the parent of every
// orphan of its own, but only of those that come after it has become that.

static bool is_set(const char *variable)
{
  const char *value = getenv(variable);
  return value && *value;
}

bool tide_browser_is_here(void)
{
  if (is_set("BROWSER"))
    return true;
  bool far = is_set("SSH_CONNECTION") || is_set("SSH_TTY");
  return !far && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
}

// SSH_CONNECTION is the address and port of the other end, then of this one.
char *tide_browser_forwarding(uint16_t port)
{
  char address[64] = "";
  unsigned ssh_port = 0;
  const char *connection = getenv("SSH_CONNECTION");
  if (!connection || sscanf(connection, "%*s %*s %63s %5u", address, &ssh_port) != 2)
    return NULL;
  const char *user = is_set("USER") ? getenv("USER") : getenv("LOGNAME");
  TIDE_CLEANUP_FREE char *other_port = ssh_port == 22 ? NULL : tide_sprintf(" -p %u", ssh_port);
  return tide_sprintf("ssh -L %u:127.0.0.1:%u%s %s%s%s", port, port, other_port ? other_port : "",
                      user ? user : "", user ? "@" : "", address);
}

// A script for sh whose first argument is the address. Owned.
static char *script(void)
{
  const char *wanted = getenv("BROWSER");
  const char *browser = wanted && *wanted ? wanted : "xdg-open";
  TIDE_CLEANUP_FREE char *first = tide_strndup(browser, strcspn(browser, ":"));
  struct tide_buf text = {0};
  const char *at = first;
  bool has_place = false;
  for (const char *place; (place = strstr(at, "%s")); at = place + 2) {
    tide_buf_append(&text, at, (size_t)(place - at));
    tide_buf_text(&text, "\"$1\"");
    has_place = true;
  }
  tide_buf_printf(&text, "%s%s", at, has_place ? "" : " \"$1\"");
  char *result = tide_strdup(tide_buf_cstr(&text));
  tide_buf_done(&text);
  return result;
}

// The address, up to the newline that ends it; false: nobody sent one.
static bool read_url(int fd, char *url, size_t size)
{
  for (size_t i = 0; i < size && read(fd, url + i, 1) == 1; i++)
    if (url[i] == '\n') {
      url[i] = 0;
      return true;
    }
  return false;
}

// In the child: never returns.
static void become_browser(int fd, const char *command)
{
  char url[512];
  sigset_t none;
  sigemptyset(&none);
  setsid();
  if (fork() != 0)
    _exit(0);
  int null = open("/dev/null", O_RDWR);
  for (int i = 0; i <= 2 && null >= 0; i++)
    dup2(null, i);
  fd = dup2(fd, 3);
  close_range(4, ~0U, 0);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (!read_url(fd, url, sizeof url))
    _exit(0);
  close(fd);
  execl("/bin/sh", "sh", "-c", command, "sh", url, (char *)NULL);
  _exit(127);
}

int tide_browser_prepare(void)
{
  TIDE_CLEANUP_FREE char *command = script();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC))
    return -1;
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[1]);
    become_browser(ends[0], command);
  }
  close(ends[0]);
  if (pid > 0 && waitpid(pid, NULL, 0) == pid)
    return ends[1];
  close(ends[1]);
  return -1;
}

bool tide_browser_open(int fd, const char *url)
{
  if (fd < 0)
    return false;
  TIDE_CLEANUP_FREE char *line = url ? tide_sprintf("%s\n", url) : NULL;
  bool sent = line && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
  close(fd);
  return sent;
}
