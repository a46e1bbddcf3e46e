// SPDX-License-Identifier: Apache-2.0
//
// See routes.h.
#define _GNU_SOURCE
#include "serve/routes.h"

#include "base/alloc.h"
#include "base/json.h"
#include "page/page_data.h"
#include "page/page_sources.h"
#include "report/profile_json.h"
#include "serve/profilers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  OK = 200,
  FOUND = 302,
  BAD_REQUEST = 400,
  NOT_FOUND = 404,
  NOT_ALLOWED = 405,
  UNAVAILABLE = 503,
  ASK_AGAIN_MS = 20, // for what a fork makes
};

void tide_routes_init(struct tide_routes *routes, const struct tide_embedded_page *page)
{
  *routes = (struct tide_routes){0};
  if (!page)
    return;
  struct tide_packer *packer = tide_packer_new();
  TIDE_CLEANUP_FREE char *policy = tide_embedded_page_policy(page);
  tide_packer_take(packer, page->html, page->n_html);
  *routes = (struct tide_routes){
      .page = tide_packer_finish(packer),
      .policy = policy ? tide_sprintf("%s; frame-ancestors 'none'", policy) : NULL,
  };
}

enum tide_err tide_routes_add(struct tide_routes *routes, struct tide_source *source,
                              const struct tide_exhibit_namer *namer, const char *process,
                              struct tide_diag *diag)
{
  if (routes->n_exhibits == TIDE_ROUTES_MAX_CAPTURES) {
    tide_source_free(source);
    return tide_fail(diag, TIDE_ERR_LIMIT, "one capture, or two to compare");
  }
  enum tide_err err =
      tide_exhibit_open(&routes->exhibits[routes->n_exhibits], source, namer, process, diag);
  routes->n_exhibits += !err;
  return err;
}

static void answer_page(const struct tide_routes *routes, struct tide_reply *reply)
{
  if (!routes->page) {
    tide_reply_text(reply, NOT_FOUND, "this tidemark was built without the page");
    return;
  }
  *reply = (struct tide_reply){
      .status = OK,
      .type = "text/html; charset=utf-8",
      .is_packed = true,
      .csp = routes->policy,
      .body = tide_body_share(routes->page),
  };
}

static struct tide_page_capture offered(const struct tide_exhibit *exhibit)
{
  return (struct tide_page_capture){exhibit->capture, exhibit->source->name, exhibit->shown_idx};
}

static void put_exhibit(struct tide_json *json, const struct tide_routes *routes, size_t idx)
{
  const struct tide_exhibit *exhibit = &routes->exhibits[idx];
  const struct tide_page_capture own = offered(exhibit);
  tide_json_open_object(json);
  tide_json_put_text(json, "file", exhibit->source->name);
  tide_json_put_u64(json, "largest", exhibit->shown_idx);
  tide_json_put_u64(json, "version", exhibit->version);
  tide_json_put_bool(json, "live", tide_exhibit_is_live(exhibit));
  tide_json_put_text(json, "note", exhibit->note);
  tide_capture_json_images(json, exhibit->capture);
  if (exhibit->capture->n_images > 1)
    tide_page_processes_write(json, exhibit->capture);
  if (routes->n_exhibits == 2) {
    const struct tide_page_capture other = offered(&routes->exhibits[!idx]);
    tide_page_compared_write(json, &own, &other, idx == 1);
  }
  tide_json_close_object(json);
}

// Names what the facts depend on.
static uint64_t facts_tag(const struct tide_routes *routes)
{
  uint64_t version = 0, live = 0;
  for (size_t i = 0; i < routes->n_exhibits; i++) {
    version += routes->exhibits[i].version;
    live |= (uint64_t)tide_exhibit_is_live(&routes->exhibits[i]) << i;
  }
  return version << TIDE_ROUTES_MAX_CAPTURES | live;
}

static struct tide_body *make_facts(const struct tide_routes *routes)
{
  uint64_t version = 0;
  struct tide_sink sink;
  struct tide_json json;
  tide_sink_init(&sink, NULL);
  tide_json_init(&json, &sink);
  tide_json_open_object(&json);
  tide_json_key(&json, "captures");
  tide_json_open_array(&json);
  for (size_t i = 0; i < routes->n_exhibits; i++) {
    put_exhibit(&json, routes, i);
    version += routes->exhibits[i].version;
  }
  tide_json_close_array(&json);
  tide_json_put_bool(&json, "live", tide_routes_is_live(routes));
  tide_json_put_u64(&json, "version", version);
  tide_json_put_bool(&json, "sources", true);
  tide_json_put_text(&json, "editor", routes->editor);
  tide_json_close_object(&json);
  tide_json_done(&json);
  struct tide_body *body = tide_body_new();
  body->bytes = sink.buf; // the body's now
  return body;
}

// A page asks for them once a second: they are made when they have changed.
static void answer_facts(struct tide_routes *routes, struct tide_reply *reply)
{
  uint64_t tag = facts_tag(routes);
  if (!routes->facts || tag != routes->facts_tag) {
    tide_body_free(routes->facts);
    routes->facts = make_facts(routes);
    routes->facts_tag = tag;
  }
  *reply = (struct tide_reply){.status = OK, .type = "application/json", .tag = tag};
  reply->body = tide_body_share(routes->facts);
}

// A number of a query or path, the whole text; false: it is none, or too large.
static bool parse_index(const char *text, uint32_t *ret_value)
{
  char *end = NULL;
  if (*text < '0' || *text > '9' || strlen(text) > 9)
    return false;
  *ret_value = (uint32_t)strtoul(text, &end, 10);
  return !*end;
}

// The capture of "/data/N" and the like, and the image that the query asks for. NULL: the reply
// says why.
static struct tide_exhibit *find_image(struct tide_routes *routes, const char *number,
                                       const struct tide_request *request, uint32_t *ret_image_idx,
                                       struct tide_reply *reply)
{
  uint32_t n = 0;
  if (!parse_index(number, &n) || n >= routes->n_exhibits) {
    tide_reply_text(reply, NOT_FOUND, "there is no such capture");
    return NULL;
  }
  struct tide_exhibit *exhibit = &routes->exhibits[n];
  const char *process = request->parameter(request->context, "process");
  uint32_t image_idx = (uint32_t)exhibit->shown_idx;
  if (process && (!parse_index(process, &image_idx) || image_idx >= exhibit->capture->n_images)) {
    tide_reply_text(reply, NOT_FOUND, "there is no such process in %s", exhibit->source->name);
    return NULL;
  }
  *ret_image_idx = image_idx;
  return exhibit;
}

// What is seen first, and not all.
static bool wants_first(const struct tide_request *request)
{
  const char *part = request->parameter(request->context, "part");
  return part && strcmp(part, "first") == 0;
}

// NULL: it is being made, and the reply is that it comes later.
static const struct tide_exhibit_block *block_of(const struct tide_routes *routes,
                                                 struct tide_exhibit *exhibit, uint32_t image_idx,
                                                 bool is_first, struct tide_reply *reply)
{
  const struct tide_exhibit_block *block =
      tide_exhibit_block(exhibit, image_idx, is_first, routes->is_alone);
  if (!block)
    reply->later_ms = ASK_AGAIN_MS;
  return block;
}

static void answer_data(struct tide_routes *routes, const char *number,
                        const struct tide_request *request, struct tide_reply *reply)
{
  uint32_t image_idx = 0;
  struct tide_exhibit *exhibit = find_image(routes, number, request, &image_idx, reply);
  if (!exhibit)
    return;
  bool is_first = wants_first(request);
  const struct tide_exhibit_block *block = block_of(routes, exhibit, image_idx, is_first, reply);
  if (!block)
    return;
  *reply = (struct tide_reply){
      .status = OK,
      .type = "application/octet-stream",
      .is_packed = true,
      .tag = exhibit->version << 32 | image_idx << 2 | is_first << 1 | (exhibit - routes->exhibits),
      .body = tide_body_share(block->data),
  };
}

static void answer_source(struct tide_routes *routes, const char *number,
                          const struct tide_request *request, struct tide_reply *reply)
{
  uint32_t image_idx = 0, text = 0;
  struct tide_diag diag = {0};
  struct tide_exhibit *exhibit = find_image(routes, number, request, &image_idx, reply);
  if (!exhibit)
    return;
  const char *asked = request->parameter(request->context, "text");
  if (!asked || !parse_index(asked, &text)) {
    tide_reply_text(reply, BAD_REQUEST, "which file? text=N names one");
    return;
  }
  const struct tide_exhibit_block *block =
      block_of(routes, exhibit, image_idx, wants_first(request), reply);
  if (!block)
    return;
  const char *path = tide_exhibit_file(block, text);
  struct tide_buf bytes = {0};
  uint64_t changed_ns = 0;
  if (!path) {
    tide_reply_text(reply, NOT_FOUND, "no frame of this process is in such a file");
  } else if (tide_source_text_read(path, &bytes, &changed_ns, &diag)) {
    // An answer, not a fault: browsers report every 404 to whoever looks for errors of the page.
    tide_buf_done(&bytes);
    tide_reply_text(reply, OK, "%s", diag.text);
    reply->source = "none";
  } else {
    *reply = (struct tide_reply){.status = OK, .type = "text/plain; charset=utf-8"};
    if (changed_ns > exhibit->capture->start_realtime_ns)
      reply->source = "newer";
    reply->body = tide_body_new();
    reply->body->bytes = bytes;
  }
}

static const char *after_prefix(const char *path, const char *prefix)
{
  size_t n = strlen(prefix);
  return strncmp(path, prefix, n) == 0 ? path + n : NULL;
}

static void answer_view(struct tide_routes *routes, const char *path,
                        const struct tide_request *request, struct tide_reply *reply)
{
  const char *number = NULL;
  routes->n_viewed++;
  if (!routes->n_exhibits && routes->begin)
    routes->begin(routes->begin_context, false);
  if (request->posted)
    tide_reply_text(reply, NOT_ALLOWED, "only GET and HEAD are served here");
  else if (!routes->n_exhibits)
    tide_reply_text(reply, UNAVAILABLE,
                    "nothing is recorded yet; if this stays so, see what tidemark said when it "
                    "started");
  else if (strcmp(path, "/") == 0)
    answer_page(routes, reply);
  else if (strcmp(path, "/facts") == 0)
    answer_facts(routes, reply);
  else if ((number = after_prefix(path, "/data/")))
    answer_data(routes, number, request, reply);
  else if ((number = after_prefix(path, "/source/")))
    answer_source(routes, number, request, reply);
  else
    tide_reply_text(reply, NOT_FOUND, "there is no such thing here");
}

// Relative: the path may begin with a token.
static void lead_to_page(struct tide_reply *reply)
{
  tide_reply_text(reply, FOUND, "the page is at tidemark/");
  reply->location = "tidemark/";
}

static struct tide_exhibit *profiled_of(struct tide_routes *routes)
{
  if (!routes->profiled.capture && routes->begin)
    routes->begin(routes->begin_context, true);
  return routes->profiled.capture ? &routes->profiled : NULL;
}

void tide_routes_answer(void *context, const struct tide_request *request, struct tide_reply *reply)
{
  struct tide_routes *routes = context;
  const char *path = after_prefix(request->path, "/tidemark");
  if (!routes->serves_profilers)
    answer_view(routes, request->path, request, reply);
  else if (strcmp(request->path, "/") == 0 || (path && !*path))
    lead_to_page(reply);
  else if (path && *path == '/')
    answer_view(routes, path, request, reply);
  else if (!tide_profilers_answer(profiled_of(routes), request, reply))
    tide_reply_text(reply, NOT_FOUND, "there is no such thing here: see debug/pprof/");
}

bool tide_routes_is_live(const struct tide_routes *routes)
{
  for (size_t i = 0; i < routes->n_exhibits; i++)
    if (tide_exhibit_is_live(&routes->exhibits[i]))
      return true;
  return false;
}

void tide_routes_look(struct tide_routes *routes, bool is_wanted)
{
  for (size_t i = 0; i < routes->n_exhibits; i++)
    tide_exhibit_look(&routes->exhibits[i], is_wanted);
}

void tide_routes_done(struct tide_routes *routes)
{
  for (size_t i = 0; i < routes->n_exhibits; i++)
    tide_exhibit_close(&routes->exhibits[i]);
  tide_exhibit_close(&routes->profiled);
  tide_body_free(routes->page);
  tide_body_free(routes->facts);
  free(routes->policy);
  *routes = (struct tide_routes){0};
}

// ---- until somebody ends it ----
//
// Of a process that does nothing else the signals are blocked but while we wait, so
// that none is missed between a look at the flag and the wait; while an answer is being made they
// are let through and end the process.

enum { LOOK_MS = 1000, WANTED_MS = 5000 }; // a page that shows a recording asks every second

static volatile sig_atomic_t stop, busy;

static void on_signal(int number)
{
  if (busy)
    _exit(0);
  stop = 1;
}

static void fill_with_ends(sigset_t *set)
{
  sigemptyset(set);
  sigaddset(set, SIGINT);
  sigaddset(set, SIGTERM);
  sigaddset(set, SIGHUP);
}

void tide_serving_hear_signals(void)
{
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = on_signal};
  signal(SIGPIPE, SIG_IGN); // a browser that hangs up
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction before;
    sigaction(numbers[i], NULL, &before);
    if (before.sa_handler != SIG_IGN) // nohup, or a shell's background: as whoever started us wants
      sigaction(numbers[i], &action, NULL);
  }
}

static uint64_t now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// What is kept from round to round. Times are those of now_ms().
struct rounds {
  struct tide_server *server;
  struct tide_routes *routes;
  uint64_t look_ms;  // when to look at the sources next
  uint64_t asked_ms; // when somebody last asked, or at the start
  uint64_t n_asked;
};

// Of those that want something newer: profilers get that by themselves.
static uint64_t n_asked_of(const struct rounds *rounds)
{
  return rounds->routes->serves_profilers ? rounds->routes->n_viewed
                                          : tide_server_n_asked(rounds->server);
}

static struct rounds rounds_of(struct tide_server *server, struct tide_routes *routes)
{
  struct rounds rounds = {server, routes, now_ms(), now_ms(), 0};
  rounds.n_asked = n_asked_of(&rounds);
  return rounds;
}

static bool await_request_or_end(const struct rounds *rounds, const sigset_t *mask)
{
  uint64_t now = now_ms();
  int wait_ms = rounds->look_ms > now ? (int)(rounds->look_ms - now) : 0;
  return tide_server_await(rounds->server, wait_ms, mask);
}

// Whoever is woken has something to look at. True: it looked.
static bool turn(struct rounds *rounds, bool is_woken)
{
  uint64_t now = now_ms();
  bool looks = is_woken || now >= rounds->look_ms;
  tide_server_turn(rounds->server);
  if (n_asked_of(rounds) != rounds->n_asked)
    rounds->asked_ms = now;
  rounds->n_asked = n_asked_of(rounds);
  if (!looks)
    return false;
  tide_routes_look(rounds->routes, now - rounds->asked_ms < WANTED_MS);
  rounds->look_ms = now_ms() + LOOK_MS;
  return true;
}

// While an answer is being made, signals end the process.
static bool turn_interruptibly(struct rounds *rounds, const sigset_t *blocked)
{
  sigset_t before;
  busy = 1;
  sigprocmask(SIG_UNBLOCK, blocked, &before);
  bool looked = turn(rounds, false);
  sigprocmask(SIG_SETMASK, &before, NULL);
  busy = 0;
  return looked;
}

void tide_serving_run(struct tide_server *server, struct tide_routes *routes, unsigned linger_s)
{
  sigset_t ours, before, unblocked;
  struct rounds rounds = rounds_of(server, routes);
  fill_with_ends(&ours);
  sigprocmask(SIG_BLOCK, &ours, &before);
  unblocked = before;
  sigdelset(&unblocked, SIGINT); // whoever started us in the background may have blocked them
  sigdelset(&unblocked, SIGTERM);
  sigdelset(&unblocked, SIGHUP);
  routes->is_alone = true;
  while (!stop) {
    await_request_or_end(&rounds, &unblocked);
    if (stop)
      break;
    if (turn_interruptibly(&rounds, &ours) && tide_routes_is_live(routes))
      rounds.asked_ms = now_ms();
    if (linger_s && now_ms() - rounds.asked_ms > (uint64_t)linger_s * 1000)
      break;
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
}

void tide_serving_beside(struct tide_server *server, struct tide_routes *routes,
                         bool (*is_over)(void *context), void *context)
{
  struct rounds rounds = rounds_of(server, routes);
  while (!is_over(context))
    turn(&rounds, await_request_or_end(&rounds, NULL));
}
