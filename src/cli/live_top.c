// SPDX-License-Identifier: Apache-2.0
//
// The loop between a source of captures, the state (top/top.h) and the terminal.
//
// Beside a recording it is a thread with no business but the terminal: it asks by control.h, hears
// no signals, and what it shares with the recording's thread is under the lock. The terminal is
// taken when the thread begins and given back before anything else is said.
#define _GNU_SOURCE
#include "cli/live_top.h"

#include "base/alloc.h"
#include "base/proc.h"
#include "base/units.h"
#include "cli/hint_words.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "observe/clock.h"
#include "supervise/control.h"
#include "supervise/dumps.h"
#include "supervise/output_name.h"
#include "tide/file.h"
#include "top/curses_terminal.h"
#include "top/top.h"
#include "view/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MS_NS UINT64_C(1000000)
#define PERIOD_NS (1000 * MS_NS) // between two looks
#define EMPTY_NS (200 * MS_NS)   // while there is nothing yet

enum {
  COST_SHARE = 10,     // and a look may take a tenth of the time
  RESIZE_MS = 200,     // how often the size is looked at
  DRAFT_MS = 10000,    // how long a draft is waited for
  DUMPS_MAX = 10000,   // of one name
  DEAF_READS_MAX = 64, // without a key where one should be: the terminal is gone
  CTRL_L = 12,
};

struct session { // the terminal's thread's own
  const struct tide_arguments *arguments;
  struct tide_rules *rules;
  struct tide_resolver *resolver;
  struct tide_source *source;   // owned; NULL: not yet
  struct tide_control *control; // NULL: the source is somebody else's
  struct tide_top *top;
  struct tide_curses *curses;
  struct tide_canvas canvas;
  const char *dumps; // what they are named after; NULL: none
  uint32_t rss_pid;
  uint64_t next_ns; // when the next look is due
  uint64_t shown;   // version
  size_t n_rows, n_columns;
  unsigned n_deaf;
  bool is_over, is_left;
  enum tide_top_wish wish; // with which it was left
};

struct tide_live_top {
  struct tide_arguments arguments;
  enum tide_top_way way;
  struct tide_control *control;
  char *output_path;
  int wake_fd; // an eventfd: the recording is over
  int stdio[3];
  bool has_stdio; // some of it is not ours
  int null_fd, out_fd;
  char *out_path; // of the command's output; NULL: it goes where ours does
  pthread_t thread;
  bool has_thread;
  // Under the lock.
  pthread_mutex_t lock;
  bool is_over, is_worth_a_look;
  struct tide_draft *end; // of what was recorded; NULL: nothing
  char end_words[64];
};

// ---- names ----

static struct tide_naming *name_for_top(void *context, const struct tide_image *image)
{
  struct session *s = context;
  return tide_naming_open_with(s->arguments, image, s->rules, s->resolver);
}

// ---- looks ----

static uint64_t rss_of(uint32_t pid)
{
  return pid ? tide_proc_status_number(pid, "VmRSS", 10) * 1024 : 0;
}

// Fails only where there is no such process in the capture.
static enum tide_err show_capture(struct session *s, struct tide_capture *capture,
                                  struct tide_diag *diag)
{
  return capture ? tide_top_take(s->top, capture, rss_of(s->rss_pid), diag) : TIDE_ERR_OK;
}

static void look_at_source(struct session *s)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  uint64_t before_ns = tide_monotonic_ns();
  enum tide_err err = s->source->kind->refresh(s->source, DRAFT_MS, &capture, &diag);
  if (!err)
    err = show_capture(s, capture, &diag);
  if (err && err != TIDE_ERR_EMPTY) {
    TIDE_CLEANUP_FREE char *why = tide_cli_failure_words(err, &diag);
    tide_top_say(s->top, "%s", why);
  }
  const struct tide_capture *shown = tide_top_capture(s->top);
  if (!s->control && shown && !s->source->kind->is_live(s->source, shown)) {
    tide_top_end(s->top, "ended");
    s->is_over = true;
  }
  uint64_t after_ns = tide_monotonic_ns(), cost_ns = (after_ns - before_ns) * COST_SHARE;
  s->next_ns = after_ns + (err == TIDE_ERR_EMPTY ? EMPTY_NS
                           : cost_ns > PERIOD_NS ? cost_ns
                                                 : PERIOD_NS);
}

// ---- dumps ----

static char *name_dump(const struct session *s)
{
  TIDE_CLEANUP_FREE char *base = tide_output_base(s->dumps);
  uint32_t n_marks = tide_top_marks(s->top);
  TIDE_CLEANUP_FREE char *mark =
      n_marks ? tide_sprintf(".after-mark-%u", (unsigned)n_marks) : tide_strdup("");
  for (unsigned i = 1; i < DUMPS_MAX; i++) {
    char *path = tide_sprintf("%s.top-%u%s.tide", base, i, mark);
    if (access(path, F_OK))
      return path;
    free(path);
  }
  return NULL;
}

static enum tide_err dump_draft(const struct session *s, const char *path, struct tide_diag *diag)
{
  const struct tide_ask ask = {.kind = TIDE_ASK_DRAFT, .taken = TIDE_DUMP_ASKED};
  struct tide_answer answer = {0};
  tide_control_ask(s->control, &ask, DRAFT_MS, &answer);
  enum tide_err err = answer.err;
  if (answer.draft)
    err = tide_file_put(&answer.draft->bytes, path, diag);
  else if (err)
    *diag = answer.diag;
  else
    err = tide_fail(diag, TIDE_ERR_EMPTY, "the recording is over");
  tide_answer_done(&answer);
  return err;
}

// Of a store that was looked at: all that was recorded up to then.
static enum tide_err dump_capture(const struct tide_capture *capture, const char *path,
                                  struct tide_diag *diag)
{
  char why[] = TIDE_DUMP_ASKED;
  struct tide_capture dump = *capture;
  dump.taken = why;
  dump.finished = true;
  return tide_file_write(&dump, path, diag);
}

static void dump_to_file(struct session *s)
{
  struct tide_diag diag = {0};
  struct stat st;
  const struct tide_capture *capture = tide_top_capture(s->top);
  if (!s->dumps || s->is_over || !capture) {
    tide_top_say(s->top, "%s",
                 !capture                   ? "nothing was recorded yet"
                 : s->rss_pid && s->is_over ? "it has ended; whoever recorded it has the rest"
                                            : "it is in its file already");
    return;
  }
  TIDE_CLEANUP_FREE char *path = name_dump(s);
  struct tide_output_state state;
  if (!path) {
    tide_top_say(s->top, "no dump: there are too many of them already");
    return;
  }
  enum tide_err err = tide_output_reserve(path, false, &state, &diag);
  bool is_reserved = !err;
  if (!err)
    err = s->control ? dump_draft(s, path, &diag) : dump_capture(capture, path, &diag);
  char bytes[TIDE_UNITS_MAX];
  if (err) {
    if (is_reserved)
      tide_output_release(path);
    TIDE_CLEANUP_FREE char *why = tide_cli_failure_words(err, &diag);
    tide_top_say(s->top, "no dump: %s", why);
  } else {
    tide_units_bytes(bytes, tide_exact(stat(path, &st) ? 0 : (int64_t)st.st_size),
                     TIDE_STYLE_PLAIN);
    tide_top_say(s->top, "wrote %s (%s)", path, bytes);
  }
}

// ---- the loop ----

static void leave_with(struct session *s, enum tide_top_wish wish)
{
  s->is_left = true;
  s->wish = wish;
}

static void take_keys(struct session *s)
{
  for (;;) {
    unsigned key = tide_curses_key(s->curses);
    if (key == TIDE_TOP_KEY_NONE)
      return;
    s->n_deaf = 0;
    if (key == CTRL_L) {
      tide_curses_spoil(s->curses);
      s->shown = 0;
    }
    enum tide_top_wish wish = tide_top_key(s->top, key);
    if (wish == TIDE_TOP_WISH_DUMP)
      dump_to_file(s);
    else if (wish != TIDE_TOP_WISH_NONE)
      leave_with(s, wish);
  }
}

static void draw_if_changed(struct session *s)
{
  size_t n_rows, n_columns;
  tide_curses_size(s->curses, &n_rows, &n_columns);
  if (s->shown == tide_top_version(s->top) && n_rows == s->n_rows && n_columns == s->n_columns)
    return;
  s->n_rows = n_rows;
  s->n_columns = n_columns;
  tide_canvas_clear(&s->canvas, n_rows, n_columns);
  tide_top_draw(s->top, &s->canvas);
  tide_curses_show(s->curses, &s->canvas);
  s->shown = tide_top_version(s->top);
}

static bool is_waiting(const struct session *s)
{
  return s->is_over || tide_top_is_paused(s->top) || !s->source;
}

// For a key, a word of the recording's thread, or the next look. True: the latter spoke.
static bool wait_for_something(struct session *s, int wake_fd)
{
  uint64_t now_ns = tide_monotonic_ns();
  uint64_t left_ms = is_waiting(s)         ? RESIZE_MS
                     : s->next_ns > now_ns ? (s->next_ns - now_ns) / MS_NS + 1
                                           : 0;
  struct pollfd fds[] = {{tide_curses_fd(s->curses), POLLIN, 0}, {wake_fd, POLLIN, 0}};
  int n = poll(fds, 2, left_ms < RESIZE_MS ? (int)left_ms : RESIZE_MS);
  if (n <= 0)
    return false;
  s->n_deaf += fds[0].revents != 0;
  if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL) || s->n_deaf > DEAF_READS_MAX)
    leave_with(s, TIDE_TOP_WISH_QUIT); // nobody is there any more
  return fds[1].revents != 0;
}

static void begin_session(struct session *s, const struct tide_top_options *how)
{
  struct tide_screen screen = tide_terminal_screen(NULL, stderr, s->arguments);
  struct tide_top_options options = *how;
  options.process = s->arguments->process;
  options.sort = s->arguments->sort;
  options.utf8 = screen.utf8;
  options.units = screen.units;
  options.context = s;
  options.name = name_for_top;
  tide_progress_mute();
  s->resolver = tide_resolver_open(s->arguments);
  s->top = tide_top_new(&options);
}

// Colours are for whoever did not forbid them, wherever our other output goes.
static enum tide_err open_terminal(struct session *s, struct tide_diag *diag)
{
  const char *no = getenv("NO_COLOR");
  bool is_forbidden = s->arguments->color == TIDE_COLOR_NEVER ||
                      (s->arguments->color == TIDE_COLOR_AUTO && no && *no);
  return tide_curses_open(!is_forbidden, &s->curses, diag);
}

static void session_end(struct session *s)
{
  tide_curses_close(s->curses);
  tide_top_free(s->top);
  tide_source_free(s->source);
  tide_resolver_free(s->resolver);
  tide_rules_free(s->rules);
  tide_canvas_done(&s->canvas);
}

// ---- beside a recording ----

static enum tide_err open_output(struct tide_live_top *live, struct tide_diag *diag)
{
  bool is_terminal[3], any = false;
  for (int i = 0; i < 3; i++) {
    is_terminal[i] = isatty(i);
    any |= i && is_terminal[i];
    live->has_stdio |= is_terminal[i];
  }
  live->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (any) {
    live->out_path = tide_strdup("tidemark.XXXXXX.out");
    live->out_fd = mkostemps(live->out_path, 4, O_CLOEXEC | O_APPEND);
    if (live->out_fd < 0)
      return tide_fail_errno(diag, "cannot make a file here for what the command prints");
  }
  for (int i = 0; i < 3; i++)
    live->stdio[i] = !is_terminal[i] ? i : i ? live->out_fd : live->null_fd;
  return TIDE_ERR_OK;
}

enum tide_err tide_live_top_new(const struct tide_arguments *arguments, enum tide_top_way way,
                                struct tide_live_top **ret_live, struct tide_diag *diag)
{
  enum tide_err err = tide_curses_check(diag);
  if (err)
    return err;
  struct tide_live_top *live = tide_alloc(sizeof *live);
  *live = (struct tide_live_top){.arguments = *arguments,
                                 .way = way,
                                 .control = tide_control_new(),
                                 .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                 .null_fd = -1,
                                 .out_fd = -1};
  pthread_mutex_init(&live->lock, NULL);
  if (way == TIDE_TOP_RUN)
    err = open_output(live, diag);
  if (err)
    tide_live_top_free(live);
  else
    *ret_live = live;
  return err;
}

// A command that printed nothing leaves no file.
static void settle_output(struct tide_live_top *live, bool is_said)
{
  struct stat st;
  if (!live->out_path || live->out_fd < 0)
    return;
  bool is_empty = !fstat(live->out_fd, &st) && !st.st_size;
  if (is_empty)
    unlink(live->out_path);
  else if (is_said)
    tide_say("what the command printed is in %s", live->out_path);
}

void tide_live_top_free(struct tide_live_top *live)
{
  if (!live)
    return;
  settle_output(live, false);
  const int fds[] = {live->wake_fd, live->null_fd, live->out_fd};
  for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
    if (fds[i] >= 0)
      close(fds[i]);
  pthread_mutex_destroy(&live->lock);
  tide_draft_free(live->end);
  free(live->output_path);
  free(live->out_path);
  tide_control_free(live->control);
  free(live);
}

struct tide_control *tide_live_top_control(struct tide_live_top *live)
{
  return live->control;
}

const int *tide_live_top_stdio(const struct tide_live_top *live)
{
  return live->has_stdio ? live->stdio : NULL;
}

static void complete_for_top(struct tide_capture *capture, const char *name)
{
  tide_capture_complete(capture, name);
}

// The recording has ended. True: its end is shown.
static bool hear_end(struct tide_live_top *live, struct session *s)
{
  struct tide_capture *capture = NULL;
  pthread_mutex_lock(&live->lock);
  bool is_over = live->is_over, is_worth_a_look = live->is_worth_a_look;
  struct tide_draft *end = live->end;
  live->end = NULL;
  pthread_mutex_unlock(&live->lock);
  if (!is_over || s->is_over)
    return true;
  s->is_over = true;
  if (is_worth_a_look) {
    tide_living_give(s->source, end, true);
    if (!s->source->kind->look(s->source, false, &capture, NULL) && capture)
      (void)!show_capture(s, capture, NULL);
    tide_top_end(s->top, live->end_words);
    if (tide_top_is_paused(s->top))
      tide_top_key(s->top, TIDE_TOP_KEY_NONE); // what it said is of the past
  }
  tide_draft_free(end);
  return is_worth_a_look;
}

static void follow_recording(struct tide_live_top *live, struct session *s)
{
  while (!s->is_left) {
    draw_if_changed(s);
    if (wait_for_something(s, s->is_over ? -1 : live->wake_fd) && !hear_end(live, s))
      leave_with(s, TIDE_TOP_WISH_QUIT);
    take_keys(s);
    if (!s->is_left && !is_waiting(s) && tide_monotonic_ns() >= s->next_ns)
      look_at_source(s);
  }
}

static void say_left(const struct tide_live_top *live, const struct session *s)
{
  if (s->is_over || live->way != TIDE_TOP_RUN)
    return;
  if (s->wish == TIDE_TOP_WISH_END)
    kill(getpid(), SIGTERM); // which is passed on to the command
  else
    tide_say("%s goes on, and is recorded to its end; Ctrl-C ends it", live->arguments.rest[0]);
}

static void *show_recording(void *context)
{
  struct tide_live_top *live = context;
  struct session s = {
      .arguments = &live->arguments, .control = live->control, .dumps = live->output_path};
  struct tide_diag diag = {0};
  const bool is_run = live->way == TIDE_TOP_RUN;
  TIDE_CLEANUP_FREE char *quits =
      is_run && live->out_path
          ? tide_sprintf("What the command prints goes to %s. q asks whether to wait for it, "
                         "recorded on, or to end it.",
                         live->out_path)
      : is_run ? tide_strdup("q asks whether to wait for the command, recorded on, or to end it.")
               : tide_strdup("q lets the process go as it was, and writes the capture.");
  const struct tide_living_options living = {.control = live->control,
                                             .name = live->output_path,
                                             .is_brief = true,
                                             .complete = complete_for_top};
  enum tide_err err = tide_rules_open(&live->arguments, &s.rules, &diag);
  begin_session(&s, &(struct tide_top_options){
                        .how = is_run ? "run" : "attached", .quits = quits, .asks = is_run});
  s.source = tide_living_new(&living);
  if (!err)
    err = open_terminal(&s, &diag);
  if (err)
    tide_cmd_failed(err, &diag);
  else
    follow_recording(live, &s);
  tide_curses_close(s.curses);
  s.curses = NULL;
  say_left(live, &s);
  if (!is_run && !s.is_over) {
    struct tide_answer answer = {0};
    tide_control_ask(live->control, &(struct tide_ask){.kind = TIDE_ASK_FINISH}, DRAFT_MS, &answer);
    tide_answer_done(&answer);
  }
  session_end(&s);
  return NULL;
}

// The command's output is named after the capture, unless there is such a file.
static void name_output(struct tide_live_top *live)
{
  if (!live->out_path)
    return;
  TIDE_CLEANUP_FREE char *base = tide_output_base(live->output_path);
  char *path = tide_sprintf("%s.out", base);
  if (!renameat2(AT_FDCWD, live->out_path, AT_FDCWD, path, RENAME_NOREPLACE)) {
    free(live->out_path);
    live->out_path = path;
  } else {
    free(path);
  }
}

void tide_live_top_start(void *context, const char *output_path)
{
  struct tide_live_top *live = context;
  live->output_path = tide_strdup(output_path);
  name_output(live);
  live->has_thread = !pthread_create(&live->thread, NULL, show_recording, live);
  if (!live->has_thread)
    tide_say("nothing is shown: there can be no thread for it");
}

uint64_t tide_live_top_spent_ns(void *context)
{
  const struct tide_live_top *live = context;
  struct timespec spent = {0};
  clockid_t clock;
  if (live->has_thread && !pthread_getcpuclockid(live->thread, &clock))
    clock_gettime(clock, &spent);
  return (uint64_t)spent.tv_sec * 1000 * MS_NS + (uint64_t)spent.tv_nsec;
}

void tide_live_top_finish(struct tide_live_top *live, const struct tide_run_result *result,
                          bool is_worth_a_look)
{
  struct tide_draft *end = NULL;
  const struct tide_capture *capture = result->capture;
  bool has_any = capture->n_images && !tide_image_is_unrecorded(&capture->images[0]);
  if (has_any && is_worth_a_look)
    (void)!tide_draft_new(capture, 0, &end, NULL);
  if (live->has_thread) {
    pthread_mutex_lock(&live->lock);
    live->is_over = true;
    live->is_worth_a_look = is_worth_a_look;
    live->end = end;
    if (live->way == TIDE_TOP_ATTACH)
      snprintf(live->end_words, sizeof live->end_words, "has ended");
    else if (result->term_signal)
      snprintf(live->end_words, sizeof live->end_words, "killed by SIG%s",
               sigabbrev_np(result->term_signal) ? sigabbrev_np(result->term_signal) : "?");
    else
      snprintf(live->end_words, sizeof live->end_words, "exited %d", result->exit_status);
    pthread_mutex_unlock(&live->lock);
    eventfd_write(live->wake_fd, 1);
    pthread_join(live->thread, NULL);
    live->has_thread = false;
  } else {
    tide_draft_free(end);
  }
  settle_output(live, !live->arguments.quiet);
  if (live->out_fd >= 0)
    close(live->out_fd);
  live->out_fd = -1;
  tide_live_top_free(live);
}

// ---- of a source ----

static void follow_source(struct session *s)
{
  while (!s->is_left) {
    draw_if_changed(s);
    wait_for_something(s, -1);
    take_keys(s);
    if (!s->is_left && !is_waiting(s) && tide_monotonic_ns() >= s->next_ns)
      look_at_source(s);
  }
}

int tide_live_top_watch(const struct tide_arguments *arguments,
                        const struct tide_watching *watching)
{
  struct session s = {.arguments = arguments,
                      .source = watching->source,
                      .dumps = watching->dumps,
                      .rss_pid = watching->rss_pid};
  struct tide_diag diag = {0};
  struct tide_capture *capture = NULL;
  enum tide_err err = tide_curses_check(&diag);
  if (!err)
    err = tide_rules_open(arguments, &s.rules, &diag);
  if (!err)
    err = s.source->kind->refresh(s.source, DRAFT_MS, &capture, &diag);
  if (!err) {
    bool is_static = !s.source->kind->is_live(s.source, capture);
    begin_session(
        &s, &(struct tide_top_options){.how = is_static ? "a finished capture" : watching->how,
                                       .quits = watching->quits,
                                       .is_static = is_static});
    s.is_over = is_static;
    s.next_ns = tide_monotonic_ns() + PERIOD_NS;
    err = show_capture(&s, capture, &diag);
  }
  if (!err)
    err = open_terminal(&s, &diag);
  if (!err)
    follow_source(&s);
  session_end(&s);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
