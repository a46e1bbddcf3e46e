// SPDX-License-Identifier: Apache-2.0
//
// What the library exports for the program to ask (tidemark.h): each is one of src/ask for the
// calling thread, with errno as C has it.
#include "ask/ask.h"
#include "preload/hook.h"

#include <errno.h>
#pragma GCC visibility push(default)
#include <tidemark/tidemark.h>
#pragma GCC visibility pop

static __thread struct tide_asking asking __attribute__((tls_model("initial-exec")));

static int answered(long result)
{
  if (TIDE_LIKELY(result >= 0))
    return (int)result;
  errno = (int)-result;
  return -1;
}

// Of what may be the first event: a boot asks libc, which may set errno.
static int answered_keeping(int error, long result)
{
  errno = error;
  return answered(result);
}

int tidemark_v1_stats(int whose, void *stats, size_t bytes)
{
  return answered(tide_ask_stats(&tide_self, whose, stats, bytes));
}

int tidemark_v1_region_begin(void *region, size_t bytes, int whose)
{
  return answered(tide_ask_region_begin(&tide_self, region, bytes, whose));
}

int tidemark_v1_region_read(const void *region, void *stats, size_t bytes)
{
  return answered(tide_ask_region_read(&tide_self, region, stats, bytes));
}

int tidemark_v1_region_end(void *region, void *stats, size_t bytes)
{
  return answered(tide_ask_region_end(&tide_self, region, stats, bytes));
}

int tidemark_v1_region_check(const void *region, int what, uint64_t limit, const char *where)
{
  return answered(tide_ask_region_check(&tide_self, region, what, limit, where));
}

int tidemark_v1_mark(const char *name)
{
  return answered(tide_ask_mark(&tide_self, name));
}

int tidemark_v1_pause(void)
{
  return answered(tide_ask_pause(&tide_self));
}

int tidemark_v1_resume(void)
{
  return answered(tide_ask_resume(&tide_self));
}

int tidemark_v1_snapshot(void)
{
  return answered(tide_ask_snapshot(&tide_self));
}

int tidemark_v1_dump(const char *path)
{
  return answered(tide_ask_dump(&tide_self, path));
}

int tidemark_v1_pprof_write(int fd)
{
  return answered(tide_ask_pprof_write(&tide_self, fd));
}

int tidemark_v1_event(uint64_t weight)
{
  return answered_keeping(errno, tide_ask_event(&tide_self, weight, TIDE_CALLER_REGS()));
}

int tidemark_v1_event_stats(void *stats, size_t bytes)
{
  return answered(tide_ask_event_stats(&tide_self, stats, bytes));
}

int tidemark_v1_scope_begin(const char *name)
{
  return answered(tide_ask_scope_begin(&tide_self, &asking, name));
}

int tidemark_v1_scope_end(void)
{
  return answered(tide_ask_scope_end(&tide_self, &asking));
}

int tidemark_v1_pool_begin(void)
{
  return answered(tide_ask_pool_begin(&tide_self, &asking));
}

int tidemark_v1_pool_end(void)
{
  return answered(tide_ask_pool_end(&tide_self, &asking));
}

int tidemark_v1_block_alloc(const void *block, size_t bytes)
{
  return answered_keeping(
      errno, tide_ask_block_alloc(&tide_self, &asking, block, bytes, TIDE_CALLER_REGS()));
}

int tidemark_v1_block_free(const void *block)
{
  return answered_keeping(errno, tide_ask_block_free(&tide_self, &asking, block));
}

int tidemark_v1_blocks_free(const void *from, size_t bytes)
{
  return answered_keeping(errno, tide_ask_blocks_free(&tide_self, &asking, from, bytes));
}
