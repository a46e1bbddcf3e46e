// SPDX-License-Identifier: Apache-2.0
//
// See endpoint.h.
#define _GNU_SOURCE
#include "remote/endpoint.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { OK = 200, UNAUTHORIZED = 401, FORBIDDEN = 403, NOT_FOUND = 404, UNAVAILABLE = 503 };
enum { CONNECT_MS = 10000, MAX_ASKED_S = 24 * 3600 };

// ---- addresses ----

static bool has_scheme(const char *word)
{
  return strncasecmp(word, "http://", 7) == 0 || strncasecmp(word, "https://", 8) == 0;
}

static const char host_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

// "host:6060", "[::1]:6060", and what may follow it.
static bool has_port(const char *word)
{
  bool is_v6 = *word == '[';
  size_t n_host =
      is_v6 ? strspn(word, "[0123456789abcdefABCDEF:.%") : strspn(word, host_characters);
  n_host += is_v6 && n_host > 1 && word[n_host] == ']';
  if (!n_host || word[n_host] != ':' || (is_v6 && word[n_host - 1] != ']'))
    return false;
  size_t n_port = strspn(word + n_host + 1, "0123456789");
  char end = word[n_host + 1 + n_port];
  return n_port >= 1 && n_port <= 5 && (end == 0 || end == '/' || end == '?');
}

bool tide_address_is(const char *word)
{
  return has_scheme(word) || (has_port(word) && access(word, F_OK) != 0);
}

char *tide_address_complete(const char *address, bool *ret_is_open)
{
  TIDE_CLEANUP_FREE char *url =
      has_scheme(address) ? tide_strdup(address) : tide_sprintf("http://%s", address);
  const char *host = strstr(url, "://") + 3;
  const char *path = host + strcspn(host, "/?#");
  size_t n_path = strcspn(path, "?#");
  const char *rest = path + n_path;
  static const char index[] = "/debug/pprof";
  size_t n = n_path;
  while (n && path[n - 1] == '/')
    n--;
  bool is_index =
      n >= sizeof index - 1 && strncmp(path + n - (sizeof index - 1), index, sizeof index - 1) == 0;
  // What ends with a slash is where the profiles are, perhaps with a token.
  *ret_is_open = !is_index && (n_path == 0 || path[n_path - 1] == '/');
  if (is_index)
    return tide_sprintf("%.*s/heap%s", (int)(path + n - url), url, rest);
  if (*ret_is_open)
    return tide_sprintf("%.*s/debug/pprof/heap%s", (int)(path + n - url), url, rest);
  return tide_strdup(url);
}

// The same of gperftools: "/debug/pprof/heap" becomes "/pprof/heap".
static char *as_gperftools(const char *url)
{
  const char *at = strstr(url, "/debug/pprof/heap");
  return tide_sprintf("%.*s%s", (int)(at - url), url, at + strlen("/debug"));
}

// How long the service is asked to wait before it answers.
static uint32_t asked_to_wait_s(const char *url)
{
  const char *query = strchr(url, '?');
  const char *found = query ? strstr(query, "seconds=") : NULL;
  if (!found || (found[-1] != '?' && found[-1] != '&'))
    return 0;
  unsigned long seconds = strtoul(found + strlen("seconds="), NULL, 10);
  return seconds < MAX_ASKED_S ? (uint32_t)seconds : MAX_ASKED_S;
}

// ---- answers ----

// What a service says of its failure: its first line, as far as that is text.
static void first_line(const struct tide_buf *body, char *out, size_t max)
{
  size_t n = 0;
  while (n < body->n && n + 1 < max && body->data[n] != '\n' && body->data[n] != '\r' &&
         body->data[n] >= ' ' && body->data[n] < 127)
    n++;
  bool is_text = n == body->n || body->data[n] == '\n' || body->data[n] == '\r' || n + 1 == max;
  snprintf(out, max, "%.*s", is_text && n && body->data[0] != '<' ? (int)n : 0,
           (const char *)body->data);
}

static enum tide_err judge_status(const struct tide_exchange *x, bool has_token,
                                  struct tide_diag *diag)
{
  char said[160];
  first_line(&x->body, said, sizeof said);
  const char *colon = *said ? ": " : "";
  switch (x->status) {
  case OK: return TIDE_ERR_OK;
  case UNAUTHORIZED:
  case FORBIDDEN:
    return tide_fail_hint(diag, TIDE_ERR_UNSUPPORTED, has_token ? 0 : TIDE_HINT_TOKEN,
                          "%s does not let us in (HTTP %u%s%s)%s", x->url, x->status, colon, said,
                          has_token ? "; is the token the right one?" : "");
  case NOT_FOUND:
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "there is no %s (HTTP 404%s%s); heap profiles usually are at "
                     "/debug/pprof/heap or /pprof/heap",
                     x->url, colon, said);
  case UNAVAILABLE:
    return tide_fail(diag, TIDE_ERR_EMPTY, "%s has no profile now (HTTP 503%s%s): ask again later",
                     x->url, colon, said);
  default:
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "%s answers with HTTP %u instead of a profile%s%s",
                     x->url, x->status, colon, said);
  }
}

static bool is_web_page(const struct tide_exchange *x)
{
  size_t at = 0;
  while (at < x->body.n && strchr(" \t\r\n", x->body.data[at]) && x->body.data[at])
    at++;
  bool begins = at < x->body.n && x->body.data[at] == '<';
  return begins || (strncasecmp(x->type, "text/html", 9) == 0 && x->body.n);
}

enum tide_err tide_endpoint_judge(const struct tide_exchange *x, bool has_token,
                                  struct tide_diag *diag)
{
  enum tide_err err = judge_status(x, has_token, diag);
  if (!err && !x->body.n)
    err = tide_fail(diag, TIDE_ERR_EMPTY, "%s answers with nothing: is a profile to be had there?",
                    x->url);
  if (!err && is_web_page(x))
    err = tide_fail(diag, TIDE_ERR_FORMAT,
                    "%s answers with a page for people, not with a profile: heap profiles usually "
                    "are at /debug/pprof/heap or /pprof/heap, and a login may be before it",
                    x->url);
  return err;
}

static enum tide_err ask_at(const struct tide_endpoint_ask *ask, const char *url,
                            struct tide_exchange *ret_exchange, struct tide_diag *diag)
{
  const struct tide_exchange_ask whole = {
      .url = url,
      .token = ask->token,
      .connect_ms = CONNECT_MS,
      .all_ms = (ask->timeout_s + asked_to_wait_s(url)) * 1000u,
      .max_bytes = ask->max_bytes,
  };
  return tide_exchange_run(&whole, ret_exchange, diag);
}

enum tide_err tide_endpoint_fetch(const struct tide_endpoint_ask *ask,
                                  struct tide_exchange *ret_exchange, struct tide_diag *diag)
{
  bool is_open = false;
  TIDE_CLEANUP_FREE char *url = tide_address_complete(ask->address, &is_open);
  struct tide_exchange answer = {0};
  enum tide_err err = ask_at(ask, url, &answer, diag);
  if (!err && is_open && answer.status == NOT_FOUND) {
    TIDE_CLEANUP_FREE char *other = as_gperftools(url);
    struct tide_exchange second = {0};
    if (!ask_at(ask, other, &second, NULL) && second.status == OK) {
      tide_exchange_done(&answer);
      answer = second;
    } else {
      tide_exchange_done(&second);
    }
  }
  if (!err)
    err = tide_endpoint_judge(&answer, ask->token, diag);
  if (err)
    tide_exchange_done(&answer);
  else
    *ret_exchange = answer;
  return err;
}
