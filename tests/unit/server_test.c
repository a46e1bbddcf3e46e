// SPDX-License-Identifier: Apache-2.0
//
// The server, asked over real connections: what it refuses, what every answer carries, packing,
// tags, limits. It runs on the test's own thread, between a request and its answer.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "page/page_sources.h"
#include "serve/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 3000000 };

static struct tide_server *server;
static char host[64], token[TIDE_TOKEN_CHARS + 1];
static unsigned port;
static struct tide_diag diag;

static void answer(void *context, const struct tide_request *request, struct tide_reply *reply)
{
  const char *name = request->parameter(request->context, "name");
  if (strcmp(request->path, "/large") == 0) {
    struct tide_packer *packer = tide_packer_new();
    char line[100];
    for (size_t i = 0; i < LARGE / sizeof line; i++) {
      memset(line, 'a' + (int)(i % 26), sizeof line);
      tide_packer_take(packer, line, sizeof line);
    }
    *reply = (struct tide_reply){200, "text/plain", .is_packed = true, .tag = 0xabc};
    reply->body = tide_packer_finish(packer);
  } else if (strcmp(request->path, "/later") == 0) {
    reply->later_ms = 3600000;
  } else {
    tide_reply_text(reply, 200, "path %s name %s", request->path, name ? name : "-");
  }
}

static int start(void **state)
{
  const struct tide_server_options options = {.address = "127.0.0.1", .answer = answer};
  if (tide_server_new(&options, &server, &diag) || tide_server_start(server, &diag))
    return -1;
  return sscanf(tide_server_url(server), "http://127.0.0.1:%u/%32[0-9a-f]/", &port, token) == 2 &&
                 snprintf(host, sizeof host, "127.0.0.1:%u", port) > 0
             ? 0
             : -1;
}

static int stop(void **state)
{
  tide_server_free(server);
  return 0;
}

static void turn(void)
{
  tide_server_await(server, 0, NULL);
  tide_server_turn(server);
}

static int dial(void)
{
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
  return fd;
}

// Everything the server says until it hangs up or is silent. NUL-terminated, owned.
static char *listen_to(int fd, size_t *ret_n)
{
  struct tide_buf text = {0};
  for (int n_idle = 0; n_idle < 20;) {
    turn();
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    if (poll(&readable, 1, 10) == 0) {
      n_idle++;
      continue;
    }
    n_idle = 0;
    uint8_t *at = tide_buf_extend(&text, 65536);
    ssize_t n = recv(fd, at, 65536, MSG_DONTWAIT);
    text.n -= 65536 - (size_t)(n > 0 ? n : 0);
    if (n <= 0)
      break;
  }
  close(fd);
  *ret_n = text.n;
  tide_buf_u8(&text, 0);
  return (char *)text.data;
}

static char *ask_n(const char *request, size_t *ret_n)
{
  int fd = dial();
  size_t n = strlen(request), done = 0;
  while (done < n) {
    ssize_t sent = send(fd, request + done, n - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      done += (size_t)sent;
    else if (n > 60000)
      break; // refused in the middle
    turn();
  }
  return listen_to(fd, ret_n);
}

static char *ask(const char *request)
{
  size_t n;
  return ask_n(request, &n);
}

static char *get(const char *method, const char *path, const char *headers)
{
  TIDE_CLEANUP_FREE char *request =
      tide_sprintf("%s /%s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n", method, token,
                   path, host, headers);
  return ask(request);
}

static void expect(char *reply, const char *status, const char *part)
{
  TIDE_CLEANUP_FREE char *wanted = tide_sprintf("HTTP/1.1 %s ", status);
  if (strncmp(reply, wanted, strlen(wanted)) != 0)
    fail_msg("not %s: %.300s", status, reply);
  if (part && !strcasestr(reply, part))
    fail_msg("without \"%s\": %.1000s", part, reply);
  free(reply);
}

static void every_answer_is_guarded(void **state)
{
  static const char *const headers[] = {
      "\r\nX-Content-Type-Options: nosniff\r\n",
      "\r\nReferrer-Policy: no-referrer\r\n",
      "\r\nCache-Control: no-store\r\n",
      "\r\nCross-Origin-Resource-Policy: same-origin\r\n",
      "\r\nContent-Security-Policy: default-src 'none'",
      "\r\nX-Frame-Options: DENY\r\n",
  };
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    expect(get("GET", "/x?name=y", ""), "200", headers[i]);
    expect(get("POST", "/x", ""), "405", headers[i]);
  }
  expect(get("GET", "/x?name=y%20z", ""), "200", "path /x name y z\n");
  expect(get("GET", "", ""), "302", token);
}

static void head_has_no_body(void **state)
{
  char *reply = get("HEAD", "/x", "");
  assert_null(strstr(reply, "path /x"));
  expect(reply, "200", "Content-Length: 15\r\n");
}

static void other_methods_are_refused(void **state)
{
  static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    expect(get(methods[i], "/x", "Content-Length: 0\r\n"), "405", "Allow: GET, HEAD");
  expect(get("POST", "/x", "Content-Length: 1000000000\r\n"), "405", NULL);
}

static void strangers_are_refused(void **state)
{
  static const char *const heads[] = {
      "GET / HTTP/1.1\r\nHost: %s\r\n\r\n",
      "GET /facts HTTP/1.1\r\nHost: %s\r\n\r\n",
      "GET /00000000000000000000000000000000/facts HTTP/1.1\r\nHost: %s\r\n\r\n",
      "GET /../../../../etc/passwd HTTP/1.1\r\nHost: %s\r\n\r\n",
      "GET /%%2e%%2e/%%2e%%2e/etc/passwd HTTP/1.1\r\nHost: %s\r\n\r\n",
      "GET //etc/passwd HTTP/1.1\r\nHost: %s\r\n\r\n",
  };
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    TIDE_CLEANUP_FREE char *request = tide_sprintf(heads[i], host); // NOLINT
    char *reply = ask(request);
    assert_null(strstr(reply, token)); // nor told what would have been right
    expect(reply, "404", NULL);
  }
  expect(get("GET", "/x%00y", ""), "400", NULL);
  expect(get("GET", "/%00", ""), "400", NULL);
  TIDE_CLEANUP_FREE char *rebound =
      tide_sprintf("GET /%s/x HTTP/1.1\r\nHost: evil.example:%u\r\n\r\n", token, port);
  expect(ask(rebound), "403", NULL);
  expect(get("GET", "/x", "Origin: http://evil.example\r\n"), "403", NULL);
  expect(get("GET", "/x", "Origin: null\r\n"), "403", NULL);
  TIDE_CLEANUP_FREE char *own = tide_sprintf("Origin: http://%s\r\n", host);
  expect(get("GET", "/x", own), "200", NULL);
}

static void nonsense_is_survived(void **state)
{
  static const char *const requests[] = {
      "\r\n\r\n",
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET / HTTP/1.1\r\n\x01: \x02\r\n\r\n",
      "GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
      "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
  };
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
    free(ask(requests[i]));
  expect(get("GET", "/x", ""), "200", NULL);
}

static void long_addresses_are_refused(void **state)
{
  for (size_t n = 3000; n < 3000000; n *= 10) {
    TIDE_CLEANUP_FREE char *path = tide_alloc(n + 2);
    memset(path, 'a', n + 1);
    path[0] = '/';
    char *reply = get("GET", path, "");
    // Either with a word, or by hanging up in the middle.
    if (strlen(reply) && strncmp(reply, "HTTP/1.1 414", 12) && strncmp(reply, "HTTP/1.1 431", 12) &&
        strncmp(reply, "HTTP/1.1 413", 12))
      fail_msg("%zu: %.200s", n, reply);
    free(reply);
  }
  TIDE_CLEANUP_FREE char *letters = tide_alloc(3001);
  memset(letters, 'a', 3000);
  TIDE_CLEANUP_FREE char *query = tide_sprintf("/x?name=%s", letters);
  expect(get("GET", query, ""), "414", NULL);
  expect(get("GET", "/x", ""), "200", NULL);
}

static void packed_for_whoever_takes_it(void **state)
{
  size_t n;
  TIDE_CLEANUP_FREE char *request =
      tide_sprintf("GET /%s/large HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
                   "Accept-Encoding: br, gzip\r\n\r\n",
                   token, host);
  TIDE_CLEANUP_FREE char *packed = ask_n(request, &n);
  assert_non_null(strcasestr(packed, "Content-Encoding: gzip"));
  assert_non_null(strcasestr(packed, "ETag: \"abc-gzip\""));
  assert_true(n < LARGE / 10);
  static const char *const refusing[] = {"", "Accept-Encoding: br\r\n",
                                         "Accept-Encoding: gzip;q=0\r\n"};
  for (size_t i = 0; i < 3; i++) {
    TIDE_CLEANUP_FREE char *plain = get("GET", "/large", refusing[i]);
    assert_null(strcasestr(plain, "Content-Encoding"));
    assert_int_equal(strlen(strstr(plain, "\r\n\r\n") + 4), LARGE);
  }
  expect(get("GET", "/large", "If-None-Match: \"abc\"\r\n"), "304", NULL);
  expect(get("GET", "/large", "If-None-Match: \"abd\"\r\n"), "200", NULL);
}

// More connections than are served at once wait or are turned away; none is forgotten for good.
static void many_connections(void **state)
{
  int fds[100];
  for (size_t i = 0; i < 100; i++) {
    fds[i] = dial();
    turn();
  }
  for (size_t i = 0; i < 100; i++)
    close(fds[i]);
  for (size_t i = 0; i < 10; i++)
    turn();
  expect(get("GET", "/x", ""), "200", NULL);
}

enum { CROWD = 300 };

static void crowd_come(int fds[CROWD], const char *words)
{
  for (size_t i = 0; i < CROWD; i++) {
    fds[i] = dial();
    assert_true(send(fds[i], words, strlen(words), MSG_NOSIGNAL) == (ssize_t)strlen(words));
    turn();
    turn();
  }
}

static void crowd_go(const int fds[CROWD])
{
  for (size_t i = 0; i < CROWD; i++)
    close(fds[i]);
  for (size_t i = 0; i < 4; i++)
    turn();
}

static bool is_over(int fd)
{
  char byte;
  return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

// As many as can be, silent or in the middle of a word, and all of them stay.
static void a_crowd_shuts_nobody_out(void **state)
{
  static const char *const words[] = {"", "GET /", "GET / HTTP/1.1\r\nHost: x\r\nX: "};
  int fds[CROWD];
  for (size_t i = 0; i < 3; i++) {
    crowd_come(fds, words[i]);
    expect(get("GET", "/x", ""), "200", NULL);
    assert_true(is_over(fds[0])); // the oldest went
    assert_false(is_over(fds[CROWD - 1]));
    crowd_go(fds);
  }
}

// A crowd takes the place of none that was let in.
static void who_was_let_in_stays(void **state)
{
  int fds[CROWD];
  char reply[1024];
  TIDE_CLEANUP_FREE char *request =
      tide_sprintf("GET /%s/x HTTP/1.1\r\nHost: %s\r\n\r\n", token, host);
  int fd = dial();
  for (size_t round = 0; round < 3; round++) {
    assert_true(send(fd, request, strlen(request), MSG_NOSIGNAL) > 0);
    for (size_t i = 0; i < 4; i++)
      turn();
    ssize_t n = recv(fd, reply, sizeof reply - 1, MSG_DONTWAIT);
    assert_true(n > 12);
    assert_memory_equal(reply, "HTTP/1.1 200", 12);
    crowd_come(fds, "");
    crowd_go(fds);
  }
  close(fd);
}

// Whoever has the token cannot fill the house either: the one silent longest goes.
static void the_let_in_are_limited(void **state)
{
  int fds[CROWD];
  TIDE_CLEANUP_FREE char *request =
      tide_sprintf("GET /%s/x HTTP/1.1\r\nHost: %s\r\n\r\n", token, host);
  crowd_come(fds, request);
  expect(get("GET", "/x", ""), "200", NULL);
  char reply[4096];
  assert_true(recv(fds[0], reply, sizeof reply, MSG_DONTWAIT) > 0);
  assert_true(is_over(fds[0]));
  crowd_go(fds);
}

// Nor who waits for an answer that comes in an hour: nobody looks at such connections meanwhile.
static void those_who_wait_are_limited(void **state)
{
  struct tide_server *before = server;
  char token_before[sizeof token], host_before[sizeof host];
  unsigned port_before = port;
  const struct tide_server_options options = {
      .address = "127.0.0.1", .answer = answer, .is_open = true};
  int fds[CROWD];
  memcpy(token_before, token, sizeof token);
  memcpy(host_before, host, sizeof host);
  assert_int_equal(tide_server_new(&options, &server, &diag), TIDE_ERR_OK);
  assert_int_equal(tide_server_start(server, &diag), TIDE_ERR_OK);
  port = tide_server_port(server);
  snprintf(token, sizeof token, "%s", tide_server_token(server));
  snprintf(host, sizeof host, "127.0.0.1:%u", port);
  TIDE_CLEANUP_FREE char *request =
      tide_sprintf("GET /%s/later HTTP/1.1\r\nHost: %s\r\n\r\n", token, host);
  crowd_come(fds, request);
  expect(get("GET", "/x", ""), "200", NULL);
  assert_true(is_over(fds[0]));
  assert_false(is_over(fds[CROWD - 1]));
  crowd_go(fds);
  tide_server_free(server);
  server = before;
  port = port_before;
  memcpy(token, token_before, sizeof token);
  memcpy(host, host_before, sizeof host);
}

// Nor does it help to send a byte now and then.
static void strangers_do_not_stay(void **state)
{
  struct tide_server *before = server;
  unsigned port_before = port;
  const struct tide_server_options options = {
      .address = "127.0.0.1", .answer = answer, .patience_ms = 1};
  assert_int_equal(tide_server_new(&options, &server, &diag), TIDE_ERR_OK);
  assert_int_equal(tide_server_start(server, &diag), TIDE_ERR_OK);
  port = tide_server_port(server);
  int fd = dial();
  bool gone = false;
  for (size_t i = 0; i < 1000 && !gone; i++) {
    gone = send(fd, "G", 1, MSG_NOSIGNAL) < 0;
    turn();
    poll(NULL, 0, 5);
  }
  assert_true(gone);
  close(fd);
  tide_server_free(server);
  server = before;
  port = port_before;
}

static void a_refusal_ends_the_connection(void **state)
{
  TIDE_CLEANUP_FREE char *request = tide_sprintf("GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", host);
  expect(ask(request), "404", "Connection: close");
}

// What another user gets for the ticket; NULL: there is none to be.
static char *ask_as_nobody(const char *request)
{
  int ends[2];
  if (geteuid() != 0)
    return NULL;
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  if (pid == 0) {
    char reply[2048];
    if (setgid(65534) || setuid(65534))
      _exit(1);
    int fd = dial();
    send(fd, request, strlen(request), MSG_NOSIGNAL);
    ssize_t n = recv(fd, reply, sizeof reply, 0);
    _exit(n > 0 && write(ends[1], reply, (size_t)n) == n ? 0 : 1);
  }
  close(ends[1]);
  char *reply = tide_alloc(2049);
  struct pollfd readable = {.fd = ends[0], .events = POLLIN};
  while (poll(&readable, 1, 5) == 0)
    turn();
  assert_true(read(ends[0], reply, 2048) > 0);
  close(ends[0]);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  return reply;
}

// Others read it on the browser's command line, and may well be quicker.
static void the_ticket_is_for_one_and_once(void **state)
{
  const char *ticket = strrchr(tide_server_ticket_url(server), '/');
  TIDE_CLEANUP_FREE char *look = tide_sprintf("HEAD %s HTTP/1.1\r\nHost: %s\r\n\r\n", ticket, host);
  TIDE_CLEANUP_FREE char *open =
      tide_sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", ticket, host);
  TIDE_CLEANUP_FREE char *location = tide_sprintf("Location: /%s/", token);
  char *reply = ask_as_nobody(open);
  if (reply) {
    assert_null(strstr(reply, token));
    expect(reply, "403", NULL);
  }
  reply = ask(look);
  assert_null(strstr(reply, token));
  expect(reply, "200", NULL);
  expect(ask(open), "302", location);
  for (size_t i = 0; i < 2; i++) {
    reply = ask(open);
    assert_null(strstr(reply, token));
    expect(reply, "410", NULL);
  }
}

// Who hangs up in the middle of a request gives his place back at once.
static void half_a_request(void **state)
{
  for (size_t i = 0; i < 200; i++) {
    int fd = dial();
    assert_true(send(fd, "GET /x HTTP", 11, MSG_NOSIGNAL) == 11);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    for (size_t k = 0; k < 4; k++)
      turn();
    close(fd);
  }
  expect(get("GET", "/x", ""), "200", NULL);
}

// Somebody who reads nothing holds up nobody else.
static void slow_reader(void **state)
{
  int fd = dial();
  TIDE_CLEANUP_FREE char *request =
      tide_sprintf("GET /%s/large HTTP/1.1\r\nHost: %s\r\n\r\n", token, host);
  assert_true(send(fd, request, strlen(request), MSG_NOSIGNAL) > 0);
  for (size_t i = 0; i < 10; i++)
    turn();
  expect(get("GET", "/x", ""), "200", NULL);
  size_t n;
  TIDE_CLEANUP_FREE char *reply = listen_to(fd, &n);
  assert_true(n > LARGE);
}

static void port_in_use(void **state)
{
  struct tide_server *second = NULL;
  const struct tide_server_options options = {
      .address = "127.0.0.1", .port = (uint16_t)port, .answer = answer};
  assert_int_equal(tide_server_new(&options, &second, &diag), TIDE_ERR_EXISTS);
  assert_non_null(strstr(diag.text, "in use"));
  const struct tide_server_options bad = {.address = "example", .answer = answer};
  assert_int_equal(tide_server_new(&bad, &second, &diag), TIDE_ERR_USAGE);
}

// Of files only text, of bounded size, by a whole path; nothing is waited for.
static void sources(void **state)
{
  char dir[] = "/tmp/tide-server-XXXXXX";
  uint64_t changed_ns = 0;
  assert_non_null(mkdtemp(dir));
  TIDE_CLEANUP_FREE char *text = tide_sprintf("%s/a.c", dir), *fifo = tide_sprintf("%s/fifo", dir);
  TIDE_CLEANUP_FREE char *bytes = tide_sprintf("%s/bytes", dir), *big = tide_sprintf("%s/big", dir);
  FILE *file = fopen(text, "w");
  fputs("int main;\n", file);
  fclose(file);
  file = fopen(bytes, "w");
  fwrite("a\0b", 1, 3, file);
  fclose(file);
  file = fopen(big, "w");
  assert_int_equal(ftruncate(fileno(file), 9 << 20), 0);
  fclose(file);
  assert_int_equal(mkfifo(fifo, 0600), 0);

  struct tide_buf buf = {0};
  assert_int_equal(tide_source_text_read(text, &buf, &changed_ns, &diag), TIDE_ERR_OK);
  assert_int_equal(buf.n, 10);
  assert_true(changed_ns > 0);
  const char *const wrong[] = {bytes, big, fifo, dir, "/dev/zero", "a.c", "", "/nowhere/a.c"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_not_equal(tide_source_text_read(wrong[i], &buf, &changed_ns, &diag), TIDE_ERR_OK);
  tide_buf_done(&buf);
  unlink(text);
  unlink(bytes);
  unlink(big);
  unlink(fifo);
  rmdir(dir);
}

UNIT_TESTS(server_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_answer_is_guarded),
      cmocka_unit_test(head_has_no_body),
      cmocka_unit_test(other_methods_are_refused),
      cmocka_unit_test(strangers_are_refused),
      cmocka_unit_test(nonsense_is_survived),
      cmocka_unit_test(long_addresses_are_refused),
      cmocka_unit_test(packed_for_whoever_takes_it),
      cmocka_unit_test(many_connections),
      cmocka_unit_test(a_crowd_shuts_nobody_out),
      cmocka_unit_test(who_was_let_in_stays),
      cmocka_unit_test(the_let_in_are_limited),
      cmocka_unit_test(those_who_wait_are_limited),
      cmocka_unit_test(strangers_do_not_stay),
      cmocka_unit_test(a_refusal_ends_the_connection),
      cmocka_unit_test(the_ticket_is_for_one_and_once),
      cmocka_unit_test(half_a_request),
      cmocka_unit_test(slow_reader),
      cmocka_unit_test(port_in_use),
      cmocka_unit_test(sources),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
