// SPDX-License-Identifier: Apache-2.0
//
// Programs with a planted fault each, by the name in argv[1]. The line that is to blame says so:
// "fault: NAME RULE". Everything else about them is healthy.
#include "steps.h"

struct node {
  struct node *next;
  char text[120];
};

// ---- leaks ----

APART static void leak_each_step(int step)
{
  char *copy = filled(malloc(900), 900); // fault: leak_request leak
  copy[0] = (char)step;
}

APART static void leak_on_error(int step)
{
  char *reply = filled(malloc(2000), 2000); // fault: leak_error_path leak
  if (step % 5 == 0)
    return; // the way out that forgets
  free(reply);
}

APART static void leak_string(int step)
{
  char name[300];
  memset(name, 'a' + step % 26, sizeof name - 1);
  name[sizeof name - 1] = 0;
  sink = (unsigned char)strdup(name)[3]; // fault: leak_strdup leak
}

APART static void leak_old(char **slot)
{
  *slot = filled(malloc(700), 700); // fault: leak_overwritten leak
}

static void *leaking_thread(void *arg)
{
  char *state = filled(calloc(1, 1500), 1500); // fault: leak_per_thread leak
  sink = (unsigned char)state[1];
  return arg;
}

static void run_leak(const char *name)
{
  char *slot = NULL;
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    if (!strcmp(name, "leak_request"))
      leak_each_step(i);
    else if (!strcmp(name, "leak_error_path"))
      leak_on_error(i);
    else if (!strcmp(name, "leak_strdup"))
      leak_string(i);
    else if (!strcmp(name, "leak_overwritten"))
      leak_old(&slot);
    else if (i % 4 == 0) {
      pthread_t thread;
      pthread_create(&thread, NULL, leaking_thread, NULL);
      pthread_join(thread, NULL);
    }
  }
  free(slot);
}

// ---- what only grows, and is freed at the end ----

APART static struct node *history_add(struct node *list)
{
  struct node *entry = filled(malloc(sizeof *entry), sizeof *entry); // fault: growth_list growth
  entry->next = list;
  return entry;
}

static void run_growth_list(void)
{
  struct node *list = NULL;
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    list = history_add(history_add(list));
  }
  for (struct node *next; list; list = next) {
    next = list->next;
    free(list);
  }
}

enum { SLOTS = 4096 };
static char *cache[SLOTS];

APART static char *cache_get(unsigned key)
{
  if (!cache[key % SLOTS])
    cache[key % SLOTS] = filled(malloc(600), 600); // fault: growth_cache growth
  return cache[key % SLOTS];
}

static void run_growth_cache(void)
{
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    sink = (unsigned char)cache_get((unsigned)i * 3)[5];
    sink = (unsigned char)cache_get((unsigned)i / 2 * 3)[5];
  }
  for (int i = 0; i < SLOTS; i++)
    free(cache[i]);
}

APART static char *session_open(void)
{
  return filled(malloc(1200), 1200); // fault: growth_sessions growth
}

// Half of the sessions are closed, the others forgotten until the end.
static void run_growth_sessions(void)
{
  static char *open[STEPS];
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    open[i] = session_open();
    if (i >= 4 && i % 2 == 0) {
      free(open[i - 4]);
      open[i - 4] = NULL;
    }
  }
  for (int i = 0; i < STEPS; i++)
    free(open[i]);
}

// ---- queues ----

struct queue {
  pthread_mutex_t lock;
  struct node *first, **last;
  int n, closed;
};
static struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first};

static void queue_put(struct node *item)
{
  pthread_mutex_lock(&queue.lock);
  item->next = NULL;
  *queue.last = item;
  queue.last = &item->next;
  queue.n++;
  pthread_mutex_unlock(&queue.lock);
}

static struct node *queue_take(int *ret_closed)
{
  pthread_mutex_lock(&queue.lock);
  struct node *item = queue.first;
  if (item) {
    queue.first = item->next;
    if (!queue.first)
      queue.last = &queue.first;
    queue.n--;
  }
  *ret_closed = queue.closed;
  pthread_mutex_unlock(&queue.lock);
  return item;
}

static void *consume(void *us)
{
  for (int closed = 0;;) {
    struct node *item = queue_take(&closed);
    if (!item && closed)
      return NULL;
    if (item)
      free(item);
    nap_us((long)(intptr_t)us);
  }
}

static void consumed(void (*produce)(void), long us)
{
  pthread_t thread;
  pthread_create(&thread, NULL, consume, (void *)(intptr_t)us);
  produce();
  pthread_mutex_lock(&queue.lock);
  queue.closed = 1;
  pthread_mutex_unlock(&queue.lock);
  pthread_join(thread, NULL);
}

// All at once at the start; used up over the whole run.
APART static void burst(void)
{
  for (int i = 0; i < 800; i++)
    queue_put(filled(malloc(4000), 4000)); // fault: backlog_burst backlog
}

// Twice as fast as it is used up.
APART static void flow(void)
{
  for (int i = 0; i < 700; i++) {
    queue_put(filled(malloc(3000), 3000)); // fault: backlog_flow backlog
    nap_us(150);
  }
}

APART static void flow_messages(void)
{
  for (int i = 0; i < 350; i++) {
    struct node *message = filled(malloc(sizeof *message), sizeof *message);
    queue_put(message);
    queue_put(filled(calloc(1, 9000), 9000)); // fault: backlog_payload backlog
    nap_us(250);
  }
}

APART static struct node *event_new(void)
{
  return filled(malloc(2500), 2500); // fault: backlog_one_thread backlog
}

// In one thread: three come for one that goes.
static void run_backlog_one_thread(void)
{
  int closed;
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    for (int k = 0; k < 3; k++)
      queue_put(event_new());
    free(queue_take(&closed));
  }
  for (struct node *item; (item = queue_take(&closed));) {
    free(item);
    nap_us(10);
  }
}

// ---- capacity ----

APART static char *table_load(void)
{
  return filled(malloc(6 << 20), 6 << 20); // fault: early_table early
}

APART static char *answer_make(int step)
{
  size_t bytes = (size_t)(2 << 20) + (size_t)step * 1024;
  return filled(malloc(bytes), bytes);
}

static void run_early_table(void)
{
  char *table = table_load();
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    if (i % 10 == 9)
      free(answer_make(i));
  }
  free(table);
}

APART static struct node *setting_new(void)
{
  return filled(malloc(500), 500); // fault: early_nodes early
}

static void run_early_nodes(void)
{
  static struct node *settings[6000];
  for (int i = 0; i < 6000; i++)
    settings[i] = setting_new();
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    if (i % 10 == 9)
      free(answer_make(i));
  }
  for (int i = 0; i < 6000; i++)
    free(settings[i]);
}

APART static char *client_new(void)
{
  char *client = malloc(300000); // fault: untouched_clients untouched
  if (!client)
    abort();
  memset(client, 1, 2000);
  return client;
}

static void run_untouched(void)
{
  static char *clients[100];
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    if (i % 12 == 0)
      clients[i / 12] = client_new();
  }
  for (int i = 0; i < 100; i++)
    free(clients[i]);
}

// Three of them together: of the heap as a whole nobody could say whose it is.
APART static char *scratch_new(void)
{
  return malloc(20 << 20); // fault: untouched_scratch untouched
}

APART static char *input_new(void)
{
  return malloc(16 << 20);
}

APART static char *output_new(void)
{
  return malloc(16 << 20);
}

static void run_untouched_scratch(void)
{
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    if (i % 40)
      continue;
    char *used[] = {scratch_new(), input_new(), output_new()};
    for (int k = 0; k < 3; k++) {
      if (!used[k])
        abort();
      memset(used[k], 1, 8192);
    }
    for (int k = 0; k < 3; k++)
      free(used[k]);
  }
}

APART static char *arena_new(void)
{
  char *arena = malloc(64 << 20); // fault: untouched_arena untouched
  if (!arena)
    abort();
  memset(arena, 1, 3 << 20);
  return arena;
}

struct connection { // two blocks for each, of a size of their own
  char *in, *out;
};

APART static struct connection connection_new(void)
{
  struct connection new = {malloc(65536), malloc(9000)}; // fault: each_connection each
  filled(new.in, 65536);
  filled(new.out, 9000);
  return new;
}

static void run_each_connection(void)
{
  static struct connection connections[60];
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    if (i >= STEPS / 2 && i < STEPS / 2 + 60)
      connections[i - STEPS / 2] = connection_new();
  }
  for (int i = 0; i < 60; i++) {
    free(connections[i].in);
    free(connections[i].out);
  }
}

static pthread_barrier_t all_there;
static void *scratch_thread(void *arg)
{
  char *scratch = filled(malloc(200000), 200000); // fault: each_thread each
  pthread_barrier_wait(&all_there);
  step_work(1);
  free(scratch);
  return arg;
}

static void run_each_thread(void)
{
  pthread_t threads[12];
  pthread_barrier_init(&all_there, NULL, 12);
  for (int i = 0; i < 12; i++)
    pthread_create(&threads[i], NULL, scratch_thread, NULL);
  for (int i = 0; i < 12; i++)
    pthread_join(threads[i], NULL);
}

APART static struct node *record_new(void)
{
  return filled(malloc(200), 200); // fault: budget_records budget
}

APART static char *record_name(int i)
{
  return filled(malloc((size_t)(20 + i % 30)), (size_t)(20 + i % 30));
}

static void run_budget(void)
{
  enum { N = 20000 };
  static void *kept[2 * N];
  for (int i = 0; i < N; i++) {
    kept[2 * i] = record_new();
    kept[2 * i + 1] = record_name(i);
  }
  for (int i = 0; i < 2 * N; i++)
    free(kept[i]);
}

// ---- small blocks ----

APART static void **cell_new(void **next)
{
  void **cell = malloc(16); // fault: small_cells small
  if (!cell)
    abort();
  cell[0] = next;
  return cell;
}

static void run_small(void)
{
  void **list = NULL;
  for (int i = 0; i < 100000; i++)
    list = cell_new(list);
  for (void **next; list; list = next) {
    next = list[0];
    free(list);
  }
}

APART static char *flag_new(void)
{
  return filled(calloc(1, 1), 1); // fault: small_flags small
}

static void run_small_flags(void)
{
  static char *flags[60000];
  for (int i = 0; i < 60000; i++)
    flags[i] = flag_new();
  for (int i = 0; i < 60000; i++)
    free(flags[i]);
}

// ---- resizes ----

APART static char *append_line(char *text, size_t *n)
{
  *n += 40;
  text = realloc(text, *n); // fault: steps_append steps
  memset(text + *n - 40, 'x', 40);
  return text;
}

static void run_steps(void)
{
  char *text = NULL, *other = NULL;
  size_t n = 0;
  for (int i = 0; i < 4000; i++) {
    text = append_line(text, &n);
    free(other);
    other = filled(malloc(64), 64); // so that it has to move now and then
  }
  free(text);
  free(other);
}

APART static int *push(int *numbers, size_t n)
{
  return realloc(numbers, (n + 1) * sizeof *numbers); // fault: steps_by_one steps
}

static void run_steps_by_one(void)
{
  int *numbers[8] = {0};
  for (size_t n = 0; n < 3000; n++)
    for (int i = 0; i < 8; i++) {
      numbers[i] = push(numbers[i], n);
      numbers[i][n] = i;
    }
  for (int i = 0; i < 8; i++)
    free(numbers[i]);
}

APART static char *buffer_grow(char *buffer, size_t bytes)
{
  return filled(realloc(buffer, bytes), bytes); // fault: reserve_buffer reserve
}

static void run_reserve(void)
{
  for (int i = 0; i < 3000; i++) {
    char *buffer = NULL;
    for (size_t bytes = 16; bytes <= 4096; bytes *= 2)
      buffer = buffer_grow(buffer, bytes);
    free(buffer);
  }
}

// ---- temporaries ----

APART static unsigned checksum(const char *text, size_t n)
{
  unsigned sum = 0;
  unsigned char *copy = malloc(n); // fault: temporary_copy temporary
  memcpy(copy, text, n);
  for (size_t i = 0; i < n; i += 16)
    sum = sum * 31 + copy[i];
  free(copy);
  return sum;
}

static void run_temporary(void)
{
  char line[64];
  memset(line, 'l', sizeof line);
  for (int i = 0; i < 400000; i++)
    sink = (unsigned char)checksum(line, sizeof line);
}

APART static int format_number(int number)
{
  char *text = malloc((size_t)(12 + number % 90)); // fault: temporary_format temporary
  int n = *(char *)filled(text, 12);
  free(text);
  return n;
}

static void run_temporary_format(void)
{
  for (int i = 0; i < 400000; i++)
    format_number(i);
}

// ---- freed and kept ----

APART static char *row_new(int i)
{
  return filled(malloc(1000), (size_t)(900 + i % 100));
}

APART static char *index_new(int i)
{
  return filled(malloc(48), (size_t)(40 + i % 8)); // fault: fragmented_index fragmented
}

// Rows and what is found in them lie side by side; the rows go, the rest stays and pins the pages.
static void run_fragmented(void)
{
  enum { N = 20000 };
  static char *rows[N], *found[N];
  for (int i = 0; i < N; i++) {
    rows[i] = row_new(i);
    found[i] = index_new(i);
  }
  for (int i = 0; i < N; i++)
    free(rows[i]);
  for (int i = 0; i < STEPS; i++)
    step_work(i);
  for (int i = 0; i < N; i++)
    free(found[i]);
}

static void run_untouched_arena(void)
{
  char *arena = arena_new();
  for (int i = 0; i < STEPS; i++)
    step_work(i);
  free(arena);
}

static void run_backlog_burst(void)
{
  consumed(burst, 400);
}
static void run_backlog_flow(void)
{
  consumed(flow, 600);
}
static void run_backlog_payload(void)
{
  consumed(flow_messages, 500);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } modes[] = {
      {"growth_list", run_growth_list},
      {"growth_cache", run_growth_cache},
      {"growth_sessions", run_growth_sessions},
      {"backlog_burst", run_backlog_burst},
      {"backlog_flow", run_backlog_flow},
      {"backlog_payload", run_backlog_payload},
      {"backlog_one_thread", run_backlog_one_thread},
      {"early_table", run_early_table},
      {"early_nodes", run_early_nodes},
      {"untouched_clients", run_untouched},
      {"untouched_arena", run_untouched_arena},
      {"untouched_scratch", run_untouched_scratch},
      {"each_connection", run_each_connection},
      {"each_thread", run_each_thread},
      {"budget_records", run_budget},
      {"small_cells", run_small},
      {"small_flags", run_small_flags},
      {"steps_append", run_steps},
      {"steps_by_one", run_steps_by_one},
      {"reserve_buffer", run_reserve},
      {"temporary_copy", run_temporary},
      {"temporary_format", run_temporary_format},
      {"fragmented_index", run_fragmented},
  };
  const char *name = argc > 1 ? argv[1] : "";
  if (!strncmp(name, "leak_", 5)) {
    run_leak(name);
    return 0;
  }
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (!strcmp(name, modes[i].name)) {
      modes[i].run();
      return 0;
    }
  fprintf(stderr, "no fault \"%s\"\n", name);
  return 2;
}
