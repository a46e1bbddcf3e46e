// SPDX-License-Identifier: Apache-2.0
//
// The recorder's adaptive devices: code that only makes it faster, by what programs usually do. All
// are part of the product. `make bench ARGS="--only devices"` builds a recorder without each of
// them
// (-DTIDE_DEVICES_OFF=...) and shows what it gains; one that gains nothing on real programs goes.
#pragma once

#ifndef TIDE_DEVICES_OFF
#define TIDE_DEVICES_OFF 0
#endif

enum tide_device {
  TIDE_DEVICE_RUN = 1 << 0,       // pairs of one stack are counted together: store/run.h
  TIDE_DEVICE_FORESIGHT = 1 << 1, // the stack that came next the last time: unwind/memo.h
  TIDE_DEVICE_TRUNK = 1 << 2,     // outer words that stacks share are kept once: unwind/memo.h
  TIDE_DEVICE_BYPASS = 1 << 3,    // no memo while stacks do not come back: unwind/capture.h
  TIDE_DEVICE_RETURN = 1 << 4,    // that ends as soon as they do: unwind/capture.c
  TIDE_DEVICE_PATIENCE = 1 << 5,  // a full memo is emptied after so many refusals: unwind/capture.c
};

#define TIDE_HAS(device) (!(TIDE_DEVICES_OFF & TIDE_DEVICE_##device))

// Set for counting instructions where no supervisor can be: as if there were one, the clock is not
// read at every event.
#ifndef TIDE_BEAT_ASSUMED
#define TIDE_BEAT_ASSUMED 0
#endif
