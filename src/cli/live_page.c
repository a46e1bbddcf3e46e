// SPDX-License-Identifier: Apache-2.0
//
// What the two threads share is under the lock; everything else of the page is the
// page's thread's, from its start to its end, and before and after that the caller's.
#define _GNU_SOURCE
#include "cli/showing.h"

#include "base/alloc.h"
#include "cli/hint_words.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "serve/routes.h"
#include "supervise/control.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_WAIT_S = 20,     // for an answer that is being made when the run is over
  MAX_DRAFT_MS = 5000, // for the recording, by a profiler that asks
};

struct tide_live_page {
  struct tide_arguments arguments;
  struct tide_control *control;
  struct tide_showing showing;
  struct tide_source *living; // the exhibit's, while the run is shown; else NULL
  char *output_path;
  int wake_fd;    // an eventfd: there is something to do for the thread
  int browser_fd; // -1: no browser is to be opened
  pthread_t thread;
  bool has_thread;
  // Under the lock.
  pthread_mutex_t lock;
  pthread_cond_t change;
  const struct tide_run_result *result; // not NULL: the run is over
  bool has_left;                        // the thread has nothing to do here any more
  void (*metrics)(void *context, struct tide_buf *out); // NULL: none
  void *metrics_context;
};

// To the end of the process: its server is the one in the background's, too, and stopping it here
// would end the connections there; and where that did not come about, the thread is at work yet.
static struct tide_live_page *volatile left;

enum tide_err tide_live_page_check(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  if (arguments->view && arguments->serve)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--serve has the page, too, at /tidemark/: leave --view out");
  if (arguments->token_file && !arguments->serve)
    return tide_fail(diag, TIDE_ERR_USAGE, "--token-file goes with --serve");
  return TIDE_ERR_OK;
}

static enum tide_err begin_serving(struct tide_live_page *page, struct tide_diag *diag)
{
  enum tide_err err = tide_showing_init(&page->showing, &page->arguments, diag);
  if (!err)
    err = tide_showing_listen(&page->showing, page->wake_fd, diag);
  if (err)
    tide_showing_done(&page->showing);
  return err;
}

enum tide_err tide_live_page_new(const struct tide_arguments *arguments,
                                 struct tide_live_page **ret_page, struct tide_diag *diag)
{
  enum tide_err err = tide_showing_check(arguments, diag);
  if (err)
    return err;
  struct tide_live_page *page = tide_alloc(sizeof *page);
  *page = (struct tide_live_page){
      .arguments = *arguments,
      .control = tide_control_new(),
      .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
      .browser_fd = -1,
  };
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&page->change, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&page->lock, NULL);
  if (arguments->serve) // where nobody can ask, nothing is started
    err = begin_serving(page, diag);
  else if (!arguments->no_open && tide_browser_is_here())
    page->browser_fd = tide_browser_prepare();
  if (err)
    tide_live_page_free(page);
  else
    *ret_page = page;
  return err;
}

void tide_live_page_free(struct tide_live_page *page)
{
  if (!page)
    return;
  if (page->browser_fd >= 0)
    tide_browser_open(page->browser_fd, NULL);
  if (page->arguments.serve)
    tide_showing_done(&page->showing);
  close(page->wake_fd);
  pthread_mutex_destroy(&page->lock);
  pthread_cond_destroy(&page->change);
  free(page->output_path);
  tide_control_free(page->control);
  free(page);
}

struct tide_control *tide_live_page_control(struct tide_live_page *page)
{
  return page->control;
}

// ---- the thread ----

// A draft has neither a file nor the names of code that was made while the program ran.
static void complete_draft(struct tide_capture *capture, const char *path)
{
  tide_capture_complete(capture, path);
}

// Takes descriptors of its own and lets go of all but the ones it uses. Where that is not to be had
// (Linux before 5.9, a filter of system calls), it goes on with everybody's.
static void take_own_descriptors(const struct tide_live_page *page)
{
  int served_fd = page->showing.server ? tide_server_fd(page->showing.server) : -1;
  const int kept[] = {page->wake_fd, page->browser_fd, tide_control_wake_fd(page->control),
                      served_fd};
  int highest = STDERR_FILENO;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    highest = kept[i] > highest ? kept[i] : highest;
  if (close_range((unsigned)highest + 1, ~0U, CLOSE_RANGE_UNSHARE))
    return;
  for (int fd = STDERR_FILENO + 1; fd < highest; fd++)
    if (fd != kept[0] && fd != kept[1] && fd != kept[2] && fd != kept[3])
      close(fd);
}

static void write_metrics(void *context, struct tide_buf *out)
{
  struct tide_live_page *page = context;
  pthread_mutex_lock(&page->lock);
  if (page->metrics)
    page->metrics(page->metrics_context, out);
  pthread_mutex_unlock(&page->lock);
}

static const struct tide_run_result *result_of(struct tide_live_page *page)
{
  pthread_mutex_lock(&page->lock);
  const struct tide_run_result *result = page->result;
  pthread_mutex_unlock(&page->lock);
  return result;
}

static bool is_over(void *page)
{
  return result_of(page);
}

static void await_wake(const struct tide_live_page *page)
{
  struct pollfd woken = {page->wake_fd, POLLIN, 0};
  eventfd_t n;
  while (poll(&woken, 1, -1) < 0 && errno == EINTR)
    continue;
  (void)!eventfd_read(page->wake_fd, &n);
}

static void open_browser(struct tide_live_page *page)
{
  int fd = page->browser_fd;
  page->browser_fd = -1;
  if (!page->arguments.no_open && tide_browser_is_here() &&
      !tide_browser_open(fd, tide_server_ticket_url(page->showing.server)))
    tide_say("cannot start a browser; open the address yourself");
}

static void say_address(const struct tide_live_page *page)
{
  tide_say("the page is at %s ; it ends five minutes after the last look",
           tide_server_url(page->showing.server));
  if (!tide_browser_is_here())
    tide_showing_say_way(&page->showing);
}

// Serves from now on; a failure is said, as the run goes on.
static void say_no_page(enum tide_err err, const struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE char *why = tide_cli_failure_words(err, diag);
  tide_say("no page: %s", why);
}

static bool begin_page(struct tide_live_page *page, struct tide_source *source)
{
  struct tide_diag diag = {0};
  enum tide_err err = tide_showing_add(&page->showing, source, &diag);
  if (!err)
    err = tide_showing_listen(&page->showing, page->wake_fd, &diag);
  if (err) {
    say_no_page(err, &diag);
    return false;
  }
  say_address(page);
  open_browser(page);
  return true;
}

// A source that gives this draft first.
static struct tide_source *living_from(const struct tide_live_page *page, struct tide_draft *draft,
                                       bool is_brief)
{
  const struct tide_living_options options = {
      .control = page->control,
      .name = page->output_path,
      .notify_fd = page->wake_fd,
      .is_brief = is_brief,
      .complete = complete_draft,
  };
  struct tide_source *living = tide_living_new(&options);
  tide_living_give(living, draft, false);
  return living;
}

// Waits for the first draft, and shows it. False: there is none, or no page.
static bool show_first_draft(struct tide_live_page *page)
{
  const struct tide_ask ask = {
      .kind = TIDE_ASK_DRAFT, .is_paced = true, .notify_fd = page->wake_fd};
  struct tide_answer answer = {0};
  struct tide_asked *asked = NULL;
  if (tide_control_post(page->control, &ask, &asked, NULL))
    return false;
  while (!tide_control_collect(page->control, &asked, 0, &answer))
    await_wake(page);
  if (answer.draft) {
    struct tide_source *living = living_from(page, answer.draft, false);
    page->living = begin_page(page, living) ? living : NULL;
  }
  tide_answer_done(&answer);
  return page->living;
}

// ---- for profilers ----

// Somebody asks, and there is nothing to tell yet: perhaps there is by now.
static void begin_telling(void *context, bool is_for_profilers)
{
  struct tide_live_page *page = context;
  struct tide_showing *showing = &page->showing;
  const struct tide_ask ask = {.kind = TIDE_ASK_DRAFT, .is_brief = is_for_profilers};
  struct tide_answer answer = {0};
  struct tide_diag diag;
  tide_control_ask(page->control, &ask, MAX_DRAFT_MS, &answer);
  struct tide_source *living =
      answer.draft ? living_from(page, answer.draft, is_for_profilers) : NULL;
  struct tide_exhibit *profiled = &showing->routes.profiled;
  if (living && is_for_profilers) {
    if (!tide_exhibit_open(profiled, living, &showing->namer, showing->arguments->process, &diag)) {
      profiled->more_metrics = write_metrics;
      profiled->more_context = page;
    }
  } else if (living)
    (void)!tide_showing_add(showing, living, &diag);
  tide_answer_done(&answer);
}

// From the start of the run to its end.
static void serve_profilers(struct tide_live_page *page)
{
  page->showing.routes.begin = begin_telling;
  page->showing.routes.begin_context = page;
  struct tide_diag diag = {0};
  enum tide_err err = tide_server_start(page->showing.server, &diag);
  if (err) {
    TIDE_CLEANUP_FREE char *why = tide_cli_failure_words(err, &diag);
    tide_say("profilers are not answered: %s", why);
    return;
  }
  tide_serving_beside(page->showing.server, &page->showing.routes, is_over, page);
}

// ---- the end of the run ----

static bool has_file(const struct tide_run_result *result)
{
  struct stat st;
  return result->output_path && !stat(result->output_path, &st) && S_ISREG(st.st_mode);
}

// The whole recording: from its file, as `view` shows it, or where there is none as it is.
static struct tide_source *source_of_end(struct tide_live_page *page,
                                         const struct tide_run_result *result)
{
  struct tide_draft *draft = NULL;
  if (has_file(result))
    return tide_file_source_new(result->output_path, &page->showing.opener);
  if (!result->capture->n_images || tide_draft_new(result->capture, 0, &draft, NULL))
    return NULL;
  const struct tide_living_options options = {
      .control = page->control, .name = page->output_path, .complete = complete_draft};
  struct tide_source *source = tide_living_new(&options);
  tide_living_give(source, draft, true);
  tide_draft_free(draft);
  return source;
}

// The child's. It has the run's memory as well, which it does not need. What it answers first is
// the end already.
static void serve_in_background(struct tide_live_page *page)
{
  sigset_t none;
  sigemptyset(&none);
  tide_showing_detach();
  tide_serving_hear_signals();
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  page->arguments.verb = TIDE_VERB_VIEW; // which may wait for names from elsewhere
  struct tide_run_result result = *page->result;
  tide_run_result_done(&result);
  tide_routes_look(&page->showing.routes, true);
  malloc_trim(0);
  tide_serving_run(page->showing.server, &page->showing.routes, TIDE_SHOWING_LINGER_S);
  _exit(0);
}

// Shows the end, in the background.
static void leave_in_background(struct tide_live_page *page)
{
  struct tide_source *source = source_of_end(page, page->result);
  if (page->living && source)
    tide_exhibit_turn_to(&page->showing.routes.exhibits[0], source);
  else if (page->living)
    tide_living_give(page->living, NULL, true);
  else if (!source || !begin_page(page, source))
    return;
  pid_t pid = fork();
  if (pid == 0)
    serve_in_background(page);
  else if (pid < 0)
    tide_say("the page has ended: there can be no process for it");
  else if (page->living)
    tide_say("the page is still at %s", tide_server_url(page->showing.server));
}

// Until the run is over.
static void show_run(struct tide_live_page *page)
{
  struct tide_diag diag = {0};
  enum tide_err err = tide_showing_init(&page->showing, &page->arguments, &diag);
  if (err)
    say_no_page(err, &diag);
  else if (show_first_draft(page))
    tide_serving_beside(page->showing.server, &page->showing.routes, is_over, page);
  while (!result_of(page))
    await_wake(page);
  bool has_failed = err || (page->showing.routes.n_exhibits && !page->living);
  if (!has_failed)
    leave_in_background(page);
}

static void *show_page(void *context)
{
  struct tide_live_page *page = context;
  tide_progress_mute();
  take_own_descriptors(page);
  if (page->arguments.serve)
    serve_profilers(page);
  else
    show_run(page);
  pthread_mutex_lock(&page->lock);
  page->has_left = true;
  pthread_cond_signal(&page->change);
  pthread_mutex_unlock(&page->lock);
  return NULL;
}

// ---- the caller's ----

void tide_live_page_start(void *context, const char *output_path)
{
  struct tide_live_page *page = context;
  page->output_path = tide_strdup(output_path);
  page->has_thread = !pthread_create(&page->thread, NULL, show_page, page);
}

void tide_live_page_set_metrics(struct tide_live_page *page,
                                void (*write)(void *context, struct tide_buf *out), void *context)
{
  pthread_mutex_lock(&page->lock);
  page->metrics = write;
  page->metrics_context = context;
  pthread_mutex_unlock(&page->lock);
}

uint64_t tide_live_page_spent_ns(void *context)
{
  const struct tide_live_page *page = context;
  struct timespec spent = {0};
  clockid_t clock;
  if (page->has_thread && !pthread_getcpuclockid(page->thread, &clock))
    clock_gettime(clock, &spent);
  return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

// False: not in time.
static bool await_left(struct tide_live_page *page)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += MAX_WAIT_S;
  while (!page->has_left && pthread_cond_timedwait(&page->change, &page->lock, &until) == 0)
    continue;
  return page->has_left;
}

void tide_live_page_finish(struct tide_live_page *page, const struct tide_run_result *result)
{
  left = page;
  if (!page->has_thread) {
    tide_say("%s: there can be no thread for it",
             page->arguments.serve ? "profilers were not answered" : "no page");
    return;
  }
  pthread_mutex_lock(&page->lock);
  page->result = result;
  eventfd_write(page->wake_fd, 1);
  bool has_left = await_left(page);
  pthread_mutex_unlock(&page->lock);
  if (has_left)
    pthread_join(page->thread, NULL);
  else if (!page->arguments.serve)
    tide_say("the page is busy, and ends with the run; 'tidemark view' shows it again");
}
