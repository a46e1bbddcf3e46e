// SPDX-License-Identifier: Apache-2.0
//
// Whose process is at the other end of a TCP connection on this machine? The kernel lists every
// socket with the user it belongs to, in /proc/net; the list is of this network namespace, which is
// where every connection to a loopback address comes from.
#pragma once
#include <stdbool.h>

// True: the other end is an open socket of this process's own user, or of root. False: it is
// another user's or closed already, or nobody can tell (it is on another machine, or there is no
// /proc).
bool tide_peer_is_own(int fd);
