// SPDX-License-Identifier: Apache-2.0
//
// Wrappers of allocators that the command found by their shape (src/view/blame.h): they are
// folded in the model already. Two captures that are compared fold what either does, so that both
// are seen by the same frames.

import { Layer, type Facts, type Model } from "./model.ts";
import { moduleName } from "./names.ts";

type Wrapper = Facts["wrappers"][number];

const keyOf = (wrapper: Pick<Wrapper, "function" | "module">) =>
  `${wrapper.module}\n${wrapper.function}`;

// The model with the wrappers of another; itself where that adds nothing.
function withWrappers(model: Model, wrappers: Wrapper[]): Model {
  const own = new Set(model.facts.wrappers.map(keyOf));
  const added = wrappers.filter((one) => !own.has(keyOf(one)));
  if (!added.length)
    return model;
  const folded = new Set(added.map(keyOf));
  const { frames, text } = model;
  const layer = frames.layer.slice();
  for (let i = 0; i < frames.count; i++) {
    const name = text[frames.function[i]];
    if (name && layer[i] < Layer.folded &&
        folded.has(keyOf({ function: name, module: moduleName(model, i) })))
      layer[i] = Layer.folded; // an allocator's
  }
  const facts = { ...model.facts, wrappers: [...model.facts.wrappers, ...added] };
  return { ...model, facts, frames: { ...frames, layer } };
}

export function shareWrappers(a: Model, b: Model): [Model, Model] {
  return [withWrappers(a, b.facts.wrappers), withWrappers(b, a.facts.wrappers)];
}
