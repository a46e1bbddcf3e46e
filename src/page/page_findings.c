// SPDX-License-Identifier: Apache-2.0
//
// What is wrong, in the words and with the numbers that "tidemark explain" has of it.
#include "page/page_data.h"

#include "base/alloc.h"
#include "base/units.h"
#include "findings/findings.h"
#include "report/explain.h"
#include "words/finding_words.h"
#include "words/image_text.h"

enum { MAX_FINDINGS = 50 }; // the further down the list, the less there is to be saved

static void write_texts(struct tide_json *json, const char *title, const char *unjudged,
                        const char *none)
{
  tide_json_put_text(json, "title", title);
  tide_json_put_text(json, "unjudged", unjudged);
  tide_json_put_text(json, "none", none);
}

static void write_none(struct tide_json *json, const struct tide_profile *profile)
{
  char stacks[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *why =
      tide_sprintf("Of %s stacks nobody judged beside the page what is wrong: “tidemark explain” "
                   "does.",
                   tide_units_plain(stacks, profile->n_sites));
  write_texts(json, NULL, NULL, why);
  tide_json_key(json, "list");
  tide_json_open_array(json);
  tide_json_close_array(json);
}

void tide_page_findings_write(struct tide_json *json, struct tide_profile *profile,
                              struct tide_naming *naming)
{
  struct tide_findings *findings = tide_findings_new_beside(profile, naming);
  tide_json_open_object(json);
  if (findings) {
    TIDE_CLEANUP_FREE char *title =
        tide_findings_title(findings, tide_image_program(profile->image));
    TIDE_CLEANUP_FREE char *unjudged = tide_findings_unjudged_words(findings);
    write_texts(json, title, unjudged, NULL);
    tide_findings_json(json, "list", findings, naming, MAX_FINDINGS);
  } else {
    write_none(json, profile);
  }
  tide_json_close_object(json);
  tide_findings_free(findings);
}
