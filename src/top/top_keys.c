// SPDX-License-Identifier: Apache-2.0
//
// What each key does. See top.h.
#include "base/alloc.h"
#include "top/top_inside.h"
#include "view/filter.h"

#include <stdlib.h>
#include <string.h>

enum { CTRL_C = 3, BACKSPACE = 8, ENTER = 10, RETURN = 13, ESCAPE = 27, DELETE = 127 };

// ---- moving ----

static size_t n_places(const struct tide_top *top)
{
  return top->groups ? top->groups->n : 0;
}

static void choose_place(struct tide_top *top, size_t i)
{
  size_t n = n_places(top);
  if (!n)
    return;
  top->chosen = i < n ? i : n - 1;
  top->has_chosen = top->chosen != 0; // who is back at the first follows what leads
  top->chosen_key = tide_top_place_key(top, &top->groups->items[top->chosen]);
  tide_top_forget_tree(top);
}

static size_t moved_by(size_t from, int64_t by)
{
  return by < 0 && from < (size_t)-by ? 0 : (size_t)((int64_t)from + by);
}

// True: the key moves.
static bool take_move(struct tide_top *top, unsigned key)
{
  size_t *at = top->mode == TIDE_TOP_TREE ? &top->tree_first : &top->chosen;
  int64_t page = top->page_rows > 1 ? (int64_t)top->page_rows - 1 : 1;
  size_t to;
  switch (key) {
  case 'k':
  case TIDE_TOP_KEY_UP: to = moved_by(*at, -1); break;
  case 'j':
  case TIDE_TOP_KEY_DOWN: to = moved_by(*at, 1); break;
  case TIDE_TOP_KEY_PAGE_UP: to = moved_by(*at, -page); break;
  case ' ':
  case TIDE_TOP_KEY_PAGE_DOWN: to = moved_by(*at, page); break;
  case 'g':
  case TIDE_TOP_KEY_HOME: to = 0; break;
  case 'G':
  case TIDE_TOP_KEY_END: to = SIZE_MAX / 2; break;
  default: return false;
  }
  if (top->mode == TIDE_TOP_TREE)
    top->tree_first = to; // the drawing knows how far that goes
  else
    choose_place(top, to);
  return true;
}

// ---- the question ----

static const struct {
  char key;
  int sort;
} sort_keys[] = {{'l', TIDE_MEASURE_LIVE}, {'p', TIDE_MEASURE_PEAK}, {'t', TIDE_MEASURE_TOTAL},
                 {'c', TIDE_SORT_COUNT},   {'e', TIDE_MEASURE_TEMP}, {'k', TIDE_MEASURE_LEAK},
                 {'g', TIDE_MEASURE_GROWN}};
enum { N_SORTS = sizeof sort_keys / sizeof *sort_keys };

static void sort_by(struct tide_top *top, int sort)
{
  top->sort = sort;
  top->by = TIDE_BY_DEFAULT;
  top->first = 0;
  tide_top_rank(top);
}

static void sort_by_next(struct tide_top *top, int step)
{
  int at = 0;
  for (int i = 0; i < N_SORTS; i++)
    if (sort_keys[i].sort == top->sort)
      at = i;
  sort_by(top, sort_keys[(at + step + N_SORTS) % N_SORTS].sort);
}

static void take_sort(struct tide_top *top, unsigned key)
{
  top->mode = TIDE_TOP_LIST;
  for (int i = 0; i < N_SORTS; i++)
    if ((unsigned char)sort_keys[i].key == key)
      sort_by(top, sort_keys[i].sort);
}

static void turn_unit(struct tide_top *top)
{
  bool is_blocks = top->profile && top->profile->question.unit == TIDE_UNIT_BLOCKS;
  top->by = is_blocks ? TIDE_BY_BYTES : TIDE_BY_BLOCKS;
  if (top->sort == TIDE_SORT_COUNT) // is of blocks alone
    top->sort = TIDE_MEASURE_TOTAL;
  tide_top_rank(top);
}

// ---- the filter ----

static void apply_filter(struct tide_top *top)
{
  struct tide_filter *filter = NULL;
  struct tide_diag diag = {0};
  const struct tide_filter_options options = {.function = top->typed};
  if (top->typed[0] && tide_filter_new(&options, &filter, &diag)) {
    const char *why = strstr(diag.text, ": ");          // behind which option it is, elsewhere
    tide_top_say(top, "%s", why ? why + 2 : diag.text); // and it can be mended
    return;
  }
  top->mode = TIDE_TOP_LIST;
  free(top->pattern);
  top->pattern = top->typed[0] ? tide_strdup(top->typed) : NULL;
  struct tide_filter *old = top->filter;
  top->filter = filter;
  top->first = 0;
  tide_top_rank(top); // the old view has the old filter
  tide_filter_free(old);
}

static void drop_last_character(char *text)
{
  size_t n = strlen(text);
  while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
    n--;
  text[n ? n - 1 : 0] = 0;
}

static void add_character(struct tide_top *top, unsigned key)
{
  char one[5] = "";
  if (key < 0x80) {
    one[0] = (char)key;
  } else if (key < 0x800) {
    one[0] = (char)(0xc0 | key >> 6);
    one[1] = (char)(0x80 | (key & 0x3f));
  } else if (key < 0x10000) {
    one[0] = (char)(0xe0 | key >> 12);
    one[1] = (char)(0x80 | (key >> 6 & 0x3f));
    one[2] = (char)(0x80 | (key & 0x3f));
  } else {
    one[0] = (char)(0xf0 | key >> 18);
    one[1] = (char)(0x80 | (key >> 12 & 0x3f));
    one[2] = (char)(0x80 | (key >> 6 & 0x3f));
    one[3] = (char)(0x80 | (key & 0x3f));
  }
  if (strlen(top->typed) + strlen(one) < sizeof top->typed)
    strcat(top->typed, one);
}

static void take_typed(struct tide_top *top, unsigned key)
{
  if (key == TIDE_TOP_KEY_ENTER)
    apply_filter(top);
  else if (key == TIDE_TOP_KEY_ESCAPE)
    top->mode = TIDE_TOP_LIST;
  else if (key == TIDE_TOP_KEY_BACKSPACE)
    drop_last_character(top->typed);
  else if (key >= ' ' && key < TIDE_TOP_KEY_NONE)
    add_character(top, key);
}

static void begin_filter(struct tide_top *top)
{
  top->mode = TIDE_TOP_FILTER;
  top->typed[0] = 0;
  if (top->pattern)
    strncat(top->typed, top->pattern, sizeof top->typed - 1);
}

// ---- the rest ----

static void set_mark(struct tide_top *top)
{
  if (!top->profile || !tide_top_history_mark(&top->history, top->n_marks + 1)) {
    tide_top_say(top, "nothing was recorded yet that could be marked");
    return;
  }
  top->n_marks++;
  tide_top_note_base(top);
  tide_top_say(top, "mark %u: in the graph, and places show what they gained since",
               (unsigned)top->n_marks);
}

static void turn_pause(struct tide_top *top)
{
  if (top->options.is_static || top->ended)
    tide_top_say(top, "nothing moves here");
  else
    top->is_paused = !top->is_paused;
}

static enum tide_top_wish take_quit(struct tide_top *top)
{
  if (!top->options.asks || top->ended)
    return TIDE_TOP_WISH_QUIT;
  top->mode = TIDE_TOP_QUIT;
  return TIDE_TOP_WISH_NONE;
}

static enum tide_top_wish take_answer(struct tide_top *top, unsigned key)
{
  top->mode = TIDE_TOP_LIST;
  return key == 'w' ? TIDE_TOP_WISH_QUIT : key == 'e' ? TIDE_TOP_WISH_END : TIDE_TOP_WISH_NONE;
}

static void turn_tree(struct tide_top *top)
{
  if (top->mode == TIDE_TOP_LIST && !n_places(top))
    return;
  top->mode = top->mode == TIDE_TOP_TREE ? TIDE_TOP_LIST : TIDE_TOP_TREE;
  top->tree_first = 0;
}

static enum tide_top_wish take_command(struct tide_top *top, unsigned key)
{
  bool is_tree = top->mode == TIDE_TOP_TREE;
  switch (key) {
  case 'q':
  case 'Q': return take_quit(top);
  case '?':
  case 'h': top->mode = TIDE_TOP_HELP; break;
  case TIDE_TOP_KEY_ENTER:
  case TIDE_TOP_KEY_RIGHT:
  case TIDE_TOP_KEY_LEFT:
    if (key == TIDE_TOP_KEY_ENTER || is_tree == (key == TIDE_TOP_KEY_LEFT))
      turn_tree(top);
    break;
  case TIDE_TOP_KEY_ESCAPE:
    if (is_tree)
      turn_tree(top);
    break;
  case '/': begin_filter(top); break;
  case 's': top->mode = TIDE_TOP_SORT; break;
  case '<': sort_by_next(top, -1); break;
  case '>': sort_by_next(top, 1); break;
  case 'b': turn_unit(top); break;
  case 'p': turn_pause(top); break;
  case 'm': set_mark(top); break;
  case 'd': return TIDE_TOP_WISH_DUMP;
  default: take_move(top, key);
  }
  return TIDE_TOP_WISH_NONE;
}

// Control characters that are keys.
static unsigned plain_key(unsigned key)
{
  switch (key) {
  case BACKSPACE:
  case DELETE: return TIDE_TOP_KEY_BACKSPACE;
  case ENTER:
  case RETURN: return TIDE_TOP_KEY_ENTER;
  case ESCAPE: return TIDE_TOP_KEY_ESCAPE;
  default: return key;
  }
}

enum tide_top_wish tide_top_key(struct tide_top *top, unsigned key)
{
  enum tide_top_wish wish = TIDE_TOP_WISH_NONE;
  top->message[0] = 0;
  top->version++;
  key = plain_key(key);
  if (key == CTRL_C) { // from anywhere
    top->mode = TIDE_TOP_LIST;
    return take_quit(top);
  }
  switch (top->mode) {
  case TIDE_TOP_LIST:
  case TIDE_TOP_TREE: wish = take_command(top, key); break;
  case TIDE_TOP_HELP: top->mode = TIDE_TOP_LIST; break;
  case TIDE_TOP_FILTER: take_typed(top, key); break;
  case TIDE_TOP_SORT: take_sort(top, key); break;
  case TIDE_TOP_QUIT: wish = take_answer(top, key); break;
  }
  return wish;
}
