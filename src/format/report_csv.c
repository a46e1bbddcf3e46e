// SPDX-License-Identifier: Apache-2.0
//
// One line per place, one column per measure, a last line "(rest)" for what is not shown, so that
// columns add up to the totals of the report.
#include "format/report_rows.h"

#include "format/csv.h"
#include "view/places.h"

#include <inttypes.h>

static void write_numbers(struct tide_sink *sink, const struct tide_place *place)
{
  tide_sink_printf(sink, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, place->peak_bytes,
                   place->peak_blocks, place->live_bytes, place->live_blocks);
  tide_sink_printf(sink, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, place->b_alloc,
                   place->n_alloc, place->b_free, place->n_free);
  tide_sink_printf(sink, ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 "\n", place->n_temp, place->n_resize,
                   place->n_stacks);
}

static void write_place(struct tide_sink *sink, const struct tide_naming *naming,
                        const struct tide_place *place, const char *unnamed)
{
  const struct tide_named_frame *frame = place->frame;
  tide_csv_text(sink, frame && frame->function ? frame->function : frame ? "" : unnamed);
  tide_sink_text(sink, ",");
  tide_csv_text(sink, frame && frame->file ? frame->file : "");
  tide_sink_text(sink, ",");
  if (frame && frame->line)
    tide_sink_printf(sink, "%" PRIu32, frame->line);
  tide_sink_text(sink, ",");
  tide_csv_text(sink, frame ? tide_naming_module(naming, frame) : "");
  tide_sink_text(sink, ",");
  if (frame && frame->pc)
    tide_sink_printf(sink, "0x%" PRIx64, tide_naming_elf_address(naming, frame));
  write_numbers(sink, place);
}

void tide_report_csv_write(struct tide_sink *sink, struct tide_view *view,
                           const struct tide_report_options *options)
{
  struct tide_places *places = tide_places_new(view);
  size_t n_shown = tide_places_shown(places, options->n_places, options->min_bytes);
  struct tide_place rest = tide_places_rest(places, n_shown);
  tide_sink_text(sink, "function,file,line,module,address,peak_bytes,peak_blocks,live_bytes,"
                       "live_blocks,allocated_bytes,allocations,freed_bytes,frees,temporary,"
                       "resizes,stacks\n");
  for (size_t i = 0; i < n_shown; i++)
    write_place(sink, view->naming, &places->items[i], "(stack not recorded)");
  if (rest.n_stacks)
    write_place(sink, view->naming, &rest, "(rest)");
  tide_places_free(places);
}
