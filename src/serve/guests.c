// SPDX-License-Identifier: Apache-2.0
//
// See guests.h.
#include "serve/guests.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

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

static void append(struct tide_guest_list *list, struct tide_guest *guest)
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
  append(&guests->strangers, guest);
  return guest;
}

void tide_guests_let_in(struct tide_guests *guests, struct tide_guest *guest)
{
  if (!guest->list)
    return; // its last words
  unlink_guest(guest);
  if (guests->known.n == TIDE_GUESTS_MAX_KNOWN)
    hang_up(guests->known.first);
  append(&guests->known, guest);
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
