// SPDX-License-Identifier: Apache-2.0
//
// A recording that goes on, as a source (control.h). At most one draft is asked for at a time.
#include "supervise/control.h"

#include "base/alloc.h"
#include "tide/file.h"

#include <stdlib.h>

struct living {
  struct tide_source source; // the first member
  struct tide_living_options options;
  struct tide_asked *asked; // NULL: nothing
  struct tide_draft *given; // to us, until the next look
  bool is_ended;            // there is nobody to ask any more
  bool is_over;             // and what there is was handed to us
};

static void ask(struct living *living)
{
  const struct tide_ask wish = {
      .kind = TIDE_ASK_DRAFT, .is_paced = true, .notify_fd = living->options.notify_fd};
  if (!living->asked && !living->is_ended)
    (void)!tide_control_post(living->options.control, &wish, &living->asked, NULL); // or later
}

static enum tide_err read_draft(const struct living *living, const struct tide_draft *draft,
                                struct tide_capture **ret_capture, struct tide_diag *diag)
{
  const char *name = living->source.name;
  enum tide_err err = tide_file_parse(draft->bytes.data, draft->bytes.n, name, ret_capture, diag);
  if (!err && living->options.complete)
    living->options.complete(*ret_capture, name);
  return err;
}

// True: the answer is there.
static bool collect_answer(struct living *living, struct tide_answer *ret_answer)
{
  return living->asked &&
         tide_control_collect(living->options.control, &living->asked, 0, ret_answer);
}

static enum tide_err look_at_recording(struct tide_source *source, bool is_wanted,
                                       struct tide_capture **ret_capture, struct tide_diag *diag)
{
  struct living *living = (struct living *)source;
  struct tide_answer answer = {0};
  enum tide_err err = TIDE_ERR_OK;
  *ret_capture = NULL;
  if (living->given) {
    err = read_draft(living, living->given, ret_capture, diag);
    tide_draft_free(living->given);
    living->given = NULL;
  } else if (collect_answer(living, &answer)) {
    living->is_ended = !answer.is_running;
    if (answer.draft)
      err = read_draft(living, answer.draft, ret_capture, diag);
    else if (answer.is_running)
      err = tide_fail(diag, answer.err, "this is what was recorded a while ago; now: %s",
                      answer.diag.text);
    tide_answer_done(&answer);
  }
  if (is_wanted)
    ask(living);
  return err;
}

// Not paced: whoever asks wants to know it now. What is asked for meanwhile comes later, by itself.
static enum tide_err refresh_recording(struct tide_source *source, uint32_t wait_ms,
                                       struct tide_capture **ret_capture, struct tide_diag *diag)
{
  struct living *living = (struct living *)source;
  const struct tide_ask wish = {.kind = TIDE_ASK_DRAFT, .is_brief = living->options.is_brief};
  struct tide_answer answer = {0};
  *ret_capture = NULL;
  if (living->given || living->is_ended)
    return look_at_recording(source, false, ret_capture, diag);
  tide_control_ask(living->options.control, &wish, wait_ms, &answer);
  enum tide_err err = answer.err;
  if (answer.draft)
    err = read_draft(living, answer.draft, ret_capture, diag);
  else if (err && diag)
    *diag = answer.diag;
  tide_answer_done(&answer);
  return err;
}

static bool is_live(const struct tide_source *source, const struct tide_capture *shown)
{
  (void)shown;
  return !((const struct living *)source)->is_over;
}

static void free_living(struct tide_source *source)
{
  struct living *living = (struct living *)source;
  tide_control_forget(living->options.control, &living->asked);
  tide_draft_free(living->given);
  free(source->name);
  free(living);
}

struct tide_source *tide_living_new(const struct tide_living_options *options)
{
  static const struct tide_source_kind kind = {look_at_recording, refresh_recording, is_live,
                                               free_living};
  struct living *living = tide_alloc(sizeof *living);
  *living = (struct living){.source = {&kind, tide_strdup(options->name)}, .options = *options};
  return &living->source;
}

void tide_living_give(struct tide_source *source, struct tide_draft *draft, bool is_last)
{
  struct living *living = (struct living *)source;
  tide_draft_free(living->given);
  living->given = draft ? tide_draft_share(draft) : NULL;
  living->is_over |= is_last;
  living->is_ended |= is_last;
}
