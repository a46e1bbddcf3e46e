// SPDX-License-Identifier: Apache-2.0
//
// What is changed in a store from outside while its process runs: whether new blocks are recorded,
// and moments that are given a name. The recorder finds it there at its next event; nothing is
// called in the process, and nobody is stopped.
//
// One at a time: the supervisor's watch or, of the file of a bare preload, who has it locked. A
// program that switches its own bare store (preload/control.c) does so beside that one.
#pragma once
#include "observe/store_view.h"

// Off (or on) from now on, CLOCK_MONOTONIC. The store may still be empty; its descriptor must be
// one to write to. False: it was so before.
bool tide_switch_pause(struct tide_store_view *view, bool is_off, uint64_t now_ns);

// The same of a store that nobody has looked at yet, for one who is about to begin.
void tide_switch_begin_paused(int fd, uint64_t now_ns);

// How often is sampled from each thread's next sample on: one for 2^bits bytes. False: it was so
// before, or all events are recorded there. The first is of a store that nobody has looked at yet.
void tide_switch_begin_sampled(int fd, uint32_t bits);
bool tide_switch_sample(struct tide_store_view *view, uint32_t bits, uint64_t now_ns);
// How often is sampled now, of 2^n bytes; 0: all events are recorded.
uint32_t tide_switch_sample_bits(const struct tide_store_header *h);

// The recorder looks for the peak anew, from its next event on; likewise of what the program mapped
// itself. The view must be ready. False: the store cannot be written.
bool tide_switch_restart_peak(struct tide_store_view *view);

// A mark. False: there are TIDE_MOMENTS already, or nobody has begun to write to the store. Of a
// name too long the beginning is kept.
bool tide_switch_mark(struct tide_store_view *view, const char *name, uint64_t now_ns);

// Is a name fit for a mark? One that is not empty, of so many bytes at most, UTF-8, without control
// characters.
#define TIDE_MARK_NAME_MOST (TIDE_MOMENT_NAME_BYTES - 1)
enum tide_err tide_mark_check(const char *name, struct tide_diag *diag);
