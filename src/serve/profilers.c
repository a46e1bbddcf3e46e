// SPDX-License-Identifier: Apache-2.0
//
// See profilers.h.
#define _GNU_SOURCE
#include "serve/profilers.h"

#include "base/alloc.h"
#include "export/exports.h"
#include "export/pprof_base.h"
#include "merge/merge.h"
#include "model/image_sums.h"
#include "profile/completeness.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  OK = 200,
  MOVED = 301,
  BAD_REQUEST = 400,
  FORBIDDEN = 403,
  NOT_FOUND = 404,
  NOT_ALLOWED = 405,
  FAILED = 500,
  UNAVAILABLE = 503,
  REFRESH_MS = 5000,
  MAX_SECONDS = 3600,
};

static const char plain[] = "text/plain; charset=utf-8";

// ---- what it is asked with ----

// As Go reads its parameters: from what was posted, else from the query. NULL: it is not given, or
// empty. Of a form only what needs no escapes is understood: numbers, and names of processes.
static const char *parameter_of(const struct tide_request *request, const char *name, char *room,
                                size_t n_room)
{
  size_t n_name = strlen(name);
  for (const char *at = request->posted; at && *at; at += *at == '&') {
    size_t n = strcspn(at, "&");
    if (strncmp(at, name, n_name) == 0 && at[n_name] == '=') {
      snprintf(room, n_room, "%.*s", (int)(n - n_name - 1), at + n_name + 1);
      return *room ? room : NULL;
    }
    at += n;
  }
  const char *text = request->parameter(request->context, name);
  return text && *text ? text : NULL;
}

// As Go's strconv.Atoi, whose error is looked at or not: false, it is no number, and then 0; one
// that is too large is the largest.
static bool number_of(const char *text, int64_t *ret)
{
  char *end = NULL;
  *ret = 0;
  if (text[strspn(text, "+-0123456789")])
    return false;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end)
    return false;
  *ret = value;
  return true;
}

// ---- what is asked about ----

struct subject {
  const struct tide_exhibit *exhibit;
  const struct tide_capture *capture;
  size_t image_idx;
  struct tide_capture *merged; // owned; NULL: the capture is the exhibit's
  bool is_off;                 // recording, of it or of one that was added up
  uint64_t realtime_ns;        // of the asking
  const struct tide_request *request;
};

// Where a difference over some seconds begins.
struct start {
  struct tide_pprof_base *base;
  uint64_t realtime_ns;
  char process[16]; // by pid, so that it is the same at the end; "": several, added up
};

static uint64_t realtime_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const struct tide_image *image_of(const struct subject *subject)
{
  return &subject->capture->images[subject->image_idx];
}

static const char *program_of(const struct tide_image *image)
{
  return image->exe ? image->exe : "";
}

// What an ended process held is held no more. One that is attached to runs until it is let go; sums
// of processes that have ended have no pid.
static bool is_running(const struct tide_image *image)
{
  return image->pid &&
         (image->end_kind == TIDE_END_UNKNOWN || image->end_kind == TIDE_END_DETACHED);
}

// What the report would show, if that runs; else the largest that does. If none does, the former.
static size_t find_running(const struct tide_capture *capture, size_t shown_idx)
{
  size_t best = shown_idx;
  for (size_t i = 0; i < capture->n_images && !is_running(&capture->images[shown_idx]); i++)
    if (is_running(&capture->images[i]) &&
        (!is_running(&capture->images[best]) ||
         capture->images[i].peak_bytes > capture->images[best].peak_bytes))
      best = i;
  return best;
}

// All processes that run of the program that the subject is of.
static enum tide_err add_up(struct subject *subject, struct tide_diag *diag)
{
  const struct tide_capture *capture = subject->capture;
  TIDE_CLEANUP_FREE struct tide_merge_input *inputs =
      tide_alloc_array(capture->n_images, sizeof *inputs);
  size_t n = 0;
  for (size_t i = 0; i < capture->n_images; i++)
    if (is_running(&capture->images[i]) &&
        strcmp(program_of(&capture->images[i]), program_of(image_of(subject))) == 0) {
      subject->is_off |= capture->images[i].is_paused;
      inputs[n++] = (struct tide_merge_input){capture, i};
    }
  if (!n)
    return tide_fail(diag, TIDE_ERR_EMPTY, "none of its processes runs any more");
  enum tide_err err = tide_merge(inputs, n, &subject->merged, diag);
  if (err)
    return err;
  subject->capture = subject->merged;
  subject->image_idx = 0;
  return TIDE_ERR_OK;
}

static void subject_done(struct subject *subject)
{
  tide_capture_free(subject->merged);
}

// False: the reply says why there is none.
static bool find_subject(struct tide_exhibit *exhibit, const struct tide_request *request,
                         struct subject *ret, struct tide_reply *reply)
{
  struct tide_diag diag = {0};
  *ret = (struct subject){.exhibit = exhibit, .realtime_ns = realtime_ns(), .request = request};
  if (!exhibit) {
    tide_reply_text(reply, UNAVAILABLE,
                    "nothing is recorded yet; if this stays so, see what tidemark said when it "
                    "started");
    return false;
  }
  if (tide_exhibit_refresh(exhibit, REFRESH_MS, &diag)) {
    tide_reply_text(reply, UNAVAILABLE, "not to be had now: %s", diag.text);
    return false;
  }
  ret->capture = exhibit->capture;
  ret->image_idx = find_running(ret->capture, exhibit->shown_idx);
  const struct start *start = request->kept;
  char room[512];
  const char *process = start && *start->process
                            ? start->process
                            : parameter_of(request, "process", room, sizeof room);
  bool is_all = process && strcmp(process, "all") == 0;
  enum tide_err err = is_all    ? add_up(ret, &diag)
                      : process ? tide_profile_pick(ret->capture, process, &ret->image_idx, &diag)
                                : TIDE_ERR_OK;
  if (err)
    tide_reply_text(reply,
                    err == TIDE_ERR_EMPTY ? UNAVAILABLE
                    : is_all              ? FAILED
                                          : NOT_FOUND,
                    "%s", diag.text);
  else
    ret->is_off |= image_of(ret)->is_paused;
  return !err;
}

// ---- profiles ----

static struct tide_question question_of(bool shows_allocated)
{
  return (struct tide_question){.measure =
                                    shows_allocated ? TIDE_MEASURE_TOTAL : TIDE_MEASURE_LIVE};
}

// As of this moment it is whole, though the recording goes on.
static struct tide_capture moment_of(const struct subject *subject)
{
  struct tide_capture moment = *subject->capture;
  moment.finished |= tide_exhibit_is_live(subject->exhibit);
  return moment;
}

static void answer_in_format(const struct subject *subject, const char *format, const char *type,
                             bool shows_allocated, struct tide_reply *reply)
{
  struct tide_capture moment = moment_of(subject);
  struct tide_profile *profile = tide_profile_new(&moment, subject->image_idx);
  const struct start *start = subject->request->kept;
  const struct tide_exhibit_namer *namer = subject->exhibit->namer;
  const struct tide_question question = question_of(shows_allocated);
  struct tide_export_options options = {
      .file = subject->exhibit->source->name,
      .measure_said = true,
      .asked_realtime_ns = subject->realtime_ns,
      .base = start ? start->base : NULL,
      .since_ns = start ? subject->realtime_ns - start->realtime_ns : 0,
      .shows_allocated = shows_allocated,
  };
  struct tide_view view;
  struct tide_sink sink;
  struct tide_diag diag = {0};
  tide_profile_ask(profile, &question);
  struct tide_naming *naming = namer->name(namer->context, profile->image);
  tide_view_init(&view, profile, naming, NULL, true);
  tide_sink_init(&sink, NULL);
  enum tide_err err = tide_export_find(format)->write(&sink, &view, &options, &diag);
  if (err) {
    tide_sink_done(&sink);
    tide_reply_text(reply, FAILED, "%s", diag.text);
  } else {
    *reply = (struct tide_reply){.status = OK, .type = type, .body = tide_body_new()};
    reply->body->bytes = sink.buf; // the body's now
  }
  tide_view_done(&view);
  tide_naming_free(naming);
  tide_profile_free(profile);
  if (namer->named)
    namer->named(namer->context);
}

static void forget_start(void *kept)
{
  struct start *start = kept;
  tide_pprof_base_free(start->base);
  free(start);
}

// What there is now is taken off what there is then.
static void begin_difference(const struct subject *subject, unsigned long seconds,
                             struct tide_reply *reply)
{
  struct tide_capture moment = moment_of(subject);
  struct tide_profile *profile = tide_profile_new(&moment, subject->image_idx);
  struct start *start = tide_alloc(sizeof *start);
  *start = (struct start){tide_pprof_base_take(profile), subject->realtime_ns, ""};
  if (!subject->merged && image_of(subject)->pid)
    snprintf(start->process, sizeof start->process, "%" PRIu32, image_of(subject)->pid);
  *reply = (struct tide_reply){
      .later_ms = (uint32_t)seconds * 1000, .kept = start, .forget = forget_start};
  tide_profile_free(profile);
}

static void answer_profile(const struct subject *subject, bool shows_allocated,
                           struct tide_reply *reply)
{
  char room[32];
  int64_t debug = 0, seconds = 0;
  const struct tide_request *request = subject->request;
  const char *text = parameter_of(request, "debug", room, sizeof room);
  if (text)
    number_of(text, &debug); // what is none is 0
  const char *wait = parameter_of(request, "seconds", room, sizeof room);
  if (wait && (!number_of(wait, &seconds) || seconds < 1 || seconds > MAX_SECONDS)) {
    tide_reply_text(reply, BAD_REQUEST, "seconds=N takes a number from 1 to %d", MAX_SECONDS);
  } else if (wait && debug) {
    tide_reply_text(reply, BAD_REQUEST, "seconds and debug are not to be had together");
  } else if (wait && !request->kept) {
    begin_difference(subject, (unsigned long)seconds, reply);
  } else if (debug) { // its lines have both
    answer_in_format(subject, "gperftools", plain, false, reply);
  } else {
    answer_in_format(subject, "pprof", "application/octet-stream", shows_allocated, reply);
    if (reply->status == OK)
      reply->filename = shows_allocated ? wait ? "allocs-delta" : "allocs"
                        : wait          ? "heap-delta"
                                        : "heap";
  }
}

static void answer_heap(const struct subject *subject, struct tide_reply *reply)
{
  answer_profile(subject, false, reply);
}

static void answer_allocs(const struct subject *subject, struct tide_reply *reply)
{
  answer_profile(subject, true, reply);
}

static void answer_text(const struct subject *subject, struct tide_reply *reply)
{
  answer_in_format(subject, "gperftools", plain, false, reply);
}

static void answer_flames(const struct subject *subject, struct tide_reply *reply)
{
  answer_in_format(subject, "svg", "image/svg+xml", false, reply);
}

// ---- the command, and names ----

static void answer_words(const struct subject *subject, char between, struct tide_reply *reply)
{
  const struct tide_image *image = image_of(subject);
  *reply = (struct tide_reply){.status = OK, .type = plain, .body = tide_body_new()};
  tide_buf_append(&reply->body->bytes, image->cmdline, image->cmdline_len);
  char *text = (char *)reply->body->bytes.data;
  size_t n = reply->body->bytes.n;
  while (n && !text[n - 1])
    n--;
  reply->body->bytes.n = n;
  for (size_t i = 0; i < n; i++)
    text[i] = text[i] ? text[i] : between;
}

static void answer_command(const struct subject *subject, struct tide_reply *reply)
{
  answer_words(subject, 0, reply);
}

static void answer_command_lines(const struct subject *subject, struct tide_reply *reply)
{
  answer_words(subject, '\n', reply);
}

static int by_value(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

// The addresses of "0x401000+0x402000", by rising value, each once. What is no number is skipped.
static uint64_t *addresses_of(const char *text, size_t *ret_n)
{
  uint64_t *addresses = NULL;
  size_t n = 0, cap = 0, n_kept = 0;
  while (*text) {
    char *end = NULL;
    uint64_t address = strtoull(text, &end, 16);
    if (end > text) {
      TIDE_GROW(addresses, n, cap);
      addresses[n++] = address;
    }
    text = end > text ? end : text + 1;
  }
  if (n)
    qsort(addresses, n, sizeof *addresses, by_value);
  for (size_t i = 0; i < n; i++)
    if (!n_kept || addresses[i] != addresses[n_kept - 1])
      addresses[n_kept++] = addresses[i];
  *ret_n = n_kept;
  return addresses;
}

// Addresses are those of the text: return addresses, as they ran.
static void name_addresses(const struct subject *subject, uint64_t *addresses, size_t n,
                           char between, struct tide_buf *out)
{
  const struct tide_image *image = image_of(subject);
  const struct tide_exhibit_namer *namer = subject->exhibit->namer;
  TIDE_CLEANUP_FREE bool *is_named = tide_alloc_array(n + 1, sizeof *is_named);
  struct tide_naming *naming = namer->name(namer->context, image);
  for (uint32_t i = 1; i < image->n_frames; i++) {
    const struct tide_frame *frame = &image->frames[i];
    uint64_t address = frame->pc + (frame->flags & TIDE_FRAME_IS_EXACT ? 1 : 0);
    const uint64_t *found = n ? bsearch(&address, addresses, n, sizeof address, by_value) : NULL;
    if (!found || is_named[found - addresses])
      continue;
    size_t n_frames = 0;
    const struct tide_named_frame *names = tide_naming_of_node(naming, i, &n_frames);
    is_named[found - addresses] = true;
    if (names[n_frames - 1].function)
      tide_buf_printf(out, "0x%" PRIx64 "%c%s\n", address, between, names[n_frames - 1].function);
  }
  tide_naming_free(naming);
  if (namer->named)
    namer->named(namer->context);
}

static const char some_symbols[] = "num_symbols: 1\n";

static void answer_names(const struct subject *subject, const char *text, char between,
                         struct tide_reply *reply)
{
  size_t n = 0;
  TIDE_CLEANUP_FREE uint64_t *addresses = addresses_of(text, &n);
  name_addresses(subject, addresses, n, between, &reply->body->bytes);
}

// Go's: how many there are, and those of the addresses in the query or in what is posted.
static void answer_symbol(const struct subject *subject, struct tide_reply *reply)
{
  const struct tide_request *request = subject->request;
  const char *text = request->posted ? request->posted : request->query;
  *reply = (struct tide_reply){.status = OK, .type = plain, .body = tide_body_new()};
  tide_buf_text(&reply->body->bytes, some_symbols);
  if (text)
    answer_names(subject, text, ' ', reply);
}

// gperftools': either, and a tab.
static void answer_symbol_lines(const struct subject *subject, struct tide_reply *reply)
{
  *reply = (struct tide_reply){.status = OK, .type = plain, .body = tide_body_new()};
  if (subject->request->posted)
    answer_names(subject, subject->request->posted, '\t', reply);
  else
    tide_buf_text(&reply->body->bytes, some_symbols);
}

// ---- for Prometheus ----

struct metric {
  const char *name, *type, *help;
  double value;
};

// The latest that is known; 0: none is.
static uint64_t rss_bytes(const struct tide_image *image)
{
  size_t i = image->n_ticks;
  while (i && !image->ticks[i - 1].rss_bytes)
    i--;
  return i ? image->ticks[i - 1].rss_bytes : 0;
}

static uint64_t n_running(const struct tide_capture *capture)
{
  uint64_t n = 0;
  for (size_t i = 0; i < capture->n_images; i++)
    n += is_running(&capture->images[i]);
  return n;
}

// RSS where it is known.
static void answer_metrics(const struct subject *subject, struct tide_reply *reply)
{
  const struct tide_image *image = image_of(subject);
  const struct tide_loss *loss = &image->loss;
  struct tide_image_sums sums;
  tide_image_heap_sums(image, &sums);
  double start_s = (double)(subject->capture->start_realtime_ns + image->start_ns) / 1e9;
  const struct metric metrics[] = {
      {"tidemark_heap_live_bytes", "gauge", "Bytes of the heap in use.", (double)sums.live_bytes},
      {"tidemark_heap_live_blocks", "gauge", "Blocks of the heap in use.",
       (double)sums.live_blocks},
      {"tidemark_heap_peak_bytes", "gauge", "The most bytes in use at any time.",
       (double)image->peak_bytes},
      {"tidemark_heap_allocated_bytes_total", "counter", "Bytes allocated so far.",
       (double)sums.b_alloc},
      {"tidemark_heap_allocations_total", "counter", "Blocks allocated so far.",
       (double)sums.n_alloc},
      {"tidemark_heap_freed_bytes_total", "counter", "Bytes freed so far.", (double)sums.b_free},
      {"tidemark_heap_frees_total", "counter", "Blocks freed so far.", (double)sums.n_free},
      {"tidemark_heap_before_bytes", "gauge", "Bytes in use when the counters were last reset.",
       (double)sums.before_bytes},
      {"tidemark_reset_time_seconds", "gauge",
       "When the counters were last reset, in seconds since 1970; 0: never.",
       image->is_reset ? start_s : 0},
      {"tidemark_heap_stacks", "gauge", "Distinct stacks that allocated.", (double)image->n_sites},
      {"tidemark_recording", "gauge", "1: new blocks are recorded; 0: that is switched off.",
       image->is_paused ? 0 : 1},
      {"tidemark_processes", "gauge", "Processes that are recorded now.",
       (double)n_running(subject->exhibit->capture)},
      {"tidemark_sample_interval_bytes", "gauge",
       "Bytes between two sampled allocations in the mean, as it is now; 0: every one is recorded.",
       (double)(image->sampled_now_bytes ? image->sampled_now_bytes : image->sampled_every_bytes)},
      {"tidemark_sample_interval_max_bytes", "gauge",
       "The largest that it has been, which bounds the errors of all that was recorded.",
       (double)image->sampled_every_bytes},
      {"tidemark_recorder_lost_events_total", "counter",
       "Events that could not be counted, or not at their stack.",
       (double)(loss->n_lost_busy + loss->n_lost_full)},
      {"tidemark_recorder_cpu_seconds_total", "counter",
       "Processor time of the recorder in the process, estimated.",
       (double)image->recorder_ns / 1e9},
      {"tidemark_recorder_resident_memory_bytes", "gauge",
       "The most memory that the recorder had in the process.", (double)image->recorder_rss_bytes},
      {"process_resident_memory_bytes", "gauge",
       image->rss_is_own ? "Resident memory of the process, the recorder's part left out."
                         : "Resident memory of the process, with the recorder's part.",
       (double)rss_bytes(image)},
      {"process_start_time_seconds", "gauge", "When the process began, in seconds since 1970.",
       start_s},
  };
  *reply = (struct tide_reply){
      .status = OK, .type = "text/plain; version=0.0.4; charset=utf-8", .body = tide_body_new()};
  for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
    const struct metric *m = &metrics[i];
    if (strstr(m->name, "resident_memory_bytes") && !(m->value > 0))
      continue; // not known
    if (image->is_reset && strstr(m->name, "process_start_time"))
      continue; // nor is that, after a reset
    // Whole numbers up to 2^53 are told exactly, times to the microsecond.
    bool is_whole = m->value < 9e15 && m->value == (double)(int64_t)m->value;
    tide_buf_printf(&reply->body->bytes, "# HELP %s %s\n# TYPE %s %s\n%s %.*f\n", m->name, m->help,
                    m->name, m->type, m->name, is_whole ? 0 : 6, m->value);
  }
  if (subject->exhibit->more_metrics)
    subject->exhibit->more_metrics(subject->exhibit->more_context, &reply->body->bytes);
}

// ---- what there is ----

static void answer_index(const struct subject *subject, struct tide_reply *reply)
{
  static const char links[] =
      "<!doctype html><meta charset=\"utf-8\"><title>heap profiles</title>"
      "<h1>Heap profiles</h1><ul>"
      "<li><a href=\"heap\">heap</a>: what is held now, for go tool pprof and others"
      "<li><a href=\"allocs\">allocs</a>: what was allocated so far"
      "<li><a href=\"heap?debug=1\">heap?debug=1</a>: as text"
      "<li><a href=\"heap/flamegraph\">heap/flamegraph</a>: what is held now, as a picture"
      "<li><a href=\"cmdline\">cmdline</a>: the command"
      "<li><a href=\"../../metrics\">metrics</a>: for Prometheus"
      "<li><a href=\"../../tidemark/\">tidemark</a>: the page, as it goes on"
      "</ul>";
  *reply = (struct tide_reply){
      .status = OK, .type = "text/html; charset=utf-8", .body = tide_body_new()};
  tide_buf_text(&reply->body->bytes, links);
}

static const struct route {
  const char *path;
  void (*answer)(const struct subject *subject, struct tide_reply *reply);
  bool needs_subject, takes_post;
  bool is_profile; // which there is none of while recording is off
} routes[] = {
    {"/debug/pprof/", answer_index, false, true},
    {"/debug/pprof/heap", answer_heap, true, true, true},
    {"/debug/pprof/allocs", answer_allocs, true, true, true},
    {"/debug/pprof/heap/flamegraph", answer_flames, true, false, true},
    {"/debug/pprof/cmdline", answer_command, true, true},
    {"/debug/pprof/symbol", answer_symbol, true, true},
    {"/pprof/heap", answer_text, true, false, true},
    {"/pprof/cmdline", answer_command_lines, true, false},
    {"/pprof/symbol", answer_symbol_lines, true, true},
    {"/metrics", answer_metrics, true, false},
};

static void answer_route(const struct route *route, struct tide_exhibit *exhibit,
                         const struct tide_request *request, struct tide_reply *reply)
{
  struct subject subject = {.request = request};
  if (request->posted && !route->takes_post) {
    tide_reply_text(reply, NOT_ALLOWED, "only GET and HEAD are served here");
    return;
  }
  bool is_known = !route->needs_subject || find_subject(exhibit, request, &subject, reply);
  if (is_known && route->is_profile && subject.is_off)
    tide_reply_text(reply, FORBIDDEN,
                    "recording is off: what is allocated meanwhile is not known; there are "
                    "profiles when it is switched on");
  else if (is_known)
    route->answer(&subject, reply);
  subject_done(&subject);
}

bool tide_profilers_answer(struct tide_exhibit *exhibit, const struct tide_request *request,
                           struct tide_reply *reply)
{
  static const char all[] = "/debug/pprof";
  for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
    if (strcmp(request->path, routes[i].path) == 0) {
      answer_route(&routes[i], exhibit, request, reply);
      reply->is_profilers = true;
      return true;
    }
  if (strncmp(request->path, all, sizeof all - 1) != 0)
    return false;
  if (!request->path[sizeof all - 1]) { // what is relative there is relative to the slash
    tide_reply_text(reply, MOVED, "see debug/pprof/");
    reply->location = "pprof/";
  } else if (request->path[sizeof all - 1] != '/') {
    return false;
  } else {
    tide_reply_text(reply, NOT_FOUND, "Unknown profile: there are heap and allocs");
    reply->is_profilers = true;
  }
  return true;
}
