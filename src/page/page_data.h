// SPDX-License-Identifier: Apache-2.0
//
// What the page is given of one process image: the whole model as one block of bytes, laid out as
// docs/page-data.md says. Names are data here; nothing in it is markup.
//
// The block is kept as its columns, in the types in which it is written, and is handed out piece by
// piece: whoever compresses or sends it needs no second copy.
#pragma once
#include "base/json.h"
#include "base/sink.h"
#include "page/page_column.h"
#include "profile/profile.h"
#include "view/naming.h"
#include "view/view.h"
#include "words/statements.h"

#define TIDE_PAGE_KEEP_ALL SIZE_MAX
// A page of many stacks is given what is seen first, and then all of it: so many, of ten times as
// many or more.
enum { TIDE_PAGE_FIRST_KEEP = 3000, TIDE_PAGE_FIRST_OF = 10 };
static inline bool tide_page_has_first(const struct tide_profile *profile)
{
  return profile->n_sites / TIDE_PAGE_FIRST_OF > TIDE_PAGE_FIRST_KEEP;
}

struct tide_page_told;

struct tide_page_options {
  const char *file;     // the capture's name, or NULL
  size_t n_keep;        // stacks that stand for themselves, the others being gathered
  bool by_place;        // these being gathered by place, and not into one
  uint64_t limit_bytes; // because of which not all are kept; of no other effect
  bool is_first;        // what is seen first, by place; all, where that is not much more
  // All zero, or from the profile's data of before: what is told is found out once. The caller ends
  // it. NULL: nobody wants it again.
  struct tide_page_told *told;
};

struct tide_page_data {
  struct tide_buf facts; // JSON, filled up
  struct tide_page_column columns[TIDE_PAGE_COLUMNS_N];
  size_t n_stacks;   // of the profile
  size_t n_gathered; // of these, into fewer
};

// Looks up the names of every stack. Profile and naming are not needed any more afterwards.
struct tide_page_data *tide_page_data_new(const struct tide_profile *profile,
                                          struct tide_naming *naming,
                                          const struct tide_page_options *options);
void tide_page_data_free(struct tide_page_data *data); // NULL is fine

// The block, piece by piece and in order; in all as many bytes as tide_page_data_bytes() says.
typedef void tide_page_taker(void *context, const void *bytes, size_t n);
void tide_page_data_hand_out(const struct tide_page_data *data, tide_page_taker *take,
                             void *context);
void tide_page_data_write(const struct tide_page_data *data, struct tide_sink *sink);
uint64_t tide_page_data_bytes(const struct tide_page_data *data);

// The source file that a string of the block is: owned, and NULL when there is no such string or no
// frame has it as its file.
char *tide_page_data_file(const struct tide_page_data *data, uint32_t text);

// ---- facts ----
//
// What the page is told in JSON: of an image, at the head of its data; and of all that it can show,
// before it asks for any data.

struct tide_page_told { // what happened, in sentences
  struct tide_statements *verdict;
  struct tide_statements *so_far; // the same while the run goes on; NULL: it does not
  struct tide_buf residence;      // where the resident memory was: JSON
  struct tide_buf findings;       // what is wrong: JSON
};

void tide_page_told_init(struct tide_page_told *told, const struct tide_profile *profile,
                         struct tide_naming *naming);
void tide_page_told_done(struct tide_page_told *told); // all zero is fine

// Members of the open object: the facts of docs/page-data.md but for the columns.
void tide_page_facts_write(struct tide_json *json, const struct tide_profile *profile,
                           const struct tide_naming *naming,
                           const struct tide_page_options *options,
                           const struct tide_page_data *data, const struct tide_page_told *told);

// A member of it, "words" (page_words.c).
void tide_page_words_write(struct tide_json *json, const struct tide_image *image);

// An object: the value of another, "residence" (page_residence.c).
void tide_page_residence_write(struct tide_json *json, const struct tide_image *image,
                               struct tide_view *view);

// An object: the value of another, "findings" (page_findings.c). The profile will be asked.
void tide_page_findings_write(struct tide_json *json, struct tide_profile *profile,
                              struct tide_naming *naming);

struct tide_page_capture {
  const struct tide_capture *capture;
  const char *file;
  size_t largest;     // the image to begin with
  const size_t *held; // whose data there are; NULL: in a file of one alone, else of all
  size_t n_held;
};

struct tide_page_offer {
  const struct tide_page_capture *captures; // one, or two to be compared
  size_t n_captures;
  bool live;          // the run goes on: look again
  uint64_t version;   // rises when there is more to see
  bool sources;       // source files can be asked for
  const char *editor; // template of a link that opens a file, or NULL
};

// A member of the open object, "compared": per image of a capture, what to beware of when it is
// compared with the other's largest.
void tide_page_compared_write(struct tide_json *json, const struct tide_page_capture *own,
                              const struct tide_page_capture *other, bool is_after);

// Another, "processes": how the images of a capture belong together, if they are several
// (page_processes.c).
void tide_page_processes_write(struct tide_json *json, const struct tide_capture *capture);

// One object: captures (file, images, largest, processes, compared if they are two), live, version,
// sources, editor. Without a `<`, so that it can stand inside a page.
void tide_page_offer_write(struct tide_sink *sink, const struct tide_page_offer *offer);
