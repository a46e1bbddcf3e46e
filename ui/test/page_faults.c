// SPDX-License-Identifier: Apache-2.0
//
// Three faults whose findings stand on counts alone, whenever somebody looked: blocks for a moment,
// a block that grows in small steps, capacity for each connection.
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

static volatile char sink;

APART static void render(size_t bytes)
{
  char *line = malloc(bytes);
  memset(line, 'x', bytes);
  sink = line[bytes / 2];
  free(line);
}

APART static char *append(char *log, size_t bytes)
{
  log = realloc(log, bytes);
  memset(log + bytes - 16, 'y', 16);
  return log;
}

APART static void *accept_connection(void)
{
  return memset(malloc(40000), 1, 40000);
}

int main(void)
{
  char *log = NULL;
  void *connections[64];
  for (int i = 0; i < 64; i++)
    connections[i] = accept_connection();
  for (size_t i = 0; i < 40000; i++)
    render(20 + i % 50);
  for (size_t i = 1; i <= 3000; i++)
    log = append(log, 16 * i);
  for (int i = 0; i < 64; i++)
    free(connections[i]);
  free(log);
  return 0;
}
