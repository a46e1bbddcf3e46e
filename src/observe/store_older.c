// SPDX-License-Identifier: Apache-2.0
//
// What came with which layout:
//
//   11  sample_bits
//   12  areas.moments, paused (in place of padding), switches and all behind it
#include "observe/store_older.h"

#include <stddef.h>
#include <string.h>

enum { LAYOUT_OF_SAMPLES = 11 };

#define AT(field) offsetof(struct tide_store_header, field)
#define END_OF(field) (AT(field) + sizeof(((struct tide_store_header *)0)->field))
#define LINE 64u // late_next begins one

struct piece {
  size_t from, end; // as of now
  size_t was;       // where it began
};

static void copy_piece(const char *page, struct piece p, struct tide_store_header *ret)
{
  memcpy((char *)ret + p.from, page + p.was, p.end - p.from);
}

static void take_older(const char *page, uint32_t version, struct tide_store_header *ret)
{
  const size_t samples = version < LAYOUT_OF_SAMPLES ? AT(inherited_bytes) - AT(sample_bits) : 0;
  const size_t moments = samples + sizeof(struct tide_area);
  const size_t ids_end = END_OF(page_table) - moments;
  const struct piece pieces[] = {
      {0, AT(paused), 0},
      {AT(live_bytes), samples ? AT(sample_bits) : AT(inherited_bytes), AT(live_bytes)},
      {AT(inherited_bytes), AT(areas.moments), AT(inherited_bytes) - samples},
      {AT(areas.ranges), END_OF(areas.ranges), AT(areas.ranges) - moments},
      {AT(late_next), END_OF(objects_missed), (ids_end + LINE - 1) / LINE * LINE},
  };
  *ret = (struct tide_store_header){0};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    copy_piece(page, pieces[i], ret);
  // live_map and page_table stay 0: where the recorder of then had its blocks is not for us to
  // walk.
}

bool tide_store_layout_is_known(uint32_t version)
{
  return version >= TIDE_STORE_OLDEST && version <= TIDE_STORE_VERSION;
}

void tide_store_header_take(const char *page, uint32_t version, struct tide_store_header *ret)
{
  if (version == TIDE_STORE_VERSION)
    memcpy(ret, page, sizeof *ret);
  else
    take_older(page, version, ret);
  ret->version = version;
}
