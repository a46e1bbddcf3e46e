// SPDX-License-Identifier: Apache-2.0
//
// See push_moment.h.
#define _GNU_SOURCE
#include "cli/push_moment.h"

#include "base/alloc.h"
#include "cli/opening.h"
#include "export/exports.h"
#include "export/pprof_base.h"
#include "profile/profile.h"
#include "symbol/debugfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCH_BYTES = 6 << 20, SAME_START_NS = 1000000000, APART_NS = 1000000 };

// A process is known again by its pid and about its start, which is estimated anew at every look:
// another image of it is another one.
struct tide_push_told {
  uint32_t pid;
  uint64_t start_ns;
  uint64_t time_ns; // of its latest profile, realtime; 0: none
  uint64_t allocated_bytes;
  struct tide_pprof_base *base;
  bool is_over; // its last profile was made
  // How often recording had been switched off when its latest profile was made; 0: it was on.
  uint32_t n_pauses;
  bool is_here; // in the capture at hand
};

// What goes to one server together.
struct push_batch {
  struct tide_push_series series[TIDE_PUSH_MAX_PROCESSES];
  size_t n;
  struct tide_outbox_request request; // without its bytes, until it is sent
  uint64_t n_bytes;
};

static uint64_t realtime_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// ---- whose ----

static bool runs(const struct tide_image *image)
{
  return image->end_kind == TIDE_END_UNKNOWN || image->end_kind == TIDE_END_DETACHED;
}

static uint64_t apart_ns(const struct tide_push_told *told, const struct tide_image *image)
{
  return told->start_ns > image->start_ns ? told->start_ns - image->start_ns
                                          : image->start_ns - told->start_ns;
}

// Of several images of a pid each has its own: none that another one has, nor one that ended
// before. Images come by rising start.
static size_t find_told(struct tide_push_moments *m, const struct tide_image *image)
{
  size_t best = m->n_told;
  for (size_t i = 0; i < m->n_told; i++) {
    const struct tide_push_told *told = &m->told[i];
    if (told->pid == image->pid && !told->is_here && !(told->is_over && runs(image)) &&
        apart_ns(told, image) < SAME_START_NS &&
        (best == m->n_told || apart_ns(told, image) < apart_ns(&m->told[best], image)))
      best = i;
  }
  if (best == m->n_told) {
    TIDE_GROW(m->told, m->n_told, m->cap_told);
    m->told[m->n_told++] = (struct tide_push_told){.pid = image->pid};
  }
  m->told[best].start_ns = image->start_ns;
  m->told[best].is_here = true;
  return best;
}

// Those that run come first, then the larger ones.
static bool is_rather(const struct tide_image *a, const struct tide_image *b)
{
  return runs(a) != runs(b) ? runs(a) : a->peak_bytes > b->peak_bytes;
}

// Nothing was recorded since the latest profile, or ever.
static bool is_same_again(const struct tide_image *image, const struct tide_push_told *told)
{
  return runs(image) && image->is_paused && (told->n_pauses == image->n_pauses || !image->n_sites);
}

struct push_choice {
  size_t image_idx, told_idx;
};

// Gives how many of them; *ret_n_wanted has also those beyond the maximum. Sums of processes that
// have ended have no pid: what was told of each is not to be taken off them.
static size_t choose_images(struct tide_push_moments *m, const struct tide_capture *capture,
                            bool is_end, struct push_choice *chosen, size_t *ret_n_wanted)
{
  size_t n = 0;
  *ret_n_wanted = 0;
  m->n_silent = 0;
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *image = &capture->images[i];
    if (!image->pid)
      continue;
    size_t told_idx = find_told(m, image);
    if (m->told[told_idx].is_over || (!runs(image) && !image->n_sites))
      continue;
    if (!is_end && is_same_again(image, &m->told[told_idx])) {
      m->n_silent++;
      continue;
    }
    ++*ret_n_wanted;
    size_t at = n;
    while (at && is_rather(image, &capture->images[chosen[at - 1].image_idx]))
      at--;
    if (at == TIDE_PUSH_MAX_PROCESSES)
      continue;
    n = n < TIDE_PUSH_MAX_PROCESSES ? n + 1 : n;
    memmove(chosen + at + 1, chosen + at, (n - at - 1) * sizeof *chosen);
    chosen[at] = (struct push_choice){i, told_idx};
  }
  return n;
}

// Processes that are no longer kept one by one.
static void forget_gone(struct tide_push_moments *m)
{
  size_t n = 0;
  for (size_t i = 0; i < m->n_told; i++) {
    if (!m->told[i].is_here) {
      tide_pprof_base_free(m->told[i].base);
      continue;
    }
    m->told[i].is_here = false;
    m->told[n++] = m->told[i];
  }
  m->n_told = n;
}

// ---- profiles ----

struct push_subject { // a process at a moment
  struct tide_view *view;
  const struct tide_push_told *told;
  uint64_t time_ns, since_ns;
  char pid[16];
};

// Of files that Parca gets for their names, it gets addresses alone.
static bool is_unnamed(const struct tide_push_moments *m, enum tide_push_kind kind)
{
  return m->arguments->push_debuginfo && kind == TIDE_PUSH_PARCA;
}

static enum tide_err write_profile(const struct push_subject *subject,
                                   const struct tide_push_moments *m, enum tide_push_kind kind,
                                   enum tide_export_part part, struct tide_buf *out,
                                   struct tide_diag *diag)
{
  const struct tide_export_options options = {
      .file = m->name,
      .no_symbols = is_unnamed(m, kind),
      .names_without_id = true,
      .measure_said = true,
      .asked_realtime_ns = subject->time_ns,
      .base = part == TIDE_EXPORT_HELD ? NULL : subject->told->base,
      .only_allocated_since = true,
      .since_ns = part == TIDE_EXPORT_ALLOCATED ? subject->since_ns : 0,
      .part = part,
      .is_plain = kind == TIDE_PUSH_OTLP,
      .max_bytes = TIDE_PUSH_MAX_BYTES,
      .max_stacks = TIDE_PUSH_MAX_STACKS,
      .max_frames = TIDE_PUSH_MAX_FRAMES,
  };
  struct tide_sink sink;
  tide_sink_init(&sink, NULL);
  enum tide_err err = tide_export_find("pprof")->write(&sink, subject->view, &options, diag);
  if (err)
    tide_sink_done(&sink);
  else
    *out = sink.buf;
  return err;
}

// What the server is told of whom this is; the user's come before ours.
static void gather_labels(const struct tide_push_moments *m, const struct push_subject *subject,
                          struct tide_push_series *series)
{
  const struct tide_image *image = subject->view->profile->image;
  const char *program = image->exe && *image->exe ? image->exe : "unknown";
  const char *slash = strrchr(program, '/');
  const struct tide_push_label own[] = {
      {"service_name", slash && slash[1] ? slash + 1 : program},
      {"host", m->host},
      {"pid", subject->pid},
  };
  series->n_labels = m->n_labels;
  memcpy(series->labels, m->labels, m->n_labels * sizeof *m->labels);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    bool is_given = false;
    for (size_t k = 0; k < m->n_labels; k++)
      is_given |= strcmp(m->labels[k].name, own[i].name) == 0;
    if (!is_given)
      series->labels[series->n_labels++] = own[i];
  }
}

static enum tide_err make_series(const struct tide_push_moments *m,
                                 const struct push_subject *subject, enum tide_push_kind kind,
                                 struct tide_push_series *series, struct tide_diag *diag)
{
  bool is_apart = kind == TIDE_PUSH_PARCA;
  enum tide_export_part first = is_apart ? TIDE_EXPORT_HELD : TIDE_EXPORT_ALL;
  *series = (struct tide_push_series){.since_ns = subject->since_ns, .n_profiles = 1};
  gather_labels(m, subject, series);
  enum tide_err err = write_profile(subject, m, kind, first, &series->profiles[0], diag);
  if (!err && is_apart) {
    series->n_profiles = 2;
    err = write_profile(subject, m, kind, TIDE_EXPORT_ALLOCATED, &series->profiles[1], diag);
  }
  return err;
}

// ---- files with names ----

// The file that is best for names: the debug info of the one that was recorded, or that itself.
// NULL: it is not there, or another one by now.
static char *find_named_file(const struct tide_push_moments *m, const struct tide_module *module)
{
  struct tide_elf *elf = NULL;
  char *path = NULL;
  if (tide_elf_open(module->path, &elf, NULL))
    return NULL;
  if (elf->build_id_len == module->build_id_len &&
      memcmp(elf->build_id, module->build_id, elf->build_id_len) == 0) {
    struct tide_elf *debug = tide_debugfile_open(elf, m->arguments->debug_dirs);
    path = tide_strdup(debug && debug->path ? debug->path : elf->path);
    tide_elf_free(debug);
  }
  tide_elf_free(elf);
  return path;
}

static void offer_module(struct tide_push_moments *m, const struct tide_module *module,
                         struct tide_outbox *outbox)
{
  char id[2 * sizeof module->build_id + 1] = "";
  for (uint32_t i = 0; i < module->build_id_len && i < sizeof module->build_id; i++)
    snprintf(id + 2 * (size_t)i, 3, "%02x", module->build_id[i]);
  bool is_file = module->path && *module->path == '/';
  if (!*id || !is_file || tide_outbox_was_offered(outbox, id))
    return;
  TIDE_CLEANUP_FREE char *path = find_named_file(m, module);
  tide_outbox_offer(outbox, id, path ? path : ""); // what is not to be had is counted there
}

// Of the files that frames are in.
static void offer_files(struct tide_push_moments *m, const struct tide_image *image,
                        struct tide_outbox *outbox)
{
  TIDE_CLEANUP_FREE bool *has_frames = tide_alloc_array(image->n_modules + 1, sizeof *has_frames);
  for (size_t i = 1; i < image->n_frames; i++)
    has_frames[image->frames[i].module] = true;
  for (size_t i = 1; i < image->n_modules; i++)
    if (has_frames[i])
      offer_module(m, &image->modules[i], outbox);
}

// ---- requests ----

static void send_batch(struct push_batch *batch, struct tide_outbox *outbox)
{
  struct tide_diag diag = {0};
  enum tide_push_kind kind = tide_outbox_target(outbox)->kind;
  if (!batch->n)
    return;
  if (tide_push_encode(kind, batch->series, batch->n, &batch->request.body, &diag))
    tide_outbox_miss(outbox, &batch->request, "it could not be written");
  else
    tide_outbox_put(outbox, &batch->request);
  for (size_t i = 0; i < batch->n; i++)
    tide_push_series_done(&batch->series[i]);
  tide_buf_done(&batch->request.body);
  batch->request = (struct tide_outbox_request){0};
  batch->n = 0;
  batch->n_bytes = 0;
}

static void add_to_batch(struct push_batch *batch, const struct tide_push_moments *m,
                         const struct push_subject *subject, uint64_t allocated_bytes,
                         struct tide_outbox *outbox)
{
  struct tide_push_series *series = &batch->series[batch->n];
  struct tide_diag diag = {0};
  if (make_series(m, subject, tide_outbox_target(outbox)->kind, series, &diag)) {
    tide_push_series_done(series); // of what holds neither what was allocated nor what is held
    return;
  }
  batch->n++;
  batch->request.n_profiles++;
  batch->request.allocated_bytes += allocated_bytes;
  for (size_t i = 0; i < series->n_profiles; i++)
    batch->n_bytes += series->profiles[i].n;
}

static void note_told(struct tide_push_told *told, const struct push_subject *subject)
{
  const struct tide_profile *profile = subject->view->profile;
  tide_pprof_base_free(told->base);
  told->is_over = !runs(profile->image);
  told->n_pauses = profile->image->is_paused ? profile->image->n_pauses : 0;
  told->base = told->is_over ? NULL : tide_pprof_base_take(profile);
  told->time_ns = subject->time_ns;
  told->allocated_bytes = profile->totals.b_alloc;
}

// The moment of a process that runs is now, that of others their end; none is before the one that
// was told last, nor in the same millisecond: Parca tells no smaller times apart.
static void set_times(struct push_subject *subject, const struct tide_capture *capture,
                      uint64_t now_ns)
{
  const struct tide_image *image = subject->view->profile->image;
  uint64_t ended_ns = capture->start_realtime_ns + image->end_ns;
  uint64_t from_ns = subject->told->time_ns ? subject->told->time_ns
                                            : capture->start_realtime_ns + image->start_ns;
  subject->time_ns = runs(image) || ended_ns > now_ns ? now_ns : ended_ns;
  if (subject->time_ns < subject->told->time_ns + APART_NS)
    subject->time_ns = subject->told->time_ns + APART_NS;
  // Never 0, or it would not be a difference.
  subject->since_ns = subject->time_ns > from_ns ? subject->time_ns - from_ns : 1;
}

struct push_sending {                 // of one moment
  const struct tide_capture *capture; // as of now it is whole
  struct tide_outbox *const *outboxes;
  size_t n_outboxes;
  struct push_batch *batches; // per outbox
  struct push_subject subjects[TIDE_PUSH_MAX_PROCESSES];
};

static void tell_process(struct tide_push_moments *m, struct push_sending *sending,
                         struct push_choice choice, struct push_subject *subject)
{
  struct tide_profile *profile = tide_profile_new(sending->capture, choice.image_idx);
  const struct tide_question question = {.measure = TIDE_MEASURE_LIVE};
  struct tide_push_told *told = &m->told[choice.told_idx];
  struct tide_view view;
  tide_profile_ask(profile, &question);
  struct tide_naming *naming = tide_naming_open(m->arguments, profile->image, m->rules);
  tide_view_init(&view, profile, naming, NULL, true);
  subject->view = &view;
  subject->told = told;
  snprintf(subject->pid, sizeof subject->pid, "%" PRIu32, profile->image->pid);
  set_times(subject, sending->capture, m->latest_ns);
  uint64_t allocated = profile->totals.b_alloc;
  if (allocated >= told->allocated_bytes) // else the numbers were reset since
    allocated -= told->allocated_bytes;
  for (size_t i = 0; i < sending->n_outboxes; i++) {
    if (!sending->outboxes[i])
      continue;
    add_to_batch(&sending->batches[i], m, subject, allocated, sending->outboxes[i]);
    if (is_unnamed(m, tide_outbox_target(sending->outboxes[i])->kind))
      offer_files(m, profile->image, sending->outboxes[i]);
    if (sending->batches[i].n_bytes > BATCH_BYTES)
      send_batch(&sending->batches[i], sending->outboxes[i]);
  }
  note_told(told, subject);
  tide_view_done(&view);
  tide_naming_free(naming);
  tide_profile_free(profile);
}

void tide_push_moments_tell(struct tide_push_moments *m, const struct tide_capture *capture,
                            bool is_end, struct tide_outbox *const *outboxes, size_t n_outboxes)
{
  struct push_choice chosen[TIDE_PUSH_MAX_PROCESSES];
  size_t n_wanted;
  struct tide_capture moment = *capture;
  struct push_sending *sending = tide_alloc(sizeof *sending);
  uint64_t now_ns = realtime_ns();
  moment.finished = true;
  *sending =
      (struct push_sending){.capture = &moment, .outboxes = outboxes, .n_outboxes = n_outboxes};
  sending->batches = tide_alloc_array(n_outboxes, sizeof *sending->batches);
  if (!*m->host && (gethostname(m->host, sizeof m->host - 1) || !*m->host))
    snprintf(m->host, sizeof m->host, "unknown");
  m->latest_ns = now_ns > m->latest_ns ? now_ns : m->latest_ns + 1;
  size_t n = choose_images(m, capture, is_end, chosen, &n_wanted);
  for (size_t i = 0; i < n; i++)
    tell_process(m, sending, chosen[i], &sending->subjects[i]);
  for (size_t i = 0; i < n_outboxes; i++)
    if (outboxes[i])
      send_batch(&sending->batches[i], outboxes[i]);
  forget_gone(m);
  m->n_left_out = is_end ? n_wanted - n : 0;
  free(sending->batches);
  free(sending);
}

void tide_push_moments_done(struct tide_push_moments *m)
{
  for (size_t i = 0; i < m->n_told; i++)
    tide_pprof_base_free(m->told[i].base);
  free(m->told);
  m->told = NULL;
  m->n_told = m->cap_told = 0;
}
