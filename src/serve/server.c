// SPDX-License-Identifier: Apache-2.0
//
// libmicrohttpd, driven by the caller through select: no thread of its own. Its epoll is told of
// each change once and misses the end of a connection that closes in the middle of a request, which
// then keeps its place for a minute; select tells until it is dealt with, and there are few
// connections. We make the listening socket ourselves, for a word of our own when that fails.
//
// Limits: connections at once (guests.h), bytes of a request's head, seconds that a silent
// connection stays. Beyond the latter two libmicrohttpd refuses by itself (413, 414, 431, or it
// hangs up). A request that is not let in ends its connection.
#define _GNU_SOURCE
#include "serve/server.h"

#include "base/alloc.h"
#include "serve/guests.h"
#include "serve/http_library.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  // So many that guests are hung up on, not refused: those take a turn to be gone.
  MAX_CONNECTIONS = 2 * (TIDE_GUESTS_MAX_STRANGERS + TIDE_GUESTS_MAX_KNOWN),
  PATIENCE_MS = 10000, // with a stranger; a request takes a browser far less
  MAX_SILENT_S = 45,   // longer than a page waits between two questions
  MAX_HEAD_BYTES = 32 << 10,
  MAX_URL_CHARS = 2048,
  MAX_POSTED = 1 << 20, // of a list of addresses, 19 characters each
  BACKLOG = 1024,
};

// Of data: a browser that is led to show it as a page runs and loads nothing.
static const char data_csp[] = "default-src 'none'; frame-ancestors 'none'; sandbox";

// What is kept with a request.
struct pending {
  bool is_too_long, is_malformed; // its address
  bool is_seen;                   // its head was read
  struct tide_buf posted;
  char *query; // owned; NULL: none
  // Of one that is answered later: when, with what, and the others of that kind.
  struct MHD_Connection *suspended; // NULL: it is not
  const struct tide_guest *guest;   // whose it is, as long as it is suspended
  uint64_t due_ms;
  void *kept;
  void (*forget)(void *kept);
  struct pending *next;
};

struct tide_server {
  struct tide_server_options options;
  struct tide_guard guard;
  struct MHD_Daemon *daemon;
  int listen_fd;                    // until the daemon has it
  int served_fd;                    // the same, the daemon's
  fd_set readable, writable, other; // as the last wait left them
  struct tide_guests guests;
  struct pending *suspended; // to be answered later
  uint64_t n_asked;
  bool ticket_used;
  char *url, *base_url, *ticket_url, *page_path;
};

// ---- listening ----

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

static enum tide_err parse_address(const char *text, uint16_t port, union address *ret_address,
                                   struct tide_diag *diag)
{
  union address a = {0};
  if (inet_pton(AF_INET, text, &a.v4.sin_addr) == 1) {
    a.v4.sin_family = AF_INET;
    a.v4.sin_port = htons(port);
  } else if (inet_pton(AF_INET6, text, &a.v6.sin6_addr) == 1) {
    a.v6.sin6_family = AF_INET6;
    a.v6.sin6_port = htons(port);
  } else {
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "\"%s\" is no address to listen on; one is 127.0.0.1 or ::1", text);
  }
  *ret_address = a;
  return TIDE_ERR_OK;
}

static enum tide_err listen_failed(const char *address, uint16_t port, struct tide_diag *diag)
{
  if (errno == EADDRINUSE)
    return tide_fail_hint(diag, TIDE_ERR_EXISTS, TIDE_HINT_ANY_PORT, "port %u of %s is in use",
                          port, address);
  return tide_fail_errno(diag, "cannot listen on port %u of %s", port, address);
}

// Sets listen_fd and the guard's address and port.
static enum tide_err open_socket(struct tide_server *server, struct tide_diag *diag)
{
  const struct tide_server_options *options = &server->options;
  union address a = {0};
  enum tide_err err = parse_address(options->address, options->port, &a, diag);
  if (err)
    return err;
  socklen_t n = a.any.sa_family == AF_INET ? sizeof a.v4 : sizeof a.v6;
  int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return tide_fail_errno(diag, "cannot make a socket");
  server->listen_fd = fd;
  // A page that is reloaded after a restart must not wait for old connections to be forgotten.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
  if (bind(fd, &a.any, n) || listen(fd, BACKLOG) || getsockname(fd, &a.any, &n))
    return listen_failed(options->address, options->port, diag);
  server->guard.port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
  snprintf(server->guard.address, sizeof server->guard.address, "%s", options->address);
  return TIDE_ERR_OK;
}

// ---- a request ----

static const char *header(struct MHD_Connection *connection, const char *name)
{
  return tide_http.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static const char *parameter(void *context, const char *name)
{
  return tide_http.lookup_connection_value(context, MHD_GET_ARGUMENT_KIND, name);
}

// Does a list as in Accept-Encoding allow gzip? "gzip;q=0" does not.
static bool takes_gzip(const char *list)
{
  const char *at = list ? strcasestr(list, "gzip") : NULL;
  if (!at)
    return false;
  const char *q = at + 4;
  q += strspn(q, " \t");
  if (*q != ';')
    return true;
  q += 1 + strspn(q + 1, " \t");
  return strncasecmp(q, "q=", 2) != 0 || strtod(q + 2, NULL) > 0;
}

static void put_header(struct MHD_Response *response, const char *name, const char *value)
{
  tide_http.add_response_header(response, name, value);
}

static void put_headers(struct MHD_Response *response, const struct tide_reply *reply,
                        const char *tag)
{
  put_header(response, "Content-Type", reply->type);
  put_header(response, "Content-Security-Policy", reply->csp ? reply->csp : data_csp);
  put_header(response, "X-Content-Type-Options", "nosniff");
  put_header(response, "Referrer-Policy", "no-referrer");
  put_header(response, "Cache-Control", "no-store");
  put_header(response, "Cross-Origin-Resource-Policy", "same-origin");
  put_header(response, "Cross-Origin-Opener-Policy", "same-origin");
  put_header(response, "X-Frame-Options", "DENY");
  if (reply->is_packed)
    put_header(response, "Content-Encoding", "gzip");
  if (*tag)
    put_header(response, "ETag", tag);
  if (reply->location)
    put_header(response, "Location", reply->location);
  if (reply->source)
    put_header(response, "Tidemark-Source", reply->source);
  if (reply->is_refusal)
    put_header(response, "Connection", "close");
  if (reply->is_profilers && reply->status >= MHD_HTTP_BAD_REQUEST)
    put_header(response, "X-Go-Pprof", "1");
  if (reply->filename) {
    TIDE_CLEANUP_FREE char *how = tide_sprintf("attachment; filename=\"%s\"", reply->filename);
    put_header(response, "Content-Disposition", how);
  }
  if (reply->status == MHD_HTTP_UNAUTHORIZED)
    put_header(response, "WWW-Authenticate", "Bearer");
  if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
    put_header(response, "Allow", "GET, HEAD");
}

static void release_body(void *body)
{
  tide_body_free(body);
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, struct tide_reply *reply)
{
  char tag[32] = "";
  if (reply->tag)
    snprintf(tag, sizeof tag, "\"%" PRIx64 "%s\"", reply->tag, reply->is_packed ? "-gzip" : "");
  const char *known = *tag ? header(connection, "If-None-Match") : NULL;
  if (known && strcmp(known, tag) == 0) {
    tide_body_free(reply->body);
    reply->body = tide_body_new();
    reply->status = MHD_HTTP_NOT_MODIFIED;
  }
  struct tide_body *body = tide_body_share(reply->body);
  struct MHD_Response *response = tide_http.create_response_from_buffer_with_free_callback_cls(
      body->bytes.n, body->bytes.data, release_body, body);
  if (!response) {
    tide_body_free(body);
    return MHD_NO;
  }
  put_headers(response, reply, tag);
  enum MHD_Result result = tide_http.queue_response(connection, reply->status, response);
  tide_http.destroy_response(response);
  return result;
}

static struct tide_guest *guest_of(struct MHD_Connection *connection)
{
  const union MHD_ConnectionInfo *info =
      tide_http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

static int fd_of(struct MHD_Connection *connection)
{
  const union MHD_ConnectionInfo *info =
      tide_http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// Asked once for each connection.
static bool is_own(struct MHD_Connection *connection)
{
  struct tide_guest *guest = guest_of(connection);
  if (!guest)
    return tide_guest_is_own(fd_of(connection));
  if (!guest->own)
    guest->own = tide_guest_is_own(fd_of(connection)) ? 1 : -1;
  return guest->own > 0;
}

// What follows the token, or all of the path where that comes otherwise. NULL: nobody brings it.
static const char *path_by_token(const struct tide_server *server,
                                 struct MHD_Connection *connection, const char *url)
{
  const char *path = tide_guard_path(&server->guard, url);
  bool may_bear = server->options.is_open && !path;
  return may_bear && tide_guard_bearer(&server->guard, header(connection, "Authorization")) ? url
                                                                                            : path;
}

// What is asked for. NULL: the request has no right to anything.
static const char *path_of(const struct tide_server *server, struct MHD_Connection *connection,
                           const char *url)
{
  const char *path = path_by_token(server, connection, url);
  if (path || !server->options.is_open)
    return path;
  bool is_led = tide_guard_is_cross_site(header(connection, "Sec-Fetch-Site"));
  return !is_led && is_own(connection) ? url : NULL;
}

static void refuse_stranger(const struct tide_server *server, struct tide_reply *reply)
{
  if (!server->options.is_open) {
    tide_reply_text(reply, MHD_HTTP_NOT_FOUND,
                    "nothing is here: open the whole address that tidemark printed");
    return;
  }
  tide_reply_text(reply, MHD_HTTP_UNAUTHORIZED,
                  "this is for the user who runs tidemark, on the same machine; others bring the "
                  "token, as Authorization: Bearer TOKEN or as /TOKEN before the path");
  reply->is_profilers = true;
}

static bool is_served(const struct tide_server *server, const char *method)
{
  return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
         (server->options.is_open && strcmp(method, "POST") == 0);
}

// Monitors know a machine by its name. One that could make a browser ask by another site's name
// would not have the token.
static bool is_called_otherwise(const struct tide_server *server, struct MHD_Connection *connection,
                                const char *url)
{
  return server->options.is_open && path_by_token(server, connection, url);
}

// True: the request may be answered; otherwise the reply says why not.
static bool let_in(const struct tide_server *server, struct MHD_Connection *connection,
                   const char *url, const char *method, const struct pending *pending,
                   struct tide_reply *reply)
{
  if (!is_served(server, method))
    tide_reply_text(reply, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are served");
  else if (pending->is_malformed)
    tide_reply_text(reply, MHD_HTTP_BAD_REQUEST, "that is no address");
  else if (pending->is_too_long)
    tide_reply_text(reply, MHD_HTTP_URI_TOO_LONG, "that address is too long");
  else if (pending->posted.n > MAX_POSTED)
    tide_reply_text(reply, MHD_HTTP_CONTENT_TOO_LARGE, "at most %d bytes at once", MAX_POSTED);
  else if (!tide_guard_host(&server->guard, header(connection, "Host")) &&
           !is_called_otherwise(server, connection, url))
    tide_reply_text(reply, MHD_HTTP_FORBIDDEN,
                    "this server answers to its address only: open the one tidemark printed");
  else if (!tide_guard_origin(header(connection, "Origin"), header(connection, "Host")))
    tide_reply_text(reply, MHD_HTTP_FORBIDDEN, "this server does not answer other sites");
  else if (!path_of(server, connection, url) && !tide_guard_is_ticket(&server->guard, url))
    refuse_stranger(server, reply);
  reply->is_refusal = reply->status;
  return !reply->status;
}

static void unpack_for(struct MHD_Connection *connection, struct tide_reply *reply)
{
  struct tide_body *plain = NULL;
  struct tide_diag diag;
  if (!reply->is_packed || takes_gzip(header(connection, "Accept-Encoding")))
    return;
  if (tide_body_unpack(reply->body, &plain, &diag)) {
    tide_reply_text(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, "%s", diag.text);
    return;
  }
  tide_body_free(reply->body);
  reply->body = plain;
  reply->is_packed = false;
}

// The address as it was sent. What MHD hands on is unescaped, and would end at a NUL in it.
static void *look_at_address(void *context, const char *uri, struct MHD_Connection *connection)
{
  struct pending *pending = tide_alloc(sizeof *pending);
  pending->is_too_long = strlen(uri) > MAX_URL_CHARS;
  pending->is_malformed = strstr(uri, "%00");
  const char *query = strchr(uri, '?');
  pending->query = query && !pending->is_too_long ? tide_strdup(query + 1) : NULL;
  return pending;
}

static void forget_request(void *context, struct MHD_Connection *connection, void **request_context,
                           enum MHD_RequestTerminationCode how)
{
  struct pending *pending = *request_context;
  if (!pending)
    return;
  tide_buf_done(&pending->posted);
  free(pending->query);
  if (pending->forget)
    pending->forget(pending->kept);
  free(pending);
  *request_context = NULL;
}

static void send_on(const struct tide_server *server, struct tide_reply *reply)
{
  tide_reply_text(reply, MHD_HTTP_FOUND, "the page is at %s", server->page_path);
  reply->location = server->page_path; // without host and port, which may be forwarded ones
}

// To GET, once. What opens addresses may look at one by HEAD before it does.
static void take_ticket(struct tide_server *server, struct MHD_Connection *connection,
                        const char *method, struct tide_reply *reply)
{
  if (server->ticket_used)
    tide_reply_text(reply, MHD_HTTP_GONE,
                    "this address opened the page once and does not any more; the one that "
                    "tidemark printed does");
  else if (!is_own(connection))
    tide_reply_text(reply, MHD_HTTP_FORBIDDEN,
                    "this address is for a browser of the user who runs tidemark, on the same "
                    "machine; the one that tidemark printed is for others, too");
  else if (strcmp(method, "GET") != 0)
    tide_reply_text(reply, MHD_HTTP_OK, "this address opens the page once");
  else
    send_on(server, reply);
  server->ticket_used |= reply->location != NULL;
  reply->is_refusal = !reply->location;
}

static void welcome(struct tide_server *server, struct MHD_Connection *connection)
{
  struct tide_guest *guest = guest_of(connection);
  if (guest)
    tide_guests_let_in(&server->guests, guest);
  server->n_asked++;
}

static void answer_request(struct tide_server *server, struct MHD_Connection *connection,
                           const char *url, const char *method, struct pending *pending,
                           struct tide_reply *reply)
{
  const char *path = path_of(server, connection, url);
  bool is_post = strcmp(method, "POST") == 0;
  const struct tide_request request = {path,
                                       parameter,
                                       connection,
                                       pending->kept,
                                       is_post ? tide_buf_cstr(&pending->posted) : NULL,
                                       pending->query};
  if (!path)
    take_ticket(server, connection, method, reply);
  else if (!*path) // what is relative on the page is relative to the slash after the token
    send_on(server, reply);
  else
    server->options.answer(server->options.context, &request, reply);
  if (!reply->is_refusal)
    welcome(server, connection);
  if (reply->body)
    unpack_for(connection, reply);
}

static uint64_t now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void suspend_request(struct tide_server *server, struct MHD_Connection *connection,
                            struct pending *pending, const struct tide_reply *reply)
{
  pending->due_ms = now_ms() + reply->later_ms + 1; // no earlier
  pending->kept = reply->kept;
  pending->forget = reply->forget;
  pending->suspended = connection;
  pending->guest = guest_of(connection);
  pending->next = server->suspended;
  server->suspended = pending;
  tide_http.suspend_connection(connection);
}

// The daemon does not look at what is suspended: whoever is hung up on meanwhile would keep the
// place that somebody else was to have.
static bool is_due(const struct pending *pending, uint64_t now)
{
  return pending->due_ms <= now || (pending->guest && !pending->guest->list);
}

// Those whose time has come are asked again, or all of them.
static void resume_requests(struct tide_server *server, bool is_all)
{
  uint64_t now = now_ms();
  for (struct pending **at = &server->suspended; *at;) {
    struct pending *pending = *at;
    if (!is_all && !is_due(pending, now)) {
      at = &pending->next;
      continue;
    }
    *at = pending->next;
    tide_http.resume_connection(pending->suspended);
    pending->suspended = NULL;
  }
}

// Milliseconds to the next of them, at most so many.
static int next_due(const struct tide_server *server, int wait_ms)
{
  uint64_t now = now_ms();
  for (const struct pending *pending = server->suspended; pending; pending = pending->next) {
    uint64_t left = is_due(pending, now) ? 0 : pending->due_ms - now;
    wait_ms = left < (uint64_t)wait_ms ? (int)left : wait_ms;
  }
  return wait_ms;
}

// Comes once when the head was read, once for each piece of what was posted, and once at the end.
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_n, void **request_context)
{
  struct tide_server *server = context;
  struct tide_reply reply = {0};
  struct pending *pending = *request_context;
  bool first = !pending->is_seen;
  pending->is_seen = true;
  if (*upload_n) {
    size_t room = pending->posted.n > MAX_POSTED ? 0 : MAX_POSTED + 1 - pending->posted.n;
    tide_buf_append(&pending->posted, upload, *upload_n < room ? *upload_n : room);
    *upload_n = 0;
    return MHD_YES;
  }
  const struct tide_guest *guest = guest_of(connection);
  if (guest && !guest->list)
    return MHD_NO; // hung up on while it waited: nobody hears the answer
  bool fine = let_in(server, connection, url, method, pending, &reply);
  if (fine && first)
    return MHD_YES; // once more when the whole head is read
  if (fine)
    answer_request(server, connection, url, method, pending, &reply);
  if (reply.later_ms) {
    suspend_request(server, connection, pending, &reply);
    return MHD_YES;
  }
  enum MHD_Result result = send_reply(connection, &reply);
  tide_reply_done(&reply);
  return result;
}

// A connection begins or ends.
static void meet_client(void *context, struct MHD_Connection *connection, void **guest,
                        enum MHD_ConnectionNotificationCode what)
{
  struct tide_server *server = context;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    *guest = tide_guests_come(&server->guests, fd_of(connection));
  } else {
    tide_guests_leave(&server->guests, *guest);
    *guest = NULL;
  }
}

// ---- the server ----

enum tide_err tide_server_start(struct tide_server *server, struct tide_diag *diag)
{
  unsigned flags = MHD_ALLOW_SUSPEND_RESUME;
  if (strchr(server->guard.address, ':'))
    flags |= MHD_USE_IPv6;
  server->daemon = tide_http.start_daemon(
      flags, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, server->listen_fd,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)MAX_SILENT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MAX_HEAD_BYTES,
      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, look_at_address, NULL,
      MHD_OPTION_NOTIFY_CONNECTION, meet_client, server, MHD_OPTION_NOTIFY_COMPLETED,
      forget_request, NULL, MHD_OPTION_END);
  if (!server->daemon)
    return tide_fail(diag, TIDE_ERR_SYSTEM, "cannot start the server");
  server->listen_fd = -1; // the daemon's from now on
  return TIDE_ERR_OK;
}

// An address that means every one is no address to open: the loopback is.
static char *make_url(const struct tide_guard *guard, const char *path, const char *end)
{
  const char *host = guard->address;
  if (strcmp(host, "0.0.0.0") == 0)
    host = "127.0.0.1";
  if (strcmp(host, "::") == 0)
    host = "::1";
  bool v6 = strchr(host, ':');
  return tide_sprintf("http://%s%s%s:%u/%s%s", v6 ? "[" : "", host, v6 ? "]" : "", guard->port,
                      path, end);
}

enum tide_err tide_server_new(const struct tide_server_options *options,
                              struct tide_server **ret_server, struct tide_diag *diag)
{
  struct tide_server *server = tide_alloc(sizeof *server);
  server->options = *options;
  server->listen_fd = -1;
  server->guests.patience_ms = options->patience_ms ? options->patience_ms : PATIENCE_MS;
  enum tide_err err = tide_http_load(diag);
  if (!err && options->token)
    err = tide_guard_set_token(&server->guard, options->token, diag);
  if (!err)
    err = tide_guard_draw(&server->guard, diag);
  if (!err)
    err = open_socket(server, diag);
  if (err) {
    tide_server_free(server);
    return err;
  }
  server->url = make_url(&server->guard, server->guard.token, "/");
  server->base_url = make_url(&server->guard, "", "");
  server->page_path = tide_sprintf("/%s/", server->guard.token);
  server->ticket_url = make_url(&server->guard, server->guard.ticket, "");
  *ret_server = server;
  return TIDE_ERR_OK;
}

void tide_server_free(struct tide_server *server)
{
  if (!server)
    return;
  if (server->daemon) {
    resume_requests(server, true); // or it could not stop
    tide_http.stop_daemon(server->daemon);
  }
  if (server->listen_fd >= 0)
    close(server->listen_fd);
  free(server->url);
  free(server->base_url);
  free(server->ticket_url);
  free(server->page_path);
  free(server);
}

const char *tide_server_url(const struct tide_server *server)
{
  return server->url;
}

const char *tide_server_base_url(const struct tide_server *server)
{
  return server->base_url;
}

const char *tide_server_token(const struct tide_server *server)
{
  return server->guard.token;
}

int tide_server_fd(const struct tide_server *server)
{
  return server->listen_fd;
}

uint16_t tide_server_port(const struct tide_server *server)
{
  return server->guard.port;
}

const char *tide_server_ticket_url(const struct tide_server *server)
{
  return server->ticket_url;
}

// Has another thread woken us? The set is the daemon's again.
static bool was_woken(struct tide_server *server)
{
  int fd = server->options.wake_fd;
  eventfd_t n;
  bool is_woken = fd > 0 && FD_ISSET(fd, &server->readable);
  if (!is_woken)
    return false;
  FD_CLR(fd, &server->readable);
  eventfd_read(fd, &n);
  return true;
}

bool tide_server_await(struct tide_server *server, int wait_ms, const sigset_t *mask)
{
  int highest = -1, wake_fd = server->options.wake_fd;
  MHD_UNSIGNED_LONG_LONG wish_ms = 0;
  FD_ZERO(&server->readable);
  FD_ZERO(&server->writable);
  FD_ZERO(&server->other);
  tide_http.get_fdset(server->daemon, &server->readable, &server->writable, &server->other,
                      &highest);
  if (wake_fd > 0)
    FD_SET(wake_fd, &server->readable);
  highest = wake_fd > highest ? wake_fd : highest;
  if (tide_http.get_timeout(server->daemon, &wish_ms) == MHD_YES && wish_ms < (unsigned)wait_ms)
    wait_ms = (int)wish_ms;
  wait_ms = next_due(server, wait_ms);
  const struct timespec wait = {wait_ms / 1000, (long)(wait_ms % 1000) * 1000000};
  if (pselect(highest + 1, &server->readable, &server->writable, &server->other, &wait, mask) >= 0)
    return was_woken(server);
  FD_ZERO(&server->readable); // a signal: the sets mean nothing
  FD_ZERO(&server->writable);
  FD_ZERO(&server->other);
  return false;
}

void tide_server_turn(struct tide_server *server)
{
  tide_guests_sweep(&server->guests);
  resume_requests(server, false);
  tide_http.run_from_select(server->daemon, &server->readable, &server->writable, &server->other);
}

uint64_t tide_server_n_asked(const struct tide_server *server)
{
  return server->n_asked;
}
