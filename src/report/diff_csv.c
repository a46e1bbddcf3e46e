// SPDX-License-Identifier: Apache-2.0
//
// One line per place, bytes and blocks of both sides as numbers.
#include "report/diff.h"

#include "base/alloc.h"
#include "report/diff_cells.h"
#include "report/markup.h"
#include "report/profile_json.h"
#include "view/terms.h"

#include <inttypes.h>

static void write_numbers(struct tide_sink *sink, const struct tide_diff *diff,
                          const struct tide_diff_place *place)
{
  const struct tide_diff_amount *before = &place->before, *after = &place->after;
  tide_sink_printf(sink, ",%" PRId64 ",%" PRId64 ",%" PRId64, before->bytes, after->bytes,
                   tide_number_change(before->bytes, after->bytes));
  tide_sink_printf(sink, ",%" PRId64 ",%" PRId64 ",%" PRId64, before->blocks, after->blocks,
                   tide_number_change(before->blocks, after->blocks));
  tide_sink_printf(sink, ",%" PRIu32 ",%" PRIu32 ",", before->n_stacks, after->n_stacks);
  tide_exactness_csv(sink, diff->before->profile);
  tide_sink_text(sink, ",");
  tide_exactness_csv(sink, diff->after->profile);
  tide_sink_text(sink, "\n");
}

static const char *function_of(const struct tide_diff_place *place,
                               const struct tide_named_frame *frame)
{
  switch (place->kind) {
  case TIDE_DIFF_LOST: return tide_term(TIDE_TERM_STACK_LOST);
  case TIDE_DIFF_NOWHERE: return tide_term(TIDE_TERM_NO_FRAME);
  case TIDE_DIFF_PLACE: break;
  }
  return frame->function ? frame->function : "";
}

static bool is_grouped(const struct tide_diff *diff)
{
  return diff->group != TIDE_GROUP_PLACE && diff->group != TIDE_GROUP_FUNCTION;
}

static void write_place(struct tide_sink *sink, const struct tide_diff *diff,
                        const struct tide_diff_place *place)
{
  const struct tide_naming *naming;
  const struct tide_named_frame *frame = tide_diff_frame(diff, place, &naming);
  tide_sink_printf(sink, "%s,", tide_change_words[tide_diff_change_kind(diff, place)]);
  if (is_grouped(diff)) {
    tide_csv_text(sink, place->label ? place->label : function_of(place, frame));
    write_numbers(sink, diff, place);
    return;
  }
  tide_csv_text(sink, function_of(place, frame));
  tide_sink_text(sink, ",");
  tide_csv_text(sink, frame && frame->file ? frame->file : "");
  tide_sink_text(sink, ",");
  if (frame && frame->line)
    tide_sink_printf(sink, "%" PRIu32, frame->line);
  tide_sink_text(sink, ",");
  tide_csv_text(sink, frame ? tide_naming_module(naming, frame) : "");
  write_numbers(sink, diff, place);
}

void tide_diff_csv_write(struct tide_sink *sink, const struct tide_diff *diff,
                         const struct tide_diff_options *options)
{
  size_t n_shown = tide_diff_rows(diff, options);
  struct tide_diff_place rest = tide_diff_rest(diff, n_shown);
  bool grouped = is_grouped(diff);
  tide_sink_printf(sink,
                   "change,%s,before_bytes,after_bytes,change_bytes,"
                   "before_blocks,after_blocks,change_blocks,before_stacks,after_stacks,"
                   "before_exactness,after_exactness\n",
                   grouped ? tide_diff_row_word(diff) : "function,file,line,module");
  for (size_t i = 0; i < n_shown; i++)
    write_place(sink, diff, &diff->places[i]);
  if (n_shown < diff->n) {
    tide_sink_text(sink, grouped ? ",(rest)" : ",(rest),,,");
    write_numbers(sink, diff, &rest);
  }
  if (tide_diff_has_open(diff)) {
    tide_sink_text(sink, grouped ? ",(open)" : ",(open),,,");
    write_numbers(sink, diff, &diff->open);
  }
}
