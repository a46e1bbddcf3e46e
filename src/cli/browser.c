// SPDX-License-Identifier: Apache-2.0
//
// BROWSER is a shell command, or several separated by colons of which the first is taken; %s in it
// stands for the address. Without it xdg-open knows. Forked twice, so that the browser is nobody's
// child here and no zombie stays.
#include "cli/browser.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

// In the child: never returns.
static void become_browser(const char *command, const char *url)
{
  sigset_t none;
  sigemptyset(&none);
  setsid();
  if (fork() != 0)
    _exit(0);
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2 && null >= 0; fd++)
    dup2(null, fd);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execl("/bin/sh", "sh", "-c", command, "sh", url, (char *)NULL);
  _exit(127);
}

bool tide_browser_open(const char *url)
{
  TIDE_CLEANUP_FREE char *command = script();
  pid_t pid = fork();
  if (pid == 0)
    become_browser(command, url);
  return pid > 0 && waitpid(pid, NULL, 0) == pid;
}
