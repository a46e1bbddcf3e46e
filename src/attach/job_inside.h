// SPDX-License-Identifier: Apache-2.0
//
// What the files of a job share: job.c, which puts on and takes off, and later.c, which adds.
#pragma once
#include "attach/leftovers.h"
#include "attach/patch.h"

struct tide_job_options;

struct tide_job {
  const struct tide_job_options *options;
  struct tide_outside *outside;
  struct tide_loaded_list objects;
  struct tide_hookables entries;
  struct tide_plan plan;
  struct tide_agent_image agent;
  struct tide_tracer tracer;
  struct tide_attachment attachment;
  struct tide_leftovers left; // of another tracer
  struct tide_remote_call memfd, map_store, close_store;
  int store_fd;
  uint64_t one_stopped_ns, all_stopped_ns;
  bool is_lenient;   // with whatever can be planned
  bool was_added_to; // there is more in the process than the plan has
};

enum tide_job_whom { TIDE_JOB_ONE, TIDE_JOB_ONE_IDLE, TIDE_JOB_ALL };

// Has a step made with all threads stopped, or with one, again while it says "later", and part by
// part with one after another.
enum tide_patch_step tide_job_stopped(struct tide_job *job, enum tide_job_whom whom,
                                      enum tide_patch_step (*step)(struct tide_job *));
void tide_job_unplan(struct tide_job *job);
