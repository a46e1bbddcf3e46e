// SPDX-License-Identifier: Apache-2.0
//
// tidemark merge: several recordings into one capture.
#include "base/alloc.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "merge/merge.h"
#include "model/capture.h"
#include "profile/completeness.h"
#include "profile/profile.h"
#include "tide/file.h"
#include "words/image_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct inputs {
  struct tide_opened *files; // all owned
  size_t n_files;
  struct tide_merge_input *items;
  size_t n, cap;
};

static enum tide_err check_merge_arguments(const struct tide_arguments *arguments,
                                           struct tide_diag *diag)
{
  const char *output = arguments->output;
  if (arguments->n_rest == 0)
    return tide_fail(diag, TIDE_ERR_USAGE, "merge what? tidemark merge FILE... -o OUT");
  if (!output)
    return tide_fail(diag, TIDE_ERR_USAGE, "merge into what? -o OUT names the new capture");
  if (arguments->all && arguments->process)
    return tide_fail(diag, TIDE_ERR_USAGE, "one of --all and --process at a time");
  if (!arguments->force && access(output, F_OK) == 0)
    return tide_fail(diag, TIDE_ERR_EXISTS, "%s exists already; -f overwrites it", output);
  return TIDE_ERR_OK;
}

static void add_input(struct inputs *inputs, const struct tide_capture *capture, size_t image_idx)
{
  TIDE_GROW(inputs->items, inputs->n, inputs->cap);
  inputs->items[inputs->n++] = (struct tide_merge_input){capture, image_idx};
}

static enum tide_err open_input(const struct tide_arguments *arguments, const char *path,
                                struct inputs *inputs, struct tide_diag *diag)
{
  struct tide_opened *opened = &inputs->files[inputs->n_files];
  size_t image_idx = 0;
  enum tide_err err = tide_capture_open(arguments, path, opened, diag);
  if (err)
    return err;
  inputs->n_files++;
  if (arguments->redact_args)
    tide_capture_redact_args(opened->capture);
  if (opened->capture->cut)
    tide_say("%s is damaged; what is whole in it is merged", path);
  if (arguments->all) {
    for (size_t i = 0; i < opened->capture->n_images; i++)
      add_input(inputs, opened->capture, i);
    return TIDE_ERR_OK;
  }
  err = tide_profile_pick(opened->capture, arguments->process, &image_idx, diag);
  if (!err)
    add_input(inputs, opened->capture, image_idx);
  return err;
}

static enum tide_err open_inputs(const struct tide_arguments *arguments, struct inputs *inputs,
                                 struct tide_diag *diag)
{
  enum tide_err err = TIDE_ERR_OK;
  inputs->files = tide_alloc_array(arguments->n_rest, sizeof *inputs->files);
  for (size_t i = 0; i < arguments->n_rest && !err; i++)
    err = open_input(arguments, arguments->rest[i], inputs, diag);
  if (!err && inputs->n < 2)
    err = tide_fail(diag, TIDE_ERR_USAGE,
                    "one process is not enough to merge; name more files, or --all for all "
                    "processes of this one");
  return err;
}

static void inputs_done(struct inputs *inputs)
{
  for (size_t i = 0; i < inputs->n_files; i++)
    tide_opened_done(&inputs->files[i]);
  free(inputs->files);
  free(inputs->items);
}

static bool any_foreign(const struct tide_capture *capture)
{
  for (size_t i = 0; i < capture->n_images; i++)
    if (capture->images[i].origin)
      return true;
  return false;
}

static void say_merged(const struct inputs *inputs, const struct tide_capture *merged,
                       const char *saved)
{
  char size[TIDE_UNITS_MAX], count[TIDE_UNITS_MAX];
  struct stat st = {0};
  stat(saved, &st);
  tide_units_bytes(size, tide_exact((int64_t)st.st_size), TIDE_STYLE_PLAIN);
  tide_units_digits(count, inputs->n);
  const char *what = any_foreign(merged) ? "recordings" : "processes";
  if (merged->n_images == 1)
    tide_say("%s %s of %s merged into %s (%s)", count, what, tide_image_program(merged->images),
             saved, size);
  else
    tide_say("%s %s of %zu programs merged into %s (%s)", count, what, merged->n_images, saved,
             size);
}

int tide_cmd_merge(const struct tide_arguments *arguments)
{
  struct inputs inputs = {0};
  struct tide_capture *merged = NULL;
  struct tide_diag diag = {0};
  enum tide_err err = check_merge_arguments(arguments, &diag);
  if (!err)
    err = open_inputs(arguments, &inputs, &diag);
  if (!err)
    err = tide_merge(inputs.items, inputs.n, &merged, &diag);
  if (!err)
    err = tide_file_write(merged, arguments->output, &diag);
  if (!err)
    say_merged(&inputs, merged, arguments->output);
  tide_capture_free(merged);
  inputs_done(&inputs);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
