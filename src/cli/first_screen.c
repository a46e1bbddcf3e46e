// SPDX-License-Identifier: Apache-2.0
//
// The report of a fresh capture, cut to a screen.
#include "cli/first_screen.h"

#include "cli/opening.h"
#include "cli/terminal.h"
#include "findings/findings.h"
#include "model/pack.h"
#include "page/html_report.h"
#include "profile/completeness.h"
#include "report/report.h"
#include "tide/file.h"
#include "view/storing.h"

#include <string.h>

enum { FIRST_SCREEN_PLACES = 6 };

// A map of made code is soon gone, or another process's.
void tide_first_screen_complete(struct tide_capture *capture)
{
  tide_jit_names_add(capture, TIDE_JIT_MAPS_DIR);
}

void tide_first_screen(const struct tide_arguments *arguments, const struct tide_run_result *result,
                       const struct tide_rules *rules)
{
  size_t image_idx = 0;
  for (size_t i = 0; i < result->capture->n_images; i++)
    if (tide_image_unpack(&result->capture->images[i], NULL))
      return;
  if (tide_profile_pick(result->capture, NULL, &image_idx, NULL))
    return;
  struct tide_profile *profile = tide_profile_new(result->capture, image_idx);
  tide_profile_ask(profile, &(struct tide_question){0}); // the peak
  struct tide_naming *naming = tide_naming_open(arguments, profile->image, rules);
  struct tide_findings *findings = tide_findings_new_beside(profile, naming);
  struct tide_sink sink;
  tide_sink_init(&sink, stderr);
  struct tide_screen screen = tide_terminal_screen(&sink, stderr, arguments);
  bool here = result->output_path && !strchr(result->output_path, '/') && !arguments->output;
  struct tide_report_options options = {
      .n_rows = FIRST_SCREEN_PLACES,
      .prefix = "tidemark: ",
      .saved = result->output_path,
      .saved_bytes = result->output_bytes,
      .has_page = tide_embedded_page() && !arguments->view,
      .findings = findings,
      .argument = here ? NULL : result->output_path,
  };
  struct tide_view view;
  tide_view_init(&view, profile, naming, NULL, false);
  tide_report_write(&screen, &view, &options);
  tide_view_done(&view);
  tide_progress_stop();
  tide_sink_finish(&sink, "the report", NULL); // nobody to tell if standard error is gone
  tide_sink_done(&sink);
  tide_findings_free(findings);
  tide_naming_free(naming);
  tide_profile_free(profile);
}
