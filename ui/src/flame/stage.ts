// SPDX-License-Identifier: Apache-2.0
//
// The canvas in the document: as large as the window it is scrolled in, drawn at most once a frame
// when something changed (size, scrolling, theme, what is shown), still otherwise.

import { Chart, type Hit, type Rect } from "./chart.ts";
import type { Meaning } from "./draw.ts";
import type { Layout } from "./layout.ts";

export interface StageElements {
  scroller: HTMLElement;
  content: HTMLElement; // as high as all rows
  window: HTMLElement; // what is seen of it, and stays in place
  canvas: HTMLCanvasElement;
}

export class Stage {
  readonly chart: Chart;
  private frame = 0;
  private flipped = false;
  private readonly resized: ResizeObserver;
  private readonly themed: MutationObserver;
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");

  constructor(
    private readonly elements: StageElements,
    private readonly onPlaced: () => void, // boxes are elsewhere than before
  ) {
    this.chart = new Chart(elements.canvas);
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(elements.scroller);
    this.themed = new MutationObserver(this.redraw);
    this.themed.observe(document.documentElement, { attributes: true });
    this.dark.addEventListener("change", this.redraw);
    elements.scroller.addEventListener("scroll", this.scrolled, { passive: true });
    addEventListener("resize", this.zoomed);
    this.fit();
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.resized.disconnect();
    this.themed.disconnect();
    this.dark.removeEventListener("change", this.redraw);
    this.elements.scroller.removeEventListener("scroll", this.scrolled);
    removeEventListener("resize", this.zoomed);
  }

  show(layout: Layout, meaning: Meaning, zoom: number, flipped: boolean): void {
    const { scroller } = this.elements;
    const isTurned = flipped !== this.flipped;
    const fromRoot = isTurned ? 0 : this.distanceFromRoot();
    this.flipped = flipped;
    this.chart.show(layout, meaning, zoom, flipped);
    this.place();
    scroller.scrollTop = flipped ? this.lowest() - fromRoot : fromRoot;
    this.scrolled();
  }

  readonly redraw = (): void => {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.chart.draw();
    });
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
    const { scroller } = this.elements;
    if (!rect) return;
    if (rect.y < scroller.scrollTop) scroller.scrollTop = rect.y;
    const below = rect.y + rect.height - scroller.clientHeight;
    if (below > scroller.scrollTop) scroller.scrollTop = below;
  }

  private lowest(): number {
    return this.elements.scroller.scrollHeight - this.elements.scroller.clientHeight;
  }

  private distanceFromRoot(): number {
    const { scrollTop } = this.elements.scroller;
    return this.flipped ? this.lowest() - scrollTop : scrollTop;
  }

  private readonly scrolled = (): void => {
    this.chart.scrollTo(this.elements.scroller.scrollTop);
    this.redraw();
  };

  private readonly zoomed = (): void => this.fit();

  private fit(): void {
    const { scroller, window, canvas } = this.elements;
    const fromRoot = this.distanceFromRoot();
    const { clientWidth, clientHeight } = scroller;
    window.style.height = canvas.style.height = `${clientHeight}px`;
    canvas.style.width = `${clientWidth}px`;
    this.chart.resize(clientWidth, clientHeight, devicePixelRatio);
    this.place();
    if (this.flipped) scroller.scrollTop = this.lowest() - fromRoot;
    this.chart.scrollTo(scroller.scrollTop);
    this.chart.draw(); // a canvas that was given a size is empty: not a frame of that
  }

  private place(): void {
    const { content, scroller } = this.elements;
    const height = Math.max(this.chart.contentHeight, scroller.clientHeight);
    content.style.height = `${height}px`;
    this.onPlaced();
  }
}
