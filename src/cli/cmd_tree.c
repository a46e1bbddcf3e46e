// SPDX-License-Identifier: Apache-2.0
//
// tidemark tree: how the program came to allocate, as one tree.
#include "base/units.h"
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/terminal.h"
#include "report/tree_writers.h"

enum { MIN_SHARE_DEFAULT_PPM = 5000 };

// What does not go together.
static enum tide_err check_tree_arguments(const struct tide_arguments *arguments,
                                          struct tide_diag *diag)
{
  if (arguments->json + arguments->csv + arguments->md > 1)
    return tide_fail(diag, TIDE_ERR_USAGE, "one of --json, --csv and --md at a time");
  if (arguments->callers && arguments->callees)
    return tide_fail(diag, TIDE_ERR_USAGE, "one of --callers and --callees at a time");
  if (arguments->callees && arguments->focus)
    return tide_fail(diag, TIDE_ERR_USAGE, "one of --callees and --focus: they mean the same here");
  return TIDE_ERR_OK;
}

static enum tide_err read_share(const char *text, uint32_t *ret_ppm, struct tide_diag *diag)
{
  struct tide_moment moment;
  bool is_share = !tide_moment_parse(text, &moment, NULL) &&
                  (moment.kind == TIDE_MOMENT_SHARE ||
                   (moment.kind == TIDE_MOMENT_TIME && moment.time_ns == 0));
  if (!is_share)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--min-share takes a share of the whole such as 0.5%%, not \"%s\"", text);
  *ret_ppm = moment.kind == TIDE_MOMENT_SHARE ? moment.share_ppm : 0;
  return TIDE_ERR_OK;
}

// Of the whole, or of what moved where growth and shrinkage nearly even out.
static uint64_t part_of(const struct tide_tree_writing *writing, uint32_t ppm)
{
  uint64_t moved = tide_tree_root(writing->view).moved, whole = 0;
  if (writing->view->whole > 0)
    whole = (uint64_t)writing->view->whole;
  return (uint64_t)((double)(whole > moved ? whole : moved) * ppm / 1e6);
}

// People get half a percent and more unless they say otherwise, programs everything.
static bool has_own_minimum(const struct tide_arguments *arguments)
{
  return arguments->min_share || arguments->min_bytes || arguments->json || arguments->csv;
}

static void set_limits(const struct tide_arguments *arguments, uint32_t ppm,
                       struct tide_tree_writing *writing)
{
  uint64_t share = part_of(writing, ppm);
  writing->limits = (struct tide_tree_limits){
      .min_moved = share > arguments->min_bytes ? share : arguments->min_bytes,
      .depth = arguments->depth,
      .n_children = arguments->top,
  };
  writing->default_limits = !has_own_minimum(arguments) && !arguments->depth && !arguments->top;
}

static void write_format(const struct tide_arguments *arguments, const struct tide_screen *screen,
                         const struct tide_tree_writing *writing)
{
  if (arguments->json)
    tide_tree_json_write(screen->sink, writing);
  else if (arguments->csv)
    tide_tree_csv_write(screen->sink, writing);
  else if (arguments->md)
    tide_tree_md_write(screen, writing);
  else
    tide_tree_text_write(screen, writing);
}

static enum tide_err write_tree(const struct tide_arguments *arguments,
                                struct tide_looking *looking, struct tide_diag *diag)
{
  struct tide_tree_writing writing = {.view = &looking->view,
                                      .callers = arguments->callers,
                                      .callees = arguments->callees,
                                      .suppressions = looking->suppressions,
                                      .file = looking->opened.path};
  struct tide_tree_options options = {.inverted = arguments->invert || arguments->callers,
                                      .by_line = arguments->lines};
  uint32_t ppm = has_own_minimum(arguments) ? 0 : MIN_SHARE_DEFAULT_PPM;
  enum tide_err err = TIDE_ERR_OK;
  if (arguments->min_share)
    err = read_share(arguments->min_share, &ppm, diag);
  if (err)
    return err;
  set_limits(arguments, ppm, &writing);
  options.limits = writing.limits;
  struct tide_tree *tree = tide_tree_new(&looking->view, &options);
  writing.tree = tree;
  struct tide_sink sink;
  if (arguments->json || arguments->csv || arguments->md)
    tide_sink_init(&sink, stdout);
  else
    tide_pager_begin(&sink, arguments);
  struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
  write_format(arguments, &screen, &writing);
  tide_tree_free(tree);
  return tide_pager_finish(&sink, "the tree", diag);
}

int tide_cmd_tree(const struct tide_arguments *arguments)
{
  struct tide_looking looking = {0};
  struct tide_diag diag = {0};
  const char *path = NULL;
  enum tide_err err = check_tree_arguments(arguments, &diag);
  if (!err)
    err = tide_looking_path(arguments, &path, &diag);
  if (!err)
    err = tide_looking_open(arguments, path, NULL, &looking, &diag);
  if (!err)
    err = write_tree(arguments, &looking, &diag);
  if (!err)
    tide_looking_tell_suppressed(&looking, arguments);
  tide_looking_done(&looking);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
