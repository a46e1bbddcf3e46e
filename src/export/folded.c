// SPDX-License-Identifier: Apache-2.0
//
// Folded stacks, the text that flame graph tools pass to each other: a line per stack, its
// functions from the outermost to the allocating one with semicolons between them, a space, and its
// weight. Stacks that read alike are one line; the heaviest come first.
//
// Nothing in the format can be quoted, so names give way: a semicolon becomes a colon, a control
// character a question mark. Spaces are fine but for one: flamegraph.pl takes "name 12 34" for the
// two weights of a comparison, so a number at the end of a name is tied to it.
//
// Weights are positive: stacks without any are left out.
#include "export/exports.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "export/export_stacks.h"
#include "report/export_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *harmless_name(const struct tide_naming *naming, const struct tide_named_frame *frame)
{
  TIDE_CLEANUP_FREE char *name = tide_export_frame_name(naming, frame);
  char *clean = tide_utf8_clean(name, true);
  for (char *c = clean; *c; c++)
    if (*c == ';')
      *c = ':';
  char *space = strrchr(clean, ' ');
  if (space && space[strspn(space, " .0123456789")] == '\0')
    *space = '_';
  return clean;
}

static void write_line(struct tide_sink *sink, struct tide_export_stacks *stacks, uint32_t list,
                       uint64_t weight)
{
  size_t n;
  const uint32_t *texts = tide_export_stacks_get(stacks, list, &n);
  while (n-- > 0) {
    size_t n_bytes;
    const void *text = tide_intern_get(&stacks->texts, texts[n], &n_bytes);
    tide_sink_bytes(sink, text, n_bytes);
    tide_sink_text(sink, n ? ";" : " ");
  }
  tide_sink_printf(sink, "%" PRIu64 "\n", weight);
}

enum tide_err tide_folded_write(struct tide_sink *sink, struct tide_view *view,
                                const struct tide_export_options *options, struct tide_diag *diag)
{
  const struct tide_profile *profile = view->profile;
  TIDE_CLEANUP_FREE uint64_t *weights = tide_alloc_array(profile->n_sites, sizeof *weights);
  struct tide_export_stacks stacks;
  tide_export_stacks_init(&stacks, view, harmless_name);
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(view, i) && profile->sites[i].weight > 0)
      weights[tide_export_stacks_add(&stacks, &profile->sites[i])] +=
          (uint64_t)profile->sites[i].weight;
  for (uint32_t list = 0; list < stacks.n_lists; list++)
    write_line(sink, &stacks, list, weights[list]);
  tide_export_stacks_done(&stacks);
  return TIDE_ERR_OK;
}
