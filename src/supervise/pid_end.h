// SPDX-License-Identifier: Apache-2.0
//
// How a process ended that is not our child, and so not ours to wait for.
#pragma once
#include "model/model.h"

// Asks the kernel by pidfd (since 6.15 it remembers after the parent has waited), and the zombie
// before. EXITED with the value -1 when nobody knows any more. True: the pidfd told, so that there
// is no hurry to ask on this kernel.
bool tide_pid_end(int pid_fd, uint32_t pid, enum tide_end_kind *ret_kind, int32_t *ret_value);
