// SPDX-License-Identifier: Apache-2.0
//
// The canvas in the document: as large as the window it is scrolled in, drawn at most once a frame
// when something changed (size, scrolling, theme, what is shown), still otherwise.

import { Chart, ROW_HEIGHT, type Hit, type Rect } from "./chart.ts";
import type { Meaning } from "./draw.ts";
import type { Layout } from "./layout.ts";
import type { Span } from "./span.ts";

export interface StageElements {
  scroller: HTMLElement;
  content: HTMLElement; // as high as all rows
  window: HTMLElement; // what is seen of it, and stays in place
  canvas: HTMLCanvasElement;
}

// The latest frame in which one of several took long to draw: the others are drawn in the next, in
// which they come first, so that nobody waits for all of them at once.
let crowded = -1;
const LONG_MS = 10;

export class Stage {
  readonly chart: Chart;
  private frame = 0;
  private flipped = false;
  private top = 0; // as scrolled; kept here, since asking the document has it laid out
  private height = 0; // of the window
  private contentHeight = 0;
  private readonly resized: ResizeObserver;
  private readonly themed: MutationObserver;
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");

  constructor(
    private readonly elements: StageElements,
    private readonly onPlaced: () => void, // boxes are elsewhere than before
    private readonly onBeyond: (rows: number) => void, // that are further in, out of sight
  ) {
    this.chart = new Chart(elements.canvas);
    this.resized = new ResizeObserver(this.zoomed); // tells of the first size, too
    this.resized.observe(elements.scroller);
    this.themed = new MutationObserver(this.restyle);
    this.themed.observe(document.documentElement, { attributes: true });
    this.dark.addEventListener("change", this.restyle);
    elements.scroller.addEventListener("scroll", this.scrolled, { passive: true });
    addEventListener("resize", this.zoomed);
    this.fit();
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.resized.disconnect();
    this.themed.disconnect();
    this.dark.removeEventListener("change", this.restyle);
    this.elements.scroller.removeEventListener("scroll", this.scrolled);
    removeEventListener("resize", this.zoomed);
  }

  show(layout: Layout, meaning: Meaning, zoom: number, span: Span | null, flipped: boolean): void {
    const fromRoot = flipped === this.flipped ? this.distanceFromRoot() : 0;
    this.flipped = flipped;
    this.chart.show(layout, meaning, zoom, span, flipped);
    this.place(fromRoot);
    this.redraw();
  }

  look(span: Span | null): void {
    const fromRoot = this.distanceFromRoot();
    this.chart.look(span);
    this.place(fromRoot);
    this.redraw();
  }

  readonly redraw = (): void => {
    this.frame ||= requestAnimationFrame(this.draw);
  };

  private readonly draw = (frame: number): void => {
    this.frame = 0;
    if (frame === crowded) return this.redraw();
    const begin = performance.now();
    if (!this.refit()) this.chart.draw();
    if (performance.now() - begin > LONG_MS) crowded = frame;
  };

  private readonly restyle = (): void => {
    this.chart.restyle();
    this.redraw();
  };

  hit(clientX: number, clientY: number): Hit | null {
    const frame = this.elements.canvas.getBoundingClientRect();
    if (clientY < frame.top || clientY >= frame.bottom) return null;
    return this.chart.hit(clientX - frame.left, clientY - frame.top);
  }

  // In the browser window.
  clientRectOf(node: number): Rect | null {
    const rect = this.chart.rectOf(node);
    const frame = this.elements.content.getBoundingClientRect();
    return rect && { ...rect, x: rect.x + frame.left, y: rect.y + frame.top };
  }

  reveal(node: number): void {
    const rect = this.chart.rectOf(node);
    if (!rect) return;
    const lowest = rect.y;
    const highest = rect.y + rect.height - this.height;
    this.scrollTo(Math.max(highest, Math.min(lowest, this.top)));
  }

  private get lowest(): number {
    return this.contentHeight - this.height;
  }

  private distanceFromRoot(): number {
    return this.flipped ? this.lowest - this.top : this.top;
  }

  private scrollTo(top: number): void {
    const next = Math.max(0, Math.min(top, this.lowest));
    if (next !== this.top) this.elements.scroller.scrollTop = next;
    this.top = next;
    this.chart.scrollTo(next);
  }

  private readonly scrolled = (): void => {
    this.top = this.elements.scroller.scrollTop;
    this.chart.scrollTo(this.top);
    this.redraw();
    this.tellBeyond();
  };

  private tellBeyond(): void {
    const beyond = this.flipped ? this.top : this.lowest - this.top;
    this.onBeyond(Math.max(0, Math.round(beyond / ROW_HEIGHT)));
  }

  // Further in, by as much as is seen.
  scrollOn(): void {
    const by = Math.max(ROW_HEIGHT, this.height - 2 * ROW_HEIGHT);
    this.scrollTo(this.top + (this.flipped ? -by : by));
  }

  private readonly zoomed = (): void => void this.refit();

  // Whether there is another size by now, and so everything was drawn.
  private refit(): boolean {
    const { clientWidth, clientHeight } = this.elements.scroller;
    const isSame = this.chart.isOf(clientWidth, clientHeight, devicePixelRatio);
    if (!isSame) this.fit();
    return !isSame;
  }

  private fit(): void {
    const { scroller, window, canvas } = this.elements;
    const fromRoot = this.distanceFromRoot();
    const { clientWidth, clientHeight } = scroller;
    this.height = clientHeight;
    window.style.height = canvas.style.height = `${clientHeight}px`;
    canvas.style.width = `${clientWidth}px`;
    this.chart.resize(clientWidth, clientHeight, devicePixelRatio);
    this.place(fromRoot);
    this.chart.draw(); // a canvas that was given a size is empty: not a frame of that
  }

  // As high as the rows are, and scrolled to where it was.
  private place(fromRoot: number): void {
    const height = Math.max(this.chart.contentHeight, this.height);
    if (height !== this.contentHeight) this.elements.content.style.height = `${height}px`;
    this.contentHeight = height;
    this.scrollTo(this.flipped ? this.lowest - fromRoot : fromRoot);
    this.onPlaced();
    this.tellBeyond();
  }
}
