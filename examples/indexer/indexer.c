// SPDX-License-Identifier: Apache-2.0
//
// A small text indexer with three memory problems that a profiler should name at a glance:
//
//  1. the queue between the reader and the indexing thread has no limit, so whenever reading is
//     faster the documents pile up (the peak);
//  2. every token is copied to be normalised and freed before the next (the churn);
//  3. snippets of some documents are kept and never given back (the leak).
//
//   indexer [DOCUMENTS [QUEUE_LIMIT]]      12000 documents, no limit
//
// The text is made up from a fixed seed, so runs can be compared.
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct document {
  struct document *next;
  unsigned id;
  char *text;
};

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct document *head, *tail;
  unsigned n_waiting, limit; // limit 0: none
  int closed;
};

struct term {
  struct term *next;
  char *word;
  unsigned char *postings; // distances between document ids, seven bits per byte
  unsigned n_bytes, room_bytes;
  unsigned last_id;
};

struct index {
  struct term *buckets[4096];
  unsigned n_terms;
};

static unsigned random_next(unsigned *state)
{
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static struct document *document_read(unsigned id)
{
  unsigned seed = id * 2654435761u + 1;
  size_t length = 1500 + random_next(&seed) % 1500;
  struct document *document = malloc(sizeof *document);
  document->id = id;
  document->text = malloc(length + 16);
  size_t at = 0;
  while (at < length) {
    unsigned spread = random_next(&seed) % 12; // few words are common, many are rare
    unsigned word = random_next(&seed) % (8u << spread);
    document->text[at++] = 'W';
    for (; word > 0; word /= 26)
      document->text[at++] = (char)('A' + word % 26);
    document->text[at++] = ' ';
  }
  document->text[at] = '\0';
  return document;
}

static void document_free(struct document *document)
{
  free(document->text);
  free(document);
}

static void queue_push(struct queue *queue, struct document *document)
{
  pthread_mutex_lock(&queue->lock);
  while (queue->limit != 0 && queue->n_waiting >= queue->limit)
    pthread_cond_wait(&queue->changed, &queue->lock);
  document->next = NULL;
  if (queue->head)
    queue->tail->next = document;
  else
    queue->head = document;
  queue->tail = document;
  queue->n_waiting++;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
}

static struct document *queue_pop(struct queue *queue)
{
  pthread_mutex_lock(&queue->lock);
  while (queue->head == NULL && !queue->closed)
    pthread_cond_wait(&queue->changed, &queue->lock);
  struct document *document = queue->head;
  if (document) {
    queue->head = document->next;
    queue->n_waiting--;
  }
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
  return document;
}

static void queue_close(struct queue *queue)
{
  pthread_mutex_lock(&queue->lock);
  queue->closed = 1;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
}

static char *token_normalise(const char *start, size_t length)
{
  char *token = malloc(length + 1);
  for (size_t i = 0; i < length; i++)
    token[i] = (char)tolower((unsigned char)start[i]);
  token[length] = '\0';
  return token;
}

static struct term *term_intern(struct index *index, const char *word)
{
  unsigned hash = 5381;
  for (const char *p = word; *p; p++)
    hash = hash * 33 + (unsigned char)*p;
  struct term **bucket = &index->buckets[hash % 4096];
  for (struct term *term = *bucket; term; term = term->next)
    if (strcmp(term->word, word) == 0)
      return term;
  struct term *term = calloc(1, sizeof *term);
  term->word = strdup(word);
  term->next = *bucket;
  *bucket = term;
  index->n_terms++;
  return term;
}

static void postings_append(struct term *term, unsigned id)
{
  if (term->n_bytes > 0 && term->last_id == id)
    return;
  if (term->n_bytes + 5 > term->room_bytes) {
    term->room_bytes = term->room_bytes ? term->room_bytes * 2 : 8;
    term->postings = realloc(term->postings, term->room_bytes);
  }
  unsigned distance = id - term->last_id;
  for (; distance > 127; distance >>= 7)
    term->postings[term->n_bytes++] = (unsigned char)(distance | 128);
  term->postings[term->n_bytes++] = (unsigned char)distance;
  term->last_id = id;
}

static void document_index(struct index *index, const struct document *document)
{
  const char *at = document->text;
  while (*at) {
    size_t length = strcspn(at, " ");
    char *token = token_normalise(at, length);
    postings_append(term_intern(index, token), document->id);
    free(token);
    at += length + (at[length] == ' ');
  }
}

// Remembers how some documents began, in a table that nobody empties.
static char *snippets[1024];
static void snippet_remember(const struct document *document)
{
  if (document->id % 16 == 0)
    snippets[document->id / 16 % 1024] = strndup(document->text, 160);
}

static void index_free(struct index *index)
{
  for (size_t i = 0; i < sizeof index->buckets / sizeof index->buckets[0]; i++)
    for (struct term *term = index->buckets[i], *next; term; term = next) {
      next = term->next;
      free(term->word);
      free(term->postings);
      free(term);
    }
  free(index);
}

struct reader {
  struct queue *queue;
  unsigned n_documents;
};

static void *reader_main(void *argument)
{
  struct reader *reader = argument;
  for (unsigned id = 0; id < reader->n_documents; id++)
    queue_push(reader->queue, document_read(id));
  queue_close(reader->queue);
  return NULL;
}

int main(int argc, char **argv)
{
  struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  struct reader reader = {&queue, argc > 1 ? (unsigned)atoi(argv[1]) : 12000};
  queue.limit = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
  struct index *index = calloc(1, sizeof *index);
  pthread_t thread;
  if (pthread_create(&thread, NULL, reader_main, &reader) != 0)
    return 1;
  for (struct document *document; (document = queue_pop(&queue)) != NULL;) {
    document_index(index, document);
    snippet_remember(document);
    document_free(document);
  }
  pthread_join(thread, NULL);
  printf("indexed %u documents, %u terms; the first begins '%.20s'\n", reader.n_documents,
         index->n_terms, snippets[0] ? snippets[0] : "");
  index_free(index);
  return 0;
}
