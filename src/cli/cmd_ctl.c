// SPDX-License-Identifier: Apache-2.0
//
// tidemark ctl: tells a recording what to do while it goes on. One that has a supervisor is asked
// for it (supervise/desk.h); of a bare preload the store itself is switched (observe/switches.h).
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/proc.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/opening.h"
#include "cli/sampling.h"
#include "cli/terminal.h"
#include "observe/clock.h"
#include "observe/living_stores.h"
#include "observe/switches.h"
#include "supervise/bare_store.h"
#include "supervise/desk.h"
#include "supervise/dumps.h"
#include "supervise/output_name.h"
#include "tide/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct order {
  struct tide_desk_ask ask;
  const char *path; // of a dump
  bool force, quiet;
};

static const char usage[] = "tidemark ctl PID on|off|sample=SIZE|mark NAME|dump FILE|reset";

static enum tide_err parse_interval(const char *text, uint32_t *ret_bits, struct tide_diag *diag)
{
  uint64_t bytes;
  enum tide_err err = tide_size_parse(text, &bytes, diag);
  if (!err)
    err = tide_sampling_check("sample", text, bytes, diag);
  if (!err)
    *ret_bits = tide_sampling_bits(bytes);
  return err;
}

static enum tide_err parse_order(const struct tide_arguments *arguments, struct order *ret_order,
                                 struct tide_diag *diag)
{
  static const struct {
    const char *word;
    enum tide_desk_verb verb;
    bool has_operand;
  } verbs[] = {{"state", TIDE_DESK_STATE, false}, {"on", TIDE_DESK_ON, false},
               {"off", TIDE_DESK_OFF, false},     {"sample", TIDE_DESK_SAMPLE, true},
               {"mark", TIDE_DESK_MARK, true},    {"dump", TIDE_DESK_DUMP, true},
               {"reset", TIDE_DESK_RESET, false}};
  struct order order = {.ask = {.magic = TIDE_DESK_MAGIC, .version = TIDE_DESK_VERSION},
                        .force = arguments->force,
                        .quiet = arguments->quiet};
  if (!arguments->n_rest)
    return tide_fail(diag, TIDE_ERR_USAGE, "which process? %s", usage);
  char *end;
  unsigned long pid = strtoul(arguments->rest[0], &end, 10);
  if (*end || !pid || pid > INT_MAX)
    return tide_fail(diag, TIDE_ERR_USAGE, "'%s' is no process id", arguments->rest[0]);
  order.ask.pid = (uint32_t)pid;
  const char *word = arguments->n_rest > 1 ? arguments->rest[1] : "state";
  static const char interval[] = "sample="; // of which the rest is the operand
  const char *joined =
      strncmp(word, interval, sizeof interval - 1) ? NULL : word + sizeof interval - 1;
  size_t i = 0;
  while (i < sizeof verbs / sizeof *verbs && strcmp(verbs[i].word, joined ? "sample" : word))
    i++;
  if (i == sizeof verbs / sizeof *verbs)
    return tide_fail(diag, TIDE_ERR_USAGE, "'%s' is nothing that a recording does: %s", word,
                     usage);
  order.ask.verb = verbs[i].verb;
  size_t n_words = verbs[i].has_operand && !joined ? 3 : 2;
  if (arguments->n_rest > n_words || (verbs[i].has_operand && arguments->n_rest < n_words))
    return tide_fail(diag, TIDE_ERR_USAGE, "%s takes %s: %s", word,
                     verbs[i].has_operand ? "one word more" : "nothing more", usage);
  const char *operand = joined ? joined : verbs[i].has_operand ? arguments->rest[2] : "";
  if (order.ask.verb == TIDE_DESK_DUMP)
    order.path = operand;
  enum tide_err err = TIDE_ERR_OK;
  if (order.ask.verb == TIDE_DESK_SAMPLE)
    err = parse_interval(operand, &order.ask.sample_bits, diag);
  if (order.ask.verb == TIDE_DESK_MARK)
    err = tide_mark_check(operand, diag);
  if (!err && order.ask.verb == TIDE_DESK_MARK)
    strncpy(order.ask.name, operand, sizeof order.ask.name - 1);
  *ret_order = order;
  return err;
}

// ---- dumps ----

static enum tide_err read_all(int fd, struct tide_buf *out, struct tide_diag *diag)
{
  char piece[65536];
  ssize_t n;
  uint64_t at = 0;
  while ((n = pread(fd, piece, sizeof piece, (off_t)at)) > 0) {
    tide_buf_append(out, piece, (size_t)n);
    at += (uint64_t)n;
  }
  return n < 0 ? tide_fail_errno(diag, "cannot read what the recording gave") : TIDE_ERR_OK;
}

static void say_dumped(const struct order *order)
{
  struct stat st;
  char bytes[TIDE_UNITS_MAX];
  if (!order->quiet && !stat(order->path, &st))
    tide_say("wrote %s (%s)", order->path,
             tide_units_bytes(bytes, tide_exact((int64_t)st.st_size), TIDE_STYLE_PLAIN));
}

// Bytes of a recording, or a capture of a store: whichever is not NULL.
static enum tide_err write_dump(const struct order *order, const struct tide_buf *bytes,
                                const struct tide_capture *capture, struct tide_diag *diag)
{
  struct tide_output_state state;
  enum tide_err err = tide_output_reserve(order->path, order->force, &state, diag);
  if (err)
    return err;
  err =
      bytes ? tide_file_put(bytes, order->path, diag) : tide_file_write(capture, order->path, diag);
  if (err && state.created)
    tide_output_release(order->path);
  else if (!err)
    say_dumped(order);
  return err;
}

// ---- with a supervisor ----

static void say_state(const struct tide_desk_answer *answer)
{
  char every[TIDE_UNITS_MAX], count[TIDE_UNITS_MAX];
  const struct tide_style style = {.units = TIDE_UNITS_IEC};
  printf("recording is %s; %s %s", answer->is_paused ? "off" : "on",
         tide_units_plain(count, answer->n_processes),
         tide_units_plural(answer->n_processes, "process", "processes"));
  if (answer->sample_bytes)
    printf("; one sample for %s",
           tide_units_bytes(every, tide_exact((int64_t)answer->sample_bytes), style));
  printf("\n");
}

static void say_sampled(const struct order *order, const struct tide_desk_answer *answer)
{
  char every[TIDE_UNITS_MAX];
  const struct tide_style style = {.units = TIDE_UNITS_IEC};
  const char *size =
      tide_units_bytes(every, tide_exact((int64_t)1 << order->ask.sample_bits), style);
  if (answer->n_changed)
    tide_say("one sample for %s, from each thread's next sample on", size);
  else
    tide_say("it was one sample for %s already", size);
}

static void say_reset(const struct tide_desk_answer *answer)
{
  char count[TIDE_UNITS_MAX];
  if (answer->n_changed)
    tide_say("numbers of %s %s count from now on; blocks that live are told as from before",
             tide_units_plain(count, answer->n_changed),
             tide_units_plural(answer->n_changed, "process", "processes"));
  else
    tide_say("nothing has been recorded yet, so there is nothing to reset");
}

static void say_done(const struct order *order, const struct tide_desk_answer *answer)
{
  if (order->ask.verb == TIDE_DESK_STATE) {
    say_state(answer);
    return;
  }
  if (order->quiet)
    return;
  bool is_off = order->ask.verb == TIDE_DESK_OFF;
  if (order->ask.verb == TIDE_DESK_MARK)
    tide_say("marked '%s'", order->ask.name);
  else if (order->ask.verb == TIDE_DESK_SAMPLE)
    say_sampled(order, answer);
  else if (order->ask.verb == TIDE_DESK_RESET)
    say_reset(answer);
  else if (order->ask.verb != TIDE_DESK_DUMP && !answer->n_changed && answer->n_processes)
    tide_say("recording was %s already", is_off ? "off" : "on");
  else if (order->ask.verb != TIDE_DESK_DUMP)
    tide_say("recording is %s", is_off ? "off" : "on");
}

static enum tide_err tell_supervisor(const struct order *order, struct tide_diag *diag)
{
  struct tide_desk_answer answer = {0};
  int fd = -1;
  enum tide_err err = tide_desk_call(&order->ask, &answer, &fd, diag);
  if (!err && order->path) {
    struct tide_buf bytes = {0};
    err = fd < 0 ? tide_fail(diag, TIDE_ERR_EMPTY, "the recording gave nothing")
                 : read_all(fd, &bytes, diag);
    if (!err)
      err = write_dump(order, &bytes, NULL, diag);
    tide_buf_done(&bytes);
  }
  if (fd >= 0)
    close(fd);
  if (!err)
    say_done(order, &answer);
  return err;
}

// ---- without ----

static void complete_dump(struct tide_capture *capture, const char *name)
{
  tide_capture_complete(capture, name);
}

static enum tide_err dump_store(const struct order *order, const char *path, struct tide_diag *diag)
{
  struct tide_source *source =
      tide_stores_new(&(struct tide_stores_options){.path = path, .complete = complete_dump});
  struct tide_capture *capture = NULL;
  enum tide_err err = source->kind->refresh(source, 0, &capture, diag);
  if (!err && !capture)
    err = tide_fail(diag, TIDE_ERR_EMPTY, "nothing has been recorded yet");
  if (!err && capture) {
    capture->taken = tide_strdup(TIDE_DUMP_ASKED);
    capture->finished = true; // everything up to now
    err = write_dump(order, NULL, capture, diag);
  }
  tide_capture_free(capture);
  tide_source_free(source);
  return err;
}

static enum tide_err tell_store(const struct order *order, struct tide_diag *diag, bool *ret_hidden)
{
  struct tide_store_view view = {.fd = -1};
  TIDE_CLEANUP_FREE char *path = NULL;
  enum tide_err err = tide_bare_store_open(order->ask.pid, &view, &path, ret_hidden, diag);
  if (err)
    return err;
  uint64_t now_ns = tide_monotonic_ns();
  struct tide_desk_answer answer = {.n_processes = 1, .is_paused = view.header.paused};
  if (view.header.sample_bits)
    answer.sample_bytes = UINT64_C(1) << tide_switch_sample_bits(&view.header) % 64;
  switch ((enum tide_desk_verb)order->ask.verb) {
  case TIDE_DESK_STATE: break;
  case TIDE_DESK_OFF:
  case TIDE_DESK_ON:
    answer.n_changed = tide_switch_pause(&view, order->ask.verb == TIDE_DESK_OFF, now_ns);
    break;
  case TIDE_DESK_SAMPLE:
    if (!view.header.sample_bits)
      err = tide_fail(diag, TIDE_ERR_UNSUPPORTED, TIDE_DESK_NOT_SAMPLED);
    answer.n_changed = tide_switch_sample(&view, order->ask.sample_bits, now_ns);
    break;
  case TIDE_DESK_MARK:
    if (!tide_switch_mark(&view, order->ask.name, now_ns))
      err = tide_fail(diag, TIDE_ERR_LIMIT, "no mark: there are %d already", TIDE_MOMENTS);
    break;
  case TIDE_DESK_DUMP: err = dump_store(order, path, diag); break;
  case TIDE_DESK_RESET:
    err = tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                    "no tidemark watches this process that could keep the numbers of this moment: "
                    "start it with 'tidemark run', or 'tidemark attach' to it, to reset them");
    break;
  case TIDE_DESK_SNAPSHOT: break; // nobody asks for it here
  }
  tide_store_view_close(&view);
  if (!err)
    say_done(order, &answer);
  return err;
}

// ---- nobody records it ----

static enum tide_err explain_nobody(uint32_t pid, bool is_hidden, struct tide_diag *diag)
{
  struct tide_proc_stat stat;
  char name[16] = "";
  if (!tide_proc_stat(pid, &stat))
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "there is no process %u", pid);
  tide_proc_name(pid, name, sizeof name);
  if (stat.state == 'Z' || stat.state == 'X')
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "process %u (%s) has ended", pid, name);
  if (is_hidden)
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "process %u (%s) is another user's, or may not be looked at: ask as that "
                     "user, or as root",
                     pid, name);
  if (tide_proc_maps_hold(pid, "/memfd:tidemark"))
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "process %u (%s) has a recorder, but the tidemark that it belongs to is gone, "
                     "or in another network namespace",
                     pid, name);
  return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                   "process %u (%s) is not recorded: 'tidemark attach %u' records it from now on, "
                   "'tidemark run' from its start",
                   pid, name, pid);
}

int tide_cmd_ctl(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  struct order order = {0};
  bool is_hidden = false;
  enum tide_err err = parse_order(arguments, &order, &diag);
  if (err)
    return tide_cmd_failed(err, &diag);
  err = tell_supervisor(&order, &diag);
  bool is_nobodys = err == TIDE_ERR_NOT_FOUND;
  if (is_nobodys) {
    struct tide_diag of_store = {0};
    err = tell_store(&order, &of_store, &is_hidden);
    if (err != TIDE_ERR_NOT_FOUND)
      diag = of_store;
    else
      err = explain_nobody(order.ask.pid, is_hidden, &diag);
  }
  if (!err && fflush(stdout))
    err = tide_fail_errno(&diag, "cannot write");
  return err ? tide_cmd_failed(err, &diag) : 0;
}
