// SPDX-License-Identifier: Apache-2.0
//
// Bytes as text that may stand anywhere: RFC 4648, with padding, in one line.
#pragma once
#include "base/sink.h"

void tide_base64_write(struct tide_sink *sink, const void *bytes, size_t n);
