// SPDX-License-Identifier: Apache-2.0
//
// The recorder's side of the door, for tests: written from the protocol in supervise/door.h. Uses
// nothing but libc.
#pragma once
#include <stddef.h>
#include <sys/socket.h>

// A connection to the door of that name; -1 and errno when there is none.
int fake_recorder_connect(const char *name);
// Waits for the answer; gives the store's descriptor, or -1 when it was refused.
int fake_recorder_receive(int connection);
// Connects, sends the message, waits for the answer.
int fake_recorder_ask(const char *name, const void *message, size_t n);
