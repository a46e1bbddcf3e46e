// SPDX-License-Identifier: Apache-2.0
//
// Where the page begins: what is loaded, when it is loaded again, and what is mounted. Everything
// seen is in the other files.

import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { listenToKeys } from "./keys.ts";
import { begin } from "./loading.ts";
import { failure, progress, session } from "./session.ts";
import { Shell } from "./shell.tsx";
import { use } from "./signals.ts";
import { followAddress } from "./state.ts";
import "./theme.ts";

function Progress() {
  return <span aria-hidden="true">{use(progress)}</span>;
}

function App() {
  const why = use(failure);
  const loaded = use(session);
  if (loaded)
    return (
      <>
        {why && (
          <p class="failure banner" role="alert">
            {why}
          </p>
        )}
        <Shell />
      </>
    );
  if (why)
    return (
      <main class="failure" role="alert">
        <h1>Tidemark</h1>
        <p>{why}</p>
      </main>
    );
  return (
    <main class="loading">
      <h1>Tidemark</h1>
      <p role="status">Reading the capture… <Progress /></p>
    </main>
  );
}

followAddress();
listenToKeys();
render(<App />, document.getElementById("app")!);
void begin();
