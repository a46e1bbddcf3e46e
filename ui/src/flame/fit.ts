// SPDX-License-Identifier: Apache-2.0
//
// How much of a label fits into a box. Characters are measured once each and their widths added up:
// labels are never measured whole, so that a frame of animation measures nothing at all and a name
// of 100 KB costs as much as what is seen of it.

export type Measure = (text: string) => number;

const ELLIPSIS = "…";
const DANGLING = /[<…\s]+$/;
const FEWEST = 3; // characters before an ellipsis, below which nothing is said

export class Fitter {
  private readonly ascii = new Float64Array(128).fill(-1);
  private readonly others = new Map<string, number>();
  private readonly ellipsis: number;

  constructor(private readonly measure: Measure) {
    this.ellipsis = measure(ELLIPSIS);
  }

  // The width of the text, or anything above the limit when it is wider than that.
  width(text: string, limit = Infinity): number {
    let sum = 0;
    for (const character of text) {
      sum += this.advance(character);
      if (sum > limit) break;
    }
    return sum;
  }

  // The first of the labels that fits, else the beginning of the last; "" if even that does not.
  fit(labels: readonly string[], width: number): string {
    for (const label of labels) if (this.width(label, width) <= width) return label;
    return this.clip(labels[labels.length - 1] ?? "", width);
  }

  private clip(text: string, width: number): string {
    let sum = this.ellipsis;
    let end = 0;
    let n = 0;
    for (const character of text) {
      sum += this.advance(character);
      if (sum > width) break;
      end += character.length;
      n++;
    }
    if (n < FEWEST) return "";
    return text.slice(0, end).replace(DANGLING, "") + ELLIPSIS; // of "vec<…>", not "vec<……"
  }

  private advance(character: string): number {
    const code = character.charCodeAt(0);
    if (code < 128) {
      const known = this.ascii[code];
      return known >= 0 ? known : (this.ascii[code] = this.measure(character));
    }
    let known = this.others.get(character);
    if (known === undefined) {
      if (this.others.size > 10000) this.others.clear();
      this.others.set(character, (known = this.measure(character)));
    }
    return known;
  }
}
