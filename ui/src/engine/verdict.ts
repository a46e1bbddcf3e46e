// SPDX-License-Identifier: Apache-2.0
//
// What happened, in sentences: the peak, when and who; RSS and the gap; what was never freed;
// churn; how far to trust it. As the first lines of the command's report.

import type { Model } from "./model.ts";
import type { Question } from "./question.ts";

export type SentenceKind =
  | "title" | "peak" | "culprit" | "rss" | "end" | "leak" | "churn" | "pages" | "complete" | "note";

export interface Sentence {
  kind: SentenceKind;
  text: string;
  isWarning: boolean;
  link?: { question?: Question; pane?: "leaks" | "table" | "timeline" | "about" };
}

export function verdict(_model: Model): Sentence[] {
  throw new Error("not built yet");
}
