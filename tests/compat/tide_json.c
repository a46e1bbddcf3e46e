// SPDX-License-Identifier: Apache-2.0
//
// A capture as JSON, see tide_json.h. Written by hand, without the product's own JSON code: a
// judge should not share parts with what it judges.
#include "tide_json.h"

#include "base/alloc.h"
#include "model/image_sums.h"
#include "model/rows.h"
#include "model/stored_names.h"
#include "tide/format.h"
#include "tide/site_order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_text(struct tide_buf *out, const char *text, size_t n)
{
  tide_buf_text(out, "\"");
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\')
      tide_buf_printf(out, "\\%c", c);
    else if (c < 32 || c > 126)
      tide_buf_printf(out, "\\u%04x", c);
    else
      tide_buf_u8(out, c);
  }
  tide_buf_text(out, "\"");
}

// One "name": value pair; what follows is the caller's comma or end.
static void put_string(struct tide_buf *out, const char *name, const char *text)
{
  tide_buf_printf(out, "\"%s\": ", name);
  put_text(out, text ? text : "", text ? strlen(text) : 0);
  tide_buf_text(out, ", ");
}

static void put_u(struct tide_buf *out, const char *name, uint64_t v)
{
  tide_buf_printf(out, "\"%s\": %" PRIu64 ", ", name, v);
}

static void put_i(struct tide_buf *out, const char *name, int64_t v)
{
  tide_buf_printf(out, "\"%s\": %" PRId64 ", ", name, v);
}

static void put_last_bool(struct tide_buf *out, const char *name, bool v)
{
  tide_buf_printf(out, "\"%s\": %s", name, v ? "true" : "false");
}

static void put_numbers(struct tide_buf *out, const char *name, const uint64_t *numbers, unsigned n)
{
  tide_buf_printf(out, "\"%s\": [", name);
  for (unsigned i = 0; i < n; i++)
    tide_buf_printf(out, "%s%" PRIu64, i ? ", " : "", numbers[i]);
  tide_buf_text(out, "]");
}

#define U(field) put_u(out, #field, row->field)
#define I(field) put_i(out, #field, row->field)
#define S(field) put_string(out, #field, row->field)

static void put_module(struct tide_buf *out, const struct tide_module *row)
{
  S(path);
  tide_buf_text(out, "\"build_id\": \"");
  for (uint32_t i = 0; i < row->build_id_len; i++)
    tide_buf_printf(out, "%02x", row->build_id[i]);
  tide_buf_text(out, "\", ");
  U(start);
  U(end);
  U(bias);
  U(first_ns);
  tide_buf_printf(out, "\"generation\": %u", row->generation);
}

static void put_thread(struct tide_buf *out, const struct tide_thread_row *row)
{
  U(tid);
  U(n_owners);
  tide_buf_text(out, "\"name\": ");
  put_text(out, row->name, strnlen(row->name, sizeof row->name));
}

static void put_frame(struct tide_buf *out, const struct tide_frame *row)
{
  U(pc);
  U(parent);
  U(module);
  tide_buf_printf(out, "\"flags\": %u", row->flags);
}

static void put_site(struct tide_buf *out, const struct tide_image *image,
                     const struct tide_site *row)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  tide_site_sum_buckets(image, row, sizes, lifetimes);
  U(stack);
  U(thread);
  U(n_alloc);
  U(b_alloc);
  U(n_free);
  U(b_free);
  I(peak_blocks);
  I(peak_bytes);
  I(high_bytes);
  put_u(out, "life_ns_sum", row->life_ns);
  put_u(out, "live_age_ns_sum", (uint64_t)row->age_ns);
  U(n_temp);
  U(n_foreign);
  U(n_resize);
  U(b_resize_old);
  U(n_moved);
  U(b_temp);
  U(b_moved);
  U(b_resize_new);
  U(n_samples);
  U(alloc_blocks_spread);
  U(alloc_bytes_spread);
  U(live_blocks_spread);
  U(live_bytes_spread);
  U(peak_blocks_spread);
  U(peak_bytes_spread);
  I(before_blocks);
  I(before_bytes);
  U(n_looked);
  U(b_looked);
  U(b_touched);
  U(first_ns);
  U(last_ns);
  put_numbers(out, "size_hist", sizes, TIDE_SIZE_BUCKETS_N);
  tide_buf_text(out, ", ");
  put_numbers(out, "life_hist", lifetimes, TIDE_LIFE_BUCKETS_N);
}

static void put_tick(struct tide_buf *out, const struct tide_tick *row)
{
  U(time_ns);
  I(live_bytes);
  I(live_blocks);
  U(n_alloc);
  U(b_alloc);
  U(n_free);
  U(rss_bytes);
  I(page_bytes);
  U(n_resize);
  tide_buf_printf(out, "\"b_resized\": %" PRId64, row->b_resized);
}

static void put_mark(struct tide_buf *out, const struct tide_mark *row)
{
  U(time_ns);
  tide_buf_text(out, "\"name\": ");
  put_text(out, row->name, strlen(row->name));
}

// What is alive and what was allocated are two lists, as in the file.
static void put_snapshot(struct tide_buf *out, const struct tide_snapshot *row)
{
  U(time_ns);
  U(kind);
  const char *comma = "";
  tide_buf_text(out, "\"rows\": [");
  for (size_t i = 0; i < row->n_rows; i++) {
    const struct tide_snapshot_row r = tide_snapshot_row_at(row, i);
    if (r.live_bytes || r.live_blocks) {
      tide_buf_printf(out, "%s[%u, %" PRId64 ", %" PRId64 "]", comma, r.stack, r.live_bytes,
                      r.live_blocks);
      comma = ", ";
    }
  }
  comma = "";
  tide_buf_text(out, "], \"counts\": [");
  for (size_t i = 0; i < row->n_rows; i++) {
    const struct tide_snapshot_row r = tide_snapshot_row_at(row, i);
    if (r.n_alloc || r.b_alloc) {
      tide_buf_printf(out, "%s[%u, %" PRIu64 ", %" PRIu64 "]", comma, r.stack, r.n_alloc,
                      r.b_alloc);
      comma = ", ";
    }
  }
  tide_buf_text(out, "]");
}

static void put_name(struct tide_buf *out, const struct tide_stored_names *names,
                     const struct tide_stored_place *row)
{
  U(module);
  U(addr);
  tide_buf_text(out, "\"frames\": [");
  for (uint32_t i = 0; i < row->n_frames; i++) {
    const struct tide_stored_frame *f = &names->frames[row->first_frame + i];
    const char *function = tide_stored_text(names, f->function);
    const char *file = tide_stored_text(names, f->file);
    tide_buf_text(out, i ? ", [" : "[");
    put_text(out, function, function ? strlen(function) : 0);
    tide_buf_text(out, ", ");
    put_text(out, file, file ? strlen(file) : 0);
    tide_buf_printf(out, ", %u, %s]", f->line, f->inlined ? "true" : "false");
  }
  tide_buf_text(out, "]");
}

// The rows first .. n of a table; `put` writes the inside of one object.
#define TABLE(name, put, first, n, row_at)                                                         \
  do {                                                                                             \
    tide_buf_printf(out, ",\n  \"%s\": [", name);                                                  \
    for (size_t i = (first); i < (n); i++) {                                                       \
      tide_buf_text(out, i > (first) ? ",\n    {" : "\n    {");                                    \
      put(out, row_at);                                                                            \
      tide_buf_text(out, "}");                                                                     \
    }                                                                                              \
    tide_buf_text(out, "]");                                                                       \
  } while (0)

static void put_image_facts(struct tide_buf *out, const struct tide_image *row)
{
  U(pid);
  U(ppid);
  U(parent_image);
  S(exe);
  S(origin);
  tide_buf_text(out, "\"cmdline\": ");
  put_text(out, row->cmdline, row->cmdline_len);
  tide_buf_text(out, ", ");
  S(allocator);
  U(start_ns);
  U(end_ns);
  U(end_kind);
  I(end_value);
  U(inherited_bytes);
  U(off_reason);
  I(peak_bytes);
  I(peak_blocks);
  U(peak_ns);
  U(peak_bound_bytes);
  U(max_rss_bytes);
  U(rss_at_peak_bytes);
  I(page_live_bytes);
  I(page_peak_bytes);
  U(page_n_map);
  U(page_b_map);
  U(page_n_unmap);
  U(page_b_unmap);
  U(recorder_ns);
  U(cpu_ns);
  U(n_threads);
  U(max_live_threads);
  U(depth_limit);
  U(lacks);
  U(sampled_every_bytes);
  S(refused);
  U(is_resampled);
  U(sampled_now_bytes);
  U(n_pauses);
  U(paused_ns);
  U(is_paused);
  U(loss.n_unknown_free);
  U(loss.n_lost_busy);
  U(loss.n_lost_full);
  U(loss.n_cut);
  U(loss.n_broken);
  U(loss.n_guessed);
  U(loss.n_fork_lost);
  U(loss.n_failed);
  put_last_bool(out, "by_fork", row->by_fork);
  tide_buf_text(out, ", ");
  put_last_bool(out, "has_temp_bytes", row->has_temp_bytes);
  tide_buf_text(out, ", ");
  put_last_bool(out, "has_counts", row->has_counts);
  tide_buf_text(out, ", ");
  put_last_bool(out, "has_late_frees", row->has_late_frees);
  tide_buf_text(out, ", ");
  put_last_bool(out, "has_resized_bytes", row->has_resized_bytes);
  tide_buf_text(out, ", ");
  put_last_bool(out, "has_tick_resizes", row->has_tick_resizes);
  tide_buf_text(out, ", ");
  put_last_bool(out, "has_samples", row->has_samples);
  tide_buf_text(out, ", ");
  put_last_bool(out, "has_spreads", row->has_spreads);
  tide_buf_text(out, ", ");
  put_last_bool(out, "is_reset", row->is_reset);
  tide_buf_text(out, ", ");
  put_last_bool(out, "has_touches", row->has_touches);
}

static void put_resident(struct tide_buf *out, const struct tide_image *row)
{
  if (!row->has_resident) {
    tide_buf_text(out, ", \"resident\": null");
    return;
  }
  tide_buf_text(out, ", \"resident\": {");
  U(max_rss_ns);
  I(max_rss_live_bytes);
  U(recorder_rss_bytes);
  U(rss_bound_bytes);
  U(untouched_bytes);
  U(swapped_bytes);
  put_last_bool(out, "rss_is_own", row->rss_is_own);
  tide_buf_text(out, "}");
}

static void put_allocators(struct tide_buf *out, const struct tide_image *image)
{
  tide_buf_text(out, ", \"allocators\": ");
  if (!image->has_allocators) {
    tide_buf_text(out, "null");
    return;
  }
  tide_buf_text(out, "{");
  put_last_bool(out, "by_agent", image->by_agent);
  tide_buf_text(out, ", \"rows\": [");
  for (size_t i = 0; i < image->n_allocators; i++) {
    const struct tide_allocator *row = &image->allocators[i];
    tide_buf_printf(
        out, "%s[%u, %" PRIu64 ", %" PRIu64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]",
        i ? ", " : "", row->family, row->n_alloc, row->b_alloc, row->live_blocks, row->live_bytes,
        row->peak_blocks, row->peak_bytes);
  }
  tide_buf_text(out, "]}");
}

static void put_held(struct tide_buf *out, const struct tide_image *image)
{
  tide_buf_text(out, ", \"held\": [");
  for (size_t i = 0; i < image->n_held; i++) {
    const struct tide_held_bytes *held = &image->held[i];
    tide_buf_printf(out, "%s{\"stack\": %u, \"shift\": %u, \"bytes\": [", i ? ", " : "",
                    held->stack, held->shift);
    for (size_t k = 0; k < image->n_ticks; k++)
      tide_buf_printf(out, "%s%" PRId64, k ? ", " : "", held->bytes[k]);
    tide_buf_text(out, "]}");
  }
  tide_buf_text(out, "]");
}

static void put_rss_kinds(struct tide_buf *out, const struct tide_image *image)
{
  tide_buf_text(out, ", \"rss_kinds\": [");
  for (size_t i = 0; i < image->n_rss_kinds; i++) {
    const struct tide_rss_kinds *row = &image->rss_kinds[i];
    tide_buf_printf(out, "%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                    i ? ", " : "", row->time_ns, row->anonymous_bytes, row->file_bytes,
                    row->shared_bytes, row->swapped_bytes);
  }
  tide_buf_text(out, "]");
}

static void put_list(struct tide_buf *out, const uint64_t *numbers, size_t n)
{
  for (size_t i = 0; i < n; i++)
    tide_buf_printf(out, "%s%" PRIu64, i ? ", " : "", numbers[i]);
}

static void put_runs(struct tide_buf *out, const struct tide_residence *t)
{
  tide_buf_text(out, "], \"classes\": [");
  for (size_t i = 0; i < t->n_classes; i++) {
    const struct tide_residence_class *c = &t->classes[i];
    const uint64_t row[] = {c->block_bytes, c->n_runs,      c->n_blocks,   c->n_slots,
                            c->resident,    c->free,        c->sparse,     c->quarters[0],
                            c->quarters[1], c->quarters[2], c->quarters[3]};
    tide_buf_text(out, i ? ", [" : "[");
    put_list(out, row, sizeof row / sizeof *row);
    tide_buf_text(out, "]");
  }
  tide_buf_printf(out, "], \"runs\": [%" PRIu64 ", %" PRIu64 "], \"sparse\": [", t->n_shared_runs,
                  t->n_unclear_runs);
  for (size_t i = 0; i < t->n_sites; i++)
    tide_buf_printf(out, "%s[%" PRIu64 ", %" PRIu64 "]", i ? ", " : "", t->sites[i].n_sparse,
                    t->sites[i].sparse);
  tide_buf_printf(out, "], \"swapped\": [%" PRIu64, t->swapped_blocks);
  for (size_t i = 0; i < t->n_sites; i++)
    tide_buf_printf(out, ", %" PRIu64, t->sites[i].swapped);
}

static void put_residence(struct tide_buf *out, const struct tide_residence *t)
{
  const uint64_t facts[] = {
      t->is_bounded, t->has_recorder, t->heap,        t->time_ns,        t->rss_before,
      t->rss_after,  t->asked,        t->untouched,   t->swapped,        t->zeros,
      t->huge_pool,  t->huge,         t->trim,        t->trim_top,       t->purge,
      t->pinned,     t->edges,        t->thread_tops, t->n_pinned_pages, t->n_shared_pins,
      t->n_resyncs,  t->skipped,      t->n_unread,    t->n_sites_left,   t->left_resident,
  };
  tide_buf_text(out, "{\"facts\": [");
  put_list(out, facts, sizeof facts / sizeof *facts);
  tide_buf_text(out, "], \"rows\": [");
  put_list(out, t->rows, TIDE_RESIDENCE_KINDS);
  tide_buf_text(out, "], \"arenas\": [");
  for (size_t i = 0; i < t->n_arenas; i++) {
    const struct tide_residence_arena *a = &t->arenas[i];
    const uint64_t row[] = {a->is_main, a->n_heaps, a->size, a->in_use,
                            a->free,    a->trim,    a->top,  a->trim_top};
    tide_buf_text(out, i ? ", [" : "[");
    put_list(out, row, sizeof row / sizeof *row);
    tide_buf_text(out, "]");
  }
  tide_buf_text(out, "], \"files\": [");
  for (size_t i = 0; i < t->n_files; i++) {
    tide_buf_text(out, i ? ", [" : "[");
    put_text(out, t->files[i].path, strlen(t->files[i].path));
    tide_buf_printf(out, ", %" PRIu64 ", %" PRIu64 ", %" PRIu32 "]", t->files[i].resident,
                    t->files[i].copied, t->files[i].stack);
  }
  tide_buf_text(out, "], \"sites\": [");
  for (size_t i = 0; i < t->n_sites; i++) {
    const struct tide_residence_site *s = &t->sites[i];
    const uint64_t row[] = {s->stack,    s->is_mapped,   s->n_blocks,     s->asked,
                            s->resident, s->untouched,   s->n_pinned,     s->pinned,
                            s->n_large,  s->large_asked, s->large_touched};
    tide_buf_text(out, i ? ", [" : "[");
    put_list(out, row, sizeof row / sizeof *row);
    tide_buf_text(out, "]");
  }
  tide_buf_printf(out, "], \"bucket_bytes\": %" PRIu64 ", \"map\": [", t->bucket_bytes);
  for (size_t i = 0; i < t->n_map; i++) {
    const struct tide_residence_bucket *b = &t->map[i];
    const uint64_t row[] = {b->at, b->live, b->free, b->pinned};
    tide_buf_text(out, i ? ", [" : "[");
    put_list(out, row, sizeof row / sizeof *row);
    tide_buf_text(out, "]");
  }
  put_runs(out, t);
  tide_buf_text(out, "]}");
}

static void put_late_frees(struct tide_buf *out, const struct tide_image *image)
{
  tide_buf_text(out, ", \"late_frees\": [");
  for (size_t i = 0; i < image->n_late_frees; i++) {
    const struct tide_late_free *row = &image->late_frees[i];
    tide_buf_printf(out, "%s[%u, %u, %u, %" PRIu64 ", %" PRIu64 "]", i ? ", " : "", row->freed,
                    row->stack, row->born, row->n_blocks, row->bytes);
  }
  tide_buf_text(out, "]");
}

static void put_events(struct tide_buf *out, const struct tide_image *image)
{
  tide_buf_text(out, ", \"events\": [");
  for (size_t i = 0; i < image->n_events; i++) {
    const struct tide_event_row *row = &image->events[i];
    tide_buf_printf(out, "%s[%u, %u, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                    i ? ", " : "", row->stack, row->thread, row->n, row->weight, row->first_ns,
                    row->last_ns);
  }
  tide_buf_text(out, "]");
}

static void put_site_at(struct tide_buf *out, const struct tide_image *image, size_t idx)
{
  const struct tide_site site = tide_image_site(image, idx);
  put_site(out, image, &site);
}

static void put_image(struct tide_buf *out, const struct tide_image *image, bool as_read)
{
  TIDE_CLEANUP_FREE size_t *order = tide_sites_in_file_order(image);
  for (size_t i = 0; as_read && i < image->n_sites; i++)
    order[i] = i;
  tide_buf_text(out, "{");
  put_image_facts(out, image);
  TABLE("modules", put_module, 1, image->n_modules, &image->modules[i]);
  TABLE("threads", put_thread, 1, image->n_threads_known, &image->threads[i]);
  TABLE("frames", put_frame, 1, image->n_frames, &image->frames[i]);
#define PUT_SITE(to, idx) put_site_at(to, image, idx)
  TABLE("sites", PUT_SITE, 0, image->n_sites, order[i]);
#undef PUT_SITE
  TABLE("ticks", put_tick, 0, image->n_ticks, &image->ticks[i]);
  TABLE("marks", put_mark, 0, image->n_marks, &image->marks[i]);
  TABLE("snapshots", put_snapshot, 0, image->n_snapshots, &image->snapshots[i]);
#define PUT_NAME(to, row) put_name(to, &image->names, row)
  TABLE("names", PUT_NAME, 0, image->names.n_places, &image->names.places[i]);
#undef PUT_NAME
  put_late_frees(out, image);
  put_events(out, image);
  put_resident(out, image);
  put_allocators(out, image);
  put_held(out, image);
  put_rss_kinds(out, image);
  tide_buf_text(out, ", \"residences\": [");
  for (size_t i = 0; i < image->n_residences; i++) {
    tide_buf_text(out, i ? ", " : "");
    put_residence(out, &image->residences[i]);
  }
  tide_buf_text(out, "]");
  tide_buf_text(out, "}");
}

static void put_cost(struct tide_buf *out, const struct tide_cost *row)
{
  tide_buf_text(out, "{");
  U(cpu_ns);
  U(recorder_ns);
  tide_buf_printf(out, "\"supervisor_ns\": %" PRIu64 "}", row->supervisor_ns);
}

static void put_unrecorded(struct tide_buf *out, const struct tide_unrecorded *row)
{
  S(exe);
  S(detail);
  S(parent);
  U(why);
  U(pid);
  U(n_processes);
  U(start_ns);
  U(end_ns);
  U(max_rss_bytes);
  U(recorded_bytes);
  put_last_bool(out, "is_command", row->is_command);
}

static void put_roll(struct tide_buf *out, const struct tide_roll *row)
{
  if (!row->is_known) {
    tide_buf_text(out, "null");
    return;
  }
  tide_buf_text(out, "{");
  U(command_pid);
  U(n_recorded);
  U(n_refused);
  put_last_bool(out, "at_least", row->at_least);
  tide_buf_text(out, ", \"rows\": [");
  for (size_t i = 0; i < row->n_rows; i++) {
    tide_buf_text(out, i ? ", {" : "{");
    put_unrecorded(out, &row->rows[i]);
    tide_buf_text(out, "}");
  }
  tide_buf_text(out, "]}");
}

static void put_capture(struct tide_buf *out, const struct tide_capture *row, bool as_read)
{
  tide_buf_text(out, "{");
  S(tool_version);
  U(arch);
  U(kernel_page_bytes);
  S(hostname);
  S(kernel);
  U(start_realtime_ns);
  U(duration_ns);
  U(n_images_left_out);
  put_last_bool(out, "finished", row->finished);
  tide_buf_text(out, ", ");
  if (row->taken)
    S(taken);
  else
    tide_buf_text(out, "\"taken\": null, ");
  put_last_bool(out, "cut", row->cut);
  tide_buf_text(out, ",\n \"roll\": ");
  put_roll(out, &row->roll);
  tide_buf_text(out, ",\n \"cost\": ");
  if (row->has_cost)
    put_cost(out, &row->cost);
  else
    tide_buf_text(out, "null");
  tide_buf_text(out, ",\n \"images\": [");
  for (size_t i = 0; i < row->n_images; i++) {
    tide_buf_text(out, i ? ",\n " : "\n ");
    put_image(out, &row->images[i], as_read);
  }
  tide_buf_text(out, "]}\n");
}

void tide_json_capture(struct tide_buf *out, const struct tide_capture *capture)
{
  put_capture(out, capture, false);
}

void tide_json_file(struct tide_buf *out, const struct tide_capture *capture)
{
  put_capture(out, capture, true);
}
