// SPDX-License-Identifier: Apache-2.0
//
// Where the numbers come from: out of the page itself where the command wrote them into it, else
// from the command that serves the page. Nothing else is ever asked for.

import { keepChanged } from "../engine/curves.ts";
import { decode } from "../engine/decode.ts";
import type { Picture } from "../engine/errands.ts";
import type { Exactness, Model } from "../engine/model.ts";
import { TERMS } from "../engine/terms.ts";
import { unpacked, type Supply } from "../engine/unpack.ts";
import { receive } from "./pictures.ts";
import { send } from "./workers.ts";

export interface OfferedImage {
  index: number;
  pid: number;
  program: string;
  process: string; // which it is, in words
  peak_bytes?: number;
  peak_exactness: Exactness;
  command?: string[];
  start_ns?: number;
  end_ns?: number;
  allocations?: number;
}

// Of several images: whom each came from (-1: none), and per image its first of so many steps of
// equal time, and what it held at the end of each in which it ran.
export interface Processes {
  steps: number;
  parents: number[];
  courses: (number[] | null)[];
}

const NOT_MODIFIED = 304;

export interface CaptureFacts {
  file: string;
  images: OfferedImage[];
  largest: number; // the image to begin with
  held?: number[]; // in a file: the images whose data it has; absent: of one alone
  processes?: Processes; // where there are several
  compared?: string[][]; // of two: per image, what to beware of beside the other's largest
  note?: string | null; // why the file may tell more than the page does
}

export interface PageFacts {
  captures: CaptureFacts[];
  live: boolean; // still being recorded
  version: number; // rises whenever there is something new
  sources: boolean; // source files can be asked for
  editor: string | null; // address of a line in the reader's editor, %f being its file, %l its line
}

export interface Origin {
  isFile: boolean; // everything is inside the page
  facts(): Promise<PageFacts>;
  model(capture: number, process: number | null, wish: Wish): Promise<Model>;
  source(capture: number, of: Model, text: number): Promise<SourceText>;
}

export interface SourceText {
  lines: (string | undefined)[] | null; // null: not to be had; of a report not all are
  note: string; // why not, or what to mind
}

export class Gone extends Error {
  constructor() {
    super("tidemark view has ended. Start it again, and open the address it prints.");
  }
}

function embedded(name: string): string | null {
  return document.getElementById(name)?.textContent ?? null;
}

// What of a model is asked for first, and who hears how far it is.
export interface Wish {
  isFirst: boolean; // only what is seen first, where that is quicker
  picture: Picture;
  tell(words: string): void;
}

// What is smaller is read before a worker has started: bytes, and elements of a report.
const WORTH_A_WORKER = 100000;
const ELEMENTS_WORTH = 2;

async function modelOf(data: Supply | ArrayBuffer, { picture, tell }: Wish): Promise<Model> {
  const isPacked = !(data instanceof ArrayBuffer);
  if (isPacked ? data.count < ELEMENTS_WORTH : data.byteLength < WORTH_A_WORKER)
    return decode(isPacked ? await unpacked(data) : data);
  const { answer } = send(
    { kind: "load", of: { data: isPacked ? data.count : data, picture } },
    (part) => tell(`${Math.floor(100 * part)} %`),
    isPacked ? data.next : undefined,
  );
  const { block, known, changed, found } = await answer;
  const model = decode(block, known);
  keepChanged(model, changed);
  await new Promise((done) => setTimeout(done)); // whoever waits for the page is answered between
  receive(model, picture, found);
  return model;
}

const modelsOf = new Map<string, Promise<Model>>(); // by the element they are in

const PACKED = "application/octet-stream";

const AT_ONCE = 16; // elements, of 64 KiB

// What is packed lies in several elements, of which the first has the name. The texts are not
// needed any more afterwards, and take as much room again. null: there is none of that name.
function taken(name: string): Supply | null {
  const elements: Element[] = [];
  const first = document.getElementById(name);
  for (let one: Element | null = first; one; one = one.nextElementSibling) {
    if (one !== first && (one.id || one.getAttribute("type") !== PACKED)) break;
    elements.push(one);
  }
  const next = () =>
    elements.splice(0, AT_ONCE).map((one) => {
      const text = one.textContent ?? "";
      one.textContent = "";
      return text;
    });
  return elements.length ? { count: elements.length, next } : null;
}

// What lies behind the script is there when all of the file has been read.
const isWhole = new Promise<void>((done) => {
  if (typeof document === "undefined" || document.readyState !== "loading") done();
  else document.addEventListener("DOMContentLoaded", () => done(), { once: true });
});

async function wholeModel(name: string, wish: Wish): Promise<Model> {
  await isWhole;
  const pieces = taken(name);
  if (!pieces) throw new Error("This report holds no such capture.");
  return modelOf(pieces, wish);
}

const embeddedFacts = () => JSON.parse(embedded("tidemark-facts") ?? "null") as PageFacts;

// What a capture begins with has no number in its name.
function embeddedModel(capture: number, process: number | null, wish: Wish): Promise<Model> {
  const { largest, held } = embeddedFacts().captures[capture];
  const isOther = process !== null && process !== largest && held?.includes(process);
  const first = wish.isFirst && !isOther ? taken(`tidemark-first-${capture}`) : null;
  if (first) return modelOf(first, wish);
  const name = `tidemark-data-${capture}${isOther ? `-${process}` : ""}`;
  const model = modelsOf.get(name) ?? wholeModel(name, wish);
  modelsOf.set(name, model);
  return model;
}

export interface SourceFile {
  path: string;
  note: string | null; // why there is no text
  parts: { line: number; text: string }[]; // by rising line, the first being 1
}

// As a file that was read, with holes where the report has no text.
export function linesOf({ parts, note }: SourceFile): SourceText {
  if (!parts.length) return { lines: null, note: note ?? NONE_OF_IT };
  const lines: (string | undefined)[] = [];
  for (const { line, text } of parts)
    text.split("\n").forEach((one, i) => {
      lines[line - 1 + i] = one;
    });
  return { lines, note: note ?? "" };
}

const NOT_IN_IT =
  "This report holds no source code. “tidemark html --sources” writes the lines around the " +
  "places into it; “tidemark view” shows the files themselves.";
const NONE_OF_IT =
  "Of this file the report holds no lines: it has those around the weightiest places of the " +
  "program’s own code.";

const sourcesOf = new Map<number, Promise<Map<string, SourceFile>>>(); // by capture

async function readSources(pieces: Supply): Promise<Map<string, SourceFile>> {
  const text = new TextDecoder().decode(await unpacked(pieces));
  const { files } = JSON.parse(text) as { files: SourceFile[] };
  return new Map(files.map((file) => [file.path, file]));
}

async function embeddedSource(capture: number, path: string): Promise<SourceText> {
  await isWhole;
  const name = `tidemark-sources-${capture}`;
  if (embedded(name) === null) return { lines: null, note: NOT_IN_IT };
  if (!sourcesOf.has(capture)) sourcesOf.set(capture, readSources(taken(name)!));
  const file = (await sourcesOf.get(capture)!).get(path);
  return file ? linesOf(file) : { lines: null, note: NONE_OF_IT };
}

const embeddedOrigin: Origin = {
  isFile: true,
  facts: async () => embeddedFacts(),
  model: embeddedModel,
  source: (capture, of, text) => embeddedSource(capture, of.text[text]),
};

async function ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
  try {
    return await fetch(path, { cache: "no-store", headers });
  } catch {
    throw new Gone();
  }
}

async function answer(path: string, headers = {}): Promise<Response> {
  const response = await ask(path, headers);
  if (response.ok || response.status === NOT_MODIFIED) return response;
  const said = (await response.text().catch(() => "")).trim().slice(0, 300);
  throw new Error(
    said || `The command refused ${path}: ${response.status} ${response.statusText}.`,
  );
}

// How many there will be is not said of what is packed on its way.
async function received(response: Response, tell: (words: string) => void): Promise<ArrayBuffer> {
  if (!response.body) return response.arrayBuffer();
  let n = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        n += piece.length;
        tell(`${Math.floor(n / (1 << 20))} MiB`);
        controller.enqueue(piece);
      },
    }),
  );
  return new Response(counted).arrayBuffer();
}

// Facts are asked for every second: those that we have are not sent again.
let known: { tag: string; facts: PageFacts } | null = null;

async function servedFacts(): Promise<PageFacts> {
  const response = await answer("facts", known ? { "If-None-Match": known.tag } : {});
  if (response.status === NOT_MODIFIED && known) return known.facts;
  const facts = (await response.json()) as PageFacts;
  const tag = response.headers.get("ETag");
  known = tag ? { tag, facts } : null;
  return facts;
}

// What is not all of the data has texts of its own.
function which(process: number | null, isFirst: boolean, text?: number): string {
  const words = new URLSearchParams();
  if (process !== null) words.set("process", String(process));
  if (isFirst) words.set("part", "first");
  if (text !== undefined) words.set("text", String(text));
  return `?${words}`;
}

const servedOrigin: Origin = {
  isFile: false,
  facts: servedFacts,
  async model(capture, process, wish) {
    const response = await answer(`data/${capture}${which(process, wish.isFirst)}`);
    const block = await received(response, wish.tell).catch(() => {
      throw new Gone();
    });
    return modelOf(block, wish);
  },
  async source(capture, { facts }, text) {
    const isFirst = facts.pruned?.first === true;
    const response = await ask(`source/${capture}${which(facts.image.index, isFirst, text)}`);
    const said = await response.text();
    const told = response.headers.get("Tidemark-Source");
    if (!response.ok || told === "none") return { lines: null, note: said.trim().slice(0, 500) };
    const lines = said.replace(/\n$/, "").split("\n");
    return { lines, note: told === "newer" ? TERMS.sourceNewer.text : "" };
  },
};

// Whether the numbers of an image can be had.
export function hasData(from: Origin, { held, largest }: CaptureFacts, image: number): boolean {
  return !from.isFile || (held?.includes(image) ?? image === largest);
}

export function origin(): Origin {
  return embedded("tidemark-facts") === null ? servedOrigin : embeddedOrigin;
}
