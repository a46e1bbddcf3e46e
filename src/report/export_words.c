// SPDX-License-Identifier: Apache-2.0
//
// Short words: viewers put them into tabs, titles and boxes.
#include "report/export_words.h"

#include "base/alloc.h"
#include "base/units.h"
#include "words/completeness_text.h"
#include "words/question_words.h"

#include <inttypes.h>

char *tide_export_frame_name(const struct tide_naming *naming, const struct tide_named_frame *frame)
{
  if (frame->flags & TIDE_FRAME_CUT)
    return tide_strdup("[frames left out]");
  if (frame->function)
    return tide_strdup(frame->function);
  uint64_t address = tide_naming_elf_address(naming, frame);
  if (!*tide_naming_module_path(naming, frame))
    return tide_sprintf("0x%" PRIx64, address);
  return tide_sprintf("%s+0x%" PRIx64, tide_naming_module(naming, frame), address);
}

const char *tide_export_no_frames(const struct tide_profile_site *site)
{
  bool is_recorded = site->kind != TIDE_SITE_LOST && site->stack;
  return is_recorded ? "[frames hidden]" : "[stack not recorded]";
}

// The moment that answers, whatever was asked for.
static char *moment(const struct tide_point *point, const char *otherwise)
{
  struct tide_point seen = *point;
  seen.asked_ns = seen.seen_ns;
  return point->given ? tide_point_words(&seen, true) : tide_strdup(otherwise);
}

char *tide_export_measure(const struct tide_question *question)
{
  static const char *const verbs[TIDE_MEASURES_N] = {
      [TIDE_MEASURE_PEAK] = "held at the peak", [TIDE_MEASURE_LIVE] = "held at",
      [TIDE_MEASURE_TOTAL] = "allocated",       [TIDE_MEASURE_GROWN] = "grown",
      [TIDE_MEASURE_TEMP] = "temporary",
  };
  const struct tide_window *window = &question->window;
  const char *unit = question->unit == TIDE_UNIT_BYTES ? "bytes" : "blocks";
  const char *kept = question->goes_on ? "still live at the end" : "never freed";
  const char *verb = question->measure == TIDE_MEASURE_LEAK ? kept : verbs[question->measure];
  TIDE_CLEANUP_FREE char *from = moment(&window->from, "the start");
  TIDE_CLEANUP_FREE char *to = moment(&window->to, "the end");
  if (question->measure == TIDE_MEASURE_TEMP) // of the whole run always
    return tide_sprintf("%s %s", verb, unit);
  if (question->measure == TIDE_MEASURE_LIVE)
    return tide_sprintf("%s %s %s", unit, verb, to);
  if (!window->from.given && !window->to.given)
    return tide_sprintf("%s %s", unit, verb);
  if (question->measure == TIDE_MEASURE_LEAK)
    return tide_sprintf("%s allocated from %s to %s and %s", unit, from, to, kept);
  return tide_sprintf("%s %s%s from %s to %s", unit, verb, question->at_least ? " (at least)" : "",
                      from, to);
}

char *tide_export_with_exactness(const char *text, const struct tide_profile *profile)
{
  TIDE_CLEANUP_FREE char *words = tide_inexact_words(profile, (struct tide_style){.utf8 = true});
  return words ? tide_sprintf("%s (%s)", text, words) : tide_strdup(text);
}
