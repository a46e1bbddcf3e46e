// SPDX-License-Identifier: Apache-2.0
//
// Guests come and go; below, whose process a guest is.
#include "serve/guests.h"

#include "base/alloc.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void unlink_guest(struct tide_guest *guest)
{
  struct tide_guest_list *list = guest->list;
  if (!list)
    return;
  *(guest->before ? &guest->before->after : &list->first) = guest->after;
  *(guest->after ? &guest->after->before : &list->last) = guest->before;
  list->n--;
  guest->list = NULL;
}

static void append_guest(struct tide_guest_list *list, struct tide_guest *guest)
{
  guest->since_ms = now_ms();
  guest->list = list;
  guest->before = list->last;
  guest->after = NULL;
  *(list->last ? &list->last->after : &list->first) = guest;
  list->last = guest;
  list->n++;
}

static void hang_up(struct tide_guest *guest)
{
  unlink_guest(guest);
  shutdown(guest->fd, SHUT_RDWR);
}

struct tide_guest *tide_guests_come(struct tide_guests *guests, int fd)
{
  struct tide_guest *guest = tide_alloc(sizeof *guest);
  guest->fd = fd;
  if (guests->strangers.n == TIDE_GUESTS_MAX_STRANGERS)
    hang_up(guests->strangers.first);
  append_guest(&guests->strangers, guest);
  return guest;
}

void tide_guests_let_in(struct tide_guests *guests, struct tide_guest *guest)
{
  if (!guest->list)
    return; // its last words
  unlink_guest(guest);
  if (guests->known.n == TIDE_GUESTS_MAX_KNOWN)
    hang_up(guests->known.first);
  append_guest(&guests->known, guest);
}

void tide_guests_leave(struct tide_guests *guests, struct tide_guest *guest)
{
  if (guest)
    unlink_guest(guest);
  free(guest);
}

void tide_guests_sweep(struct tide_guests *guests)
{
  uint64_t now = now_ms();
  struct tide_guest *oldest;
  while ((oldest = guests->strangers.first) && now - oldest->since_ms > guests->patience_ms)
    hang_up(oldest);
}

// A line of /proc/net/tcp, and of tcp6 likewise with longer addresses:
//
//   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//    0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 12345
//
// An address is printed as words of the machine, so that reading it back gives its bytes; a port as
// a number. The other end's line has our two ends the other way round. A client of IPv4 may be in
// either file (::ffff:127.0.0.1).
//
// Only established connections count: of a socket that its process has closed the kernel says that
// it is of user 0.
enum { ESTABLISHED = 1, LINE_BYTES = 512 };

struct end { // of a connection; of IPv4, as ::ffff:a.b.c.d
  uint32_t words[4];
  unsigned port;
};

static void set_v4(struct end *end, uint32_t word)
{
  *end = (struct end){{0, 0, htonl(0xffff), word}, end->port};
}

static bool end_of(int fd, int (*ask)(int, struct sockaddr *, socklen_t *), struct end *ret_end)
{
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } a = {0};
  socklen_t n = sizeof a;
  if (ask(fd, &a.any, &n))
    return false;
  if (a.any.sa_family == AF_INET) {
    ret_end->port = ntohs(a.v4.sin_port);
    set_v4(ret_end, a.v4.sin_addr.s_addr);
    return true;
  }
  ret_end->port = ntohs(a.v6.sin6_port);
  memcpy(ret_end->words, &a.v6.sin6_addr, sizeof ret_end->words);
  return a.any.sa_family == AF_INET6;
}

static bool parse_end(const char *text, struct end *ret_end)
{
  uint32_t *w = ret_end->words;
  if (strcspn(text, ":") == 8) {
    uint32_t word;
    if (sscanf(text, "%8x:%4x", &word, &ret_end->port) != 2)
      return false;
    set_v4(ret_end, word);
    return true;
  }
  return sscanf(text, "%8x%8x%8x%8x:%4x", &w[0], &w[1], &w[2], &w[3], &ret_end->port) == 5;
}

static bool is_same(const struct end *a, const struct end *b)
{
  return a->port == b->port && memcmp(a->words, b->words, sizeof a->words) == 0;
}

// Does the line tell of an established connection from one end to the other? Then whose it is.
static bool line_tells(const char *line, const struct end *from, const struct end *to,
                       unsigned *ret_uid)
{
  char local[64], remote[64];
  struct end a = {0}, b = {0};
  unsigned state;
  unsigned long inode;
  if (sscanf(line, "%*s %63s %63s %x %*s %*s %*s %u %*s %lu", local, remote, &state, ret_uid,
             &inode) != 5)
    return false;
  return state == ESTABLISHED && inode && parse_end(local, &a) && parse_end(remote, &b) &&
         is_same(&a, from) && is_same(&b, to);
}

static bool find_owner(const char *path, const struct end *from, const struct end *to,
                       unsigned *ret_uid)
{
  char line[LINE_BYTES];
  bool found = false;
  FILE *file = fopen(path, "re");
  while (file && !found && fgets(line, sizeof line, file))
    found = line_tells(line, from, to, ret_uid);
  if (file)
    fclose(file);
  return found;
}

bool tide_guest_is_own(int fd)
{
  struct end ours = {0}, theirs = {0};
  unsigned uid;
  if (!end_of(fd, getsockname, &ours) || !end_of(fd, getpeername, &theirs))
    return false;
  if (!find_owner("/proc/self/net/tcp", &theirs, &ours, &uid) &&
      !find_owner("/proc/self/net/tcp6", &theirs, &ours, &uid))
    return false;
  return uid == geteuid() || uid == 0;
}
