// SPDX-License-Identifier: Apache-2.0
//
// Names come from binaries nobody here has built. Before one is drawn or put into the document it
// passes through here: control characters, invisible ones and those that turn the direction of text
// become a visible mark, towers of combining marks are cut down, and nobody gets 100 KB to measure.

const HARMFUL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const TOWER = /(\p{M}{2})\p{M}+/gu;
const PLAIN = /^[\x20-\x7e]*$/;

export function clean(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(HARMFUL, "\ufffd").replace(TOWER, "$1");
}

// The same, of at most that many characters; what is longer keeps both ends and says its length.
export function cleanWithin(text: string, limit: number): string {
  if (text.length <= limit) return clean(text);
  const head = text.slice(0, Math.ceil(limit / 2));
  const tail = text.slice(text.length - Math.floor(limit / 2));
  return `${clean(head)} … ${clean(tail)} (${text.length.toLocaleString("en")} characters)`;
}
