// SPDX-License-Identifier: Apache-2.0
//
// What is seen first comes first: the parts of the page are mounted one after another, each in a
// task of its own, so that the browser draws and answers in between.

import { signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { use } from "./signals.ts";

const stage = signal(0); // parts up to this one are there, and stay

let isGoingOn = false;

function goOn(): void {
  if (isGoingOn) return;
  isGoingOn = true;
  setTimeout(() => {
    isGoingOn = false;
    stage.value++;
  });
}

// Children are there from the nth stage on, and whatever holds their place until then.
export function Staged({ n, instead, children }: Props) {
  const isThere = use(stage) >= n;
  useLayoutEffect(() => {
    if (!isThere) goOn();
  });
  return <>{isThere ? children : instead}</>;
}

interface Props {
  n: number;
  instead?: ComponentChildren;
  children: ComponentChildren;
}
