// SPDX-License-Identifier: Apache-2.0
//
// Data goes into the file deflated and in base64. How many stacks fit cannot be computed, only
// tried: sizes are interpolated between a number that fits and one that does not, which lands close
// in a few steps since most of a file is proportional to its stacks.
#define _GNU_SOURCE
#include "page/html_report.h"

#include "base/alloc.h"
#include "base/sink.h"
#include "base/units.h"
#include "page/page_data.h"
#include "page/page_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Level 4 takes a third of the time of 6 and a fiftieth more room.
enum { TRIES_MAX = 8, SIDES_MAX = 2, LEVEL = 4, PIECE_BYTES = 256 << 10 };
// Of source text, which packs to a fourth: what a person would ever look at, and most of the room
// left to the numbers.
enum { SOURCE_BYTES_MAX = 2 << 20, SOURCE_PART = 8 };
// Of what is seen first: where that is more of the file, the rest is no longer worth it.
enum { FIRST_PART = 8 };
// By what is seen first it is guessed how large all would be: a site of all took two fifths of one
// of these. What is so many times the limit by that is not made at first, which takes longest.
enum { TRIED_MOST = 8 };
// What the number of another process takes in the name of its data and among what can be asked for.
enum { NUMBERS_MAX = 40 };

#define FACTS_HEAD "<script type=\"application/json\" id=\"tidemark-facts\">"
#define FIRST_HEAD "<script type=\"application/octet-stream\" id=\"tidemark-first-%zu\">"
#define DATA_HEAD "<script type=\"application/octet-stream\" id=\"tidemark-data-%zu\">"
#define OTHER_HEAD "<script type=\"application/octet-stream\" id=\"tidemark-data-0-%zu\">"
#define SOURCES_HEAD "<script type=\"application/octet-stream\" id=\"tidemark-sources-%zu\">"
#define MORE_HEAD "<script type=\"application/octet-stream\">"
#define END "</script>\n"
// What is longer is cut: a browser answers nobody until it has read an element to its end. A
// multiple of 3, so that the texts are in base64 together what each is alone.
enum { ELEMENT_BYTES = 3 << 14 };

struct packed {         // the data of a side, as it goes into the file
  struct tide_buf data; // deflated; a part of it when it exceeds the room it was given, or nothing
  uint64_t n_bytes;     // of all of it; estimated then
  bool is_guessed;      // and that by what is seen first
  size_t n_stacks, n_gathered, n_sites;
};

struct other_process { // another process of the only side
  size_t image_idx;
  struct tide_buf data; // deflated
};

struct filling { // what stands in the page's places for data
  struct tide_buf offer;
  struct packed sides[SIDES_MAX];
  struct tide_buf firsts[SIDES_MAX];  // what is seen first, deflated; empty: all is
  struct tide_buf sources[SIDES_MAX]; // deflated; empty: none
  struct tide_page_told tolds[SIDES_MAX];
  size_t n_sides, n_source_files;
  struct other_process *others;
  size_t n_others;
};

static uint64_t in_base64(uint64_t n_bytes)
{
  return (n_bytes + 2) / 3 * 4;
}

// Of elements, the heads apart but for the first one's.
static uint64_t in_elements(uint64_t n_bytes)
{
  uint64_t n_more = n_bytes ? (n_bytes - 1) / ELEMENT_BYTES : 0;
  return in_base64(n_bytes) + strlen(END) + n_more * strlen(MORE_HEAD END);
}

struct packing {
  struct tide_sink sink;
  struct tide_gzip *zlib;
  uint64_t room, n_in;
};

// There is no use in packing what does not fit anyway.
static void take_bytes(void *context, const void *bytes, size_t n)
{
  struct packing *p = context;
  const uint8_t *at = bytes;
  for (size_t piece; n && p->sink.buf.n <= p->room; n -= piece, at += piece) {
    piece = n < PIECE_BYTES ? n : PIECE_BYTES;
    tide_gzip_bytes(p->zlib, at, piece);
    p->n_in += piece;
  }
}

static struct packed pack_data(const struct tide_page_data *data, uint64_t room)
{
  struct packing p = {.room = room};
  tide_sink_init(&p.sink, NULL);
  p.zlib = tide_gzip_new_zlib(&p.sink, LEVEL);
  tide_page_data_hand_out(data, take_bytes, &p);
  tide_gzip_finish(p.zlib);
  double part = (double)p.n_in / (double)tide_page_data_bytes(data);
  return (struct packed){
      .data = p.sink.buf,
      .n_bytes = part < 1 ? (uint64_t)((double)p.sink.buf.n / part) : p.sink.buf.n,
      .n_stacks = data->n_stacks,
      .n_gathered = data->n_gathered,
      .n_sites = data->columns[TIDE_PAGE_SITE_NODE].n,
  };
}

struct target { // what a side is to become
  bool by_place;
  uint64_t room, limit_bytes; // of the side, and of the file
  struct tide_page_told *told;
};

static struct packed pack(const struct tide_html_side *side, size_t n_keep,
                          const struct target *target)
{
  const struct tide_page_options options = {
      .file = side->file,
      .n_keep = n_keep,
      .by_place = target->by_place,
      .limit_bytes = target->limit_bytes,
      .told = target->told,
  };
  struct tide_page_data *data = tide_page_data_new(side->profile, side->naming, &options);
  struct packed packed = pack_data(data, target->room);
  tide_page_data_free(data);
  return packed;
}

static struct tide_buf deflate_all(const struct tide_buf *bytes)
{
  struct tide_sink sink;
  tide_sink_init(&sink, NULL);
  struct tide_gzip *zlib = tide_gzip_new_zlib(&sink, LEVEL);
  tide_gzip_bytes(zlib, bytes->data, bytes->n);
  tide_gzip_finish(zlib);
  return sink.buf;
}

// With nothing in it, where that is more than the room.
static struct packed pack_first(const struct tide_html_side *side, uint64_t room,
                                struct tide_page_told *told)
{
  const struct tide_page_options options = {
      .file = side->file, .n_keep = TIDE_PAGE_FIRST_KEEP, .is_first = true, .told = told};
  struct tide_page_data *data = tide_page_data_new(side->profile, side->naming, &options);
  struct packed packed = pack_data(data, room);
  tide_page_data_free(data);
  if (packed.n_bytes > room)
    tide_buf_done(&packed.data);
  return packed;
}

// With every stack, and the source lines, for which all must be known.
static void pack_all(const struct tide_html_report *report, size_t i, struct filling *filling)
{
  const struct tide_html_side *side = &report->sides[i];
  const struct tide_page_options options = {
      .file = side->file, .n_keep = TIDE_PAGE_KEEP_ALL, .told = &filling->tolds[i]};
  struct tide_page_data *data = tide_page_data_new(side->profile, side->naming, &options);
  filling->sides[i] = pack_data(data, report->limit_bytes);
  if (report->sources) {
    uint64_t room = report->limit_bytes / SOURCE_PART;
    struct tide_page_sources sources;
    room = (room < SOURCE_BYTES_MAX ? room : SOURCE_BYTES_MAX) / report->n_sides;
    tide_page_sources_init(&sources, data, side->profile->capture->start_realtime_ns, room);
    filling->sources[i] = deflate_all(&sources.json);
    filling->n_source_files += sources.n_files;
    tide_page_sources_done(&sources);
  }
  tide_page_data_free(data);
}

static void pack_side(const struct tide_html_report *report, size_t i, struct filling *filling)
{
  const struct tide_html_side *side = &report->sides[i];
  uint64_t room = report->limit_bytes / FIRST_PART / report->n_sides;
  if (tide_page_has_first(side->profile)) {
    struct packed first = pack_first(side, room, &filling->tolds[i]);
    filling->firsts[i] = first.data;
    double part = (double)first.n_sites / (double)first.n_stacks;
    filling->sides[i] = (struct packed){.n_bytes = (uint64_t)((double)first.n_bytes / part),
                                        .is_guessed = true,
                                        .n_stacks = first.n_stacks};
  }
  if (report->sources || filling->sides[i].n_bytes / TRIED_MOST <= report->limit_bytes)
    pack_all(report, i, filling);
}

struct bounds { // numbers of stacks, and how large they are
  size_t fits, exceeds;
  uint64_t least_bytes, fits_bytes, exceeds_bytes; // of none at least
};

static size_t within_bounds(const struct bounds *b, double n)
{
  size_t least = b->fits + (b->exceeds - b->fits) / 16;
  size_t keep = n < (double)b->exceeds ? (size_t)(n > 0 ? n : 0) : b->exceeds - 1;
  keep = keep > b->fits ? keep : least;
  return keep < b->exceeds ? keep : b->exceeds - 1;
}

// A number between the two at which the size should be right, and a little less. The further down,
// the less a stack takes, as it shares its frames: what goes on as steeply as before fits.
static size_t guess(const struct bounds *b, uint64_t room)
{
  double wanted = (double)room * 0.98, fits = (double)b->fits;
  double each = ((double)b->exceeds_bytes - (double)b->fits_bytes) / (double)(b->exceeds - b->fits);
  if (b->fits)
    each = ((double)b->fits_bytes - (double)b->least_bytes) / fits;
  return within_bounds(b, fits + (wanted - (double)b->fits_bytes) / (each > 0 ? each : 1));
}

static bool is_close(const struct bounds *b, uint64_t room)
{
  return b->exceeds - b->fits <= 1 || b->fits_bytes >= room - room / 10;
}

// Replaces data that is too large by as much as fits into the room. False: not even without stacks.
static bool shrink_to(const struct tide_html_side *side, struct packed *packed,
                      const struct target *target)
{
  struct bounds b = {.exceeds = packed->n_stacks + packed->is_guessed, // all may fit
                     .exceeds_bytes = packed->n_bytes};
  struct packed least = pack(side, 0, target);
  b.least_bytes = b.fits_bytes = least.n_bytes;
  tide_buf_done(b.fits_bytes > target->room ? &least.data : &packed->data);
  if (b.fits_bytes > target->room)
    return false;
  *packed = least;
  for (int i = 0; i < TRIES_MAX && !is_close(&b, target->room); i++) {
    size_t n_keep = guess(&b, target->room);
    struct packed tried = pack(side, n_keep, target);
    bool fits = tried.n_bytes <= target->room;
    *(fits ? &b.fits : &b.exceeds) = n_keep;
    *(fits ? &b.fits_bytes : &b.exceeds_bytes) = tried.n_bytes;
    tide_buf_done(fits ? &packed->data : &tried.data);
    if (fits)
      *packed = tried;
  }
  return true;
}

// With every place if there is room for them, though all of it: they are worth more than stacks.
static bool shrink(const struct tide_html_side *side, struct packed *packed, struct target *target)
{
  target->by_place = true;
  if (shrink_to(side, packed, target))
    return true;
  target->by_place = false;
  return shrink_to(side, packed, target);
}

static struct tide_buf make_offer(const struct tide_html_report *report,
                                  const struct filling *filling)
{
  struct tide_page_capture captures[SIDES_MAX];
  TIDE_CLEANUP_FREE size_t *held = tide_alloc_array(filling->n_others + 1, sizeof *held);
  for (size_t i = 0; i < report->n_sides; i++)
    captures[i] = (struct tide_page_capture){.capture = report->sides[i].profile->capture,
                                             .file = report->sides[i].file,
                                             .largest = report->sides[i].profile->image_idx};
  held[0] = report->sides[0].profile->image_idx;
  for (size_t i = 0; i < filling->n_others; i++)
    held[i + 1] = filling->others[i].image_idx;
  captures[0].held = filling->n_others ? held : NULL;
  captures[0].n_held = filling->n_others + 1;
  const struct tide_page_offer offer = {
      .captures = captures, .n_captures = report->n_sides, .sources = report->sources};
  struct tide_sink sink;
  tide_sink_init(&sink, NULL);
  tide_page_offer_write(&sink, &offer);
  return sink.buf;
}

static uint64_t size_of(const struct tide_html_report *report, const struct filling *filling)
{
  uint64_t n = tide_embedded_page_bytes(report->page) + filling->offer.n + strlen(FACTS_HEAD END);
  for (size_t i = 0; i < filling->n_sides; i++) { // one digit instead of %zu
    n += in_elements(filling->sides[i].n_bytes) + strlen(DATA_HEAD) - 2;
    if (filling->firsts[i].n)
      n += in_elements(filling->firsts[i].n) + strlen(FIRST_HEAD) - 2;
    if (filling->sources[i].n)
      n += in_elements(filling->sources[i].n) + strlen(SOURCES_HEAD) - 2;
  }
  for (size_t i = 0; i < filling->n_others; i++)
    n += in_elements(filling->others[i].data.n) + strlen(OTHER_HEAD) - strlen("%zu") +
         (uint64_t)snprintf(NULL, 0, "%zu", filling->others[i].image_idx);
  return n;
}

// Each side has of the room what it has of the data.
static enum tide_err fit_in_limit(const struct tide_html_report *report, struct filling *filling,
                                  struct tide_diag *diag)
{
  uint64_t n = size_of(report, filling), n_data = 0;
  if (n <= report->limit_bytes)
    return TIDE_ERR_OK;
  for (size_t i = 0; i < filling->n_sides; i++)
    n_data += filling->sides[i].n_bytes;
  uint64_t fixed = n - in_base64(n_data);
  uint64_t room = report->limit_bytes > fixed ? (report->limit_bytes - fixed) / 4 * 3 : 0;
  for (size_t i = 0; i < filling->n_sides; i++) {
    double part = (double)filling->sides[i].n_bytes / (double)n_data;
    struct target target = {.room = (uint64_t)((double)room * part),
                            .limit_bytes = report->limit_bytes,
                            .told = &filling->tolds[i]};
    char limit[TIDE_UNITS_MAX];
    if (!shrink(&report->sides[i], &filling->sides[i], &target))
      return tide_fail(
          diag, TIDE_ERR_LIMIT, "%s is too little: the page with no stack at all takes more",
          tide_units_bytes(limit, tide_exact((int64_t)report->limit_bytes), TIDE_STYLE_PLAIN));
  }
  return TIDE_ERR_OK;
}

static struct packed pack_other(const struct tide_html_report *report, size_t image_idx,
                                uint64_t room)
{
  const struct tide_html_side *side = &report->sides[0];
  struct tide_profile *profile = tide_profile_new(side->profile->capture, image_idx);
  struct tide_naming *naming = report->others.name(report->others.context, profile->image);
  const struct tide_page_options options = {.file = side->file, .n_keep = TIDE_PAGE_KEEP_ALL};
  struct tide_page_data *data = tide_page_data_new(profile, naming, &options);
  struct packed packed = pack_data(data, room);
  tide_page_data_free(data);
  tide_naming_free(naming);
  tide_profile_free(profile);
  return packed;
}

// Whole, or not at all: one that does not fit leaves its room to the next.
static void add_others(const struct tide_html_report *report, struct filling *filling)
{
  size_t cap = 0;
  for (size_t i = 0; report->n_sides == 1 && i < report->others.n; i++) {
    uint64_t n =
        size_of(report, filling) + strlen(OTHER_HEAD END) + (filling->n_others + 1) * NUMBERS_MAX;
    uint64_t room = report->limit_bytes > n ? (report->limit_bytes - n) / 8 * 5 : 0;
    struct packed packed = pack_other(report, report->others.images[i], room);
    if (packed.n_bytes > room) {
      tide_buf_done(&packed.data);
      continue;
    }
    TIDE_GROW(filling->others, filling->n_others, cap);
    filling->others[filling->n_others++] =
        (struct other_process){report->others.images[i], packed.data};
  }
}

static void write_packed(struct tide_sink *sink, const char *head, size_t i,
                         const struct tide_buf *packed)
{
  if (!packed->n)
    return;
  tide_sink_printf(sink, head, i);
  for (size_t at = 0, n; at < packed->n; at += n) {
    n = packed->n - at < ELEMENT_BYTES ? packed->n - at : ELEMENT_BYTES;
    tide_sink_text(sink, at ? MORE_HEAD : "");
    tide_base64_write(sink, packed->data + at, n);
    tide_sink_text(sink, END);
  }
}

// What the script finds when it begins to run.
static void write_facts(struct tide_sink *sink, const struct filling *filling)
{
  tide_sink_text(sink, FACTS_HEAD);
  tide_sink_bytes(sink, filling->offer.data, filling->offer.n);
  tide_sink_text(sink, END);
  for (size_t i = 0; i < filling->n_sides; i++)
    write_packed(sink, FIRST_HEAD, i, &filling->firsts[i]);
}

static void write_filling(struct tide_sink *sink, enum tide_page_place place, void *context)
{
  const struct filling *filling = context;
  if (place == TIDE_PAGE_FACTS) {
    write_facts(sink, filling);
    return;
  }
  for (size_t i = 0; i < filling->n_sides; i++)
    write_packed(sink, DATA_HEAD, i, &filling->sides[i].data);
  for (size_t i = 0; i < filling->n_others; i++)
    write_packed(sink, OTHER_HEAD, filling->others[i].image_idx, &filling->others[i].data);
  for (size_t i = 0; i < filling->n_sides; i++)
    write_packed(sink, SOURCES_HEAD, i, &filling->sources[i]);
}

static void filling_done(struct filling *filling)
{
  tide_buf_done(&filling->offer);
  for (size_t i = 0; i < filling->n_sides; i++) {
    tide_buf_done(&filling->sides[i].data);
    tide_buf_done(&filling->firsts[i]);
    tide_buf_done(&filling->sources[i]);
    tide_page_told_done(&filling->tolds[i]);
  }
  for (size_t i = 0; i < filling->n_others; i++)
    tide_buf_done(&filling->others[i].data);
  free(filling->others);
}

enum tide_err tide_html_report_write(const struct tide_html_report *report, struct tide_sink *sink,
                                     struct tide_html_told *ret_told, struct tide_diag *diag)
{
  struct filling filling = {.n_sides = report->n_sides};
  struct tide_html_told told = {0};
  filling.offer = make_offer(report, &filling);
  for (size_t i = 0; i < report->n_sides; i++)
    pack_side(report, i, &filling);
  enum tide_err err = fit_in_limit(report, &filling, diag);
  if (!err) {
    add_others(report, &filling);
    tide_buf_done(&filling.offer);
    filling.offer = make_offer(report, &filling);
    told.n_others = filling.n_others;
  }
  if (!err)
    err = tide_embedded_page_fill(report->page, sink, write_filling, &filling, diag);
  for (size_t i = 0; i < report->n_sides; i++) {
    told.n_stacks += filling.sides[i].n_stacks;
    told.n_gathered += filling.sides[i].n_gathered;
  }
  told.n_bytes = size_of(report, &filling);
  told.n_source_files = filling.n_source_files;
  filling_done(&filling);
  if (!err)
    *ret_told = told;
  return err;
}

// ---- the page itself ----
//
// The page has a few places that are known by their text; ui/build.mjs sees to it that each is
// there once.

static const char facts_place[] = "<!--TIDEMARK-FACTS-->";
static const char data_place[] = "<!--TIDEMARK-DATA-->"; // behind the script
static const char policy_start[] = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
static const char asking[] = " connect-src 'self';"; // what only a served page needs

// Where a text is in the page; NULL when it is not.
static const char *text_in_page(const struct tide_embedded_page *page, const char *text)
{
  return memmem(page->html, page->n_html, text, strlen(text));
}

enum tide_err tide_embedded_page_check(const struct tide_embedded_page *page,
                                       struct tide_diag *diag)
{
  if (page)
    return TIDE_ERR_OK;
  return tide_fail(
      diag, TIDE_ERR_UNSUPPORTED,
      "this tidemark was built without the page; 'make' adds it where npm is installed and "
      "reaches its registry (and -Dui=disabled is not set); 'tidemark report' and "
      "'tidemark export' (svg) need none");
}

char *tide_embedded_page_policy(const struct tide_embedded_page *page)
{
  const char *start = text_in_page(page, policy_start);
  const char *end = start ? strchr(start + strlen(policy_start), '"') : NULL;
  if (!end)
    return NULL;
  start += strlen(policy_start);
  return tide_strndup(start, (size_t)(end - start));
}

// The page from one of its texts on, up to the next.
static const char *write_up_to(struct tide_sink *sink, const char *from, const char *to,
                               const char *text)
{
  tide_sink_bytes(sink, from, (size_t)(to - from));
  return to + strlen(text);
}

enum tide_err tide_embedded_page_fill(const struct tide_embedded_page *page, struct tide_sink *sink,
                                      tide_page_filler *fill, void *context, struct tide_diag *diag)
{
  const char *policy = text_in_page(page, policy_start), *data = text_in_page(page, data_place);
  const char *ask = policy ? text_in_page(page, asking) : NULL;
  const char *facts = text_in_page(page, facts_place);
  if (!ask || !facts || !data || ask < policy || facts < ask || data < facts)
    return tide_fail(diag, TIDE_ERR_FORMAT,
                     "the page in this tidemark is not whole: it was not built properly");
  const char *at = write_up_to(sink, page->html, ask, asking);
  at = write_up_to(sink, at, facts, facts_place);
  fill(sink, TIDE_PAGE_FACTS, context);
  at = write_up_to(sink, at, data, data_place);
  fill(sink, TIDE_PAGE_DATA, context);
  tide_sink_bytes(sink, at, (size_t)(page->html + page->n_html - at));
  return TIDE_ERR_OK;
}

size_t tide_embedded_page_bytes(const struct tide_embedded_page *page)
{
  size_t n_out = strlen(facts_place) + strlen(data_place) + strlen(asking);
  return page->n_html > n_out ? page->n_html - n_out : 0;
}
