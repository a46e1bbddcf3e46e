// SPDX-License-Identifier: Apache-2.0
//
// What stands in a cell of the report's table, whatever the table is drawn with. All results are
// owned by the caller; the texts of names and paths still need tide_utf8_fit() or _clean() where
// it is not said that they are safe to print.
#pragma once
#include "report/report.h"
#include "report/screen.h"
#include "view/groups.h"

struct tide_question_text {
  const char *heading; // of a whole run: "top at the peak:"
  const char *nothing; // instead of a table: "nothing was held at the peak"
  const char *measure; // title of the column: "at the peak"
  const char *extra;   // and of the one more; NULL where there is none
};
struct tide_question_text tide_question_text(const struct tide_question *question);

// The line above a table, with the times that were asked for and the moments that answer; what is
// said instead of a table when any is false.
char *tide_question_heading(const struct tide_screen *screen, const struct tide_question *question,
                            bool any);

// The same for a table of groups.
char *tide_groups_heading(const struct tide_screen *screen, const struct tide_question *question,
                          const struct tide_groups *groups);

// The same after a number: "at the peak", "blocks live at 6.10 s", "grown from 1.00 s to 2.00 s".
char *tide_question_words(const struct tide_screen *screen, const struct tide_question *question);

// "412.6 MiB" or "16,204", "≈ 412.6 MiB"; a bound is said beside the table.
char *tide_cell_measure(const struct tide_screen *screen, const struct tide_question *question,
                        struct tide_amount measure);

// The one more column of questions whose story one number does not tell; "" for the others. Classes
// have none: NULL as its title.
const char *tide_extra_title(const struct tide_question *question, enum tide_group_kind kind);
char *tide_cell_extra(const struct tide_screen *screen, const struct tide_profile *profile,
                      enum tide_group_kind kind, const struct tide_group *group);

// A function within width columns, safe to print; an address where there is no name. frame NULL:
// events without a stack.
char *tide_cell_name(const struct tide_screen *screen, const struct tide_naming *naming,
                     const struct tide_named_frame *frame, size_t width);

// "src/postings.rs:88", or "in libfoo.so" where the line is not known.
char *tide_cell_location(const struct tide_naming *naming, const struct tide_named_frame *frame);

// What a group is called, within width columns and safe to print, and where that is.
char *tide_cell_group(const struct tide_screen *screen, const struct tide_view *view,
                      const struct tide_groups *groups, const struct tide_group *group,
                      size_t width);
char *tide_cell_group_location(const struct tide_view *view, const struct tide_groups *groups,
                               const struct tide_group *group);

// "via serde_json::de::from_str src/de.rs:2699 and 3 more" or, of a place without a name, "called
// by parse src/a.c:12", within width columns and safe to print; "" where there is nothing to say.
char *tide_cell_ways(const struct tide_screen *screen, const struct tide_naming *naming,
                     const struct tide_group_ways *ways, size_t width);

// "in 4 more places", "in 3 places below 1.0 MiB": what the rows past the first n_shown are.
char *tide_cell_rest(const struct tide_screen *screen, const struct tide_groups *groups,
                     size_t n_shown, int64_t min_measure);

// ---- questions of pages ----
//
// Words for questions about memory that the program mapped itself, by mmap, mremap and brk. All
// results are owned by the caller where they are not const.

const struct tide_question_text *tide_pages_question_text(const struct tide_question *question);
// The heading of a moment or of a part of the run; any: there are rows. free().
char *tide_pages_part_words(const struct tide_question *question, const char *from, const char *to,
                            bool any);

// What the one more column holds: of maximum, end, total and mappings those that are not asked for.
char *tide_pages_extra(const struct tide_screen *screen, const struct tide_profile *profile,
                       const struct tide_group *group);

// "at most at once; 4.0 MiB at the end, 96.0 MiB in 7 mappings from 3 stacks in all": what stands
// behind the most that was mapped at once.
char *tide_pages_words(struct tide_style style, const struct tide_profile *profile);

// Instead of a table or tree where nothing weighs anything under the question.
const char *tide_pages_nothing(const struct tide_profile *profile);

// "/srv/index.db", "[anon:arena]": what the mappings of a row of pages are of; NULL: nobody saw a
// name.
const char *tide_pages_name(const struct tide_profile *profile, const struct tide_group *group);

// Says below a table which of its maxima are bounds, if any are.
void tide_pages_bounds_write(const struct tide_screen *screen, const struct tide_view *view);

// ---- what the text is made of ----
//
// What the report's text is made of, from its table down. Private to it.

// The ranked table of groups: as many rows as the options allow and, where there is more, one for
// the rest.
void tide_report_table_write(const struct tide_screen *screen, struct tide_view *view,
                             struct tide_groups *groups, const struct tide_report_options *options);

// Up to options->n_stacks stacks of a group, the weightiest first, innermost frame first, and a
// line for the others. Nothing for groups that share their stacks with others.
void tide_stacks_write(const struct tide_screen *screen, struct tide_view *view,
                       const struct tide_groups *groups, size_t group_idx,
                       const struct tide_report_options *options);

// What there is to say of one row beside its rank: sizes, lifetimes, resizes, who freed, and what
// became of its blocks. A few lines below the row of a group whose fate was told. Only what there
// is something to say of.
void tide_details_write(const struct tide_screen *screen, const struct tide_view *view,
                        const struct tide_groups *groups, size_t group_idx);

// Below a table of leaks: how much of it grows and how much is held, and what was suppressed.
// Writes nothing for other questions. The fates of the groups must have been told.
void tide_report_leaks_write(const struct tide_screen *screen, const struct tide_view *view,
                             const struct tide_groups *groups,
                             const struct tide_report_options *options);
