// SPDX-License-Identifier: Apache-2.0
//
// Copying text, also where the page is a file or not served from this machine and the browser keeps
// its clipboard interface to itself.

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const had = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.style.position = "fixed";
  area.style.top = "-100px";
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (had instanceof HTMLElement) had.focus({ preventScroll: true });
  return isCopied;
}
