// SPDX-License-Identifier: Apache-2.0
//
// Requests of any bytes to the server of the page, and to that of profilers, as libmicrohttpd would
// hand them on: it is stood in for here, so that what is tried is what we decide ourselves, many
// thousand times a second. An input is lines: the method, the address, then headers; what follows
// "Posted:" is posted. $T in it is the token, $O the ticket for one opening, $P the port: no chance
// would ever find them.
//
// Whatever is sent, there is one answer, with its guards; and one that is not a refusal goes only
// to who knows the token, names us in Host by an address of ours, and comes from no other site.
// Profilers may bring the token in a header, and then call us as they like.
// Of files nothing is answered but the one that the capture's frames are in.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "indexer_fixture.h"
#include "serve/exhibit.h"
#include "serve/http_library.h"
#include "serve/routes.h"
#include "serve/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PAIRS_MAX = 32, INPUT_MAX = 8 << 10 };

static const char source_text[] = "int main(void)\n{\n  return 7;\n}\n";
static char source_path[] = "/tmp/tide-fuzz-request-XXXXXX";

// That of the page, and that of profilers.
static struct tide_routes routes[2];
static struct tide_server *servers[2];
static const char token[] = "0123456789abcdef0123456789abcdef";
static char ticket[TIDE_TOKEN_CHARS + 1], port[8];

static void must(bool condition)
{
  if (!condition)
    abort();
}

// ---- in libmicrohttpd's place ----

struct MHD_Daemon {
  MHD_AccessHandlerCallback handle;
  void *handle_context;
  void *(*look)(void *context, const char *uri, struct MHD_Connection *connection);
  void *look_context;
  MHD_RequestCompletedCallback completed;
};

struct pair {
  enum MHD_ValueKind kind;
  char *name, *value; // owned; a value may be NULL
};

struct MHD_Response {
  unsigned n_users;
  size_t n;
  void *bytes;
  MHD_ContentReaderFreeCallback release;
  void *release_context;
  bool has_csp, has_nosniff, is_packed;
  char *type; // owned
};

struct MHD_Connection {
  struct pair pairs[PAIRS_MAX];
  size_t n_pairs;
  unsigned status;
  struct MHD_Response *response;
};

struct tide_http tide_http;
static struct MHD_Daemon daemons[2];
static size_t n_daemons;

static enum MHD_Result add_response_header(struct MHD_Response *response, const char *name,
                                           const char *value)
{
  must(!strpbrk(name, "\r\n") && !strpbrk(value, "\r\n"));
  response->has_csp |= strcmp(name, "Content-Security-Policy") == 0;
  response->has_nosniff |= strcmp(name, "X-Content-Type-Options") == 0;
  response->is_packed |= strcmp(name, "Content-Encoding") == 0;
  if (strcmp(name, "Content-Type") == 0) {
    free(response->type);
    response->type = tide_strdup(value);
  }
  return MHD_YES;
}

static struct MHD_Response *create_owning(size_t n, void *bytes,
                                          MHD_ContentReaderFreeCallback release, void *context)
{
  struct MHD_Response *response = tide_alloc(sizeof *response);
  *response = (struct MHD_Response){
      .n_users = 1, .n = n, .bytes = bytes, .release = release, .release_context = context};
  return response;
}

static void destroy_response(struct MHD_Response *response)
{
  if (!response || --response->n_users)
    return;
  if (response->release)
    response->release(response->release_context);
  free(response->type);
  free(response);
}

static enum MHD_Result queue_response(struct MHD_Connection *connection, unsigned status,
                                      struct MHD_Response *response)
{
  must(!connection->response && status >= 200 && status < 600);
  connection->status = status;
  connection->response = response;
  response->n_users++;
  return MHD_YES;
}

static const char *lookup_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                const char *name)
{
  if (kind == MHD_GET_ARGUMENT_KIND && strcmp(name, "seconds") == 0)
    return NULL; // nobody waits here
  for (size_t i = 0; i < connection->n_pairs; i++)
    if (connection->pairs[i].kind == kind && strcasecmp(connection->pairs[i].name, name) == 0)
      return connection->pairs[i].value;
  return NULL;
}

// Of nobody's connection: no ticket is taken from it. server_test.c has real ones.
static const union MHD_ConnectionInfo *get_connection_info(struct MHD_Connection *connection,
                                                           enum MHD_ConnectionInfoType what, ...)
{
  static const union MHD_ConnectionInfo no_socket = {.connect_fd = -1}, no_guest = {0};
  return what == MHD_CONNECTION_INFO_CONNECTION_FD ? &no_socket : &no_guest;
}

static struct MHD_Daemon *start_daemon(unsigned flags, uint16_t at, MHD_AcceptPolicyCallback accept,
                                       void *accept_context, MHD_AccessHandlerCallback handle,
                                       void *handle_context, ...)
{
  va_list options;
  va_start(options, handle_context);
  struct MHD_Daemon *started = &daemons[n_daemons++];
  *started = (struct MHD_Daemon){.handle = handle, .handle_context = handle_context};
  for (enum MHD_OPTION option; (option = va_arg(options, enum MHD_OPTION)) != MHD_OPTION_END;) {
    if (option == MHD_OPTION_URI_LOG_CALLBACK) {
      started->look = va_arg(options, void *(*)(void *, const char *, struct MHD_Connection *));
      started->look_context = va_arg(options, void *);
    } else if (option == MHD_OPTION_NOTIFY_COMPLETED) {
      started->completed = va_arg(options, MHD_RequestCompletedCallback);
      va_arg(options, void *);
    } else if (option == MHD_OPTION_NOTIFY_CONNECTION) {
      va_arg(options, MHD_NotifyConnectionCallback);
      va_arg(options, void *);
    } else if (option == MHD_OPTION_CONNECTION_MEMORY_LIMIT) {
      must(va_arg(options, size_t) < 1 << 20);
    } else {
      va_arg(options, unsigned);
    }
  }
  va_end(options);
  must(started->look && started->completed);
  return started;
}

enum tide_err tide_http_load(struct tide_diag *diag)
{
  tide_http = (struct tide_http){
      .add_response_header = add_response_header,
      .create_response_from_buffer_with_free_callback_cls = create_owning,
      .destroy_response = destroy_response,
      .queue_response = queue_response,
      .get_connection_info = get_connection_info,
      .lookup_connection_value = lookup_value,
      .start_daemon = start_daemon,
  };
  return TIDE_ERR_OK;
}

static void unescape(char *text)
{
  char *to = text;
  for (const char *from = text; *from; from++) {
    const char digits[] = {from[1], from[1] ? from[2] : (char)0, 0};
    bool escaped = *from == '%' && strspn(digits, "0123456789abcdefABCDEF") == 2;
    *to++ = escaped ? (char)strtoul(digits, NULL, 16) : *from;
    from += escaped ? 2 : 0;
  }
  *to = 0;
}

static void add_pair(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *name,
                     const char *value)
{
  if (connection->n_pairs < PAIRS_MAX)
    connection->pairs[connection->n_pairs++] =
        (struct pair){kind, tide_strdup(name), value ? tide_strdup(value) : NULL};
}

static void add_arguments(struct MHD_Connection *connection, char *query)
{
  for (char *one; (one = strsep(&query, "&"));) {
    char *value = strchr(one, '=');
    if (value)
      *value++ = 0;
    unescape(one);
    if (value)
      unescape(value);
    add_pair(connection, MHD_GET_ARGUMENT_KIND, one, value);
  }
}

static void add_header(struct MHD_Connection *connection, char *line)
{
  char *value = strchr(line, ':');
  if (!value)
    return;
  *value++ = 0;
  add_pair(connection, MHD_HEADER_KIND, line, value + strspn(value, " \t"));
}

// ---- what is shown ----

static enum tide_err open_indexer(void *context, const char *path,
                                  struct tide_capture **ret_capture, struct tide_diag *diag)
{
  *ret_capture = tide_indexer_capture();
  return TIDE_ERR_OK;
}

static size_t look_up(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                      size_t max)
{
  *out = (struct tide_symbol_frame){"f", source_path, 3, false};
  return 1;
}

static struct tide_naming *name_all(void *context, const struct tide_image *image)
{
  static const struct tide_name_source names = {.lookup = look_up};
  return tide_naming_new_from(image, &names);
}

static void remove_source(void)
{
  unlink(source_path);
}

static void start(void)
{
  static const char html[] = "<!doctype html>page";
  static const struct tide_embedded_page page = {html, sizeof html - 1};
  static const struct tide_file_opener opener = {NULL, open_indexer};
  static const struct tide_exhibit_namer namer = {NULL, name_all, NULL};
  struct tide_diag diag;
  int fd = mkstemp(source_path);
  must(fd >= 0 && write(fd, source_text, sizeof source_text - 1) > 0 && !close(fd));
  atexit(remove_source);
  for (int i = 0; i < 2; i++) {
    const struct tide_server_options options = {.address = "127.0.0.1",
                                                .is_open = i == 1,
                                                .token = token,
                                                .answer = tide_routes_answer,
                                                .context = &routes[i]};
    tide_routes_init(&routes[i], &page);
    routes[i].serves_profilers = i == 1;
    struct tide_source *source = tide_file_source_new("a.tide", &opener);
    must(!tide_routes_add(&routes[i], source, &namer, NULL, &diag));
    source = tide_file_source_new("a.tide", &opener);
    must(!tide_exhibit_open(&routes[i].profiled, source, &namer, NULL, &diag));
    must(!tide_server_new(&options, &servers[i], &diag) && !tide_server_start(servers[i], &diag));
  }
  must(sscanf(tide_server_url(servers[0]), "http://127.0.0.1:%7[0-9]/", port) == 1);
  must(sscanf(tide_server_ticket_url(servers[0]), "http://127.0.0.1:%*[0-9]/%32s", ticket) == 1);
}

// ---- a request and what must hold of its answer ----

// The input with the token and the port in their places; owned.
static char *fill_in(const uint8_t *data, size_t n)
{
  struct tide_buf text = {0};
  for (size_t i = 0; i < n; i++) {
    uint8_t place = data[i] == '$' && i + 1 < n ? data[i + 1] : 0;
    const char *what = place == 'T' ? token : place == 'O' ? ticket : place == 'P' ? port : NULL;
    if (what)
      tide_buf_text(&text, what);
    else
      tide_buf_u8(&text, data[i]);
    i += what ? 1 : 0;
  }
  tide_buf_u8(&text, 0);
  return (char *)text.data;
}

static bool is_made_of(const char *text, size_t n, const char *letters)
{
  return strspn(text, letters) >= n;
}

// Ours, told in another way than the guard does: no name but one, and no address but the
// loopback's.
static bool names_us(const char *host)
{
  const char *colon = host ? strrchr(host, ':') : NULL;
  bool has_port = colon && colon[1] && is_made_of(colon + 1, strlen(colon + 1), "0123456789");
  size_t n = has_port ? (size_t)(colon - host) : host ? strlen(host) : 0;
  if (n < 2)
    return false;
  return (n == 9 && strncasecmp(host, "localhost", n) == 0) ||
         (strncmp(host, "127.", 4) == 0 && is_made_of(host, n, "0123456789.")) ||
         (host[0] == '[' && is_made_of(host + 1, n - 2, "0:.1") && host[n - 2] == '1');
}

static bool may_know(const struct MHD_Connection *connection, const char *url, const char *method)
{
  struct MHD_Connection *c = (struct MHD_Connection *)(uintptr_t)connection;
  const char *origin = lookup_value(c, MHD_HEADER_KIND, "Origin");
  const char *host = lookup_value(c, MHD_HEADER_KIND, "Host");
  bool knows = url[0] == '/' &&
               (strncmp(url + 1, token, TIDE_TOKEN_CHARS) == 0 || strcmp(url + 1, ticket) == 0);
  const char *rest = knows ? url + 1 + TIDE_TOKEN_CHARS : "?";
  return (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) && names_us(host) &&
         (!origin || (strncasecmp(origin, "http://", 7) == 0 && !strcasecmp(origin + 7, host))) &&
         (*rest == 0 || *rest == '/');
}

static bool starts_with(const struct MHD_Response *response, const char *text)
{
  return response->n >= strlen(text) && memcmp(response->bytes, text, strlen(text)) == 0;
}

static bool is_served(const struct MHD_Response *response, const char *path)
{
  if (strncmp(path, "/source/", 8) == 0)
    return response->n == sizeof source_text - 1 && starts_with(response, source_text);
  if (strcmp(path, "/facts") == 0)
    return starts_with(response, "{");
  if (strcmp(path, "/") != 0 && strncmp(path, "/data/", 6) != 0)
    return false;
  return starts_with(response, response->is_packed ? "\x1f\x8b"
                               : path[1]           ? "TidePage"
                                                   : "<!doctype html>");
}

// Of the server of profilers: the token is all that counts.
static bool may_profile(const struct MHD_Connection *connection, const char *url)
{
  struct MHD_Connection *c = (struct MHD_Connection *)(uintptr_t)connection;
  const char *bearer = lookup_value(c, MHD_HEADER_KIND, "Authorization");
  bool in_path = url[0] == '/' && strncmp(url + 1, token, TIDE_TOKEN_CHARS) == 0;
  const char *rest = in_path ? url + 1 + TIDE_TOKEN_CHARS : "?";
  return *rest == 0 || *rest == '/' ||
         (bearer && strncasecmp(bearer, "Bearer ", 7) == 0 && strcmp(bearer + 7, token) == 0);
}

static void check(const struct MHD_Connection *connection, const char *url, const char *method,
                  bool is_open)
{
  const struct MHD_Response *response = connection->response;
  must(response);
  bool may = is_open ? may_profile(connection, url) : may_know(connection, url, method);
  if (connection->status < 400)
    must(may);
  if (connection->status == MHD_HTTP_OK && !is_open)
    must(is_served(response, url + 1 + TIDE_TOKEN_CHARS));
  must(response->has_csp && response->has_nosniff && response->type);
  if (!may) // nor told what would have been right
    must(!memmem(response->bytes, response->n, token, TIDE_TOKEN_CHARS));
}

static void ask(struct MHD_Connection *connection, const char *method, const char *address,
                struct MHD_Daemon *daemon)
{
  void *kept = daemon->look(daemon->look_context, address, connection);
  const char *posted = lookup_value(connection, MHD_HEADER_KIND, "Posted");
  TIDE_CLEANUP_FREE char *url = tide_strdup(address);
  char *query = strchr(url, '?');
  if (query)
    *query++ = 0;
  unescape(url);
  add_arguments(connection, query);
  bool has_body = posted && strcmp(method, "POST") == 0;
  for (int i = 0; i < 3 && !connection->response; i++) {
    size_t n_upload = has_body && i == 1 ? strlen(posted) : 0;
    must(daemon->handle(daemon->handle_context, connection, url, method, "HTTP/1.1", posted,
                        &n_upload, &kept) == MHD_YES);
  }
  check(connection, url, method, daemon == &daemons[1]);
  daemon->completed(NULL, connection, &kept, MHD_REQUEST_TERMINATED_COMPLETED_OK);
}

static void ask_one(const uint8_t *data, size_t n, struct MHD_Daemon *daemon)
{
  struct MHD_Connection connection = {0};
  TIDE_CLEANUP_FREE char *text = fill_in(data, n);
  char *rest = text;
  const char *method = strsep(&rest, "\n"), *address = strsep(&rest, "\n");
  for (char *line; (line = strsep(&rest, "\n"));)
    add_header(&connection, line);
  ask(&connection, method, address ? address : "", daemon);
  destroy_response(connection.response);
  for (size_t i = 0; i < connection.n_pairs; i++) {
    free(connection.pairs[i].name);
    free(connection.pairs[i].value);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (!servers[0])
    start();
  if (n > INPUT_MAX)
    return 0;
  for (int i = 0; i < 2; i++)
    ask_one(data, n, &daemons[i]);
  return 0;
}
