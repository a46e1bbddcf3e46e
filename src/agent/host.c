// SPDX-License-Identifier: Apache-2.0
//
// The recorder's host in a process that has been running for long. All that the preload library
// reads from a process's beginning, the tracer has put into the face. Fork children are not
// followed: they pass through for good.
#include "record/host.h"

#include "agent/agent.h"
#include "record/door.h"
#include "rt/sys.h"

#include <sys/prctl.h>

#define TIDE_SEEN_BY_TRACER __attribute__((visibility("default"), used))
TIDE_SEEN_BY_TRACER struct tide_agent_face tide_agent_face;
extern struct tide_agent_face tide_agent_face_here __attribute__((alias("tide_agent_face")));
TIDE_SEEN_BY_TRACER const char tide_agent_store_name[] = TIDE_AGENT_STORE_NAME;

enum { MAX_ARGUMENTS = 1024 };

// The arguments lie in the face one behind the other, each with its NUL.
static const char *const *arguments(uint64_t *ret_n)
{
  static const char *argv[MAX_ARGUMENTS + 1];
  const struct tide_agent_face *face = &tide_agent_face;
  uint64_t n = 0;
  for (uint32_t i = 0; i < face->command_bytes && n < MAX_ARGUMENTS; i++)
    if (!i || !face->command[i - 1])
      argv[n++] = face->command + i;
  *ret_n = n;
  return argv;
}

// What the tracer has mapped for us: code, data, islands.
static void note_given_ranges(const struct tide_agent_face *face)
{
  for (uint32_t i = 0; i < face->n_ranges && i < TIDE_AGENT_RANGES; i++)
    tide_sys_note((void *)face->ranges[i].start, face->ranges[i].bytes);
}

static bool describe_image(struct tide_host_image *ret_image)
{
  const struct tide_agent_face *face = &tide_agent_face;
  tide_sys_page_bytes = face->page_bytes;
  note_given_ranges(face);
  tide_agent_face.own_ranges = (uint64_t)tide_sys_ranges();
  tide_agent_face.apart_at = (uint64_t)&tide_live_map.apart;
  *ret_image = (struct tide_host_image){
      .program = face->program,
      .allocator = face->allocator,
      .vdso = face->vdso,
      .stack_top = face->stack_top,
      .stack_origin = face->stack_origin,
      .depth = face->depth_limit,
      .sample_bits = face->sample_bits,
      .blocks_are_apart = face->blocks_are_apart,
      .is_supervised = true,
      .is_agent = true,
      .unhooked = face->unhooked,
      .refused = face->refused,
      .follows_forks = face->door[0],
  };
  ret_image->argv = arguments(&ret_image->argc);
  return true;
}

// Mapped by the tracer, as large as it says: what is more than the recorder asks for goes.
static void *take_given(uint64_t bytes)
{
  const struct tide_agent_face *face = &tide_agent_face;
  void *p = (void *)face->store_given;
  tide_sys_adopt_map(p, bytes);
  if (bytes < face->store_bytes)
    TIDE_SYS(SYS_munmap, face->store_given + bytes, face->store_bytes - bytes);
  return p;
}

static void *store_at_door(uint64_t bytes)
{
  struct tide_door_hello hello = {.magic = TIDE_DOOR_MAGIC,
                                  .version = TIDE_DOOR_VERSION,
                                  .pid = tide_sys_pid(),
                                  .flags = TIDE_DOOR_FORKED,
                                  .store_bytes = bytes,
                                  .parent_pid = (uint32_t)TIDE_SYS(SYS_getppid, 0)};
  enum tide_door_outcome outcome; // the core counts who gets none
  return tide_door_store(tide_agent_face.door, &hello, &outcome);
}

// Of its first image made by the tracer. Whatever else the recorder would like is not to be had.
static void *store(bool forked, uint64_t bytes)
{
  struct tide_agent_face *face = &tide_agent_face;
  void *p = forked                      ? store_at_door(bytes)
            : bytes > face->store_bytes ? NULL
            : face->store_given         ? take_given(bytes)
                                        : tide_door_adopt(face->store_fd, bytes);
  tide_store_release(&face->store_at, (uint64_t)p);
  return p;
}

static void started(void) {}

// A thread's end is told by nobody: its place is given away, when its name cannot be had any more.
static void thread_began(struct tide_thread *t, uint32_t tid)
{
  (void)tid;
  TIDE_SYS(SYS_prctl, PR_GET_NAME, t->writer.slot->name);
}

static uint32_t thread_id(void)
{
  const char *tp = __builtin_thread_pointer();
  return tide_agent_face.tid_offset ? *(const uint32_t *)(tp + tide_agent_face.tid_offset) : 0;
}

static bool is_at_work(void)
{
  return false;
}

static bool owns_block(const void *p)
{
  (void)p;
  return false;
}

const struct tide_host tide_host = {
    .start = describe_image,
    .store = store,
    .started = started,
    .object_at = tide_agent_object_at,
    .each_object = tide_agent_each_object,
    .thread_began = thread_began,
    .thread_id = thread_id,
    .is_at_work = is_at_work,
    .owns_block = owns_block,
};
