// SPDX-License-Identifier: Apache-2.0
//
// What is served, and nothing else:
//   /                               the page
//   /facts                          which captures there are, and their versions (JSON)
//   /data/N?process=I&part=first    the page's data of image I of capture N; without I, of the one
//                                   that is shown first; without a part, all of it
//   /source/N?process=I&part=first&text=T  the source file that text T of that data names
// Where profilers and monitors are served, too, these are below /tidemark, and theirs (profilers.h)
// beside it.
// A path is compared with these, never looked up in a file system; of files only those are read
// that frames of the capture name, and of those only the ones that are text.
#pragma once
#include "page/html_report.h"
#include "serve/exhibit.h"
#include "serve/server.h"

enum { TIDE_ROUTES_MAX_CAPTURES = 2 };

struct tide_routes {
  struct tide_exhibit exhibits[TIDE_ROUTES_MAX_CAPTURES];
  size_t n_exhibits;
  // For profilers, which look at this moment alone: a capture of its own. All zero: not open yet.
  bool serves_profilers;
  struct tide_exhibit profiled;
  // Called for a request when there is no capture for it yet: adds one, or opens that of profilers,
  // if there is something to show by now. May be NULL.
  void (*begin)(void *context, bool is_for_profilers);
  void *begin_context;
  uint64_t n_viewed;       // requests for the page and its data
  bool is_alone;           // nothing else goes on in this process, so that it may fork
  const char *editor;      // template of a link that opens an editor: %f file, %l line; NULL: none
  struct tide_body *page;  // packed
  char *policy;            // the page's
  struct tide_body *facts; // as they were last asked for; NULL: not yet
  uint64_t facts_tag;
};

// Makes ready to serve a page, without any capture yet. page NULL: the build has none, which only
// profilers and monitors can do without.
void tide_routes_init(struct tide_routes *routes, const struct tide_embedded_page *page);
// One capture more, as tide_exhibit_open() opens it.
enum tide_err tide_routes_add(struct tide_routes *routes, struct tide_source *source,
                              const struct tide_exhibit_namer *namer, const char *process,
                              struct tide_diag *diag);

// A tide_server_answer.
void tide_routes_answer(void *routes, const struct tide_request *request, struct tide_reply *reply);

// Looks whether there is something newer, which somebody wants or not.
void tide_routes_look(struct tide_routes *routes, bool is_wanted);
bool tide_routes_is_live(const struct tide_routes *routes); // will there be?
void tide_routes_done(struct tide_routes *routes);          // all zero is fine

// ---- until somebody ends it ----
//
// Serving until somebody ends it: requests are answered, sources are looked at once a second, and
// what costs something there is done only while somebody asks.

// From now on SIGINT, SIGTERM and SIGHUP end the serving, or the process with status 0 where an
// answer takes long: there is nothing to lose.
void tide_serving_hear_signals(void);

// Until one of the signals, or (linger_s > 0) until nobody has asked for that long and nothing that
// is shown is still being recorded.
void tide_serving_run(struct tide_server *server, struct tide_routes *routes, unsigned linger_s);

// The same on a thread beside others, which has no business with signals: until is_over() says so,
// which is asked whenever the server is woken (its wake_fd).
void tide_serving_beside(struct tide_server *server, struct tide_routes *routes,
                         bool (*is_over)(void *context), void *context);
