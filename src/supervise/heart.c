// SPDX-License-Identifier: Apache-2.0
//
// One list under one lock; a round over it takes nanoseconds per store.
#define _GNU_SOURCE
#include "supervise/heart.h"

#include "base/alloc.h"
#include "store/layout.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

// Where samples alone are recorded, each of them reads the clock, and the beat brings nothing but
// news of libraries, from processes with the agent: waking up is most of what it costs.
enum { LONGEST_BEAT_MS = 8, LONGEST_NEWS_MS = 64, LONGEST_SAMPLED_MS = 1000 };

struct tide_heart {
  pthread_t thread;
  bool running, stop;
  pthread_mutex_t lock;
  pthread_cond_t change;
  struct store {
    struct tide_store_header *header;
    uint32_t pid, objects_changed;
    bool has_agent;
  } * stores;
  size_t n, cap;
  tide_heart_heard *heard;
  void *context;
};

// Raises every store's beat by the milliseconds passed. True: somebody had looked at the last one.
static bool raise_all(struct tide_heart *heart, uint32_t passed_ms)
{
  bool seen = false;
  for (size_t i = 0; i < heart->n; i++) {
    struct tide_store_header *store = heart->stores[i].header;
    uint32_t beat = __atomic_fetch_add(&store->pulse.beat, passed_ms, __ATOMIC_RELAXED);
    seen |= __atomic_load_n(&store->beat_seen, __ATOMIC_RELAXED) == beat;
    uint32_t changed = __atomic_load_n(&store->objects_changed, __ATOMIC_RELAXED);
    if (changed != heart->stores[i].objects_changed && heart->heard)
      heart->heard(heart->context, heart->stores[i].pid);
    heart->stores[i].objects_changed = changed;
  }
  return seen;
}

static uint32_t longest_ms(const struct tide_heart *heart)
{
  uint32_t longest = LONGEST_SAMPLED_MS;
  for (size_t i = 0; i < heart->n; i++) {
    if (!__atomic_load_n(&heart->stores[i].header->sample_bits, __ATOMIC_RELAXED))
      return LONGEST_BEAT_MS;
    if (heart->stores[i].has_agent)
      longest = LONGEST_NEWS_MS;
  }
  return longest;
}

// Waits for so long, or for a change: a store came, or the end.
static void wait_for_change(struct tide_heart *heart, uint32_t ms)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += (long)(ms % 1000) * 1000000L;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_nsec -= 1000000000L;
    until.tv_sec++;
  }
  pthread_cond_timedwait(&heart->change, &heart->lock, &until);
}

static void *beat(void *arg)
{
  struct tide_heart *heart = arg;
  uint32_t interval_ms = 1;
  pthread_mutex_lock(&heart->lock);
  while (!heart->stop) {
    if (!heart->n) {
      pthread_cond_wait(&heart->change, &heart->lock);
      interval_ms = 1;
    } else if (raise_all(heart, interval_ms)) {
      interval_ms = 1;
      wait_for_change(heart, interval_ms);
    } else {
      uint32_t longest = longest_ms(heart);
      interval_ms = interval_ms < longest ? 2 * interval_ms : longest;
      wait_for_change(heart, interval_ms);
    }
  }
  pthread_mutex_unlock(&heart->lock);
  return NULL;
}

struct tide_heart *tide_heart_new(tide_heart_heard *heard, void *context)
{
  struct tide_heart *heart = tide_alloc(sizeof *heart);
  heart->heard = heard;
  heart->context = context;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&heart->change, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&heart->lock, NULL);
  heart->running = !pthread_create(&heart->thread, NULL, beat, heart);
  return heart;
}

static void unmap_store(struct tide_store_header *store)
{
  munmap(store, TIDE_STORE_HEADER_BYTES);
}

void tide_heart_free(struct tide_heart *heart)
{
  if (!heart)
    return;
  pthread_mutex_lock(&heart->lock);
  heart->stop = true;
  pthread_cond_signal(&heart->change);
  pthread_mutex_unlock(&heart->lock);
  if (heart->running)
    pthread_join(heart->thread, NULL);
  for (size_t i = 0; i < heart->n; i++)
    unmap_store(heart->stores[i].header);
  pthread_mutex_destroy(&heart->lock);
  pthread_cond_destroy(&heart->change);
  free(heart->stores);
  free(heart);
}

uint32_t *tide_heart_add(struct tide_heart *heart, int fd, uint32_t pid, bool has_agent)
{
  struct tide_store_header *store =
      mmap(NULL, TIDE_STORE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (store == MAP_FAILED)
    return NULL;
  pthread_mutex_lock(&heart->lock);
  TIDE_GROW(heart->stores, heart->n, heart->cap);
  heart->stores[heart->n++] = (struct store){store, pid, 0, has_agent};
  pthread_cond_signal(&heart->change);
  pthread_mutex_unlock(&heart->lock);
  return &store->pulse.beat;
}

void tide_heart_remove(struct tide_heart *heart, uint32_t *beat_word)
{
  if (!beat_word)
    return;
  pthread_mutex_lock(&heart->lock);
  for (size_t i = 0; i < heart->n; i++)
    if (&heart->stores[i].header->pulse.beat == beat_word) {
      unmap_store(heart->stores[i].header);
      heart->stores[i] = heart->stores[--heart->n];
      break;
    }
  pthread_mutex_unlock(&heart->lock);
}
