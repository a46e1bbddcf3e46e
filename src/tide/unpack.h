// SPDX-License-Identifier: Apache-2.0
//
// From a packed image (model/pack.h) back to rows.
#pragma once
#include "base/err.h"
#include "model/model.h"

// Fine with an image that is not packed. All or nothing.
enum tide_err tide_image_unpack(struct tide_image *image, struct tide_diag *diag);
