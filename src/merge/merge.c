// SPDX-License-Identifier: Apache-2.0
//
// Which inputs go together, in which order, and the facts that are not per stack.
#include "merge/merge.h"

#include "base/alloc.h"
#include "merge/merge_inputs.h"
#include "model/capture.h"
#include "model/rows.h"

#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path ? path : "";
}

static const char *program_of(const struct tide_image *image)
{
  const char *name = base_name(image->exe);
  return *name ? name : image->cmdline_len ? base_name(image->cmdline) : "";
}

static const struct tide_image *image_of(const struct tide_merge_input *input)
{
  return &input->capture->images[input->image_idx];
}

struct input { // with the program it is taken for
  struct tide_merge_input input;
  const char *program; // the image's, or another input's
};

static int compare_bytes(const void *a, size_t a_n, const void *b, size_t b_n)
{
  if (a_n != b_n)
    return a_n > b_n ? 1 : -1;
  return a_n ? memcmp(a, b, a_n) : 0;
}

// Files of other tools tell little else. Both have as many sites.
static int compare_contents(const struct tide_image *a, const struct tide_image *b)
{
  int order = 0;
  for (size_t i = 0; i < a->n_sites && !order; i++) { // all numbers before the histograms
    const struct tide_site of_a = tide_image_site(a, i), of_b = tide_image_site(b, i);
    order = memcmp(&of_a, &of_b, offsetof(struct tide_site, size_mask));
  }
  if (!order)
    order = compare_bytes(a->frames, a->n_frames * sizeof *a->frames, b->frames,
                          b->n_frames * sizeof *b->frames);
  return order ? order
               : compare_bytes(a->names.text, a->names.text_bytes, b->names.text,
                               b->names.text_bytes);
}

static int compare_u64(uint64_t a, uint64_t b)
{
  return (a > b) - (a < b);
}

// By program, then by whatever tells two recordings apart; inputs that are equal in all of this are
// the same input given twice.
static int by_program(const void *left, const void *right)
{
  const struct input *one = left, *other = right;
  const struct tide_merge_input *l = &one->input, *r = &other->input;
  const struct tide_image *a = image_of(l), *b = image_of(r);
  const uint64_t facts[][2] = {
      {l->capture->start_realtime_ns, r->capture->start_realtime_ns},
      {a->start_ns, b->start_ns},
      {a->pid, b->pid},
      {a->end_ns, b->end_ns},
      {(uint64_t)a->peak_bytes, (uint64_t)b->peak_bytes},
      {a->peak_ns, b->peak_ns},
      {a->n_sites, b->n_sites},
      {a->n_frames, b->n_frames},
      {a->n_modules, b->n_modules},
      {l->image_idx, r->image_idx},
  };
  int order = strcmp(one->program, other->program);
  for (size_t i = 0; !order && i < sizeof facts / sizeof *facts; i++)
    order = compare_u64(facts[i][0], facts[i][1]);
  return order ? order : compare_contents(a, b);
}

static void add_losses(struct tide_loss *sum, const struct tide_loss *item)
{
  sum->n_unknown_free += item->n_unknown_free;
  sum->n_lost_busy += item->n_lost_busy;
  sum->n_lost_full += item->n_lost_full;
  sum->n_cut += item->n_cut;
  sum->n_broken += item->n_broken;
  sum->n_guessed += item->n_guessed;
  sum->n_fork_lost += item->n_fork_lost;
  sum->n_failed += item->n_failed;
}

static int64_t add_signed(int64_t a, int64_t b)
{
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_numbers(struct tide_image *image, const struct tide_image *input)
{
  uint64_t run_ns = tide_merge_time(input, input->end_ns);
  if (image->end_ns < run_ns)
    image->end_ns = run_ns;
  image->inherited_bytes += input->inherited_bytes;
  image->peak_bytes = add_signed(image->peak_bytes, input->peak_bytes);
  image->peak_blocks = add_signed(image->peak_blocks, input->peak_blocks);
  image->peak_bound_bytes += input->peak_bound_bytes;
  image->page_live_bytes = add_signed(image->page_live_bytes, input->page_live_bytes);
  image->page_peak_bytes = add_signed(image->page_peak_bytes, input->page_peak_bytes);
  image->page_n_map += input->page_n_map;
  image->page_b_map += input->page_b_map;
  image->page_n_unmap += input->page_n_unmap;
  image->page_b_unmap += input->page_b_unmap;
  image->n_threads += input->n_threads;
  image->max_live_threads += input->max_live_threads;
  add_losses(&image->loss, &input->loss);
  if (input->depth_limit && (!image->depth_limit || input->depth_limit < image->depth_limit))
    image->depth_limit = input->depth_limit;
  image->n_pauses += input->n_pauses;
  image->paused_ns += input->paused_ns;
  image->is_paused |= input->is_paused;
  image->is_resampled |= input->is_resampled;
  if (input->sampled_now_bytes > image->sampled_now_bytes)
    image->sampled_now_bytes = input->sampled_now_bytes;
  if (!image->off_reason)
    image->off_reason = input->off_reason;
}

// The sum of a number that is 0 where it is not known: not known unless all inputs have it.
#define SUM_KNOWN(m, field)                                                                        \
  do {                                                                                             \
    bool known = true;                                                                             \
    (m)->image->field = 0;                                                                         \
    for (size_t i_ = 0; i_ < (m)->n_inputs; i_++) {                                                \
      known &= (m)->inputs[i_]->field != 0;                                                        \
      (m)->image->field += (m)->inputs[i_]->field;                                                 \
    }                                                                                              \
    if (!known)                                                                                    \
      (m)->image->field = 0;                                                                       \
  } while (0)

// An input that knows its program, or else the first.
static const struct tide_image *known_input(const struct tide_merging *m)
{
  for (size_t i = 0; i < m->n_inputs; i++)
    if (m->inputs[i]->exe && *m->inputs[i]->exe)
      return m->inputs[i];
  return m->inputs[0];
}

// Arguments that all inputs begin with, whole ones only. Not all tools tell them.
static void set_command(struct tide_merging *m)
{
  const struct tide_image *first = known_input(m);
  uint32_t n = first->cmdline_len;
  for (size_t i = 0; i < m->n_inputs; i++) {
    const struct tide_image *input = m->inputs[i];
    if (input->origin && !input->cmdline_len)
      continue;
    bool whole = input->cmdline_len == n && (!n || !memcmp(input->cmdline, first->cmdline, n));
    if (whole)
      continue;
    uint32_t same = 0;
    while (same < n && same < input->cmdline_len && input->cmdline[same] == first->cmdline[same])
      same++;
    // One side may end where the other has the end of an argument.
    bool at_end = (same == n || !first->cmdline[same]) &&
                  (same == input->cmdline_len || !input->cmdline[same]);
    while (!at_end && same && first->cmdline[same - 1])
      same--;
    n = !at_end && same ? same - 1 : same;
  }
  m->image->cmdline = tide_alloc(n + 1);
  if (n)
    memcpy(m->image->cmdline, first->cmdline, n);
  m->image->cmdline_len = n;
}

// What was live when all exited was never freed, whatever their statuses.
static void merge_end(struct tide_image *image, const struct tide_image *input)
{
  if (input->end_kind != image->end_kind) {
    image->end_kind = TIDE_END_UNKNOWN;
    image->end_value = 0;
  } else if (input->end_value != image->end_value) {
    image->end_kind = input->end_kind == TIDE_END_EXITED ? TIDE_END_EXITED : TIDE_END_UNKNOWN;
    image->end_value = input->end_kind == TIDE_END_EXITED ? -1 : 0;
  }
}

// A sum with an estimate in it is one. How often was looked is known where all did it alike.
static void set_sampling(struct tide_merging *m)
{
  struct tide_image *image = m->image;
  for (size_t i = 0; i < m->n_inputs; i++) {
    uint64_t every_bytes = m->inputs[i]->sampled_every_bytes;
    if (i == 0)
      image->sampled_every_bytes = every_bytes;
    else if (every_bytes != image->sampled_every_bytes)
      image->sampled_every_bytes = TIDE_SAMPLED_SOMEHOW;
  }
  image->has_samples = image->sampled_every_bytes > TIDE_SAMPLED_SOMEHOW;
  image->has_spreads &= image->has_samples;
}

// What all inputs have in common, or nothing.
static void set_identity(struct tide_merging *m)
{
  const struct tide_image *first = m->inputs[0], *known = known_input(m);
  struct tide_image *image = m->image;
  image->exe = tide_strdup(known->exe ? known->exe : "");
  image->allocator = tide_strdup(first->allocator ? first->allocator : "");
  for (size_t i = 0; i < m->n_inputs && !image->refused; i++)
    image->refused = m->inputs[i]->refused ? tide_strdup(m->inputs[i]->refused) : NULL;
  set_command(m);
  image->pid = m->n_inputs == 1 ? first->pid : 0;
  image->ppid = m->n_inputs == 1 ? first->ppid : 0;
  image->by_fork = true;
  image->has_counts = image->has_tick_resizes = true;
#define TIDE_NUMBER_SINCE(flag, ...) image->flag = true;
#include "model/numbers.def"
  image->end_kind = first->end_kind;
  image->end_value = first->end_value;
  for (size_t i = 0; i < m->n_inputs; i++) {
    const struct tide_image *input = m->inputs[i];
    image->by_fork &= input->by_fork;
    image->by_agent |= input->by_agent;
    image->has_counts &= input->has_counts;
    image->has_tick_resizes &= input->has_tick_resizes;
#define TIDE_NUMBER_SINCE(flag, ...) image->flag &= input->flag || input->n_sites == 0;
#include "model/numbers.def"
    merge_end(image, input);
  }
  image->is_reset = false; // some may have been, and others not
  for (size_t i = 0; i < m->n_inputs; i++)
    image->is_reset |= m->inputs[i]->is_reset;
  set_sampling(m);
}

// The moments of several processes are not one.
static void set_resident(struct tide_merging *m)
{
  struct tide_image *image = m->image;
  image->has_resident = image->rss_is_own = true;
  image->max_rss_ns =
      m->n_inputs == 1 ? tide_merge_time(m->inputs[0], m->inputs[0]->max_rss_ns) : 0;
  image->max_rss_live_bytes = m->n_inputs == 1 ? m->inputs[0]->max_rss_live_bytes : -1;
  for (size_t i = 0; i < m->n_inputs; i++) {
    const struct tide_image *input = m->inputs[i];
    image->has_resident &= input->has_resident;
    image->rss_is_own &= input->rss_is_own;
    image->recorder_rss_bytes += input->recorder_rss_bytes;
    image->rss_bound_bytes += input->rss_bound_bytes;
    image->untouched_bytes += input->untouched_bytes;
    image->swapped_bytes += input->swapped_bytes;
  }
}

static void add_allocator(struct tide_image *image, const struct tide_allocator *input)
{
  size_t i = 0;
  while (i < image->n_allocators && image->allocators[i].family != input->family)
    i++;
  if (i == image->n_allocators) {
    image->allocators =
        tide_realloc_array(image->allocators, ++image->n_allocators, sizeof *image->allocators);
    image->allocators[i] = (struct tide_allocator){.family = input->family};
  }
  struct tide_allocator *sum = &image->allocators[i];
  sum->n_alloc += input->n_alloc;
  sum->b_alloc += input->b_alloc;
  sum->live_blocks = (int64_t)((uint64_t)sum->live_blocks + (uint64_t)input->live_blocks);
  sum->live_bytes = (int64_t)((uint64_t)sum->live_bytes + (uint64_t)input->live_bytes);
  sum->peak_blocks = (int64_t)((uint64_t)sum->peak_blocks + (uint64_t)input->peak_blocks);
  sum->peak_bytes = (int64_t)((uint64_t)sum->peak_bytes + (uint64_t)input->peak_bytes);
}

static int by_falling_peak(const void *left, const void *right)
{
  const struct tide_allocator *a = left, *b = right;
  return (a->peak_bytes < b->peak_bytes) - (a->peak_bytes > b->peak_bytes);
}

static void set_allocators(struct tide_merging *m)
{
  struct tide_image *image = m->image;
  image->has_allocators = true;
  for (size_t i = 0; i < m->n_inputs; i++)
    image->has_allocators &= m->inputs[i]->has_allocators;
  for (size_t i = 0; image->has_allocators && i < m->n_inputs; i++)
    for (size_t k = 0; k < m->inputs[i]->n_allocators; k++)
      add_allocator(image, &m->inputs[i]->allocators[k]);
  if (image->n_allocators)
    qsort(image->allocators, image->n_allocators, sizeof *image->allocators, by_falling_peak);
}

static void set_numbers(struct tide_merging *m)
{
  struct tide_image *image = m->image;
  const struct tide_image *largest = m->inputs[0];
  for (size_t i = 0; i < m->n_inputs; i++) {
    add_numbers(image, m->inputs[i]);
    if (m->inputs[i]->peak_bytes > largest->peak_bytes)
      largest = m->inputs[i];
  }
  image->peak_ns = tide_merge_time(largest, largest->peak_ns);
  image->peak_bound_bytes += (uint64_t)image->peak_bytes - (uint64_t)largest->peak_bytes;
  SUM_KNOWN(m, max_rss_bytes);
  SUM_KNOWN(m, rss_at_peak_bytes);
  set_resident(m);
  set_allocators(m);
  SUM_KNOWN(m, cpu_ns);
  SUM_KNOWN(m, recorder_ns);
  if (m->n_inputs > 1 && !image->cpu_ns)
    image->recorder_ns = 0; // there is nothing it could be a part of
}

static enum tide_err merge_program(const struct input *inputs, size_t n_inputs,
                                   struct tide_image *image, struct tide_diag *diag)
{
  struct tide_merging m = {.n_inputs = n_inputs, .image = image};
  TIDE_CLEANUP_FREE const struct tide_image **images = tide_alloc_array(n_inputs, sizeof *images);
  m.inputs = images;
  m.nodes = tide_alloc_array(n_inputs, sizeof *m.nodes);
  for (size_t i = 0; i < n_inputs; i++)
    images[i] = image_of(&inputs[i].input);
  enum tide_err err = tide_merge_lacks_check(&m, diag);
  if (!err) {
    set_identity(&m);
    set_numbers(&m);
    tide_merge_lacks_set(&m);
    err = tide_merge_stacks(&m, diag);
  }
  if (!err) {
    tide_merge_lacks_forget(&m);
    tide_merge_times(&m);
  }
  for (size_t i = 0; i < n_inputs; i++)
    free(m.nodes[i]);
  free(m.nodes);
  return err;
}

static const char *common(const char *a, const char *b)
{
  return a && b && strcmp(a, b) == 0 ? a : "";
}

// The earlier of two, of which 0 is not known.
static uint64_t earlier_known(uint64_t a, uint64_t b)
{
  return !a || (b && b < a) ? b : a;
}

// Of every capture once, however many of its processes are merged; not known unless of all.
static void set_cost(struct tide_capture *capture, const struct input *inputs, size_t n)
{
  capture->has_cost = true;
  for (size_t i = 0; i < n; i++) {
    const struct tide_capture *input = inputs[i].input.capture;
    size_t first = 0;
    while (inputs[first].input.capture != input)
      first++;
    capture->has_cost &= input->has_cost;
    if (first < i)
      continue;
    capture->cost.cpu_ns += input->cost.cpu_ns;
    capture->cost.recorder_ns += input->cost.recorder_ns;
    capture->cost.supervisor_ns += input->cost.supervisor_ns;
  }
}

// Each capture's roll once, however many of its images are merged.
static void join_rolls(struct tide_capture *capture, const struct input *inputs, size_t n)
{
  capture->roll.is_known = true;
  for (size_t i = 0; i < n; i++) {
    bool met = false;
    for (size_t k = 0; k < i && !met; k++)
      met = inputs[k].input.capture == inputs[i].input.capture;
    if (!met)
      tide_roll_join(&capture->roll, &inputs[i].input.capture->roll);
  }
  if (!capture->roll.is_known && capture->roll.n_rows) // what is known of some is kept
    capture->roll.is_known = capture->roll.at_least = true;
  tide_roll_sort(&capture->roll);
}

static void set_facts(struct tide_capture *capture, const struct input *inputs, size_t n)
{
  const struct tide_capture *first = inputs[0].input.capture;
  const char *hostname = first->hostname ? first->hostname : "";
  const char *kernel = first->kernel ? first->kernel : "";
  capture->tool_version = tide_strdup(TIDE_VERSION);
  capture->arch = first->arch;
  capture->kernel_page_bytes = first->kernel_page_bytes;
  capture->start_realtime_ns = first->start_realtime_ns;
  capture->finished = true;
  for (size_t i = 0; i < n; i++) {
    const struct tide_capture *input = inputs[i].input.capture;
    hostname = common(hostname, input->hostname);
    kernel = common(kernel, input->kernel);
    capture->finished &= input->finished && !input->cut;
    capture->start_realtime_ns =
        earlier_known(capture->start_realtime_ns, input->start_realtime_ns);
    if (!capture->arch)
      capture->arch = input->arch;
    if (!capture->kernel_page_bytes)
      capture->kernel_page_bytes = input->kernel_page_bytes;
  }
  set_cost(capture, inputs, n);
  join_rolls(capture, inputs, n);
  capture->hostname = tide_strdup(hostname);
  capture->kernel = tide_strdup(kernel);
  for (size_t i = 0; i < capture->n_images; i++)
    if (capture->duration_ns < capture->images[i].end_ns)
      capture->duration_ns = capture->images[i].end_ns;
}

// Other tools do not tell the architecture.
static enum tide_err check_inputs(const struct tide_merge_input *inputs, size_t n,
                                  struct tide_diag *diag)
{
  uint32_t arch = 0;
  if (n == 0)
    return tide_fail(diag, TIDE_ERR_EMPTY, "there is no process to merge");
  for (size_t i = 0; i < n; i++) {
    uint32_t own = inputs[i].capture->arch;
    if (own && arch && own != arch)
      return tide_fail(
          diag, TIDE_ERR_UNSUPPORTED,
          "the captures are of two architectures, whose stacks have nothing in common");
    arch = own ? own : arch;
  }
  return TIDE_ERR_OK;
}

// An input that does not say which program it is of goes with the others if those are of one.
static struct input *sorted_inputs(const struct tide_merge_input *inputs, size_t n)
{
  struct input *sorted = tide_alloc_array(n, sizeof *sorted);
  const char *only = "";
  bool several = false;
  for (size_t i = 0; i < n; i++) {
    sorted[i] = (struct input){inputs[i], program_of(image_of(&inputs[i]))};
    several |= *only && *sorted[i].program && strcmp(only, sorted[i].program) != 0;
    only = *only ? only : sorted[i].program;
  }
  for (size_t i = 0; i < n && !several; i++)
    sorted[i].program = only;
  qsort(sorted, n, sizeof *sorted, by_program);
  return sorted;
}

enum tide_err tide_merge(const struct tide_merge_input *inputs, size_t n_inputs,
                         struct tide_capture **ret_capture, struct tide_diag *diag)
{
  enum tide_err err = check_inputs(inputs, n_inputs, diag);
  if (err)
    return err;
  TIDE_CLEANUP_FREE struct input *sorted = sorted_inputs(inputs, n_inputs);
  struct tide_capture *capture = tide_capture_new();
  capture->images = tide_alloc_array(n_inputs, sizeof *capture->images);
  for (size_t i = 0, past; i < n_inputs && !err; i = past) {
    past = i + 1;
    while (past < n_inputs && strcmp(sorted[i].program, sorted[past].program) == 0)
      past++;
    err = merge_program(sorted + i, past - i, &capture->images[capture->n_images++], diag);
  }
  set_facts(capture, sorted, n_inputs);
  if (err)
    tide_capture_free(capture);
  else
    *ret_capture = capture;
  return err;
}
