// SPDX-License-Identifier: Apache-2.0
//
// tidemark serve: what `run --serve` answers, for programs that nobody supervises. Profiles and the
// page each have a source of their own, opened when somebody first asks and there is a store that
// is being written.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/library.h"
#include "cli/opening.h"
#include "cli/showing.h"
#include "cli/terminal.h"
#include "observe/living_stores.h"
#include "observe/store_read.h"

#include <stdlib.h>
#include <string.h>

struct serving {
  struct tide_arguments arguments; // with a place to serve
  const char *path;
  struct tide_showing showing;
  char **said; // what was left out, once each; owned
  size_t n_said, said_cap;
};

enum { MAX_SAID = 1000 };

static void complete_capture(struct tide_capture *capture, const char *name)
{
  tide_capture_complete(capture, name);
}

static void say_left_out(void *context, const char *sentence)
{
  struct serving *serving = context;
  for (size_t i = 0; i < serving->n_said; i++)
    if (strcmp(serving->said[i], sentence) == 0)
      return;
  if (serving->n_said == MAX_SAID)
    return;
  TIDE_GROW(serving->said, serving->n_said, serving->said_cap);
  serving->said[serving->n_said++] = tide_strdup(sentence);
  tide_say("%s", sentence);
}

static struct tide_source *open_stores(struct serving *serving)
{
  const struct tide_stores_options options = {
      .path = serving->path,
      .complete = complete_capture,
      .left_out = say_left_out,
      .context = serving,
  };
  return tide_stores_new(&options);
}

// Somebody asks, and there is nothing to tell yet: perhaps there is by now.
static void begin_serving(void *context, bool is_for_profilers)
{
  struct serving *serving = context;
  struct tide_showing *showing = &serving->showing;
  struct tide_source *source = open_stores(serving);
  struct tide_diag diag;
  if (is_for_profilers)
    (void)!tide_exhibit_open(&showing->routes.profiled, source, &showing->namer, NULL, &diag);
  else
    (void)!tide_showing_add(showing, source, &diag);
}

static enum tide_err refuse_file(const char *path, enum tide_err err, struct tide_diag *diag)
{
  struct tide_diag why = *diag;
  if (err == TIDE_ERR_EMPTY && tide_store_file_is(path))
    return tide_fail(diag, err,
                     "%s: there is nothing to serve; 'tidemark view %s' shows what it left",
                     why.text, path);
  if (err == TIDE_ERR_FORMAT)
    return tide_fail(diag, err,
                     "%s; 'tidemark serve' takes the store that a running program writes, or a "
                     "folder of them; 'tidemark view' shows captures",
                     why.text);
  return err;
}

static enum tide_err check_operands(struct serving *serving, bool *ret_is_folder,
                                    struct tide_diag *diag)
{
  const struct tide_arguments *arguments = &serving->arguments;
  if (arguments->n_rest != 1)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     arguments->n_rest ? "one store, or one folder of them: \"%s\" is one too many"
                                       : "which store, or which folder of stores?",
                     arguments->n_rest ? arguments->rest[1] : "");
  serving->path = arguments->rest[0];
  enum tide_err err = tide_stores_check(serving->path, ret_is_folder, diag);
  return err ? refuse_file(serving->path, err, diag) : TIDE_ERR_OK;
}

static void say_how(const struct serving *serving)
{
  TIDE_CLEANUP_FREE char *library = NULL, *path = realpath(serving->path, NULL);
  struct tide_diag ignored;
  if (serving->arguments.quiet || tide_library_find(TIDE_LIBRARY_RECORDER, &library, &ignored))
    return;
  tide_say("programs write their stores to %s if they are started with LD_PRELOAD=%s "
           "TIDEMARK_OPTIONS=out=%s/%%n.%%p.store",
           serving->path, library, path ? path : serving->path);
}

int tide_cmd_serve(const struct tide_arguments *arguments)
{
  struct serving serving = {.arguments = *arguments};
  struct tide_diag diag = {0};
  bool is_folder = false;
  if (!serving.arguments.serve)
    serving.arguments.serve = "127.0.0.1:6060";
  enum tide_err err = check_operands(&serving, &is_folder, &diag);
  if (!err)
    err = tide_showing_init(&serving.showing, &serving.arguments, &diag);
  if (!err)
    err = tide_showing_listen(&serving.showing, 0, &diag);
  serving.showing.routes.begin = begin_serving;
  serving.showing.routes.begin_context = &serving;
  if (!err) {
    tide_serving_hear_signals();
    err = tide_server_start(serving.showing.server, &diag);
  }
  if (!err) {
    if (is_folder)
      say_how(&serving);
    tide_serving_run(serving.showing.server, &serving.showing.routes, 0);
  }
  tide_showing_done(&serving.showing);
  for (size_t i = 0; i < serving.n_said; i++)
    free(serving.said[i]);
  free(serving.said);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
