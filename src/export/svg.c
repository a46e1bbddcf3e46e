// SPDX-License-Identifier: Apache-2.0
//
// A flame graph as a picture that stands alone: no script is needed to see it, nothing is loaded
// from anywhere. The outermost functions are at the top; a box is as wide as its share of what was
// asked for, boxes below it are what it calls, and what a function holds by itself is the room left
// under it. Hovering tells the whole name, place and numbers.
//
// A box below a pixel is not drawn, since a profile may have a million of them: the small ones
// under a box are one grey box that tells how many there are. So a row has as many boxes as pixels
// at most, and a picture never more than some ten thousand.
//
//  1. Where a box begins is found from the weight before it, not from widths drawn: no error adds
//  up.
//  2. Weights may be negative in a damaged file. What is positive is shown: a tree's node knows the
//     sum with the signs and without, and half of both is that.
//  3. Names are not ours. All text is clean UTF-8 without control characters, and escaped.
#include "export/exports.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/utf8.h"
#include "report/export_words.h"
#include "words/completeness_text.h"
#include "view/tree.h"
#include "words/image_text.h"
#include "words/shorten.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- how boxes look, and what they do when scripts may run ----
//
// Colours: amber for the user's code and blue for the rest can be told apart with any kind of
// colour vision, and in grey; both are light enough for black text. Three shades of each keep
// neighbours apart. What a search finds gets a dark frame besides its colour.
//
// The script is a convenience: the picture is whole without it. A click on a box makes it as wide
// as the picture, Escape or a click on the first box takes that back; "/" or a click on the word
// asks for a regular expression and marks what has it in its name. It reads the boxes it finds and
// asks nobody else for anything.

enum { // pixels
  SVG_WIDTH = 1200,
  SVG_MARGIN = 10,
  SVG_ROW = 18,
  SVG_HEAD = 64,
  SVG_FOOT = 28,
};

static const char svg_style[] =
    "text{font:11px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#000}\n"
    ".h{font:bold 15px system-ui,sans-serif}\n"
    ".s{font:12px system-ui,sans-serif;fill:#333}\n"
    ".b text{pointer-events:none}\n"
    ".b rect{stroke:#fff;stroke-width:.4}\n"
    ".b:hover rect{stroke:#000;stroke-width:1}\n"
    ".u0{fill:#f5c869}.u1{fill:#f2b84b}.u2{fill:#f8d68e}\n"
    ".r0{fill:#a9d3ef}.r1{fill:#8fc4e9}.r2{fill:#c1dff3}\n"
    ".o{fill:#d9d9d9}.a{fill:#ededed}\n"
    ".m rect{fill:#cc79a7;stroke:#000;stroke-width:1.5}\n"
    "#find{cursor:pointer;text-decoration:underline;display:none}\n";

static const char svg_script[] =
    "(function () {\n"
    "  var LEFT = 10, FULL = 1180, CHAR = 6.7, SLACK = 0.11;\n"
    "  var boxes = [].map.call(document.querySelectorAll('g.b'), function (g) {\n"
    "    var r = g.querySelector('rect');\n"
    "    return {g: g, r: r, t: g.querySelector('text'), x: +r.getAttribute('x'),\n"
    "            w: +r.getAttribute('width'), y: +r.getAttribute('y'),\n"
    "            name: g.querySelector('title').textContent.split('\\n')[0]};\n"
    "  });\n"
    "  function place(b, x, w) {\n"
    "    var room = Math.floor((w - 6) / CHAR), text = '';\n"
    "    if (room >= 3)\n"
    "      text = b.name.length <= room ? b.name : b.name.slice(0, room - 1) + '\\u2026';\n"
    "    b.g.style.display = '';\n"
    "    b.r.setAttribute('x', x);\n"
    "    b.r.setAttribute('width', w);\n"
    "    if (text && !b.t) {\n"
    "      b.t = document.createElementNS('http://www.w3.org/2000/svg', 'text');\n"
    "      b.t.setAttribute('y', b.y + 13);\n"
    "      b.g.appendChild(b.t);\n"
    "    }\n"
    "    if (b.t) {\n"
    "      b.t.setAttribute('x', x + 3);\n"
    "      b.t.textContent = text;\n"
    "    }\n"
    "  }\n"
    "  function zoom(to) {\n"
    "    boxes.forEach(function (b) {\n"
    "      var inside = b.x >= to.x - SLACK && b.x + b.w <= to.x + to.w + SLACK;\n"
    "      var around = b.x <= to.x + SLACK && b.x + b.w >= to.x + to.w - SLACK;\n"
    "      if (b.y < to.y ? around : b === to)\n"
    "        place(b, LEFT, FULL);\n"
    "      else if (b.y > to.y && inside)\n"
    "        place(b, LEFT + (b.x - to.x) / to.w * FULL, b.w / to.w * FULL);\n"
    "      else\n"
    "        b.g.style.display = 'none';\n"
    "    });\n"
    "  }\n"
    "  function find() {\n"
    "    var what = prompt('Mark functions like (a regular expression):', '');\n"
    "    if (what === null)\n"
    "      return;\n"
    "    var like;\n"
    "    try { like = new RegExp(what); } catch (e) { alert(e.message); return; }\n"
    "    boxes.forEach(function (b) {\n"
    "      b.g.classList.toggle('m', what !== '' && like.test(b.name));\n"
    "    });\n"
    "  }\n"
    "  boxes.forEach(function (b) {\n"
    "    b.g.style.cursor = 'pointer';\n"
    "    b.g.addEventListener('click', function () { zoom(b); });\n"
    "  });\n"
    "  document.addEventListener('keydown', function (e) {\n"
    "    if (e.key === 'Escape' && boxes.length)\n"
    "      zoom(boxes[0]);\n"
    "    if (e.key === '/') {\n"
    "      e.preventDefault();\n"
    "      find();\n"
    "    }\n"
    "  });\n"
    "  var word = document.getElementById('find');\n"
    "  word.style.display = 'inline';\n"
    "  word.addEventListener('click', find);\n"
    "})();\n";

// ---- the picture ----

enum {
  INNER_WIDTH = SVG_WIDTH - 2 * SVG_MARGIN,
  DEPTH_MAX = 1000,
  CHAR_TENTHS = 67, // width of a character
  TEXT_MIN = 3,     // characters worth showing
};

struct writer {
  struct tide_sink *sink;
  struct tide_view *view;
  struct tide_tree *tree;
  struct tide_tree_limits limits;
  uint64_t whole;
  uint64_t *next; // per depth: the weight before the next box there
  size_t depth;   // of the deepest box, the first is 0
  uint64_t n_hidden;
};

static uint64_t positive(const struct tide_tree_node *node)
{
  return (uint64_t)(((__int128)node->moved + node->total) / 2);
}

static void put_escaped(struct tide_sink *sink, const char *text)
{
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(text, true);
  for (const char *c = clean; *c; c++) {
    if (*c == '&')
      tide_sink_text(sink, "&amp;");
    else if (*c == '<')
      tide_sink_text(sink, "&lt;");
    else if (*c == '>')
      tide_sink_text(sink, "&gt;");
    else if (*c == '"')
      tide_sink_text(sink, "&quot;");
    else if (strncmp(c, "\xef\xbf\xbe", 3) == 0 || strncmp(c, "\xef\xbf\xbf", 3) == 0)
      c += 2; // U+FFFE and U+FFFF are characters to UTF-8, but not to XML
    else
      tide_sink_bytes(sink, c, 1);
  }
}

// A weight as a distance from the left edge of the boxes, in tenths of a pixel.
static unsigned tenths(const struct writer *w, uint64_t weight)
{
  return (unsigned)((unsigned __int128)weight * INNER_WIDTH * 10 / w->whole);
}

static void put_tenths(struct tide_sink *sink, const char *name, unsigned value)
{
  tide_sink_printf(sink, " %s=\"%u.%u\"", name, value / 10, value % 10);
}

// The title says a bound once.
static const struct tide_style cells = {.utf8 = true, .bounds_beside = true};

static void put_weight(const struct writer *w, uint64_t weight)
{
  char text[TIDE_UNITS_MAX];
  const struct tide_profile *profile = w->view->profile;
  struct tide_amount amount = tide_profile_amount(profile, (int64_t)weight);
  if (profile->question.unit == TIDE_UNIT_BYTES)
    tide_units_bytes(text, amount, cells);
  else
    tide_units_count(text, amount, cells);
  tide_sink_text(w->sink, text);
}

static void put_amount(const struct writer *w, uint64_t weight)
{
  char share[TIDE_UNITS_MAX];
  put_weight(w, weight);
  tide_sink_text(w->sink, ", ");
  put_escaped(w->sink,
              tide_units_share(share, tide_profile_amount(w->view->profile, (int64_t)weight),
                               (int64_t)w->whole, cells));
}

static unsigned shade(const char *name)
{
  unsigned sum = 0;
  for (; *name; name++)
    sum = sum * 31 + (uint8_t)*name;
  return sum % 3;
}

// Opens a box with its title and its name as far as there is room; the caller ends the title.
static void open_box(const struct writer *w, const char *name)
{
  tide_sink_text(w->sink, "<g class=\"b\"><title>");
  put_escaped(w->sink, name);
  tide_sink_text(w->sink, "\n");
}

static void close_box(const struct writer *w, const char *class, uint64_t before, uint64_t weight,
                      size_t row, const char *name)
{
  unsigned left = SVG_MARGIN * 10 + tenths(w, before);
  unsigned width = SVG_MARGIN * 10 + tenths(w, before + weight) - left;
  size_t top = SVG_HEAD + row * SVG_ROW;
  tide_sink_printf(w->sink, "</title><rect class=\"%s\"", class);
  put_tenths(w->sink, "x", left);
  put_tenths(w->sink, "width", width);
  tide_sink_printf(w->sink, " y=\"%zu\" height=\"%d\" rx=\"1\"/>", top, SVG_ROW - 1);
  unsigned room = width > 60 ? (width - 60) / CHAR_TENTHS : 0;
  if (room >= TEXT_MIN) {
    TIDE_CLEANUP_FREE char *fitting = tide_shorten_function(name, room, true);
    tide_sink_text(w->sink, "<text");
    put_tenths(w->sink, "x", left + 30);
    tide_sink_printf(w->sink, " y=\"%zu\">", top + 13);
    put_escaped(w->sink, fitting);
    tide_sink_text(w->sink, "</text>");
  }
  tide_sink_text(w->sink, "</g>\n");
}

static void put_place(const struct writer *w, const struct tide_tree_node *node)
{
  const struct tide_named_frame *frame = node->frame;
  if (!frame)
    return;
  const char *module = tide_naming_module_path(w->view->naming, frame);
  put_escaped(w->sink, frame->file ? frame->file : *module ? module : "unknown code");
  if (frame->file && frame->line && node->has_one_line)
    tide_sink_printf(w->sink, ":%" PRIu32, frame->line);
  if (node->n_deep > 1)
    tide_sink_printf(w->sink, ", up to %" PRIu32 " calls deep", node->n_deep);
  tide_sink_text(w->sink, "\n");
}

static void draw_node(const struct writer *w, const struct tide_tree_node *node, size_t row,
                      uint64_t before)
{
  static const struct tide_profile_site lost = {.kind = TIDE_SITE_LOST};
  char class[] = "u0";
  TIDE_CLEANUP_FREE char *name = NULL;
  if (node->frame)
    name = tide_export_frame_name(w->view->naming, node->frame);
  else
    name = tide_strdup(row ? tide_export_no_frames(&lost) : "all");
  class[0] = node->frame && !tide_layer_is_folded(node->frame->layer) ? 'u' : 'r';
  class[1] = (char)('0' + shade(name));
  open_box(w, name);
  put_place(w, node);
  put_amount(w, positive(node));
  tide_sink_printf(w->sink, ", %" PRIu32 " stack%s", node->n_stacks,
                   node->n_stacks == 1 ? "" : "s");
  close_box(w, row ? class : "a", before, positive(node), row, name);
}

static void draw_rest(struct writer *w, uint64_t weight, uint32_t n, size_t row)
{
  char count[TIDE_UNITS_MAX];
  if (tenths(w, weight) < 10) {
    w->n_hidden += n;
    return;
  }
  TIDE_CLEANUP_FREE char *name =
      tide_sprintf("%s smaller function%s", tide_units_plain(count, n), n == 1 ? "" : "s");
  open_box(w, name);
  put_amount(w, weight);
  close_box(w, "o", w->next[row], weight, row, name);
}

// What the children of a node that are not drawn come to.
static uint64_t rest_of(const struct tide_tree_walk *walk)
{
  uint64_t sum = 0;
  for (uint32_t i = walk->n_shown; i < walk->node->n_children; i++)
    sum += positive(&walk->tree->nodes[walk->node->first_child + i]);
  return sum;
}

static void draw_boxes(struct writer *w)
{
  struct tide_tree_walk walk;
  tide_tree_walk_init(&walk, w->tree, &w->limits);
  for (enum tide_tree_step step; (step = tide_tree_walk_next(&walk)) != TIDE_TREE_END;) {
    size_t row = walk.depth;
    if (step == TIDE_TREE_REST)
      draw_rest(w, rest_of(&walk), walk.rest_n, row + 1);
    if (step != TIDE_TREE_ENTER)
      continue;
    if (tenths(w, positive(walk.node)))
      draw_node(w, walk.node, row, w->next[row]);
    w->next[row + 1] = w->next[row];
    w->next[row] += positive(walk.node);
  }
  tide_tree_walk_done(&walk);
}

static size_t find_depth(const struct writer *w)
{
  struct tide_tree_walk walk;
  size_t depth = 0;
  tide_tree_walk_init(&walk, w->tree, &w->limits);
  for (enum tide_tree_step step; (step = tide_tree_walk_next(&walk)) != TIDE_TREE_END;) {
    size_t row = walk.depth + (step == TIDE_TREE_REST);
    depth = row > depth ? row : depth;
  }
  tide_tree_walk_done(&walk);
  return depth;
}

static void put_line(const struct writer *w, const char *class, unsigned y, const char *text)
{
  tide_sink_printf(w->sink, "<text class=\"%s\" x=\"%d\" y=\"%u\">", class, SVG_MARGIN, y);
  put_escaped(w->sink, text);
  tide_sink_text(w->sink, "</text>\n");
}

static void write_head(const struct writer *w, size_t height)
{
  TIDE_CLEANUP_FREE char *command = tide_image_command(w->view->profile->image);
  TIDE_CLEANUP_FREE char *fitting = tide_utf8_fit(command, 150, true);
  TIDE_CLEANUP_FREE char *inexact =
      tide_inexact_words(w->view->profile, (struct tide_style){.utf8 = true});
  char text[TIDE_UNITS_MAX];
  struct tide_amount whole = tide_profile_amount(w->view->profile, (int64_t)w->whole);
  const char *bound = tide_units_bound(text, whole, cells);
  TIDE_CLEANUP_FREE char *measure = tide_export_measure(&w->view->profile->question);
  tide_sink_printf(w->sink,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
                   "viewBox=\"0 0 %d %zu\">\n<title>",
                   SVG_WIDTH, height, SVG_WIDTH, height);
  put_escaped(w->sink, command);
  tide_sink_text(w->sink, ": ");
  put_escaped(w->sink, measure);
  tide_sink_text(w->sink, "</title>\n");
  if (inexact) {
    tide_sink_text(w->sink, "<desc>");
    put_escaped(w->sink, inexact);
    tide_sink_text(w->sink, "</desc>\n");
  }
  tide_sink_printf(w->sink, "<style>\n%s</style>\n", svg_style);
  tide_sink_text(w->sink, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
  tide_sink_printf(w->sink, "<text class=\"h\" x=\"%d\" y=\"24\">", SVG_MARGIN);
  put_escaped(w->sink, measure);
  tide_sink_text(w->sink, ": ");
  put_weight(w, w->whole);
  tide_sink_printf(w->sink, "%s%s", *bound ? " " : "", bound);
  tide_sink_text(w->sink, "</text>\n");
  put_line(w, "s", 42, fitting);
  tide_sink_printf(w->sink,
                   "<text class=\"s\" id=\"find\" x=\"%d\" y=\"24\" text-anchor=\"end\">find "
                   "(/)</text>\n",
                   SVG_WIDTH - SVG_MARGIN);
}

static void write_foot(const struct writer *w, size_t height)
{
  char count[TIDE_UNITS_MAX];
  struct tide_buf text = {0};
  tide_buf_text(&text, "amber: the program's own code · blue: libraries and runtime · "
                       "grey: smaller ones together");
  if (w->n_hidden)
    tide_buf_printf(&text, " · %s too small to draw", tide_units_plain(count, w->n_hidden));
  put_line(w, "s", (unsigned)height - 10, tide_buf_cstr(&text));
  tide_buf_done(&text);
  tide_sink_printf(w->sink, "<script><![CDATA[\n%s]]></script>\n</svg>\n", svg_script);
}

static void write_picture(struct writer *w)
{
  w->depth = w->whole ? find_depth(w) : 0;
  size_t height = SVG_HEAD + (w->depth + 1) * SVG_ROW + SVG_FOOT;
  w->next = tide_alloc_array(w->depth + 2, sizeof *w->next);
  write_head(w, height);
  if (w->whole)
    draw_boxes(w);
  else
    put_line(w, "s", SVG_HEAD + 13, "nothing");
  write_foot(w, height);
  free(w->next);
}

enum tide_err tide_svg_write(struct tide_sink *sink, struct tide_view *view,
                             const struct tide_export_options *options, struct tide_diag *diag)
{
  const struct tide_tree_node root = tide_tree_root(view);
  struct writer w = {.sink = sink, .view = view, .whole = positive(&root)};
  w.limits = (struct tide_tree_limits){.min_moved = w.whole / INNER_WIDTH + 1, .depth = DEPTH_MAX};
  w.tree = tide_tree_new(view, &(struct tide_tree_options){.limits = w.limits});
  write_picture(&w);
  tide_tree_free(w.tree);
  return TIDE_ERR_OK;
}
