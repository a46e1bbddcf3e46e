// SPDX-License-Identifier: Apache-2.0
//
// See exchange.h.
#define _GNU_SOURCE
#include "remote/exchange.h"

#include "base/alloc.h"
#include "base/units.h"
#include "remote/curl_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_REDIRECTIONS = 5, SLOW_S = 30, FIRST_FINAL_STATUS = 200 };

struct exchanging {
  const struct tide_exchange_ask *ask;
  struct tide_exchange *answer;
  bool is_too_large, is_given_up;
};

char *tide_url_shown(const char *url)
{
  const char *host = strstr(url, "://");
  host = host ? host + 3 : url;
  size_t n = strcspn(host, "/?#");
  const char *at = memrchr(host, '@', n);
  return at ? tide_sprintf("%.*s%s", (int)(host - url), url, at + 1) : tide_strdup(url);
}

// ---- what libcurl calls ----

static size_t take_body(char *bytes, size_t size, size_t n, void *context)
{
  struct exchanging *x = context;
  n *= size;
  if (n > x->ask->max_bytes - x->answer->body.n) {
    x->is_too_large = true;
    return 0;
  }
  tide_buf_append(&x->answer->body, bytes, n);
  return n;
}

// The value of a header of that name, without spaces around it; false: it is another one.
static bool header_is(const char *line, size_t n, const char *name, char *value, size_t max)
{
  size_t n_name = strlen(name);
  if (n <= n_name || line[n_name] != ':' || strncasecmp(line, name, n_name) != 0)
    return false;
  line += n_name + 1;
  n -= n_name + 1;
  for (; n && (*line == ' ' || *line == '\t'); line++)
    n--;
  while (n && (line[n - 1] == '\r' || line[n - 1] == '\n' || line[n - 1] == ' '))
    n--;
  snprintf(value, max, "%.*s", (int)(n < max ? n : max - 1), line);
  return true;
}

static size_t give_body(char *to, size_t size, size_t n, void *context)
{
  const struct tide_exchange_ask *ask = ((struct exchanging *)context)->ask;
  size_t got = ask->read(ask->read_context, to, size * n);
  return got == SIZE_MAX ? CURL_READFUNC_ABORT : got;
}

static size_t take_header(char *line, size_t size, size_t n, void *context)
{
  struct tide_exchange *answer = ((struct exchanging *)context)->answer;
  char seconds[16];
  n *= size;
  if (n > 5 && strncmp(line, "HTTP/", 5) == 0) { // of another answer: what was redirected
    answer->type[0] = answer->grpc_status[0] = answer->grpc_message[0] = 0;
    answer->retry_s = 0;
  }
  if (header_is(line, n, "Retry-After", seconds, sizeof seconds) &&
      !seconds[strspn(seconds, "0123456789")] && strlen(seconds) < 6)
    answer->retry_s = (uint32_t)strtoul(seconds, NULL, 10);
  header_is(line, n, "Content-Type", answer->type, sizeof answer->type);
  header_is(line, n, "Grpc-Status", answer->grpc_status, sizeof answer->grpc_status);
  header_is(line, n, "Grpc-Message", answer->grpc_message, sizeof answer->grpc_message);
  return n;
}

static int look_up(void *context, curl_off_t to, curl_off_t done, curl_off_t up_to, curl_off_t up)
{
  struct exchanging *x = context;
  x->is_given_up |= x->ask->is_over && x->ask->is_over(x->ask->context);
  return x->is_given_up;
}

// ---- what went wrong ----

static enum tide_err say_unreachable(CURL *curl, const char *shown, struct tide_diag *diag)
{
  long sys = 0;
  tide_curl.easy_getinfo(curl, CURLINFO_OS_ERRNO, &sys);
  return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                   "nobody answers at %s: %s; does the service run, and listen there?", shown,
                   sys ? strerror((int)sys) : "cannot connect");
}

static enum tide_err say_failure(CURL *curl, CURLcode code, const struct exchanging *x,
                                 const char *shown, const char *words, struct tide_diag *diag)
{
  const char *why = *words ? words : tide_curl.easy_strerror(code);
  if (x->is_given_up)
    return tide_fail(diag, TIDE_ERR_LIMIT, "%s was given up", shown);
  char most[TIDE_UNITS_MAX];
  if (x->is_too_large)
    return tide_fail(
        diag, TIDE_ERR_LIMIT, "the answer of %s is larger than %s: not taken", shown,
        tide_units_bytes(most, tide_exact((int64_t)x->ask->max_bytes), TIDE_STYLE_PLAIN));
  switch (code) {
  case CURLE_URL_MALFORMAT:
  case CURLE_UNSUPPORTED_PROTOCOL:
    return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is no address of HTTP: http://HOST:PORT/PATH",
                     shown);
  case CURLE_COULDNT_RESOLVE_HOST:
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "no such host: %s; is it spelled as it is known here?", shown);
  case CURLE_COULDNT_RESOLVE_PROXY:
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "no such proxy on the way to %s: see http_proxy and no_proxy", shown);
  case CURLE_COULDNT_CONNECT: return say_unreachable(curl, shown, diag);
  case CURLE_OPERATION_TIMEDOUT:
    return tide_fail_hint(diag, TIDE_ERR_LIMIT, TIDE_HINT_WAIT_LONGER,
                          "%s did not answer whole in time (%u s; %zu bytes came)", shown,
                          x->ask->all_ms / 1000, x->answer->body.n);
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "the certificate of %s does not prove who it is: %s; SSL_CERT_FILE names a "
                     "file of those to trust",
                     shown, why);
  case CURLE_SSL_CONNECT_ERROR:
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "no TLS with %s: %s; is it http:// there?", shown,
                     why);
  case CURLE_TOO_MANY_REDIRECTS:
    return tide_fail(diag, TIDE_ERR_LIMIT, "%s redirects more than %d times", shown,
                     MAX_REDIRECTIONS);
  case CURLE_PARTIAL_FILE:
  case CURLE_GOT_NOTHING:
  case CURLE_RECV_ERROR:
  case CURLE_BAD_CONTENT_ENCODING:
    return tide_fail(diag, TIDE_ERR_CUT,
                     "the answer of %s ends too early, after %zu bytes (%s): ask again", shown,
                     x->answer->body.n, why);
  default: return tide_fail(diag, TIDE_ERR_SYSTEM, "no answer from %s: %s", shown, why);
  }
}

// ---- asking ----

static struct curl_slist *headers_of(const struct tide_exchange_ask *ask)
{
  struct curl_slist *list = NULL;
  for (size_t i = 0; ask->headers && ask->headers[i]; i++)
    list = tide_curl.slist_append(list, ask->headers[i]);
  if (ask->body || ask->read) // a server that waits for nothing is not waited for
    list = tide_curl.slist_append(list, "Expect:");
  return list;
}

static void set_limits(CURL *curl, const struct tide_exchange_ask *ask)
{
  tide_curl.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  tide_curl.easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); // a name that nobody resolves is not awaited
  tide_curl.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)ask->connect_ms);
  tide_curl.easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ask->all_ms);
  tide_curl.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  tide_curl.easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  tide_curl.easy_setopt(curl, CURLOPT_FOLLOWLOCATION, ask->body || ask->read ? 0L : 1L);
  tide_curl.easy_setopt(curl, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTIONS);
}

static void set_words(CURL *curl, const struct tide_exchange_ask *ask)
{
  const char *trusted = getenv("SSL_CERT_FILE");
  tide_curl.easy_setopt(curl, CURLOPT_URL, ask->url);
  tide_curl.easy_setopt(curl, CURLOPT_USERAGENT, "tidemark/" TIDE_VERSION);
  tide_curl.easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
  if (trusted && *trusted)
    tide_curl.easy_setopt(curl, CURLOPT_CAINFO, trusted);
  if (ask->token) {
    tide_curl.easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    tide_curl.easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, ask->token);
  }
  if (ask->body) {
    tide_curl.easy_setopt(curl, CURLOPT_POST, 1L);
    tide_curl.easy_setopt(curl, CURLOPT_POSTFIELDS, ask->body);
    tide_curl.easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body_bytes);
  }
}

// What is sent by pieces.
static void set_giver(CURL *curl, const struct tide_exchange_ask *ask, struct exchanging *x)
{
  CURLoption size = ask->is_put ? CURLOPT_INFILESIZE_LARGE : CURLOPT_POSTFIELDSIZE_LARGE;
  tide_curl.easy_setopt(curl, ask->is_put ? CURLOPT_UPLOAD : CURLOPT_POST, 1L);
  tide_curl.easy_setopt(curl, size, (curl_off_t)ask->body_bytes);
  tide_curl.easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
  tide_curl.easy_setopt(curl, CURLOPT_READDATA, x);
}

static void set_takers(CURL *curl, struct exchanging *x)
{
  tide_curl.easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  tide_curl.easy_setopt(curl, CURLOPT_WRITEDATA, x);
  tide_curl.easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  tide_curl.easy_setopt(curl, CURLOPT_HEADERDATA, x);
  tide_curl.easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  tide_curl.easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_up);
  tide_curl.easy_setopt(curl, CURLOPT_XFERINFODATA, x);
}

static enum tide_err perform(CURL *curl, const struct tide_exchange_ask *ask,
                             struct tide_exchange *answer, struct tide_diag *diag)
{
  struct exchanging x = {.ask = ask, .answer = answer};
  char words[CURL_ERROR_SIZE] = "";
  const char *url = NULL;
  long status = 0;
  struct curl_slist *headers = headers_of(ask);
  set_limits(curl, ask);
  set_words(curl, ask);
  set_takers(curl, &x);
  if (ask->read)
    set_giver(curl, ask, &x);
  tide_curl.easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  tide_curl.easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
  CURLcode code = tide_curl.easy_perform(curl);
  tide_curl.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  tide_curl.easy_getinfo(curl, CURLINFO_EFFECTIVE_URL, &url);
  TIDE_CLEANUP_FREE char *shown = tide_url_shown(url && *url ? url : ask->url);
  snprintf(answer->url, sizeof answer->url, "%s", shown);
  answer->status = (unsigned)status;
  if (code && ask->is_by_status && status >= FIRST_FINAL_STATUS) {
    answer->is_too_large = x.is_too_large;
    answer->is_cut = true;
    code = CURLE_OK;
  }
  enum tide_err err = code ? say_failure(curl, code, &x, answer->url, words, diag) : TIDE_ERR_OK;
  tide_curl.slist_free_all(headers);
  return err;
}

enum tide_err tide_exchange_run(const struct tide_exchange_ask *ask,
                                struct tide_exchange *ret_exchange, struct tide_diag *diag)
{
  struct tide_exchange answer = {0};
  enum tide_err err = tide_curl_load(diag);
  if (err)
    return err;
  CURL *curl = tide_curl.easy_init();
  if (!curl)
    return tide_fail(diag, TIDE_ERR_SYSTEM, "libcurl has no memory for %s", ask->url);
  err = perform(curl, ask, &answer, diag);
  tide_curl.easy_cleanup(curl);
  if (err)
    tide_exchange_done(&answer);
  else
    *ret_exchange = answer;
  return err;
}

void tide_exchange_done(struct tide_exchange *exchange)
{
  tide_buf_done(&exchange->body);
  *exchange = (struct tide_exchange){0};
}
