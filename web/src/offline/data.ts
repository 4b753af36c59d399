// The recorded parts, from the page itself or from scripts beside it: a page that is opened as a file may load scripts, and nothing else.

import { parseExact } from "../api/exact_json";

export interface LeftOut {
  spans: number;
  shorter_than_ns: number;
}

export interface Site {
  version: string;
  start: string; // the page that is opened first
  runs: string[];
  windows: string[]; // that runs were analysed for
  left_out: Record<string, LeftOut>; // of time lines, by run
}

export function site(): Site {
  return JSON.parse(document.getElementById("site")?.textContent ?? "{}") as Site;
}

const loaded = new Map<string, Promise<ArrayBuffer>>();
const parsed = new Map<string, Promise<Record<string, Record<string, unknown>>>>();

/** The bytes of a part; each is loaded once. */
export function part(name: string): Promise<ArrayBuffer> {
  return kept(loaded, name, async () => unpacked(document.getElementById(`data-${name}`)?.textContent ?? (await fromScript(name))));
}

/** Envelopes of answers by their keys, see asks.ts. */
export function answers(name: string): Promise<Record<string, Record<string, unknown>>> {
  return kept(parsed, name, async () => {
    const { keys, envelopes } = parseExact(new TextDecoder().decode(await part(name))) as { keys: Record<string, number>; envelopes: Record<string, unknown>[] };
    return Object.fromEntries(Object.entries(keys).map(([key, at]) => [key, envelopes[at] as Record<string, unknown>]));
  });
}

function kept<T>(map: Map<string, Promise<T>>, name: string, make: () => Promise<T>): Promise<T> {
  const before = map.get(name);
  if (before) return before;
  const made = make();
  map.set(name, made);
  return made;
}

function fromScript(name: string): Promise<string> {
  return new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = `data/${name}.js`;
    script.onload = () => done((globalThis as { neurolensData?: Record<string, string> }).neurolensData?.[name] ?? "");
    script.onerror = () => fail(new Error(`The file data/${name}.js is not beside this page. Copy the whole folder.`));
    document.head.append(script);
  });
}

/** Base64 of a zlib stream. */
async function unpacked(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
}
