// SPDX-License-Identifier: Apache-2.0
//
// Many threads ask one that answers, which ends in the middle of it, again and again: everything
// that was posted is answered or refused, once; every draft is freed; and (under the thread
// sanitizer) nobody reads what another writes.
#include "supervise/control.h"
#include "tide/format.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_ROUNDS = 30, N_ASKERS = 6, N_ASKS = 600 };

static void must(bool condition, const char *what)
{
  if (condition)
    return;
  fprintf(stderr, "control_race: %s\n", what);
  exit(1);
}

// In the place of the real one: a draft's bytes are its version.
enum tide_err tide_file_encode(const struct tide_capture *capture, struct tide_buf *out,
                               struct tide_diag *diag)
{
  tide_buf_u64(out, capture->duration_ns);
  return TIDE_ERR_OK;
}

struct round {
  struct tide_control *control;
  unsigned n_before_end; // answers, then it closes
  bool is_over;          // atomic: nobody asks any more
  uint64_t n_taken;
};

static void answer_one(struct round *round, struct tide_asked *asked)
{
  struct tide_answer answer = {.is_running = true, .time_ns = ++round->n_taken};
  if (tide_asked_ask(asked)->kind == TIDE_ASK_DRAFT) {
    const struct tide_capture capture = {.duration_ns = round->n_taken};
    struct tide_draft *draft = NULL;
    must(!tide_draft_new(&capture, round->n_taken, &draft, NULL), "no draft");
    answer.draft = tide_draft_share(draft);
    tide_draft_free(draft);
  }
  tide_control_answer(round->control, asked, &answer);
}

static void *answer_all(void *context)
{
  struct round *round = context;
  struct pollfd woken = {tide_control_wake_fd(round->control), POLLIN, 0};
  while (round->n_taken < round->n_before_end &&
         !__atomic_load_n(&round->is_over, __ATOMIC_ACQUIRE)) {
    poll(&woken, 1, 10);
    tide_control_drain(round->control);
    for (int paced = 0; paced < 2; paced++)
      for (struct tide_asked *asked; (asked = tide_control_take(round->control, paced));)
        answer_one(round, asked);
  }
  tide_control_close(round->control);
  return NULL;
}

static void judge(struct tide_answer *answer, const struct tide_ask *ask)
{
  must(answer->is_running == !answer->err, "an answer that is neither");
  must(answer->is_running || strstr(answer->diag.text, "ended"), "no reason");
  if (answer->is_running && ask->kind == TIDE_ASK_DRAFT) {
    uint64_t version = 0;
    must(answer->draft && answer->draft->bytes.n == sizeof version, "no bytes");
    memcpy(&version, answer->draft->bytes.data, sizeof version);
    must(version == answer->draft->version && version == answer->time_ns, "another's draft");
  }
  tide_answer_done(answer);
}

static void *ask_all(void *context)
{
  struct round *round = context;
  for (unsigned i = 0; i < N_ASKS; i++) {
    const struct tide_ask ask = {.kind = i % 2 ? TIDE_ASK_DRAFT : TIDE_ASK_STATE,
                                 .is_paced = i % 3 == 0};
    struct tide_asked *asked = NULL;
    struct tide_answer answer = {0};
    if (tide_control_post(round->control, &ask, &asked, NULL))
      continue; // too many
    if (i % 5 == 0) {
      tide_control_forget(round->control, &asked);
    } else if (tide_control_collect(round->control, &asked, i % 7 ? 30000 : 0, &answer)) {
      judge(&answer, &ask);
    } else {
      must(i % 7 == 0, "never answered");
      tide_control_forget(round->control, &asked);
    }
    must(!asked, "kept");
  }
  return NULL;
}

int main(void)
{
  for (unsigned i = 0; i < N_ROUNDS; i++) {
    struct round round = {.control = tide_control_new(),
                          .n_before_end = i * N_ASKERS * N_ASKS / N_ROUNDS / 2};
    pthread_t answerer, askers[N_ASKERS];
    pthread_create(&answerer, NULL, answer_all, &round);
    for (size_t k = 0; k < N_ASKERS; k++)
      pthread_create(&askers[k], NULL, ask_all, &round);
    for (size_t k = 0; k < N_ASKERS; k++)
      pthread_join(askers[k], NULL);
    __atomic_store_n(&round.is_over, true, __ATOMIC_RELEASE);
    pthread_join(answerer, NULL);
    tide_control_free(round.control);
  }
  puts("1 passed, 0 failed");
  return 0;
}
