// SPDX-License-Identifier: Apache-2.0
//
// The reader of store files on any bytes: what a broken or hostile program may leave behind. Each
// input is read as it is, and once more with its identity put right and its tables laid one behind
// the other over the rest of the input, or few inputs would get past the header. What is read must
// be a capture that can be written and read again.
#define _GNU_SOURCE
#include "base/buf.h"
#include "observe/store_read.h"
#include "store/layout.h"
#include "tide/file.h"
#include "tide/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_ROWS 24u // of each table

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool condition)
{
  if (!condition)
    abort();
}

static void lay(struct tide_area *area, size_t bytes_each, uint64_t *end)
{
  *area = (struct tide_area){*end, N_ROWS};
  *end += N_ROWS * bytes_each;
}

// Gives the size the file has to have.
static uint64_t put_right(struct tide_store_header *h)
{
  uint64_t end = TIDE_STORE_HEADER_BYTES;
  memcpy(h->magic, TIDE_STORE_MAGIC, sizeof h->magic);
  h->version = TIDE_STORE_VERSION;
  h->state = TIDE_STATE_RECORDING;
  lay(&h->areas.slots, sizeof(struct tide_thread_slot), &end);
  lay(&h->areas.nodes, sizeof(struct tide_node), &end);
  lay(&h->areas.cells, sizeof(struct tide_cell), &end);
  lay(&h->areas.hists, sizeof(struct tide_hist), &end);
  lay(&h->areas.carries, sizeof(struct tide_hist), &end);
  lay(&h->areas.owners, sizeof(struct tide_owner), &end);
  lay(&h->areas.modules, sizeof(struct tide_store_module), &end);
  lay(&h->areas.text, 8, &end);
  lay(&h->areas.ends, sizeof(struct tide_ends), &end);
  lay(&h->areas.pasts, sizeof(struct tide_past), &end);
  lay(&h->areas.touches, sizeof(struct tide_touches), &end);
  lay(&h->areas.lates, sizeof(struct tide_late_chunk), &end);
  lay(&h->areas.children, sizeof(struct tide_store_children), &end);
  return h->store_bytes = end;
}

static void read_store(int fd)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct tide_capture *capture = NULL, *again = NULL;
  struct tide_diag diag = {0};
  if (tide_store_file_read(path, &capture, &diag)) {
    must(diag.text[0] != 0);
    return;
  }
  struct tide_buf out = {0};
  must(tide_file_encode(capture, &out, &diag) == TIDE_ERR_OK);
  must(tide_file_parse(out.data, out.n, "fuzz", &again, &diag) == TIDE_ERR_OK && !again->cut);
  must(again->images[0].n_sites == capture->images[0].n_sites);
  tide_buf_done(&out);
  tide_capture_free(again);
  tide_capture_free(capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  must(fd >= 0 && pwrite(fd, data, n, 0) == (ssize_t)n);
  read_store(fd);
  // The header's fields come first in the input, the tables' bytes behind them.
  struct tide_store_header header = {0};
  size_t n_header = n < sizeof header ? n : sizeof header;
  if (n_header)
    memcpy(&header, data, n_header);
  uint64_t bytes = put_right(&header);
  must(ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)bytes) == 0);
  must(pwrite(fd, &header, sizeof header, 0) == (ssize_t)sizeof header);
  size_t n_tables = n - n_header;
  if (n_tables > bytes - TIDE_STORE_HEADER_BYTES)
    n_tables = bytes - TIDE_STORE_HEADER_BYTES;
  must(pwrite(fd, data + n_header, n_tables, TIDE_STORE_HEADER_BYTES) == (ssize_t)n_tables);
  read_store(fd);
  close(fd);
  return 0;
}
