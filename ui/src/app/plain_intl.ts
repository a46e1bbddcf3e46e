// SPDX-License-Identifier: Apache-2.0
//
// What the page's script has for the browser's Intl (build.mjs). Only uPlot asks for it, once when
// it is loaded, for texts of its own that are never shown: axes have ours. The browser's would be a
// third of the time until the script has run, as it reads the words of a language for it.

export const Intl = {
  NumberFormat: class {
    format = String;
  },
  DateTimeFormat: class {
    resolvedOptions = () => ({ timeZone: "" });
  },
};
