// SPDX-License-Identifier: Apache-2.0
//
// capture BINARY STACKS SNAPSHOTS OUT.tide OUT.addresses: a capture as a run of BINARY would leave
// it that allocated on so many stacks, their frames spread over the functions of the binary, and
// the distinct addresses as its file has them, in hex, for tools that are asked for the same ones.
#include "base/alloc.h"
#include "tide/file.h"
#include "symbol/elf.h"
#include "tide_gen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 40, STACKS_PER_ADDRESS = 8 };
#define BIAS 0x555555554000ull

static uint64_t state = 88172645463325252ull;

static uint64_t below(uint64_t n) // xorshift64; n is not 0
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % n;
}

// Addresses in functions of the binary. Owned by the caller.
static uint64_t *pick_addresses(const char *path, size_t n, struct tide_module *module)
{
  struct tide_elf *elf;
  struct tide_diag diag;
  if (tide_elf_open(path, &elf, &diag)) {
    fprintf(stderr, "capture: %s\n", diag.text);
    exit(1);
  }
  uint64_t *addresses = tide_alloc_array(n, sizeof *addresses);
  uint64_t size = elf->code_hi - elf->code_lo;
  for (size_t i = 0; i < n;) {
    uint64_t addr = elf->code_lo + below(size);
    if (tide_elf_function(elf, addr))
      addresses[i++] = addr;
  }
  *module = (struct tide_module){.path = realpath(path, NULL), .bias = BIAS};
  module->build_id_len = (uint32_t)elf->build_id_len;
  memcpy(module->build_id, elf->build_id, elf->build_id_len);
  module->start = BIAS + elf->code_lo;
  module->end = BIAS + elf->code_hi;
  tide_elf_free(elf);
  return addresses;
}

// Parents at random, but no stack deeper than real ones are.
static void shape(struct tide_image *image, const uint64_t *addresses, size_t n_addresses)
{
  TIDE_CLEANUP_FREE uint32_t *depths = tide_alloc_array(image->n_frames, sizeof *depths);
  for (uint32_t i = 1; i < image->n_frames; i++) {
    uint32_t parent = (uint32_t)below(i);
    while (depths[parent] >= DEPTH_MAX)
      parent = image->frames[parent].parent;
    depths[i] = depths[parent] + 1;
    uint64_t pc = BIAS + addresses[below(n_addresses)] + 1; // a return address
    image->frames[i] = (struct tide_frame){.pc = pc, .parent = parent, .module = 1};
  }
}

static void replace_modules(struct tide_image *image, const struct tide_module *module)
{
  for (size_t i = 0; i < image->n_modules; i++)
    free(image->modules[i].path);
  free(image->modules);
  image->modules = tide_alloc_array(2, sizeof *image->modules);
  image->modules[0].path = tide_strdup("");
  image->modules[1] = *module;
  image->n_modules = 2;
}

static int by_value(const void *left, const void *right)
{
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static void write_addresses(const char *path, uint64_t *addresses, size_t n)
{
  FILE *file = fopen(path, "w");
  qsort(addresses, n, sizeof *addresses, by_value);
  for (size_t i = 0; file && i < n; i++)
    if (i == 0 || addresses[i] != addresses[i - 1])
      fprintf(file, "0x%" PRIx64 "\n", addresses[i]);
  if (!file || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

int main(int argc, char **argv)
{
  if (argc != 6)
    return fprintf(stderr, "usage: capture BINARY STACKS SNAPSHOTS OUT.tide OUT.addresses\n"), 2;
  size_t n_stacks = strtoull(argv[2], NULL, 10);
  size_t n_addresses = 1 + n_stacks / STACKS_PER_ADDRESS;
  struct tide_module module;
  uint64_t *addresses = pick_addresses(argv[1], n_addresses, &module);
  struct tide_capture *capture = tide_gen_program(1, n_stacks, strtoull(argv[3], NULL, 10));
  replace_modules(&capture->images[0], &module);
  shape(&capture->images[0], addresses, n_addresses);
  struct tide_diag diag;
  enum tide_err err = tide_file_write(capture, argv[4], &diag);
  if (err)
    fprintf(stderr, "capture: %s\n", diag.text);
  write_addresses(argv[5], addresses, n_addresses);
  free(addresses);
  tide_capture_free(capture);
  return err != TIDE_ERR_OK;
}
