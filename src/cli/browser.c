// SPDX-License-Identifier: Apache-2.0
//
// BROWSER is a shell command, or several separated by colons of which the first is taken; %s in it
// stands for the address. Without it xdg-open knows. Forked twice, so that the browser is nobody's
// child here and no zombie stays: not even that of `run --wait`, which is the parent of every
// orphan of its own, but only of those that come after it has become that.
#define _GNU_SOURCE
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
