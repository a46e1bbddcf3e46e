// SPDX-License-Identifier: Apache-2.0
//
// Copying, and telling that it was done also to whoever cannot see it.

import { copyText } from "../flame/clipboard.ts";
import { announcement } from "./session.ts";

export async function copy(text: string, what: string): Promise<void> {
  const done = await copyText(text);
  announcement.value = done ? `Copied ${what}.` : "The browser does not let the page copy.";
}
