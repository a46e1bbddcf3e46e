// SPDX-License-Identifier: Apache-2.0
//
// What the symbol tests share: a scratch directory, compilers run at test time, the addresses a
// fixture prints when run, and the lines its source marks. Failures end the running test.
#pragma once
#include "symbol/symbol.h"

#include <stdbool.h>
#include <stdint.h>

extern char fixture_dir[]; // the scratch directory, made by fixture_setup()

int fixture_setup(void **state);    // cmocka group fixtures
int fixture_teardown(void **state); // removes the scratch directory

// Runs a shell command in the scratch directory, where $S holds the fixtures' sources; quiet
// unless it fails. must() fails the test then.
bool fixture_try(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fixture_must(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool fixture_has(const char *program); // is it on the PATH?

// Path of a file in the scratch directory; good until the second next call.
const char *fixture_path(const char *name);
// Runs a program of the scratch directory and gives the address it printed after tag.
uint64_t fixture_address(const char *program, const char *tag);
// Number of the line that ends in "// at <place>" in a source.
uint32_t fixture_line(const char *source, const char *place);
// The build id of a file in the scratch directory, as readelf sees it. Returns its length.
uint32_t fixture_build_id(const char *name, uint8_t id[32]);

struct expected_frame {
  const char *function; // NULL: not known
  const char *source;   // name of the fixture; NULL: not known
  const char *place;    // the mark of the line
};
// Asks for addr in a module and compares the whole chain, innermost first.
void fixture_expect(struct tide_symboliser *s, uint32_t module, uint64_t addr,
                    const struct expected_frame *frames, size_t n);
