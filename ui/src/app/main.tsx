// SPDX-License-Identifier: Apache-2.0
//
// Where the page begins: what is loaded and mounted. Everything seen is in the other files.

import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";

function App() {
  return <p role="status">Reading the capture…</p>;
}

render(<App />, document.getElementById("app")!);
