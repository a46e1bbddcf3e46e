// SPDX-License-Identifier: Apache-2.0
//
// Schema tidemark-report-2, section by section in the order of the document.
#include "report/report.h"

#include "base/json.h"
#include "model/image_sums.h"
#include "report/explain.h"
#include "report/profile_json.h"
#include "report/site_json.h"
#include "report/stack_json.h"
#include "view/groups.h"

static void write_timeline(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "timeline");
  tide_json_open_object(json);
  tide_json_put_u64(json, "ticks", image->n_ticks);
  tide_json_put_u64(json, "snapshots", image->n_snapshots);
  if (!(image->lacks & TIDE_LACK_CLOCK))
    tide_json_put_u64(json, "widest_gap_ns", tide_image_widest_gap_ns(image));
  tide_json_close_object(json);
}

static void write_groups(struct tide_json *json, struct tide_view *view,
                         const struct tide_report_json_options *options)
{
  if (!options->group)
    return;
  struct tide_groups *groups = tide_groups_new(view, *options->group);
  tide_groups_tell_fates(groups, view->profile->image, groups->n);
  tide_groups_json(json, view, groups, options->n);
  tide_groups_free(groups);
}

struct choice { // which sites are written, in their order
  const struct tide_view *view;
  size_t n_max; // 0: all
  bool weightless;
  size_t n; // written so far
};

static bool is_let_through(const struct tide_view *view, size_t site_idx)
{
  if (view->profile->question.of_pages) // those alone; else pages come last
    return tide_view_has(view, site_idx);
  return !view->unwanted || !view->unwanted[site_idx];
}

static bool choose_site(struct choice *choice, size_t site_idx)
{
  bool is_chosen = (!choice->n_max || choice->n < choice->n_max) &&
                   (choice->weightless || choice->view->profile->sites[site_idx].weight);
  choice->n += is_chosen;
  return is_chosen;
}

// What the sites that are written leave of the totals; meanwhile the stacks of those are noted.
static void write_omitted(struct tide_json *json, struct choice choice,
                          struct tide_stack_json *stacks)
{
  const struct tide_profile *profile = choice.view->profile;
  struct tide_site_sum sums[2] = {0}; // of the heap, of pages
  uint64_t n[2] = {0};
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    bool of_pages = site->kind == TIDE_SITE_PAGES;
    if (!is_let_through(choice.view, i))
      continue;
    if (choose_site(&choice, i)) {
      tide_stack_json_need(stacks, site->stack);
    } else {
      tide_site_sum_add(&sums[of_pages], site);
      n[of_pages]++;
    }
  }
  tide_json_key(json, "omitted");
  tide_json_open_object(json);
  tide_site_json_sum(json, "heap", profile, &sums[0], n[0]);
  tide_site_json_sum(json, "pages", profile, &sums[1], n[1]);
  tide_json_close_object(json);
}

static void write_sites(struct tide_json *json, const struct tide_view *view,
                        const struct tide_report_json_options *options)
{
  struct tide_stack_json stacks;
  struct choice choice = {view, options->n, options->weightless, 0};
  tide_stack_json_init(&stacks, view->profile->image, view->naming);
  write_omitted(json, choice, &stacks);
  tide_stack_json_number(&stacks);
  tide_stack_json_write(&stacks, json);
  tide_site_json_defaults(json, view->profile);
  tide_json_key(json, "sites");
  tide_json_open_array(json);
  json->is_tight = true;
  for (size_t i = 0; i < view->profile->n_sites; i++)
    if (is_let_through(view, i) && choose_site(&choice, i))
      tide_site_json(json, view->profile, &stacks, &view->profile->sites[i]);
  json->is_tight = false;
  tide_json_close_array(json);
  tide_stack_json_done(&stacks);
}

// What happened, of the whole run and all of the image, whatever is asked.
static void write_verdict(struct tide_json *json, const struct tide_view *view,
                          const struct tide_report_json_options *options)
{
  const struct tide_statements_options how = {.style = {.utf8 = true}, .module_notes = !options->n};
  struct tide_statements *statements = tide_statements_new(view->profile, view->naming, &how);
  tide_statements_json(json, "verdict", statements);
  tide_statements_free(statements);
}

void tide_report_json_write(struct tide_sink *sink, struct tide_view *view,
                            const struct tide_report_json_options *options)
{
  const struct tide_profile *profile = view->profile;
  struct tide_json json;
  tide_json_init(&json, sink);
  tide_lacking_leave_out(&json, profile->image);
  tide_json_open_object(&json);
  tide_json_put_text(&json, "schema", "tidemark-report-2");
  tide_profile_json_facts(&json, profile, options->file);
  write_verdict(&json, view, options);
  if (options->findings)
    tide_findings_json(&json, "findings", options->findings, view->naming, SIZE_MAX);
  write_timeline(&json, profile->image);
  tide_question_json(&json, &profile->question);
  tide_json_put_text(&json, "blame", tide_blamed_words[tide_naming_blamed(view->naming)]);
  tide_wrappers_json(&json, view->naming);
  tide_json_put_i64(&json, "whole", view->whole);
  tide_json_put_i64(&json, "wanted", view->wanted);
  if (options->suppressions)
    tide_suppressions_json(&json, options->suppressions);
  write_groups(&json, view, options);
  write_sites(&json, view, options);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
