// SPDX-License-Identifier: Apache-2.0
//
// See exhibit.h.
#include "serve/exhibit.h"

#include "base/alloc.h"
#include "page/page_data.h"
#include "profile/completeness.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

// ---- what the blocks of an image are made of ----
//
// The first block and the whole one have the same sums and names, and tell the same. What takes
// half of the time is kept from the one to the other, which a page asks for at once.

struct tide_exhibit_making {
  size_t image_idx;
  struct tide_profile *profile;
  struct tide_naming *naming;
  struct tide_page_told told;
};

static void end_making(struct tide_exhibit *exhibit)
{
  struct tide_exhibit_making *making = exhibit->making;
  exhibit->making = NULL;
  if (!making)
    return;
  tide_page_told_done(&making->told);
  tide_naming_free(making->naming);
  tide_profile_free(making->profile);
  free(making);
}

static struct tide_exhibit_making *make_ready(struct tide_exhibit *exhibit, size_t image_idx)
{
  if (exhibit->making && exhibit->making->image_idx == image_idx)
    return exhibit->making;
  end_making(exhibit);
  struct tide_exhibit_making *making = exhibit->making = tide_alloc(sizeof *making);
  *making = (struct tide_exhibit_making){.image_idx = image_idx};
  making->profile = tide_profile_new(exhibit->capture, image_idx);
  making->naming = exhibit->namer->name(exhibit->namer->context, making->profile->image);
  return making;
}

// ---- the capture ----

static void forget_blocks(struct tide_exhibit_block *blocks, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    struct tide_exhibit_block *block = &blocks[i];
    tide_body_free(block->data);
    for (size_t k = 0; k < block->n_files; k++)
      free(block->files[k]);
    free(block->files);
    free(block->file_texts);
  }
  free(blocks);
}

static void forget_capture(struct tide_exhibit *exhibit)
{
  size_t n = exhibit->capture ? exhibit->capture->n_images : 0;
  tide_errand_stop(&exhibit->errand);
  end_making(exhibit);
  forget_blocks(exhibit->blocks, n);
  forget_blocks(exhibit->firsts, n);
  exhibit->blocks = exhibit->firsts = NULL;
  tide_capture_free(exhibit->capture);
  exhibit->capture = NULL;
}

// Shows a capture, which is taken over, from now on. Nothing changes on failure.
static enum tide_err show(struct tide_exhibit *exhibit, struct tide_capture *capture,
                          struct tide_diag *diag)
{
  size_t shown_idx = 0;
  enum tide_err err = tide_profile_pick(capture, exhibit->process, &shown_idx, diag);
  if (err) {
    tide_capture_free(capture);
    return err;
  }
  forget_capture(exhibit);
  exhibit->capture = capture;
  exhibit->blocks = tide_alloc_array(capture->n_images, sizeof *exhibit->blocks);
  exhibit->firsts = tide_alloc_array(capture->n_images, sizeof *exhibit->firsts);
  exhibit->shown_idx = shown_idx;
  return TIDE_ERR_OK;
}

enum tide_err tide_exhibit_open(struct tide_exhibit *exhibit, struct tide_source *source,
                                const struct tide_exhibit_namer *namer, const char *process,
                                struct tide_diag *diag)
{
  struct tide_capture *capture = NULL;
  *exhibit =
      (struct tide_exhibit){.source = source, .namer = namer, .process = process, .version = 1};
  enum tide_err err = source->kind->look(source, true, &capture, diag);
  if (!err && capture)
    err = show(exhibit, capture, diag);
  else if (!err)
    err = tide_fail(diag, TIDE_ERR_EMPTY, "there is nothing to show of %s yet", source->name);
  if (err)
    tide_exhibit_close(exhibit);
  return err;
}

void tide_exhibit_close(struct tide_exhibit *exhibit)
{
  forget_capture(exhibit);
  tide_source_free(exhibit->source);
  free(exhibit->note);
  *exhibit = (struct tide_exhibit){0};
}

// True: it is another note than before.
static bool set_note(struct tide_exhibit *exhibit, char *note)
{
  bool same = note && exhibit->note ? strcmp(note, exhibit->note) == 0 : note == exhibit->note;
  free(exhibit->note);
  exhibit->note = note;
  return !same;
}

bool tide_exhibit_look(struct tide_exhibit *exhibit, bool is_wanted)
{
  struct tide_source *source = exhibit->source;
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  enum tide_err err = source->kind->look(source, is_wanted, &capture, &diag);
  if (!err && !capture)
    return false;
  if (!err)
    err = show(exhibit, capture, &diag);
  bool is_other_note = set_note(exhibit, err ? tide_strdup(diag.text) : NULL);
  bool changed = !err || is_other_note;
  exhibit->version += changed;
  return changed;
}

enum tide_err tide_exhibit_refresh(struct tide_exhibit *exhibit, uint32_t wait_ms,
                                   struct tide_diag *diag)
{
  struct tide_source *source = exhibit->source;
  struct tide_capture *capture = NULL;
  enum tide_err err = source->kind->refresh(source, wait_ms, &capture, diag);
  if (!err && capture)
    err = show(exhibit, capture, diag);
  exhibit->version += !err && capture;
  return err;
}

void tide_exhibit_turn_to(struct tide_exhibit *exhibit, struct tide_source *source)
{
  tide_source_free(exhibit->source);
  exhibit->source = source;
}

bool tide_exhibit_is_live(const struct tide_exhibit *exhibit)
{
  return exhibit->source->kind->is_live(exhibit->source, exhibit->capture);
}

// Every file that frames are in, by rising text.
static void note_files(struct tide_exhibit_block *block, const struct tide_page_data *data)
{
  const struct tide_page_column *of_frames = &data->columns[TIDE_PAGE_FRAME_FILE];
  const struct tide_page_column *ends = &data->columns[TIDE_PAGE_TEXT_END];
  const char *text = (const char *)data->columns[TIDE_PAGE_TEXT].bytes.data;
  TIDE_CLEANUP_FREE uint8_t *is_file = tide_alloc_array(ends->n + 1, 1);
  for (size_t i = 0; i < of_frames->n; i++)
    is_file[(size_t)tide_page_column_get(of_frames, i)] = 1;
  size_t cap_files = 0, cap_texts = 0;
  for (uint32_t i = 1; i < ends->n; i++) {
    if (!is_file[i])
      continue;
    size_t start = (size_t)tide_page_column_get(ends, i - 1);
    size_t end = (size_t)tide_page_column_get(ends, i);
    TIDE_GROW(block->files, block->n_files, cap_files);
    TIDE_GROW(block->file_texts, block->n_files, cap_texts);
    block->file_texts[block->n_files] = i;
    block->files[block->n_files++] = tide_strndup(text + start, end - start);
  }
}

static void make_block(struct tide_exhibit *exhibit, struct tide_exhibit_making *making,
                       bool is_first, struct tide_exhibit_block *block)
{
  const struct tide_page_options options = {
      .file = exhibit->source->name,
      .n_keep = is_first ? TIDE_PAGE_FIRST_KEEP : TIDE_PAGE_KEEP_ALL,
      .is_first = is_first,
      .told = &making->told,
  };
  struct tide_page_data *data = tide_page_data_new(making->profile, making->naming, &options);
  struct tide_packer *packer = tide_packer_new();
  tide_page_data_hand_out(data, tide_packer_take, packer);
  block->data = tide_packer_finish(packer);
  note_files(block, data);
  tide_page_data_free(data);
  if (exhibit->namer->named)
    exhibit->namer->named(exhibit->namer->context);
}

// ---- a whole block, by a fork ----

static void write_block(void *context, struct tide_buf *out)
{
  struct tide_exhibit *exhibit = context;
  struct tide_exhibit_block block = {0};
  make_block(exhibit, exhibit->making, false, &block);
  tide_buf_u64(out, block.n_files);
  for (size_t i = 0; i < block.n_files; i++) {
    tide_buf_u32(out, block.file_texts[i]);
    tide_buf_u32(out, (uint32_t)strlen(block.files[i]));
    tide_buf_text(out, block.files[i]);
  }
  tide_buf_append(out, block.data->bytes.data, block.data->bytes.n);
}

static void read_block(const struct tide_buf *bytes, struct tide_exhibit_block *ret_block)
{
  struct tide_cursor c = tide_cursor_make(bytes->data, bytes->n);
  size_t n = (size_t)tide_cursor_u64(&c);
  struct tide_exhibit_block block = {.data = tide_body_new()};
  block.files = tide_alloc_array(n, sizeof *block.files);
  block.file_texts = tide_alloc_array(n, sizeof *block.file_texts);
  for (; block.n_files < n; block.n_files++) {
    block.file_texts[block.n_files] = tide_cursor_u32(&c);
    uint32_t length = tide_cursor_u32(&c);
    block.files[block.n_files] = tide_strndup((const char *)tide_cursor_bytes(&c, length), length);
  }
  tide_buf_append(&block.data->bytes, c.at, tide_cursor_left(&c));
  *ret_block = block;
}

// False: it runs. Of one that ended, well or not, there is none any more.
static bool has_returned(struct tide_exhibit *exhibit)
{
  struct tide_buf bytes;
  if (!exhibit->errand.pid)
    return true;
  enum tide_errand_state state = tide_errand_look(&exhibit->errand, &bytes);
  if (state == TIDE_ERRAND_DONE) {
    read_block(&bytes, &exhibit->blocks[exhibit->errand_idx]);
    tide_buf_done(&bytes);
  }
  return state != TIDE_ERRAND_RUNS;
}

// All of an image, and as if we had made it. False: a fork does.
static bool make_whole(struct tide_exhibit *exhibit, size_t image_idx, bool may_fork)
{
  struct tide_exhibit_block *all = &exhibit->blocks[image_idx];
  bool was_sent = exhibit->errand.pid && exhibit->errand_idx == image_idx;
  if (!has_returned(exhibit))
    return false;
  if (all->data)
    return true;
  struct tide_exhibit_making *making = make_ready(exhibit, image_idx);
  if (may_fork && !was_sent && tide_page_has_first(making->profile) &&
      tide_errand_start(&exhibit->errand, write_block, exhibit)) {
    exhibit->errand_idx = image_idx;
    return false;
  }
  make_block(exhibit, making, false, all);
  return true;
}

const struct tide_exhibit_block *tide_exhibit_block(struct tide_exhibit *exhibit, size_t image_idx,
                                                    bool is_first, bool may_fork)
{
  struct tide_exhibit_block *all = &exhibit->blocks[image_idx],
                            *first = &exhibit->firsts[image_idx];
  if (is_first && first->data)
    return first;
  if (all->data)
    return all;
  if (is_first && tide_page_has_first(make_ready(exhibit, image_idx)->profile)) {
    make_block(exhibit, exhibit->making, true, first);
    return first;
  }
  if (!make_whole(exhibit, image_idx, may_fork))
    return NULL;
  end_making(exhibit);
  return all;
}

const char *tide_exhibit_file(const struct tide_exhibit_block *block, uint32_t text)
{
  size_t low = 0, high = block->n_files;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (block->file_texts[middle] < text)
      low = middle + 1;
    else
      high = middle;
  }
  return low < block->n_files && block->file_texts[low] == text ? block->files[low] : NULL;
}
