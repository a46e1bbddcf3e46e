// SPDX-License-Identifier: Apache-2.0
//
// The connections that are open. Everybody on the machine can make some, and leave them idle or
// send byte by byte; that must not shut the user out. So a connection is a stranger until it has
// brought a request that was let in, and
//  1. strangers are few at a time: one more, and the oldest of them is hung up on;
//  2. a stranger stays only so long, whatever it sends;
//  3. those who were let in are few, too; of them the one that has been silent longest goes.
// A browser sends its request as soon as it is connected, and is no stranger before many others
// could have been accepted.
// Hanging up is a shutdown(): whoever drives the sockets sees their end and closes them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_guest {
  int fd;
  signed char own;   // tide_guest_is_own(): 1 yes, -1 no, 0 not asked yet
  uint64_t since_ms; // connected; once let in, its latest request
  struct tide_guest *before, *after;
  struct tide_guest_list *list; // NULL: hung up on
};

struct tide_guest_list { // by rising since_ms
  struct tide_guest *first, *last;
  size_t n;
};

struct tide_guests {
  struct tide_guest_list strangers, known;
  uint64_t patience_ms; // with a stranger
};

enum { TIDE_GUESTS_MAX_STRANGERS = 64, TIDE_GUESTS_MAX_KNOWN = 64 };

// Owned by the caller, who hands it to tide_guests_leave() when the connection is closed.
struct tide_guest *tide_guests_come(struct tide_guests *guests, int fd);
void tide_guests_let_in(struct tide_guests *guests, struct tide_guest *guest);
void tide_guests_leave(struct tide_guests *guests, struct tide_guest *guest); // NULL is fine

// Hangs up on strangers who have been here too long.
void tide_guests_sweep(struct tide_guests *guests);

// Whose process is at the other end of a TCP connection on this machine? The kernel lists every
// socket with the user it belongs to, in /proc/net; the list is of this network namespace, which is
// where every connection to a loopback address comes from.
//
// True: the other end is an open socket of this process's own user, or of root. False: it is
// another user's or closed already, or nobody can tell (it is on another machine, or there is no
// /proc).
bool tide_guest_is_own(int fd);
