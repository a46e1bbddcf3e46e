// SPDX-License-Identifier: Apache-2.0
//
// Who is at the other end of a socket, and may this process's profile be theirs?
#pragma once
#include "rt/base.h"

// Is the peer of this connected socket root, or the one user that this process is? A user that our
// user namespace does not know is nobody, even if we are not known there either.
bool tide_peer_is_believed(long fd);
