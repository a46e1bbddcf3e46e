// SPDX-License-Identifier: Apache-2.0
//
// From what a report holds, deflated and in base64, piece by piece, to the bytes it was.

// What browsers have by now, and takes a tenth of the time.
interface FromBase64 {
  fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const native = Uint8Array as FromBase64;
  if (native.fromBase64)
    return native.fromBase64(base64);
  const text = atob(base64.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++)
    bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Some of the pieces at a time, each in base64 by itself, and in the end none: what has gone
// through need not be kept by anybody.
export interface Supply {
  count: number; // of all pieces
  next(): string[] | Promise<string[]>;
}

// Tells which part of the pieces has gone through.
function told({ count, next }: Supply, tell: (part: number) => void) {
  let at = 0;
  return new ReadableStream<BufferSource>({
    async pull(controller) {
      const pieces = await next();
      for (const piece of pieces)
        controller.enqueue(bytesOf(piece));
      at += pieces.length;
      tell(Math.min(1, at / count));
      if (!pieces.length)
        controller.close();
    },
  });
}

export async function unpacked(
  pieces: Supply, tell: (part: number) => void = () => {},
): Promise<ArrayBuffer> {
  if (typeof DecompressionStream === "undefined")
    throw new Error("This browser is too old to unpack the report: it has no DecompressionStream.");
  try {
    const stream = told(pieces, tell).pipeThrough(new DecompressionStream("deflate"));
    return await new Response(stream).arrayBuffer();
  } catch {
    throw new Error("This report is damaged: its numbers cannot be unpacked. Write it again.");
  }
}
