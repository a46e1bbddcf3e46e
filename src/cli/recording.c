// SPDX-License-Identifier: Apache-2.0
//
// An option of recording that is added here is taken by `run` and `check` alike.
#include "cli/recording.h"

#include "cli/first_screen.h"
#include "cli/library.h"
#include "cli/sampling.h"

#include <stdlib.h>

enum tide_err tide_recording_check(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  if (arguments->wait && arguments->no_follow)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--wait is for the processes that --no-follow leaves out");
  return TIDE_ERR_OK;
}

enum tide_err tide_recording_init(const struct tide_arguments *arguments,
                                  struct tide_recording *ret_recording, struct tide_diag *diag)
{
  enum tide_err err = tide_library_find(TIDE_LIBRARY_RECORDER, &ret_recording->library, diag);
  // Where it is missing, the rest is recorded without, unless it is asked for.
  if (!err && tide_library_find(TIDE_LIBRARY_AGENT, &ret_recording->agent, diag) &&
      arguments->how == TIDE_HOW_AGENT)
    err = TIDE_ERR_NOT_FOUND;
  return err;
}

void tide_recording_done(struct tide_recording *recording)
{
  free(recording->library);
  free(recording->agent);
  *recording = (struct tide_recording){0};
}

struct tide_run_options tide_recording_options(const struct tide_arguments *arguments,
                                               const struct tide_recording *recording)
{
  return (struct tide_run_options){
      .argv = arguments->rest,
      .output = arguments->output,
      .library = recording->library,
      .agent = recording->agent,
      .debug_dirs = arguments->debug_dirs,
      .how = (enum tide_how)arguments->how,
      .force = arguments->force,
      .redact_args = arguments->redact_args,
      .starts_paused = arguments->start_paused,
      .no_follow = arguments->no_follow,
      .wait = arguments->wait,
      .depth = (uint32_t)arguments->depth,
      .sample_bits = tide_sampling_bits(arguments->sample),
      .complete = tide_first_screen_complete,
  };
}
