// SPDX-License-Identifier: Apache-2.0
//
// The command line: what is taken, what is refused, and what is suggested.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/units.h"
#include "base/utf8.h"
#include "cli/arguments.h"
#include "profile/profile.h"

#include <string.h>

static struct tide_arguments got;
static struct tide_diag diag;

#define PARSE(...) parse((char *[]){"tidemark", __VA_ARGS__, NULL})

static enum tide_err parse(char **argv)
{
  int argc = 0;
  while (argv[argc])
    argc++;
  tide_arguments_done(&got);
  memset(&diag, 0, sizeof diag);
  return tide_arguments_parse(argc, argv, &got, &diag);
}

#define REFUSED(part, ...)                                                                         \
  do {                                                                                             \
    assert_int_equal(PARSE(__VA_ARGS__), TIDE_ERR_USAGE);                                          \
    if (!strstr(diag.text, part))                                                                  \
      fail_msg("\"%s\" not in \"%s\"", part, diag.text);                                           \
  } while (0)

static void run_leaves_the_command_alone(void **state)
{
  assert_int_equal(PARSE("run", "-q", "--depth=64", "-o", "x.tide", "ls", "-l", "--json"), 0);
  assert_int_equal(got.verb, TIDE_VERB_RUN);
  assert_true(got.quiet && !got.json && !got.force);
  assert_int_equal(got.depth, 64);
  assert_string_equal(got.output, "x.tide");
  assert_int_equal(got.n_rest, 3);
  assert_string_equal(got.rest[1], "-l");
  assert_null(got.rest[3]);
  assert_int_equal(PARSE("run", "--", "-odd-name", "--", "x"), 0);
  assert_int_equal(got.n_rest, 3);
  assert_string_equal(got.rest[0], "-odd-name");
  assert_string_equal(got.rest[1], "--");
}

static void readers_take_options_anywhere(void **state)
{
  assert_int_equal(PARSE("report", "x.tide", "--sort", "temp", "-n5", "--units=si"), 0);
  assert_int_equal(got.sort, TIDE_MEASURE_TEMP);
  assert_int_equal(got.top, 5);
  assert_int_equal(got.units, TIDE_UNITS_SI);
  assert_int_equal(got.n_rest, 1);
  assert_int_equal(PARSE("report", "--", "--json"), 0);
  assert_false(got.json);
  assert_string_equal(got.rest[0], "--json");
  assert_int_equal(PARSE("export", "-fo", "out", "--to", "dhat"), 0);
  assert_true(got.force);
  assert_string_equal(got.output, "out");
  assert_int_equal(PARSE("report", "-"), 0); // a file by that name
  assert_string_equal(got.rest[0], "-");
}

static void paths_add_up(void **state)
{
  assert_int_equal(PARSE("report", "x.tide"), 0);
  assert_null(got.debug_dirs);
  assert_int_equal(PARSE("report", "--debug-dir", "a", "x.tide", "--debug-dir=b:c"), 0);
  assert_string_equal(got.debug_dirs, "a:b:c");
  REFUSED("--debug-dir DIR", "report", "--debug-dir");
}

static void sizes_and_optional_values(void **state)
{
  assert_int_equal(PARSE("report", "--min", "1.5M", "--stacks", "3"), 0);
  assert_int_equal(got.min_bytes, 3 << 19);
  assert_int_equal(got.stacks, 1); // its value stands after = or not at all
  assert_string_equal(got.rest[0], "3");
  assert_int_equal(PARSE("report", "--stacks=3", "--min=4096"), 0);
  assert_int_equal(got.stacks, 3);
  assert_int_equal(got.min_bytes, 4096);
}

static void seconds_with_and_without_a_unit(void **state)
{
  assert_int_equal(PARSE("run", "--push-every", "2s", "x"), 0);
  assert_int_equal(got.push_every_s, 2);
  assert_int_equal(PARSE("attach", "--push-every=1.5m", "1"), 0);
  assert_int_equal(got.push_every_s, 90);
  assert_int_equal(PARSE("diff", "--seconds", "30", "--timeout", "1h", "host:1"), 0);
  assert_int_equal(got.seconds, 30);
  assert_int_equal(got.timeout_s, 3600);
  REFUSED("--push-every takes a whole number of seconds", "run", "--push-every", "500ms", "x");
  REFUSED("as 90, 90s or 5m, not \"2x\"", "run", "--push-every", "2x", "x");
  REFUSED("not \"0s\"", "run", "--push-every", "0s", "x");
  REFUSED("number of 1 or more", "run", "--push-every", "0", "x");
  REFUSED("number of 1 or more", "run", "--push-every", "", "x");
}

static void refuses_with_what_was_meant(void **state)
{
  REFUSED("did you mean \"report\"?", "reprot");
  REFUSED("did you mean \"tree\"?", "tre");
  REFUSED("did you mean \"run\"?", "rnu");
  REFUSED("did you mean \"export\"?", "expo");
  REFUSED("'tidemark run ls' records it", "ls");
  REFUSED("'tidemark report x.tide' reads a capture", "x.tide");
  REFUSED("the verb comes first: tidemark VERB [OPTION...], not \"--sort\"", "--sort", "leak");
  REFUSED("the verb comes first", "");
  REFUSED("'tidemark run COMMAND' records", "record", "./x");
  REFUSED("'tidemark view FILE' shows", "web");
  REFUSED("'tidemark serve STORE|DIR' answers", "server");
  REFUSED("'tidemark attach PID' records", "pid", "1");
  REFUSED("--json, --csv and --md", "report", "--format", "json");
  REFUSED("--json, --csv and --md", "tree", "--format=csv");
  REFUSED("--to FORMAT", "export", "--format", "pprof");
  REFUSED("'tidemark attach PID' records", "run", "--pid", "1");
  REFUSED("did you mean --sort?", "report", "--srot", "peak");
  REFUSED("did you mean --no-follow?", "run", "--nofollow", "x");
  REFUSED("did you mean --json?", "info", "--jsn");
  REFUSED("'tidemark info' has no option --sort", "info", "--sort", "peak");
  REFUSED("'tidemark help run' lists them", "run", "-z");
  REFUSED("did you mean \"leak\"?", "report", "--sort", "leaks");
  REFUSED("peak, live, total, grown, leak, temp or count", "report", "--sort", "bananas");
  REFUSED("--to takes dhat, pprof, folded", "export", "--to", "bananas");
}

static void refuses_bad_values(void **state)
{
  REFUSED("-1", "report", "-n", "-1");
  REFUSED("number of 1 or more", "report", "-n", "0");
  REFUSED("number of 1 or more", "report", "-n", "12x");
  REFUSED("number of 1 or more", "run", "--depth", "99999999999999999999", "x");
  REFUSED("--sort needs a value", "report", "--sort");
  REFUSED("--top needs a value", "report", "-n");
  REFUSED("--json takes no value", "report", "--json=yes");
  REFUSED("--min: \"lots\" is no size", "report", "--min", "lots");
  REFUSED("number of 1 or more", "report", "--stacks=0");
  REFUSED("--colour", "report", "--colour=always"); // and the suggestion:
  assert_non_null(strstr(diag.text, "--color"));
}

static void top_level_flags(void **state)
{
  assert_int_equal(PARSE("--help"), 0);
  assert_int_equal(got.verb, TIDE_VERB_HELP);
  assert_int_equal(PARSE("--version"), 0);
  assert_int_equal(got.verb, TIDE_VERB_VERSION);
  assert_int_equal(PARSE("help", "run"), 0);
  assert_string_equal(got.rest[0], "run");
  assert_int_equal(PARSE("run", "--help"), 0);
  assert_true(got.help);
}

static size_t width_of_line(const char *line)
{
  char one[512];
  snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
  return tide_utf8_width(one);
}

// Verbs may have options of one name that mean different things.
static bool has_option(int verb, const char *name)
{
  bool has = false;
  for (size_t i = 0; i < tide_option_rows_n; i++)
    has |= (tide_option_rows[i].verbs >> verb & 1) && !strcmp(tide_option_rows[i].name, name);
  return has;
}

// Help is made from the same rows: every option of a verb stands on its page, no line of it is
// wider than a terminal, and none needs UTF-8.
static void help_covers_the_table(void **state)
{
  for (int verb = 0; verb < TIDE_VERBS_N; verb++) {
    struct tide_sink sink;
    tide_sink_init(&sink, NULL);
    tide_help_verb(&sink, (enum tide_verb)verb);
    const char *page = tide_buf_cstr(&sink.buf);
    for (size_t i = 0; i < tide_option_rows_n; i++) {
      char name[64];
      snprintf(name, sizeof name, " --%s", tide_option_rows[i].name);
      const char *at = strstr(page, name);
      while (at && !strchr(" [", at[strlen(name)])) // --to is not --top
        at = strstr(at + 1, name);
      assert_int_equal(at != NULL, has_option(verb, tide_option_rows[i].name));
    }
    for (const char *line = page; *line; line += strcspn(line, "\n") + 1)
      assert_true(width_of_line(line) <= 80);
    for (const char *c = page; *c; c++)
      assert_true((unsigned char)*c < 0x80);
    tide_sink_done(&sink);
  }
}

static int done(void **state)
{
  tide_arguments_done(&got);
  return 0;
}

UNIT_TESTS(arguments_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(run_leaves_the_command_alone),
      cmocka_unit_test(readers_take_options_anywhere),
      cmocka_unit_test(seconds_with_and_without_a_unit),
      cmocka_unit_test(paths_add_up),
      cmocka_unit_test(sizes_and_optional_values),
      cmocka_unit_test(refuses_with_what_was_meant),
      cmocka_unit_test(refuses_bad_values),
      cmocka_unit_test(top_level_flags),
      cmocka_unit_test(help_covers_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, done);
}
