// SPDX-License-Identifier: Apache-2.0
//
// The latch, and what is said on stderr.
#include "record/boot_state.h"

#include "rt/sys.h"
#include "rt/text.h"
#include "store/store.h"

struct tide_boot_state tide_boot_state;

bool tide_boot_ready(void)
{
  return tide_load_acquire(&tide_boot_state.now) == TIDE_BOOT_ON && tide_boot_state.gate->alive;
}

bool tide_boot_is_off(void)
{
  return tide_load_relaxed(&tide_boot_state.now) == TIDE_BOOT_OFF;
}

bool tide_boot_was_paused;

// After the pulse, by whose change a thread is told: see observe/switches.c.
bool tide_boot_is_paused(void)
{
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  bool is_paused = tide_load_relaxed(&tide_store.header->paused);
  if (TIDE_UNLIKELY(is_paused != tide_load_relaxed(&tide_boot_was_paused)))
    tide_store_relaxed(&tide_boot_was_paused, is_paused);
  return is_paused;
}

void tide_boot_say(const char *what, const char *detail)
{
  char text[512];
  struct tide_line line = TIDE_LINE(text);
  tide_line_add(&line, "tidemark: ");
  tide_line_add(&line, what);
  tide_line_add(&line, detail);
  tide_line_add(&line, "\n");
  tide_sys_say(text, line.n);
}

TIDE_COLD void tide_boot_off(enum tide_off_reason reason)
{
  if (__atomic_exchange_n(&tide_boot_state.now, TIDE_BOOT_OFF, __ATOMIC_ACQ_REL) == TIDE_BOOT_OFF)
    return;
  struct tide_store_header *h = tide_store.header;
  if (tide_sys_confined)
    reason = TIDE_OFF_FORBIDDEN;          // whatever was lacking then
  if (h && tide_boot_state.gate->alive) { // in a fork child it is its parent's, and not there
    h->off_reason = reason;
    h->state = TIDE_STATE_OFF;
    tide_store_code_changed(); // every thread looks up and finds us off
    tide_store_turn_away();
  }
  static const char *const why[] = {
      [TIDE_OFF_NO_MEMORY] = "the system refused memory for the recorder",
      [TIDE_OFF_INTERNAL] = "an internal check failed",
      [TIDE_OFF_FORBIDDEN] = "the program forbids itself what the recorder needs",
  };
  tide_boot_say(why[reason], "; recording has stopped, the program goes on");
}
