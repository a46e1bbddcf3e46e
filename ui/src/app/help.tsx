// SPDX-License-Identifier: Apache-2.0
//
// The keys, in a dialog.

import { useEffect, useRef } from "preact/hooks";
import { isHelpOpen, keyWords } from "./keys.ts";
import { use } from "./signals.ts";

export function Help() {
  const isOpen = use(isHelpOpen);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen && !dialog.current!.open) dialog.current!.showModal();
    if (!isOpen && dialog.current!.open) dialog.current!.close();
  }, [isOpen]);
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={() => (isHelpOpen.value = false)}
    >
      <h2 id="help-title">Keys</h2>
      <dl>
        {keyWords.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">
        In the graph: arrows move, Enter zooms, Backspace or Escape zooms out, the menu key opens
        what can be done with a frame. The address of the page holds everything that is selected:
        copy it to come back.
      </p>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
