// SPDX-License-Identifier: Apache-2.0
//
// tidemark fetch: heap profiles of services that run, as captures. Several become one, all or
// nothing, or a file each.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/hint_words.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "merge/merge.h"
#include "model/capture.h"
#include "profile/completeness.h"
#include "remote/endpoint.h"
#include "remote/exchange.h"
#include "tide/file.h"
#include "words/image_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum tide_err check_fetch_arguments(const struct tide_arguments *arguments,
                                           struct tide_diag *diag)
{
  const char *output = arguments->output;
  if (arguments->n_rest == 0)
    return tide_fail(diag, TIDE_ERR_USAGE, "fetch what? tidemark fetch URL... -o OUT");
  if (!output)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "fetch into what? -o OUT names the new capture, or a directory");
  for (size_t i = 0; i < arguments->n_rest; i++)
    if (!tide_address_is(arguments->rest[i]))
      return tide_fail(diag, TIDE_ERR_USAGE,
                       "\"%s\" is no address; localhost:6060 and "
                       "https://host/debug/pprof/heap are",
                       arguments->rest[i]);
  if (!is_directory(output) && !arguments->force && access(output, F_OK) == 0)
    return tide_fail(diag, TIDE_ERR_EXISTS, "%s exists already; -f overwrites it", output);
  return TIDE_ERR_OK;
}

static enum tide_err open_fetched(const struct tide_arguments *arguments, const char *address,
                                  struct tide_opened *ret_opened, struct tide_diag *diag)
{
  enum tide_err err = tide_capture_open(arguments, address, ret_opened, diag);
  if (!err && arguments->redact_args)
    tide_capture_redact_args(ret_opened->capture);
  return err;
}

static void say_fetched(const struct tide_opened *opened, const char *saved)
{
  char size[TIDE_UNITS_MAX];
  struct stat st = {0};
  stat(saved, &st);
  tide_units_bytes(size, tide_exact((int64_t)st.st_size), TIDE_STYLE_PLAIN);
  tide_say("%s fetched into %s (%s)", opened->path, saved, size);
}

// ---- one, or several as one ----

static void say_added_up(size_t n, const struct tide_capture *merged, const char *saved)
{
  char size[TIDE_UNITS_MAX];
  struct stat st = {0};
  stat(saved, &st);
  tide_units_bytes(size, tide_exact((int64_t)st.st_size), TIDE_STYLE_PLAIN);
  if (merged->n_images == 1)
    tide_say("%zu profiles of %s added up in %s (%s)", n, tide_image_program(merged->images), saved,
             size);
  else
    tide_say("%zu profiles of %zu programs in %s (%s)", n, merged->n_images, saved, size);
}

static enum tide_err add_up(const struct tide_opened *fetched, size_t n,
                            struct tide_capture **ret_merged, struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE struct tide_merge_input *inputs = tide_alloc_array(n, sizeof *inputs);
  enum tide_err err = TIDE_ERR_OK;
  for (size_t i = 0; i < n && !err; i++) {
    inputs[i].capture = fetched[i].capture;
    err = tide_profile_pick(fetched[i].capture, NULL, &inputs[i].image_idx, diag);
  }
  return err ? err : tide_merge(inputs, n, ret_merged, diag);
}

// Every repetition. It may be wanted (before and after), and may be a slip that doubles every
// number.
static void say_repeated(const struct tide_arguments *arguments)
{
  const size_t n = arguments->n_rest;
  bool is_open;
  TIDE_CLEANUP_FREE char **asked = tide_alloc_array(n, sizeof *asked);
  for (size_t i = 0; i < n; i++) {
    asked[i] = tide_address_complete(arguments->rest[i], &is_open);
    bool is_repeated = false;
    for (size_t j = 0; j < i && !is_repeated; j++)
      is_repeated = strcmp(asked[j], asked[i]) == 0;
    if (!is_repeated)
      continue;
    TIDE_CLEANUP_FREE char *shown = tide_url_shown(asked[i]);
    tide_say("%s is given more than once, and is added up as often", shown);
  }
  for (size_t i = 0; i < n; i++)
    free(asked[i]);
}

static enum tide_err fetch_as_one(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  size_t n = arguments->n_rest, n_fetched = 0;
  TIDE_CLEANUP_FREE struct tide_opened *fetched = tide_alloc_array(n, sizeof *fetched);
  struct tide_capture *merged = NULL;
  enum tide_err err = TIDE_ERR_OK;
  say_repeated(arguments);
  while (n_fetched < n && !err) {
    err = open_fetched(arguments, arguments->rest[n_fetched], &fetched[n_fetched], diag);
    n_fetched += !err;
  }
  if (!err && n > 1)
    err = add_up(fetched, n, &merged, diag);
  if (!err)
    err = tide_file_write(merged ? merged : fetched->capture, arguments->output, diag);
  if (!err && merged)
    say_added_up(n, merged, arguments->output);
  else if (!err)
    say_fetched(fetched, arguments->output);
  tide_capture_free(merged);
  for (size_t i = 0; i < n_fetched; i++)
    tide_opened_done(&fetched[i]);
  return err;
}

// ---- a file each ----

// "HOST-PORT.tide": paths may have a token in them.
static size_t place_of(const char *url, const char **ret_host)
{
  const char *host = strstr(url, "://");
  *ret_host = host ? host + 3 : url;
  const char *user = memrchr(*ret_host, '@', strcspn(*ret_host, "/?#"));
  *ret_host = user ? user + 1 : *ret_host;
  return strcspn(*ret_host, "/?#");
}

// Of several at one place the later ones are numbered, by where they stand on the command line.
static char *name_in(const struct tide_arguments *arguments, size_t idx)
{
  const char *host, *other;
  size_t n = place_of(arguments->rest[idx], &host);
  bool is_taken = false;
  for (size_t i = 0; i < idx; i++)
    is_taken |= place_of(arguments->rest[i], &other) == n && strncmp(host, other, n) == 0;
  TIDE_CLEANUP_FREE char *name = tide_strndup(host, n);
  TIDE_CLEANUP_FREE char *number = is_taken ? tide_sprintf("-%zu", idx + 1) : tide_strdup("");
  for (char *c = name; *c; c++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.", *c))
      *c = '-';
  return tide_sprintf("%s/%.200s%s.tide", arguments->output, name, number);
}

static enum tide_err fetch_into(const struct tide_arguments *arguments, size_t idx,
                                struct tide_diag *diag)
{
  struct tide_opened opened = {0};
  enum tide_err err = open_fetched(arguments, arguments->rest[idx], &opened, diag);
  if (err)
    return err;
  TIDE_CLEANUP_FREE char *path = name_in(arguments, idx);
  if (!arguments->force && access(path, F_OK) == 0)
    err = tide_fail(diag, TIDE_ERR_EXISTS, "%s exists already; -f overwrites it", path);
  if (!err)
    err = tide_file_write(opened.capture, path, diag);
  if (!err)
    say_fetched(&opened, path);
  tide_opened_done(&opened);
  return err;
}

// One that fails costs itself alone.
static int fetch_each(const struct tide_arguments *arguments)
{
  int status = 0;
  for (size_t i = 0; i < arguments->n_rest; i++) {
    struct tide_diag diag = {0};
    enum tide_err err = fetch_into(arguments, i, &diag);
    if (err)
      status = tide_cmd_failed(err, &diag);
  }
  return status;
}

int tide_cmd_fetch(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  enum tide_err err = check_fetch_arguments(arguments, &diag);
  if (!err && is_directory(arguments->output))
    return fetch_each(arguments);
  if (!err)
    err = fetch_as_one(arguments, &diag);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
