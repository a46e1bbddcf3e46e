// SPDX-License-Identifier: Apache-2.0
//
// What a pprof profile says, message by message, in tables. Its messages come in any order, so
// nothing is looked up before all have come; of samples only their sums are kept, per distinct
// stack. Ids are any numbers; a location gets its row where it is first met, by a sample or by its
// own message.
#pragma once
#include "import/builder.h"
#include "base/wire.h"
#include "import/stack_trie.h"
#include "import/stream.h"

enum { TIDE_PPROF_MAX_TYPES = 32, TIDE_PPROF_MAX_FRAMES = 4096, TIDE_PPROF_MAX_COMMENTS = 65536 };
#define TIDE_PPROF_NOWHERE UINT64_MAX

struct tide_pprof_mapping {
  uint64_t id, start, limit, offset, filename, build_id; // as in the file
  uint64_t last_addr, bias;                              // the reader's
  uint16_t module;
};

struct tide_pprof_function {
  uint64_t id, name, filename;
};

struct tide_pprof_line {
  uint64_t function_id;
  uint32_t line;
};

struct tide_pprof_location {
  uint64_t id, mapping_id, addr;
  uint64_t offset; // of its message; TIDE_PPROF_NOWHERE: none came
  uint64_t used;   // offset of the first sample that refers to it
  size_t first_line;
  uint32_t n_lines; // innermost first
  struct tide_import_place place;
};

struct tide_pprof_tables {
  struct tide_stream *stream; // for messages; not owned
  struct tide_diag *diag;
  struct tide_buf text; // of all strings, each with a NUL
  size_t *strings;      // offsets in text
  size_t n_strings, cap_strings;
  struct tide_pprof_mapping *mappings;
  size_t n_mappings, cap_mappings;
  struct tide_pprof_function *functions;
  size_t n_functions, cap_functions;
  struct tide_pprof_location *locations;
  size_t n_locations, cap_locations;
  struct tide_pprof_line *lines; // of all locations
  size_t n_lines, cap_lines;
  struct tide_table by_function, by_location, by_mapping;
  uint64_t types[TIDE_PPROF_MAX_TYPES]; // names of the kinds of values, as strings
  size_t n_types;
  uint64_t *comments; // strings; those past the limit are forgotten
  size_t n_comments, cap_comments;
  struct tide_trie stacks; // of rows of locations
  uint32_t *sums_of;       // per link of the trie: its row of sums + 1; 0: none
  size_t cap_sums_of;
  uint64_t *sums; // n_values each
  uint32_t *sum_links;
  size_t n_sums, cap_sums, cap_sum_links;
  size_t n_values;       // of a sample
  uint64_t first_sample; // its offset
};

void tide_pprof_tables_done(struct tide_pprof_tables *tables);

// Each takes a message that starts at that offset of the source.
enum tide_err tide_pprof_take_type(struct tide_pprof_tables *t, struct tide_cursor message,
                                   uint64_t offset);
enum tide_err tide_pprof_take_sample(struct tide_pprof_tables *t, struct tide_cursor message,
                                     uint64_t offset);
enum tide_err tide_pprof_take_mapping(struct tide_pprof_tables *t, struct tide_cursor message,
                                      uint64_t offset);
enum tide_err tide_pprof_take_location(struct tide_pprof_tables *t, struct tide_cursor message,
                                       uint64_t offset);
enum tide_err tide_pprof_take_function(struct tide_pprof_tables *t, struct tide_cursor message,
                                       uint64_t offset);
enum tide_err tide_pprof_take_string(struct tide_pprof_tables *t, struct tide_cursor message,
                                     uint64_t offset);
enum tide_err tide_pprof_take_comments(struct tide_pprof_tables *t, struct tide_cursor message,
                                       uint64_t offset);
void tide_pprof_take_comment(struct tide_pprof_tables *t, uint64_t comment);

// Once all have come: is there what samples refer to, and the right number of values?
enum tide_err tide_pprof_tables_check(const struct tide_pprof_tables *t);

// NULL when there is none of that id.
struct tide_pprof_mapping *tide_pprof_mapping_of(const struct tide_pprof_tables *t, uint64_t id);
struct tide_pprof_function *tide_pprof_function_of(const struct tide_pprof_tables *t, uint64_t id);

// "" for an index past the table. Valid until a string is taken.
const char *tide_pprof_string(const struct tide_pprof_tables *t, uint64_t idx);

enum tide_err tide_pprof_wrong(const struct tide_pprof_tables *t, uint64_t offset,
                               const char *what);
