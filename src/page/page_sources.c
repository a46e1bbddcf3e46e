// SPDX-License-Identifier: Apache-2.0
//
// See page_sources.h. A place is worth the shares of its stacks, added up over four measures: what
// is large under any of them comes before what is small under all. Files are read when the first
// of their places comes, and kept until the end.
#include "page/page_sources.h"

#include "base/alloc.h"
#include "base/json.h"
#include "view/terms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- one file ----
//
// The file is looked at through its descriptor: what was checked is what is read.

enum { MAX_BYTES = 8 << 20 };

static enum tide_err read_all(int fd, const char *path, size_t size, struct tide_buf *text,
                              struct tide_diag *diag)
{
  size_t before = text->n, got = 0;
  uint8_t *at = tide_buf_extend(text, size);
  while (got < size) {
    ssize_t n = read(fd, at + got, size - got);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return tide_fail_errno(diag, "cannot read %s", path);
    if (n == 0)
      break;
    got += (size_t)n;
  }
  text->n = before + got;
  if (got && memchr(text->data + before, 0, got)) // an empty file has no bytes to look at
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s is not text", path);
  return TIDE_ERR_OK;
}

enum tide_err tide_source_text_read(const char *path, struct tide_buf *text,
                                    uint64_t *ret_changed_ns, struct tide_diag *diag)
{
  struct stat st;
  if (path[0] != '/')
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "%s: it is not known in which directory", path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return tide_fail_errno(diag, "cannot read %s", path);
  enum tide_err err = TIDE_ERR_OK;
  if (fstat(fd, &st) || !S_ISREG(st.st_mode))
    err = tide_fail(diag, TIDE_ERR_FORMAT, "%s is not a file of text", path);
  else if (st.st_size > MAX_BYTES)
    err = tide_fail(diag, TIDE_ERR_LIMIT, "%s is larger than 8 MiB", path);
  else
    err = read_all(fd, path, (size_t)st.st_size, text, diag);
  close(fd);
  if (!err)
    *ret_changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
  return err;
}

enum {
  MEASURES = 4,
  AROUND = 8,           // lines before and after a place; the page shows as many
  FILES_MAX = 2000,     // looked for
  LINE_BYTES_MAX = 400, // of a longer line, which no person wrote, the beginning
  READ_BYTES_MAX = 256 << 20,
};

struct place {
  uint32_t text, line; // of the file
  double weight;
};

struct file {
  char *path; // NULL: not looked for yet
  char *note; // why there is no text; NULL: there is
  struct tide_buf bytes;
  size_t *starts; // of lines, and one more: the end
  size_t n_lines;
  uint8_t *wanted; // per line
};

struct choosing {
  const struct tide_page_column *columns;
  uint64_t start_realtime_ns, room, n_read;
  struct file *files; // per string
  uint32_t *found;    // strings of files, in the order in which they were first wanted
  size_t n_found;
};

// ---- what places weigh ----

static double number_at(const struct tide_page_column *columns, enum tide_page_column_id id,
                        size_t i)
{
  return tide_page_column_get(&columns[id], i);
}

static void read_row(const struct tide_page_column *columns, size_t i, double out[MEASURES])
{
  const double allocated = number_at(columns, TIDE_PAGE_ROW_b_alloc, i);
  const double values[MEASURES] = {
      number_at(columns, TIDE_PAGE_ROW_peak_bytes, i),
      number_at(columns, TIDE_PAGE_ROW_before_bytes, i) + allocated -
          number_at(columns, TIDE_PAGE_ROW_b_free, i),
      allocated,
      number_at(columns, TIDE_PAGE_ROW_b_temp, i),
  };
  memcpy(out, values, sizeof values);
}

// Per node of the tree, that of every stack through it; owned.
static double *weigh_nodes(const struct tide_page_column *columns)
{
  size_t n_rows = columns[TIDE_PAGE_ROW_SITE].n, n_nodes = columns[TIDE_PAGE_NODE_UP].n;
  double *weights = tide_alloc_array(n_nodes + 1, sizeof *weights);
  double whole[MEASURES] = {0}, row[MEASURES];
  for (size_t i = 0; i < n_rows; i++) {
    read_row(columns, i, row);
    for (size_t k = 0; k < MEASURES; k++)
      whole[k] += row[k];
  }
  for (size_t i = 0; i < n_rows; i++) {
    size_t site = (size_t)number_at(columns, TIDE_PAGE_ROW_SITE, i);
    double *weight = &weights[(size_t)number_at(columns, TIDE_PAGE_SITE_NODE, site)];
    read_row(columns, i, row);
    for (size_t k = 0; k < MEASURES; k++)
      *weight += whole[k] > 0 ? row[k] / whole[k] : 0;
  }
  for (size_t i = n_nodes; i-- > 1;) // a parent comes before its children
    weights[i - (size_t)number_at(columns, TIDE_PAGE_NODE_UP, i)] += weights[i];
  return weights;
}

static int by_falling_weight(const void *left, const void *right)
{
  const struct place *a = left, *b = right;
  if (a->weight != b->weight)
    return a->weight < b->weight ? 1 : -1;
  if (a->text != b->text)
    return a->text < b->text ? -1 : 1;
  return (a->line > b->line) - (a->line < b->line);
}

// Of every frame of the user's own code whose line is known; owned.
static struct place *weigh_places(const struct tide_page_column *columns, size_t *ret_n)
{
  size_t n_frames = columns[TIDE_PAGE_FRAME_LINE].n, n = 0;
  TIDE_CLEANUP_FREE double *of_nodes = weigh_nodes(columns);
  TIDE_CLEANUP_FREE double *of_frames = tide_alloc_array(n_frames + 1, sizeof *of_frames);
  struct place *places = tide_alloc_array(n_frames + 1, sizeof *places);
  for (size_t i = 1; i < columns[TIDE_PAGE_NODE_FRAME].n; i++)
    of_frames[(size_t)number_at(columns, TIDE_PAGE_NODE_FRAME, i)] += of_nodes[i];
  for (size_t i = 0; i < n_frames; i++) {
    uint32_t text = (uint32_t)number_at(columns, TIDE_PAGE_FRAME_FILE, i);
    uint32_t line = (uint32_t)number_at(columns, TIDE_PAGE_FRAME_LINE, i);
    if (text && line && number_at(columns, TIDE_PAGE_FRAME_LAYER, i) == 0)
      places[n++] = (struct place){text, line, of_frames[i]};
  }
  qsort(places, n, sizeof *places, by_falling_weight);
  *ret_n = n;
  return places;
}

// ---- files ----

static bool is_named_like_source(const char *path)
{
  static const char *const endings[] = {
      "c",   "cc",  "cpp", "cxx", "c++", "h",   "hh",  "hpp", "hxx", "h++",  "inc",  "inl",
      "ipp", "tcc", "tpp", "def", "y",   "l",   "m",   "mm",  "cu",  "cuh",  "s",    "S",
      "rs",  "go",  "d",   "f",   "f90", "f95", "F90", "for", "adb", "ads",  "pas",  "nim",
      "zig", "cr",  "jl",  "hs",  "ml",  "js",  "mjs", "ts",  "pyx", "vala", "swift"};
  const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
  for (size_t i = 0; dot && slash && dot > slash + 1 && i < sizeof endings / sizeof *endings; i++)
    if (strcmp(dot + 1, endings[i]) == 0)
      return true;
  return false;
}

static void split_lines(struct file *file)
{
  const uint8_t *data = file->bytes.data;
  size_t cap = 0, n = 0, size = file->bytes.n;
  for (size_t at = 0; at < size;) {
    const uint8_t *end = memchr(data + at, '\n', size - at);
    TIDE_GROW(file->starts, n, cap);
    file->starts[n++] = at;
    at = end ? (size_t)(end - data) + 1 : size;
  }
  TIDE_GROW(file->starts, n, cap);
  file->starts[n] = size;
  file->n_lines = n;
  file->wanted = tide_alloc_array(n + 1, 1);
}

// The note that takes the text's place; NULL: the file was read. Owned.
static char *read_file(struct choosing *c, struct file *file)
{
  uint64_t changed_ns = 0;
  struct tide_diag diag = {0};
  if (!is_named_like_source(file->path))
    return tide_strdup("Not named like source code: its text was left out.");
  if (c->n_found > FILES_MAX || c->n_read > READ_BYTES_MAX)
    return tide_strdup("There were too many files: this one was left out.");
  if (tide_source_text_read(file->path, &file->bytes, &changed_ns, &diag))
    return tide_strdup(diag.text);
  c->n_read += file->bytes.n;
  if (c->start_realtime_ns && changed_ns > c->start_realtime_ns)
    return tide_sprintf("%s: its text was left out", tide_term(TIDE_TERM_SOURCE_NEWER));
  split_lines(file);
  return NULL;
}

static struct file *find_file(struct choosing *c, uint32_t text)
{
  struct file *file = &c->files[text];
  if (file->path)
    return file;
  size_t start = (size_t)number_at(c->columns, TIDE_PAGE_TEXT_END, text - 1);
  size_t end = (size_t)number_at(c->columns, TIDE_PAGE_TEXT_END, text);
  const char *texts = (const char *)c->columns[TIDE_PAGE_TEXT].bytes.data;
  file->path = tide_strndup(texts + start, end - start);
  c->found[c->n_found++] = text;
  file->note = read_file(c, file);
  return file;
}

// ---- lines ----

// Without what ends it, and not longer than a line may be; never a part of a character.
static size_t line_bytes(const struct file *file, size_t line)
{
  const uint8_t *text = file->bytes.data + file->starts[line];
  size_t n = file->starts[line + 1] - file->starts[line];
  while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
    n--;
  if (n <= LINE_BYTES_MAX)
    return n;
  n = LINE_BYTES_MAX;
  while (n && (text[n] & 0xc0) == 0x80)
    n--;
  return n;
}

// False: there is no room for them.
static bool want_lines(struct choosing *c, struct file *file, size_t line)
{
  size_t first = line > AROUND ? line - AROUND - 1 : 0;
  size_t end = line + AROUND < file->n_lines ? line + AROUND : file->n_lines;
  uint64_t n = 0;
  for (size_t i = first; i < end; i++)
    n += file->wanted[i] ? 0 : line_bytes(file, i) + 1;
  if (n > c->room)
    return false;
  c->room -= n;
  for (size_t i = first; i < end; i++)
    file->wanted[i] = 1;
  return true;
}

static void choose_lines(struct choosing *c)
{
  size_t n = 0;
  TIDE_CLEANUP_FREE struct place *places = weigh_places(c->columns, &n);
  for (size_t i = 0; i < n; i++) {
    struct file *file = find_file(c, places[i].text);
    if (!file->note && places[i].line <= file->n_lines && !want_lines(c, file, places[i].line))
      break;
  }
}

// ---- what is written ----

static size_t write_part(struct tide_json *json, const struct file *file, size_t first)
{
  struct tide_buf text = {0};
  size_t i = first;
  for (; i < file->n_lines && file->wanted[i]; i++) {
    if (i > first)
      tide_buf_u8(&text, '\n');
    tide_buf_append(&text, file->bytes.data + file->starts[i], line_bytes(file, i));
  }
  tide_json_open_object(json);
  tide_json_put_u64(json, "line", first + 1);
  tide_json_key(json, "text");
  tide_json_text_n(json, (const char *)text.data, text.n);
  tide_json_close_object(json);
  tide_buf_done(&text);
  return i;
}

static bool write_file(struct tide_json *json, const struct file *file)
{
  size_t n_parts = 0;
  tide_json_open_object(json);
  tide_json_put_text(json, "path", file->path);
  tide_json_put_text(json, "note", file->note);
  tide_json_key(json, "parts");
  tide_json_open_array(json);
  for (size_t i = 0; !file->note && i < file->n_lines; i++) {
    if (!file->wanted[i])
      continue;
    i = write_part(json, file, i);
    n_parts++;
  }
  tide_json_close_array(json);
  tide_json_close_object(json);
  return n_parts > 0;
}

static void write_all(struct tide_page_sources *sources, const struct choosing *c)
{
  struct tide_sink sink;
  struct tide_json json;
  tide_sink_init(&sink, NULL);
  tide_json_init(&json, &sink);
  json.break_depth = 0;
  tide_json_open_object(&json);
  tide_json_key(&json, "files");
  tide_json_open_array(&json);
  for (size_t i = 0; i < c->n_found; i++)
    sources->n_files += write_file(&json, &c->files[c->found[i]]);
  tide_json_close_array(&json);
  tide_json_close_object(&json);
  sources->json = sink.buf;
}

static void file_done(struct file *file)
{
  free(file->path);
  free(file->note);
  free(file->starts);
  free(file->wanted);
  tide_buf_done(&file->bytes);
}

void tide_page_sources_init(struct tide_page_sources *sources, const struct tide_page_data *data,
                            uint64_t start_realtime_ns, uint64_t max_bytes)
{
  size_t n_texts = data->columns[TIDE_PAGE_TEXT_END].n;
  struct choosing c = {
      .columns = data->columns,
      .start_realtime_ns = start_realtime_ns,
      .room = max_bytes,
      .files = tide_alloc_array(n_texts + 1, sizeof *c.files),
      .found = tide_alloc_array(n_texts + 1, sizeof *c.found),
  };
  *sources = (struct tide_page_sources){0};
  choose_lines(&c);
  write_all(sources, &c);
  for (size_t i = 0; i < c.n_found; i++)
    file_done(&c.files[c.found[i]]);
  free(c.files);
  free(c.found);
}

void tide_page_sources_done(struct tide_page_sources *sources)
{
  tide_buf_done(&sources->json);
  *sources = (struct tide_page_sources){0};
}
