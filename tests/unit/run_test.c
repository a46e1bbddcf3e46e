// SPDX-License-Identifier: Apache-2.0
//
// Running a command, with a stand-in for the recorder: what becomes of its status, its signals, its
// descriptors, and of the images it has.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "supervise/run.h"
#include "profile/completeness.h"
#include "tide/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char directory[256];
static char *target;        // fake_target
static const char *library; // something harmless to preload: libc itself, which is there anyway

static int enter_directory(void **state)
{
  Dl_info libc;
  const char *base = getenv("TMPDIR");
  snprintf(directory, sizeof directory, "%s/tidemark-run-test-XXXXXX", base ? base : P_tmpdir);
  target = getenv("TIDE_FAKE_TARGET");
  if (!target || !dladdr((void *)&gnu_get_libc_version, &libc) || !mkdtemp(directory) ||
      chdir(directory))
    return -1;
  library = libc.dli_fname;
  return 0;
}

static int leave_directory(void **state)
{
  char command[sizeof directory + 16];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  return chdir("/") || system(command);
}

static enum tide_err run(struct tide_run_result *result, struct tide_diag *diag, const char *output,
                         char *const *argv)
{
  struct tide_run_options options = {.argv = argv, .output = output, .library = library};
  return tide_run(&options, result, diag);
}

#define RUN(result, output, ...)                                                                   \
  do {                                                                                             \
    struct tide_diag run_diag = {0};                                                               \
    if (run(result, &run_diag, output, (char *[]){__VA_ARGS__, NULL}))                             \
      fail_msg("%s", run_diag.text);                                                               \
  } while (0)

static const struct tide_image *image_of(const struct tide_run_result *result, int64_t peak)
{
  for (size_t i = 0; i < result->capture->n_images; i++)
    if (result->capture->images[i].peak_bytes == peak)
      return &result->capture->images[i];
  fail_msg("no image with a peak of %lld", (long long)peak);
  return NULL;
}

static void a_run_is_recorded_and_saved(void **state)
{
  struct tide_run_result result;
  RUN(&result, NULL, target, "record", "1000", "3");
  assert_int_equal(result.exit_status, 3);
  assert_int_equal(result.term_signal, 0);
  assert_null(result.note);
  assert_int_equal(result.save_err, TIDE_ERR_OK);
  assert_int_equal(result.capture->n_images, 1);
  const struct tide_image *image = &result.capture->images[0];
  assert_int_equal(image->pid, result.pid);
  assert_int_equal(image->peak_bytes, 1000);
  assert_int_equal(image->end_kind, TIDE_END_EXITED);
  assert_int_equal(image->end_value, 3);
  assert_true(image->end_ns >= image->start_ns);
  assert_true(image->has_resident); // it may be over before anybody looks
  assert_true(result.capture->finished);
  char name[64];
  snprintf(name, sizeof name, "tidemark.fake_target.%u.tide", result.pid);
  assert_string_equal(result.output_path, name);
  struct tide_capture *saved = NULL;
  assert_int_equal(tide_file_read(name, &saved, NULL), TIDE_ERR_OK);
  assert_true(saved->finished);
  assert_int_equal(saved->images[0].peak_bytes, 1000);
  tide_capture_free(saved);
  tide_run_result_done(&result);
}

static void the_output_is_named_and_never_overwritten(void **state)
{
  struct tide_run_result result;
  struct tide_diag diag = {0};
  RUN(&result, "%n-%%-%p.t", target, "record", "10", "0");
  char name[64];
  snprintf(name, sizeof name, "fake_target-%%-%u.t", result.pid);
  assert_string_equal(result.output_path, name);
  tide_run_result_done(&result);

  struct tide_run_options options = {
      .argv = (char *[]){target, "record", "20", "0", NULL}, .output = name, .library = library};
  assert_int_equal(tide_run(&options, &result, &diag), TIDE_ERR_EXISTS);
  assert_non_null(strstr(diag.text, name));
  options.force = true;
  assert_int_equal(tide_run(&options, &result, &diag), TIDE_ERR_OK);
  assert_int_equal(result.capture->images[0].peak_bytes, 20);
  tide_run_result_done(&result);
  options.output = directory;
  assert_int_equal(tide_run(&options, &result, &diag), TIDE_ERR_EXISTS);
  options.output = "no/such/directory/x.tide";
  assert_int_equal(tide_run(&options, &result, &diag), TIDE_ERR_SYSTEM);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // nobody is left behind
  assert_int_equal(errno, ECHILD);
}

static void a_full_disk_is_told(void **state)
{
  struct tide_run_result result;
  RUN(&result, "/dev/full", target, "record", "1000", "4");
  assert_int_equal(result.exit_status, 4);
  assert_int_not_equal(result.save_err, TIDE_ERR_OK);
  assert_null(result.output_path);
  assert_int_equal(result.capture->n_images, 1);
  struct stat st;
  assert_true(!stat("/dev/full", &st) && S_ISCHR(st.st_mode));
  tide_run_result_done(&result);
}

static void what_does_not_start(void **state)
{
  struct tide_run_result result;
  struct tide_diag diag = {0};
  enum tide_err err = run(&result, &diag, "x.tide", (char *[]){"no-such-program-here", NULL});
  assert_int_equal(err, TIDE_ERR_NOT_FOUND);
  assert_int_equal(tide_run_error_status(err), 127);
  assert_non_null(strstr(diag.text, "no-such-program-here"));
  err = run(&result, &diag, "x.tide", (char *[]){directory, NULL});
  assert_int_equal(tide_run_error_status(err), 126);
  assert_int_equal(access("x.tide", F_OK), -1); // no empty file is left
  struct tide_run_options options = {.argv = (char *[]){target, NULL}, .library = "/no/library"};
  assert_int_equal(tide_run_error_status(tide_run(&options, &result, &diag)), 125);
}

static void nothing_recorded_leaves_no_file(void **state)
{
  struct tide_run_result result;
  RUN(&result, "empty.tide", "true");
  assert_int_equal(result.capture->n_images, 0);
  assert_non_null(result.note);
  assert_null(result.output_path);
  assert_int_equal(access("empty.tide", F_OK), -1);
  tide_run_result_done(&result);
}

static void a_fatal_signal_is_reported(void **state)
{
  struct tide_run_result result;
  RUN(&result, NULL, target, "signal", "15");
  assert_int_equal(result.term_signal, SIGTERM);
  assert_int_equal(result.capture->images[0].end_kind, TIDE_END_SIGNALED);
  assert_int_equal(result.capture->images[0].end_value, SIGTERM);
  tide_run_result_done(&result);
  RUN(&result, NULL, target, "signal", "9");
  assert_int_equal(result.term_signal, SIGKILL);
  assert_int_equal(result.capture->images[0].peak_bytes, 1000); // a kill loses nothing
  tide_run_result_done(&result);
}

static void an_exec_is_a_second_image(void **state)
{
  struct tide_run_result result;
  RUN(&result, NULL, target, "exec", "2000");
  assert_int_equal(result.exit_status, 5);
  assert_int_equal(result.capture->n_images, 2);
  const struct tide_image *first = &result.capture->images[0], *second = first + 1;
  assert_int_equal(first->peak_bytes, 2000);
  assert_int_equal(first->end_kind, TIDE_END_EXECED);
  assert_int_equal(first->pid, second->pid);
  assert_int_equal(second->peak_bytes, 3000);
  assert_int_equal(second->end_value, 5);
  assert_int_equal(second->parent_image, 1);
  assert_false(second->by_fork);
  assert_true(second->start_ns >= first->start_ns && first->end_ns >= first->start_ns);
  tide_run_result_done(&result);
}

static void a_fork_is_followed(void **state)
{
  struct tide_run_result result;
  RUN(&result, NULL, target, "fork");
  assert_int_equal(result.capture->n_images, 2);
  const struct tide_image *child = image_of(&result, 4000);
  assert_true(child->by_fork);
  assert_int_equal(child->parent_image, 1);
  assert_int_equal(child->end_kind, TIDE_END_EXITED);
  assert_true(child->end_value == 6 || child->end_value == -1); // -1: nobody saw it in time
  assert_int_equal(result.n_running, 0);
  tide_run_result_done(&result);

  struct tide_run_options options = {
      .argv = (char *[]){target, "fork", NULL}, .library = library, .no_follow = true};
  assert_int_equal(tide_run(&options, &result, NULL), TIDE_ERR_OK);
  assert_int_equal(result.capture->n_images, 1);
  assert_int_equal(result.capture->images[0].peak_bytes, 1000);
  tide_run_result_done(&result);
}

static int open_descriptors(void)
{
  int n = 0;
  for (int fd = 0; fd < 1000; fd++)
    n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

static void of_many_images_the_smallest_are_added_up(void **state)
{
  enum { ALL = 400, KEPT = 256 };
  struct tide_run_result result;
  int before = open_descriptors();
  RUN(&result, NULL, target, "many", "400");
  const struct tide_image *images = result.capture->images, *sum = &images[KEPT];
  assert_int_equal(result.capture->n_images, KEPT + 1);
  assert_int_equal(result.capture->n_images_left_out, ALL - KEPT);
  int64_t all_bytes = 0, kept_bytes = 0;
  for (size_t i = 0; i < KEPT; i++) {
    assert_true(images[i].peak_bytes >= 1000 + ALL - KEPT);
    assert_true(images[i].pid);
    kept_bytes += images[i].peak_bytes;
  }
  for (int i = 0; i < ALL; i++)
    all_bytes += 1000 + i;
  assert_int_equal(sum->pid, 0);
  assert_string_equal(sum->exe, images[0].exe);
  assert_int_equal(kept_bytes + sum->peak_bytes, all_bytes);
  struct tide_lead lead;
  tide_lead_find(result.capture, &lead);
  assert_true(lead.image_idx < KEPT);
  assert_int_equal(open_descriptors(), before);
  tide_run_result_done(&result);
}

static void whoever_stays_behind_is_not_waited_for(void **state)
{
  struct tide_run_result result;
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  RUN(&result, NULL, target, "leave");
  clock_gettime(CLOCK_MONOTONIC, &after);
  assert_true(after.tv_sec - before.tv_sec < 2);
  assert_int_equal(result.n_running, 1);
  assert_int_equal(image_of(&result, 2000)->end_kind, TIDE_END_UNKNOWN);
  assert_int_equal(image_of(&result, 1000)->end_kind, TIDE_END_EXITED);
  tide_run_result_done(&result);
}

static void whoever_stays_behind_can_be_waited_for(void **state)
{
  struct tide_run_result result;
  struct tide_diag diag = {0};
  struct tide_run_options options = {
      .argv = (char *[]){target, "leave", NULL}, .library = library, .wait = true};
  assert_int_equal(tide_run(&options, &result, &diag), TIDE_ERR_OK);
  assert_int_equal(result.n_running, 0);
  const struct tide_image *left = image_of(&result, 2000), *root = image_of(&result, 1000);
  assert_int_equal(left->end_kind, TIDE_END_EXITED);
  assert_int_equal(root->end_kind, TIDE_END_EXITED);
  assert_true(left->end_ns > root->end_ns + 1000000000);
  assert_true(root->ticks[root->n_ticks - 1].time_ns <= root->end_ns);
  tide_run_result_done(&result);
}

// ---- told things while it runs ----

// A companion of the run, on a thread of its own: says what a test wants to know, then lets the
// target end.
struct companion {
  struct tide_control *control;
  void (*talk)(struct companion *companion);
  pthread_t thread;
  bool has_started, file_was_there;
  struct tide_answer state, snapshot, before, after, paced, last;
};

static void *talk(void *context)
{
  struct companion *companion = context;
  companion->talk(companion);
  close(open("stop", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  return NULL;
}

static void start_companion(void *context, const char *output_path)
{
  struct companion *companion = context;
  assert_string_equal(output_path, "told.tide");
  companion->has_started = !pthread_create(&companion->thread, NULL, talk, companion);
}

static struct tide_answer ask(const struct companion *companion, struct tide_ask ask)
{
  struct tide_answer answer = {0};
  tide_control_ask(companion->control, &ask, 20000, &answer);
  return answer;
}

// Until there is something recorded.
static struct tide_answer first_draft(const struct companion *companion)
{
  struct tide_answer answer = {.err = TIDE_ERR_EMPTY};
  for (int i = 0; answer.err == TIDE_ERR_EMPTY && i < 5000; i++) {
    usleep(1000);
    answer = ask(companion, (struct tide_ask){.kind = TIDE_ASK_DRAFT});
  }
  return answer;
}

static void run_told(struct companion *companion, void (*talk_of_test)(struct companion *),
                     struct tide_run_result *result)
{
  struct tide_diag diag = {0};
  companion->control = tide_control_new();
  companion->talk = talk_of_test;
  struct tide_run_options options = {
      .argv = (char *[]){target, "stay", "5000", "7", NULL},
      .output = "told.tide",
      .force = true,
      .library = library,
      .control = companion->control,
      .companion = companion,
      .started = start_companion,
  };
  unlink("stop");
  assert_int_equal(tide_run(&options, result, &diag), TIDE_ERR_OK);
  assert_true(companion->has_started);
  pthread_join(companion->thread, NULL);
  assert_int_equal(result->exit_status, 7);
  companion->last = ask(companion, (struct tide_ask){.kind = TIDE_ASK_STATE}); // too late
  tide_control_free(companion->control);
}

static struct tide_capture *parse(const struct tide_answer *answer)
{
  struct tide_capture *capture = NULL;
  assert_int_equal(answer->err, TIDE_ERR_OK);
  assert_int_equal(
      tide_file_parse(answer->draft->bytes.data, answer->draft->bytes.n, "a draft", &capture, NULL),
      TIDE_ERR_OK);
  return capture;
}

static void ask_everything(struct companion *companion)
{
  companion->before = first_draft(companion);
  companion->state = ask(companion, (struct tide_ask){.kind = TIDE_ASK_STATE});
  companion->snapshot = ask(companion, (struct tide_ask){.kind = TIDE_ASK_SNAPSHOT});
  companion->after = ask(companion, (struct tide_ask){.kind = TIDE_ASK_DRAFT});
  ask(companion, (struct tide_ask){.kind = TIDE_ASK_INTERVAL, .interval_ns = 1000000});
  companion->paced = ask(companion, (struct tide_ask){.kind = TIDE_ASK_DRAFT, .is_paced = true});
}

static void a_run_is_asked_while_it_goes_on(void **state)
{
  struct companion companion = {0};
  struct tide_run_result result;
  run_told(&companion, ask_everything, &result);
  struct tide_capture *before = parse(&companion.before), *after = parse(&companion.after);
  struct tide_capture *paced = parse(&companion.paced);
  assert_true(companion.state.is_running);
  assert_int_equal(companion.state.n_living, 1);
  assert_true(companion.state.n_cells > 0);
  assert_null(companion.state.draft);
  assert_int_equal(companion.snapshot.n_snapshots, 1);
  assert_false(before->finished);
  assert_int_equal(before->n_images, 1);
  assert_int_equal(before->images[0].peak_bytes, 5000);
  assert_int_equal(before->images[0].end_kind, TIDE_END_UNKNOWN);
  assert_true(companion.before.draft->version < companion.after.draft->version);
  assert_true(companion.after.draft->version < companion.paced.draft->version);
  assert_true(companion.before.time_ns < companion.after.time_ns);
  assert_true(before->images[0].n_snapshots < after->images[0].n_snapshots);
  assert_int_equal(companion.last.err, TIDE_ERR_EMPTY);
  assert_false(companion.last.is_running);
  assert_int_equal(image_of(&result, 5000)->end_kind, TIDE_END_EXITED);
  assert_int_equal(result.n_running, 0);
  struct tide_capture *captures[] = {before, after, paced};
  struct tide_answer *answers[] = {&companion.before, &companion.after, &companion.paced};
  for (size_t i = 0; i < 3; i++) {
    tide_capture_free(captures[i]);
    tide_answer_done(answers[i]);
  }
  tide_run_result_done(&result);
}

static void finish_early(struct companion *companion)
{
  struct stat st;
  companion->before = first_draft(companion);
  ask(companion, (struct tide_ask){.kind = TIDE_ASK_FINISH});
  for (int i = 0; companion->last.err != TIDE_ERR_EMPTY && i < 5000; i++, usleep(1000))
    companion->last = ask(companion, (struct tide_ask){.kind = TIDE_ASK_STATE});
  for (int i = 0; !companion->file_was_there && i < 5000; i++, usleep(1000))
    companion->file_was_there = !stat("told.tide", &st) && st.st_size > 0;
}

// The recording ends, is saved, and its command goes on to an end that is told as ever.
static void a_recording_ends_before_its_command(void **state)
{
  struct companion companion = {0};
  struct tide_run_result result;
  run_told(&companion, finish_early, &result);
  assert_true(companion.file_was_there);
  assert_int_equal(companion.last.err, TIDE_ERR_EMPTY);
  assert_int_equal(result.n_running, 1);
  assert_true(result.capture->finished);
  assert_false(result.capture->has_cost);
  assert_int_equal(image_of(&result, 5000)->end_kind, TIDE_END_UNKNOWN);
  tide_answer_done(&companion.before);
  tide_run_result_done(&result);
}

static void leave_it_waiting(struct companion *companion)
{
  companion->before = first_draft(companion);
  const struct tide_ask hour = {.kind = TIDE_ASK_INTERVAL, .interval_ns = UINT64_C(3600000000000)};
  ask(companion, hour);
  close(open("stop", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  companion->paced = ask(companion, (struct tide_ask){.kind = TIDE_ASK_DRAFT, .is_paced = true});
}

static void whoever_waits_at_the_end_is_told(void **state)
{
  struct companion companion = {0};
  struct tide_run_result result;
  run_told(&companion, leave_it_waiting, &result);
  assert_int_equal(companion.paced.err, TIDE_ERR_EMPTY);
  assert_non_null(strstr(companion.paced.diag.text, "ended"));
  tide_answer_done(&companion.before);
  tide_run_result_done(&result);
}

static void a_run_that_fails_tells_whoever_asks(void **state)
{
  struct tide_control *control = tide_control_new();
  struct tide_run_result result;
  struct tide_diag diag = {0};
  struct tide_run_options options = {
      .argv = (char *[]){"./not-there", NULL}, .library = library, .control = control};
  assert_int_equal(tide_run(&options, &result, &diag), TIDE_ERR_NOT_FOUND);
  struct tide_answer answer = {0};
  tide_control_ask(control, &(struct tide_ask){.kind = TIDE_ASK_STATE}, 0, &answer);
  assert_int_equal(answer.err, TIDE_ERR_EMPTY);
  options.library = "/not/there.so";
  tide_control_free(control);
  options.control = control = tide_control_new();
  assert_int_not_equal(tide_run(&options, &result, &diag), TIDE_ERR_OK);
  tide_control_ask(control, &(struct tide_ask){.kind = TIDE_ASK_STATE}, 0, &answer);
  assert_int_equal(answer.err, TIDE_ERR_EMPTY);
  tide_control_free(control);
}

static char *slurp(const char *path)
{
  static char text[2][65536];
  static int turn;
  char *to = text[turn++ % 2];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = read(fd, to, sizeof text[0] - 1);
  close(fd);
  to[n > 0 ? n : 0] = 0;
  return to;
}

// Runs f in a child process whose standard output is the file; gives its wait status.
static int in_child(const char *output, void (*f)(void))
{
  pid_t pid = fork();
  if (pid == 0) {
    int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(fd, 1);
    if (fd != 1)
      close(fd);
    f();
    _exit(0);
  }
  int status;
  waitpid(pid, &status, 0);
  return status;
}

static void make_things_unusual(void)
{
  signal(SIGCHLD, SIG_IGN);
  signal(SIGUSR2, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGALRM);
  sigprocmask(SIG_BLOCK, &mask, NULL);
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){200, 4096});
  umask(027);
  close(0);
  dup2(1, 50);
  setenv("LD_PRELOAD_", "x", 1);
}

static void state_plain(void)
{
  make_things_unusual();
  execl(target, target, "state", (char *)NULL);
}

static void state_recorded(void)
{
  make_things_unusual();
  struct tide_run_result result;
  run(&result, NULL, "/dev/null", (char *[]){target, "state", NULL});
  _exit(result.exit_status);
}

static void the_command_is_as_without_us(void **state)
{
  assert_int_equal(in_child("plain.txt", state_plain), 0);
  assert_int_equal(in_child("recorded.txt", state_recorded), 0);
  const char *plain = slurp("plain.txt"), *recorded = slurp("recorded.txt");
  assert_non_null(strstr(plain, "fd 50"));
  assert_null(strstr(plain, "fd 0\n"));
  assert_string_equal(plain, recorded);
}

static void environment_with_preload(void)
{
  setenv("LD_PRELOAD", library, 1);
  setenv("TIDEMARK_OPTIONS", "depth=7", 1);
  struct tide_run_result result;
  struct tide_run_options options = {
      .argv = (char *[]){"env", NULL}, .output = "/dev/null", .library = library, .depth = 9};
  if (tide_run(&options, &result, NULL))
    _exit(99);
}

static void what_the_user_preloads_is_kept(void **state)
{
  assert_int_equal(in_child("env.txt", environment_with_preload), 0);
  const char *text = slurp("env.txt");
  char expected[8192];
  snprintf(expected, sizeof expected, "LD_PRELOAD=%s:%s\n", library, library);
  assert_non_null(strstr(text, expected));
  assert_non_null(strstr(text, "TIDEMARK_OPTIONS=depth=7,socket=tidemark-"));
  assert_non_null(strstr(text, ",depth=9\n"));
}

static void run_awaiting(void)
{
  struct tide_run_result result;
  if (run(&result, NULL, "/dev/null", (char *[]){target, "await", "10", "7", NULL}))
    _exit(99);
  _exit(result.exit_status);
}

static void a_signal_sent_to_us_reaches_the_command(void **state)
{
  int out[2];
  assert_int_equal(pipe(out), 0);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], 1);
    run_awaiting();
  }
  close(out[1]);
  char ready[8];
  assert_true(read(out[0], ready, sizeof ready) > 0);
  kill(pid, SIGUSR1); // 10
  int status;
  waitpid(pid, &status, 0);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 7);
  close(out[0]);
}

static void raise_segv(void)
{
  tide_run_raise(SIGSEGV);
}

static void raising_again_ends_us_without_a_core(void **state)
{
  int status = in_child("/dev/null", raise_segv);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGSEGV);
  assert_false(WCOREDUMP(status));
}

static void signals_are_put_back(void **state)
{
  struct tide_run_result result;
  sigset_t before, after;
  sigprocmask(SIG_BLOCK, NULL, &before);
  RUN(&result, NULL, target, "record", "1", "0");
  sigprocmask(SIG_BLOCK, NULL, &after);
  assert_memory_equal(&before, &after, 8);
  tide_run_result_done(&result);
}

UNIT_TESTS(run_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_is_recorded_and_saved),
      cmocka_unit_test(the_output_is_named_and_never_overwritten),
      cmocka_unit_test(a_full_disk_is_told),
      cmocka_unit_test(what_does_not_start),
      cmocka_unit_test(nothing_recorded_leaves_no_file),
      cmocka_unit_test(a_fatal_signal_is_reported),
      cmocka_unit_test(an_exec_is_a_second_image),
      cmocka_unit_test(a_fork_is_followed),
      cmocka_unit_test(of_many_images_the_smallest_are_added_up),
      cmocka_unit_test(whoever_stays_behind_is_not_waited_for),
      cmocka_unit_test(whoever_stays_behind_can_be_waited_for),
      cmocka_unit_test(a_run_is_asked_while_it_goes_on),
      cmocka_unit_test(a_recording_ends_before_its_command),
      cmocka_unit_test(whoever_waits_at_the_end_is_told),
      cmocka_unit_test(a_run_that_fails_tells_whoever_asks),
      cmocka_unit_test(the_command_is_as_without_us),
      cmocka_unit_test(what_the_user_preloads_is_kept),
      cmocka_unit_test(a_signal_sent_to_us_reaches_the_command),
      cmocka_unit_test(raising_again_ends_us_without_a_core),
      cmocka_unit_test(signals_are_put_back),
  };
  return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
