// SPDX-License-Identifier: Apache-2.0
//
// The table for programs: docs/json.md has its keys.
#include "report/residence.h"

#include "base/alloc.h"
#include "base/json.h"

static void write_rows(struct tide_json *json, const struct tide_residence *residence)
{
  tide_json_key(json, "rows");
  tide_json_open_object(json);
  for (int i = 0; i < TIDE_RESIDENCE_KINDS; i++)
    tide_json_put_u64(json, tide_residence_key((enum tide_residence_kind)i), residence->rows[i]);
  tide_json_close_object(json);
}

static void write_heap(struct tide_json *json, const struct tide_residence *residence)
{
  static const char *const heaps[] = {"unknown", "glibc", "recorded", "jemalloc"};
  tide_json_key(json, "heap");
  tide_json_open_object(json);
  tide_json_put_text(json, "known", heaps[residence->heap]);
  tide_json_put_u64(json, "asked", residence->asked);
  tide_json_put_u64(json, "untouched", residence->untouched);
  if (residence->heap == TIDE_HEAP_GLIBC) {
    tide_json_put_u64(json, "trim", residence->trim);
    tide_json_put_u64(json, "trim_top", residence->trim_top);
    tide_json_put_u64(json, "thread_tops", residence->thread_tops);
  }
  if (residence->heap == TIDE_HEAP_JEMALLOC)
    tide_json_put_u64(json, "purge_at_most", residence->purge);
  tide_json_put_u64(json, "pinned", residence->pinned);
  tide_json_put_u64(json, "pinned_pages", residence->n_pinned_pages);
  tide_json_put_u64(json, "pinned_pages_of_several", residence->n_shared_pins);
  tide_json_put_u64(json, "sparse_runs_of_several", residence->n_shared_runs);
  tide_json_put_u64(json, "unclear_runs", residence->n_unclear_runs);
  tide_json_put_u64(json, "skipped", residence->skipped);
  tide_json_close_object(json);
}

static void write_tried(struct tide_json *json, const struct tide_residence_tried *tried)
{
  tide_json_key(json, "tried");
  tide_json_open_object(json);
  tide_json_put_u64(json, "rss_before", tried->rss_before);
  tide_json_put_u64(json, "rss_after", tried->rss_after);
  tide_json_put_u64(json, "took_ns", tried->took_ns);
  tide_json_put_u64(json, "left_bytes", tried->left_bytes);
  tide_json_close_object(json);
}

static void write_arenas(struct tide_json *json, const struct tide_residence *residence)
{
  tide_json_key(json, "arenas");
  tide_json_open_array(json);
  for (size_t i = 0; i < residence->n_arenas; i++) {
    const struct tide_residence_arena *arena = &residence->arenas[i];
    tide_json_open_object(json);
    tide_json_put_bool(json, "main", arena->is_main);
    tide_json_put_u64(json, "heaps", arena->n_heaps);
    tide_json_put_u64(json, "size", arena->size);
    tide_json_put_u64(json, "in_use", arena->in_use);
    tide_json_put_u64(json, "free", arena->free);
    tide_json_put_u64(json, "trim", arena->trim);
    tide_json_put_u64(json, "top", arena->top);
    tide_json_put_u64(json, "trim_top", arena->trim_top);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void write_runs(struct tide_json *json, const struct tide_residence *residence)
{
  tide_json_key(json, "runs");
  tide_json_open_array(json);
  for (size_t i = 0; i < residence->n_classes; i++) {
    const struct tide_residence_class *class = &residence->classes[i];
    tide_json_open_object(json);
    tide_json_put_u64(json, "block_bytes", class->block_bytes);
    tide_json_put_u64(json, "runs", class->n_runs);
    tide_json_put_u64(json, "blocks", class->n_blocks);
    tide_json_put_u64(json, "slots", class->n_slots);
    tide_json_put_u64(json, "resident", class->resident);
    tide_json_put_u64(json, "free", class->free);
    tide_json_put_u64(json, "sparse", class->sparse);
    tide_json_key(json, "quarters");
    tide_json_open_array(json);
    for (int k = 0; k < 4; k++)
      tide_json_u64(json, class->quarters[k]);
    tide_json_close_array(json);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void write_map(struct tide_json *json, const struct tide_residence *residence)
{
  tide_json_key(json, "map");
  tide_json_open_object(json);
  tide_json_put_u64(json, "bucket_bytes", residence->bucket_bytes);
  tide_json_key(json, "buckets");
  tide_json_open_array(json);
  for (size_t i = 0; i < residence->n_map; i++) {
    const struct tide_residence_bucket *bucket = &residence->map[i];
    tide_json_open_array(json);
    tide_json_u64(json, bucket->at);
    tide_json_u64(json, bucket->live);
    tide_json_u64(json, bucket->free);
    tide_json_u64(json, bucket->pinned);
    tide_json_close_array(json);
  }
  tide_json_close_array(json);
  tide_json_close_object(json);
}

static void write_places(struct tide_json *json, const struct tide_residence_subject *subject)
{
  struct tide_residence_places places;
  tide_residence_places_make(subject, &places);
  tide_json_key(json, "places");
  tide_json_open_array(json);
  for (size_t i = 0; i < places.n && i < subject->n_rows; i++) {
    const struct tide_residence_place *place = &places.items[i];
    tide_json_open_object(json);
    tide_json_put_text(json, "place", place->words);
    tide_json_put_bool(json, "mapped", place->is_mapped);
    tide_json_put_u64(json, "blocks", place->n_blocks);
    tide_json_put_u64(json, "asked", place->asked);
    tide_json_put_u64(json, "resident", place->resident);
    tide_json_put_u64(json, "untouched", place->untouched);
    if (place->swapped)
      tide_json_put_u64(json, "swapped", place->swapped);
    tide_json_put_u64(json, "pinned", place->pinned);
    tide_json_put_u64(json, "pinned_pages", place->n_pinned);
    if (place->n_sparse) {
      tide_json_put_u64(json, "sparse_runs", place->n_sparse);
      tide_json_put_u64(json, "sparse", place->sparse);
    }
    if (place->n_large) {
      tide_json_put_u64(json, "large_blocks", place->n_large);
      tide_json_put_u64(json, "large_asked", place->large_asked);
      tide_json_put_u64(json, "large_touched", place->large_touched);
    }
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
  tide_residence_places_done(&places);
}

// By what was not in memory of them.
static void write_ended(struct tide_json *json, const struct tide_residence_subject *subject)
{
  struct tide_residence_places places;
  tide_residence_places_ended(subject, &places);
  tide_json_key(json, "ended");
  tide_json_open_array(json);
  for (size_t i = 0; i < places.n && i < subject->n_rows; i++) {
    const struct tide_residence_place *place = &places.items[i];
    tide_json_open_object(json);
    tide_json_put_text(json, "place", place->words);
    tide_json_put_u64(json, "looked_blocks", place->n_large);
    tide_json_put_u64(json, "looked_bytes", place->large_asked);
    tide_json_put_u64(json, "touched_bytes", place->large_touched);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
  tide_residence_places_done(&places);
}

static void write_files(struct tide_json *json, const struct tide_residence_subject *subject)
{
  const struct tide_residence *residence = subject->residence;
  tide_json_key(json, "files");
  tide_json_open_array(json);
  for (size_t i = 0; i < residence->n_files && i < subject->n_rows; i++) {
    tide_json_open_object(json);
    tide_json_put_text(json, "path", residence->files[i].path);
    tide_json_put_u64(json, "resident", residence->files[i].resident);
    tide_json_put_u64(json, "copied", residence->files[i].copied);
    TIDE_CLEANUP_FREE char *mapper = tide_residence_file_mapper(subject, &residence->files[i]);
    if (mapper)
      tide_json_put_text(json, "mapped_by", mapper);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

void tide_residence_json_write(struct tide_sink *sink, const struct tide_residence_subject *subject)
{
  const struct tide_residence *residence = subject->residence;
  struct tide_json json;
  tide_json_init(&json, sink);
  tide_json_open_object(&json);
  tide_json_put_text(&json, "schema", "tidemark-maps-1");
  tide_json_put_u64(&json, "pid", subject->pid);
  tide_json_put_text(&json, "name", subject->name);
  if (subject->image)
    tide_json_put_u64(&json, "time_ns", residence->time_ns);
  tide_json_put_u64(&json, "sum", residence->sum);
  tide_json_put_u64(&json, "rss_before", residence->rss_before);
  tide_json_put_u64(&json, "rss_after", residence->rss_after);
  tide_json_put_bool(&json, "zeros_known", !residence->is_bounded);
  tide_json_put_bool(&json, "recorded", residence->has_recorder);
  write_rows(&json, residence);
  tide_json_put_u64(&json, "swapped", residence->swapped);
  tide_json_put_u64(&json, "swapped_blocks", residence->swapped_blocks);
  tide_json_put_u64(&json, "zeros", residence->zeros);
  tide_json_put_u64(&json, "huge", residence->huge);
  tide_json_put_u64(&json, "huge_pool", residence->huge_pool);
  write_heap(&json, residence);
  if (subject->tried)
    write_tried(&json, subject->tried);
  write_arenas(&json, residence);
  write_runs(&json, residence);
  write_map(&json, residence);
  write_places(&json, subject);
  write_ended(&json, subject);
  write_files(&json, subject);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
