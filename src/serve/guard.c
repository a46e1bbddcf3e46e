// SPDX-License-Identifier: Apache-2.0
//
// See guard.h.
#define _GNU_SOURCE
#include "serve/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

enum { TOKEN_BYTES = TIDE_TOKEN_CHARS / 2, HOST_MAX = 128 };

static enum tide_err draw_secret(char secret[TIDE_TOKEN_MAX + 1], struct tide_diag *diag)
{
  uint8_t bytes[TOKEN_BYTES];
  ssize_t n;
  do
    n = getrandom(bytes, sizeof bytes, 0);
  while (n < 0 && errno == EINTR);
  if (n != (ssize_t)sizeof bytes)
    return tide_fail_errno(diag, "cannot draw a random token");
  for (size_t i = 0; i < sizeof bytes; i++)
    snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
  return TIDE_ERR_OK;
}

enum tide_err tide_guard_set_token(struct tide_guard *guard, const char *token,
                                   struct tide_diag *diag)
{
  size_t n = strlen(token);
  if (n < TIDE_TOKEN_MIN || n > TIDE_TOKEN_MAX ||
      strspn(token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~") != n)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "a token has %d to %d letters, digits and -._~ in one line; "
                     "'openssl rand -hex 16' makes one",
                     TIDE_TOKEN_MIN, TIDE_TOKEN_MAX);
  memcpy(guard->token, token, n + 1);
  return TIDE_ERR_OK;
}

enum tide_err tide_guard_draw(struct tide_guard *guard, struct tide_diag *diag)
{
  enum tide_err err = *guard->token ? TIDE_ERR_OK : draw_secret(guard->token, diag);
  return err ? err : draw_secret(guard->ticket, diag);
}

bool tide_guard_is_loopback(const char *address)
{
  struct in_addr v4;
  struct in6_addr v6;
  if (inet_pton(AF_INET, address, &v4) == 1)
    return ntohl(v4.s_addr) >> 24 == 127;
  return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static bool is_address(const char *text)
{
  struct in_addr v4;
  struct in6_addr v6;
  return inet_pton(AF_INET, text, &v4) == 1 || inet_pton(AF_INET6, text, &v6) == 1;
}

static bool is_any(const char *address)
{
  return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

// Whoever listens on every address is asked by any of them, but by no name: an address in Host
// cannot be another site's.
static bool is_ours(const struct tide_guard *guard, const char *name)
{
  if (strcasecmp(name, "localhost") == 0 || tide_guard_is_loopback(name))
    return true;
  return is_any(guard->address) ? is_address(name) : strcasecmp(name, guard->address) == 0;
}

// The name in "name:port", "[v6]:port", or either without a port, which is then the protocol's own.
static bool take_name(const char *host, char name[HOST_MAX])
{
  bool bracketed = host[0] == '[';
  size_t n = strcspn(host, bracketed ? "]" : ":");
  const char *port = host + n + (bracketed && host[n] ? 1 : 0);
  if (n >= HOST_MAX || (bracketed && host[n] != ']'))
    return false;
  if (*port && (*port != ':' || !port[1] || strspn(port + 1, "0123456789") != strlen(port + 1)))
    return false;
  memcpy(name, host + bracketed, n - bracketed);
  name[n - bracketed] = 0;
  return *name && bracketed == !!strchr(name, ':'); // brackets are for v6, and nothing else
}

bool tide_guard_host(const struct tide_guard *guard, const char *host)
{
  char name[HOST_MAX];
  return host && take_name(host, name) && is_ours(guard, name);
}

bool tide_guard_origin(const char *origin, const char *host)
{
  static const char scheme[] = "http://";
  if (!origin)
    return true;
  return strncasecmp(origin, scheme, sizeof scheme - 1) == 0 && host &&
         strcasecmp(origin + sizeof scheme - 1, host) == 0;
}

// Is this how a text begins? Takes as long for one that is nearly right as for any other.
static bool begins_with_secret(const char *text, const char *secret)
{
  size_t n = strlen(secret);
  if (!n || strnlen(text, n) < n)
    return false;
  unsigned differing = 0;
  for (size_t i = 0; i < n; i++)
    differing |= (unsigned char)text[i] ^ (unsigned char)secret[i];
  return !differing;
}

// What follows "/SECRET"; NULL when it is not that.
static const char *after_secret(const char *secret, const char *url)
{
  return url[0] == '/' && begins_with_secret(url + 1, secret) ? url + 1 + strlen(secret) : NULL;
}

bool tide_guard_bearer(const struct tide_guard *guard, const char *authorization)
{
  static const char scheme[] = "Bearer ";
  size_t n = sizeof scheme - 1;
  return authorization && strncasecmp(authorization, scheme, n) == 0 &&
         strlen(authorization + n) == strlen(guard->token) &&
         begins_with_secret(authorization + n, guard->token);
}

bool tide_guard_is_cross_site(const char *fetch_site)
{
  return fetch_site && strcmp(fetch_site, "same-origin") != 0 && strcmp(fetch_site, "none") != 0;
}

const char *tide_guard_path(const struct tide_guard *guard, const char *url)
{
  const char *rest = after_secret(guard->token, url);
  return rest && (*rest == 0 || *rest == '/') ? rest : NULL;
}

bool tide_guard_is_ticket(const struct tide_guard *guard, const char *url)
{
  const char *rest = after_secret(guard->ticket, url);
  return rest && *rest == 0;
}
