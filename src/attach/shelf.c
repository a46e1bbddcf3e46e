// SPDX-License-Identifier: Apache-2.0
//
// Shared memory of fixed slots. A slot is taken by a compare and exchange of its state, filled, and
// then marked as full with a release that the reader's acquire meets; nobody ever waits, and one
// who is killed while it fills leaves a slot that nobody uses.
#define _GNU_SOURCE
#include "attach/shelf.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { SLOTS = 64, FUNCTIONS = 128, NAME_BYTES = 48, PATH_BYTES = 512 };

struct key {
  uint64_t device, inode, bytes, seconds, nanoseconds;
  char dirs[PATH_BYTES];
};

enum state { FREE, FILLING, FULL };

struct slot {
  uint32_t state; // enum state; whoever makes it FILLING writes the rest, and makes it FULL
  uint32_t n;
  struct key key;
  char signed_by[PATH_BYTES]; // "": by no archive
  struct {
    char name[NAME_BYTES];
    uint64_t at, bytes;
  } functions[FUNCTIONS];
};

static struct slot *slots; // SLOTS of them; NULL: there is no shelf

void tide_shelf_make(void)
{
  void *memory = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  slots = memory == MAP_FAILED ? NULL : memory;
}

static bool make_key(const struct tide_loaded *loaded, const char *dirs, struct key *ret_key)
{
  struct stat st;
  if (loaded->elf->fd < 0 || fstat(loaded->elf->fd, &st) ||
      (dirs && strlen(dirs) >= sizeof ret_key->dirs))
    return false;
  memset(ret_key, 0, sizeof *ret_key);
  ret_key->device = st.st_dev;
  ret_key->inode = st.st_ino;
  ret_key->bytes = (uint64_t)st.st_size;
  ret_key->seconds = (uint64_t)st.st_mtim.tv_sec;
  ret_key->nanoseconds = (uint64_t)st.st_mtim.tv_nsec;
  snprintf(ret_key->dirs, sizeof ret_key->dirs, "%s", dirs ? dirs : "");
  return true;
}

static const struct slot *find_slot(const struct key *key)
{
  for (size_t i = 0; i < SLOTS; i++)
    if (__atomic_load_n(&slots[i].state, __ATOMIC_ACQUIRE) == FULL &&
        !memcmp(&slots[i].key, key, sizeof *key))
      return &slots[i];
  return NULL;
}

bool tide_shelf_take(struct tide_loaded *loaded, const char *dirs)
{
  struct key key;
  const struct slot *slot = slots && make_key(loaded, dirs, &key) ? find_slot(&key) : NULL;
  if (!slot)
    return false;
  for (uint32_t i = 0; i < slot->n; i++) {
    TIDE_GROW(loaded->signed_functions, loaded->n_signed, loaded->signed_cap);
    loaded->signed_functions[loaded->n_signed++] =
        (struct tide_signed_function){.name = tide_strdup(slot->functions[i].name),
                                      .at = slot->functions[i].at,
                                      .bytes = slot->functions[i].bytes};
  }
  loaded->signed_by = *slot->signed_by ? tide_strdup(slot->signed_by) : NULL;
  return true;
}

static bool fits_slot(const struct tide_loaded *loaded)
{
  bool fits = loaded->n_signed <= FUNCTIONS &&
              (!loaded->signed_by || strlen(loaded->signed_by) < PATH_BYTES);
  for (size_t i = 0; fits && i < loaded->n_signed; i++)
    fits = strlen(loaded->signed_functions[i].name) < NAME_BYTES;
  return fits;
}

static struct slot *claim_slot(void)
{
  for (size_t i = 0; i < SLOTS; i++) {
    uint32_t is_free = FREE;
    if (__atomic_compare_exchange_n(&slots[i].state, &is_free, FILLING, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return &slots[i];
  }
  return NULL;
}

void tide_shelf_put(const struct tide_loaded *loaded, const char *dirs)
{
  struct key key;
  struct slot *slot =
      slots && fits_slot(loaded) && make_key(loaded, dirs, &key) ? claim_slot() : NULL;
  if (!slot)
    return;
  slot->key = key;
  slot->n = (uint32_t)loaded->n_signed;
  snprintf(slot->signed_by, sizeof slot->signed_by, "%s",
           loaded->signed_by ? loaded->signed_by : "");
  for (size_t i = 0; i < loaded->n_signed; i++) {
    const struct tide_signed_function *f = &loaded->signed_functions[i];
    snprintf(slot->functions[i].name, NAME_BYTES, "%s", f->name);
    slot->functions[i].at = f->at;
    slot->functions[i].bytes = f->bytes;
  }
  __atomic_store_n(&slot->state, FULL, __ATOMIC_RELEASE); // meets find_slot()
}
