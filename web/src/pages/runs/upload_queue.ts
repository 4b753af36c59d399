// Sends files to the server and has them imported: announced, sent in pieces, imported by a job that tells how far it is.
// The queue goes on while other pages are looked at.

import { AskError } from "../../api/ask";
import type { Job, Upload } from "../../api/answers_pages";

const PIECE = 8 * 1024 * 1024;
const ASK_AGAIN_MS = 1000;
const MOST_SILENT = 30; // questions without an answer

export type Step = "waiting" | "sending" | "importing" | "done" | "failed" | "cancelled";

export interface Sending {
  id: number;
  name: string;
  bytes: number;
  step: Step;
  fraction: number; // of this step
  what: string; // what an import does at the moment
  runs: string[];
  error: AskError | null;
}

interface Entry {
  shown: Sending;
  files: File[];
  uploadId: string | null;
  abort: AbortController;
}

const entries: Entry[] = [];
const listeners = new Set<() => void>();
let snapshot: Sending[] = [];
let isWorking = false;

export function watchQueue(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const queueNow = (): Sending[] => snapshot;

function say(entry: Entry, change: Partial<Sending>): void {
  entry.shown = { ...entry.shown, ...change };
  tell();
}

function tell(): void {
  snapshot = entries.map((one) => one.shown);
  for (const listener of listeners) listener();
}

let lastId = 0;

/** Each file becomes a run of its own, or all of them one run: the ranks of a job, counters beside a trace. */
export function addFiles(files: File[], asOne: boolean): void {
  for (const group of asOne && files.length > 1 ? [files] : files.map((one) => [one])) {
    const name = group.length === 1 ? (group[0] as File).name : `${(group[0] as File).name} and ${group.length - 1} more`;
    const bytes = group.reduce((sum, one) => sum + one.size, 0);
    const shown: Sending = { id: ++lastId, name, bytes, step: "waiting", fraction: 0, what: "", runs: [], error: null };
    entries.push({ shown, files: group, uploadId: null, abort: new AbortController() });
  }
  tell();
  void work();
}

export function retry(id: number): void {
  const entry = entries.find((one) => one.shown.id === id);
  if (!entry) return;
  entry.abort = new AbortController();
  say(entry, { step: "waiting", fraction: 0, error: null });
  void work();
}

export function cancel(id: number): void {
  const entry = entries.find((one) => one.shown.id === id);
  entry?.abort.abort();
  if (entry?.shown.step === "waiting") say(entry, { step: "cancelled" });
}

export function forgetEnded(): void {
  const going = entries.filter((one) => ["waiting", "sending", "importing"].includes(one.shown.step));
  entries.splice(0, entries.length, ...going);
  tell();
}

async function work(): Promise<void> {
  if (isWorking) return;
  isWorking = true;
  for (let next = waiting(); next; next = waiting()) await process(next);
  isWorking = false;
}

const waiting = (): Entry | undefined => entries.find((one) => one.shown.step === "waiting");

async function process(entry: Entry): Promise<void> {
  try {
    await send(entry);
    await importSent(entry);
  } catch (error) {
    if (entry.abort.signal.aborted) await undo(entry);
    else say(entry, { step: "failed", error: error instanceof AskError ? error : new AskError("unknown", String(error), "", 0) });
  }
}

async function send(entry: Entry): Promise<void> {
  const { signal } = entry.abort;
  say(entry, { step: "sending", fraction: 0 });
  const files = entry.files.map((one) => ({ name: one.name, bytes: one.size }));
  const upload = entry.uploadId ? await request<Upload>("GET", `uploads/${entry.uploadId}`, null, signal)
    : await request<Upload>("POST", "uploads", { files }, signal);
  entry.uploadId = upload.upload_id;
  let sent = 0;
  for (const [n, file] of entry.files.entries()) {
    for (const [begin, end] of pieces(file.size, upload.files[n]?.received ?? 0)) {
      await request("PUT", `uploads/${upload.upload_id}/${n}?offset=${begin}`, file.slice(begin, end), signal);
      say(entry, { fraction: entry.shown.bytes > 0 ? (sent + end) / entry.shown.bytes : 1 });
    }
    sent += file.size;
  }
}

/** From where to where the pieces go that are still missing. */
export function pieces(size: number, received: number, piece = PIECE): [number, number][] {
  const list: [number, number][] = [];
  for (let begin = received; begin < size; begin += piece) list.push([begin, Math.min(size, begin + piece)]);
  return list;
}

async function importSent(entry: Entry): Promise<void> {
  const { signal } = entry.abort;
  say(entry, { step: "importing", fraction: 0, what: "" });
  await request("POST", "import", { upload: entry.uploadId, as_one: entry.files.length > 1 }, signal);
  await followed(entry);
  const job = await ended(entry);
  const error = job.answer?.error;
  if (job.state !== "done" || error) throw new AskError(error?.code ?? job.state, error?.message ?? `The import ended: ${job.state}.`, error?.hint ?? "", 0);
  const data = job.answer?.data;
  say(entry, { step: "done", fraction: 1, runs: data?.run_id ? [data.run_id] : (data?.runs ?? []).map((one) => one.run_id) });
}

/** Until its events end. They also end where the connection breaks, while the job goes on. */
function followed(entry: Entry): Promise<void> {
  return new Promise((resolve, reject) => {
    const events = new EventSource(`api/v1/jobs/${entry.uploadId}/events`);
    const end = () => {
      events.close();
      entry.abort.signal.removeEventListener("abort", stop);
      resolve();
    };
    const stop = () => {
      events.close();
      reject(new Error("cancelled"));
    };
    events.addEventListener("progress", (event) => {
      const { progress } = JSON.parse((event as MessageEvent<string>).data) as Job;
      say(entry, { fraction: progress?.fraction ?? entry.shown.fraction, what: progress?.what ?? "" });
    });
    events.addEventListener("end", end);
    events.onerror = end;
    entry.abort.signal.addEventListener("abort", stop);
  });
}

const isGoing = (job: Job | null): boolean => job?.state === "running" || job?.state === "queued";

/** The job, once it has ended. A server that does not answer for a while may only have been started anew. */
async function ended(entry: Entry): Promise<Job> {
  const { signal } = entry.abort;
  for (let silent = 0; ; ) {
    const job = await request<Job>("GET", `jobs/${entry.uploadId}`, null, signal).catch((error: unknown) => {
      if (!(error instanceof AskError) || error.status !== 0 || ++silent >= MOST_SILENT) throw error;
      return null;
    });
    if (job && !isGoing(job)) return job;
    if (job) {
      silent = 0;
      say(entry, { fraction: job.progress?.fraction ?? entry.shown.fraction, what: job.progress?.what ?? entry.shown.what });
    }
    await pause(ASK_AGAIN_MS, signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new Error("cancelled"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

/** A cancelled job needs a moment to end; its files can be removed only then. */
async function stopped(id: string): Promise<void> {
  for (let tries = 0; tries < 40; tries++) {
    const job = await request<Job>("GET", `jobs/${id}`, null).catch(() => null);
    if (!isGoing(job)) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function undo(entry: Entry): Promise<void> {
  const wasImporting = entry.shown.step === "importing";
  say(entry, { step: "cancelled" });
  if (!entry.uploadId) return;
  const quietly = async (path: string) => await request("DELETE", path, null).catch(() => undefined); // it may have ended by itself
  if (wasImporting) {
    await quietly(`jobs/${entry.uploadId}`);
    await stopped(entry.uploadId);
  }
  await quietly(`uploads/${entry.uploadId}`);
  entry.uploadId = null;
}

async function request<T>(method: string, path: string, body: object | Blob | null, signal?: AbortSignal): Promise<T> {
  const isJson = body !== null && !(body instanceof Blob);
  const response = await fetch(`api/v1/${path}`, {
    method,
    headers: isJson ? { "Content-Type": "application/json" } : {},
    body: isJson ? JSON.stringify(body) : body,
    signal: signal ?? null,
    credentials: "same-origin",
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new AskError("unavailable", "The server does not answer.", "What was sent is kept: try again to go on from there.", 0);
  });
  const answer = (await response.json().catch(() => ({}))) as { error?: { code: string; message: string; hint?: string } };
  if (!response.ok) throw new AskError(answer.error?.code ?? "unknown", answer.error?.message ?? `status ${response.status}`,
    answer.error?.hint ?? "", response.status);
  return answer as T;
}
