// Answers without a server: those that were recorded, and the few that are made here from what was recorded. What is neither is refused with the command
// that answers it.

import type { TimelineRows } from "../api/answers";
import type { ListedRun, RunList } from "../api/answers_pages";
import type { Shown } from "../api/answers_run";
import { parsed, type Condition } from "../pages/runs/conditions";
import type { Tile } from "../timeline/tiles";
import { keyOf, partOf } from "./asks";
import { commandOf } from "./command";
import { answers, part, site } from "./data";
import { areaFrom, longestSpan, searchFrom, tileFrom, unpackRows, type SpanRow, type SpanRows } from "./span_rows";

type Parameters = Record<string, unknown>;
type Envelope = Record<string, unknown>;

export const NOT_RECORDED = "not_recorded";

/** What is asked for and not recorded, in words. */
const MISSING: Record<string, string> = {
  query: "What the tables say of it is not in the file.", analyze: "This window is not in the file.", compare: "This comparison is not in the file.",
  export: "These stacks are not in the file.", show: "This run is not in the file.",
};

/** As an answer of the server: `data`, or `error`. */
export async function recordedEnvelope(operation: string, asked: Parameters): Promise<Envelope> {
  const parameters = withWholeIds(asked);
  if (operation === "runs") return { data: await listOf(parameters) };
  if (operation === "baseline") return { data: { baselines: [] } };
  if (operation === "timeline" && parameters["what"] === "area") return { data: await areaOf(parameters) };
  if (operation === "timeline" && parameters["what"] === "search") return { data: await searchOf(parameters) };
  const name = partOf(operation, parameters) === "run" ? String(parameters["run"]) : partOf(operation, parameters);
  const isThere = partOf(operation, parameters) !== "run" || site().runs.includes(name);
  const envelope = isThere ? (await answers(name))[keyOf(operation, parameters)] : undefined;
  return envelope ?? { error: { code: NOT_RECORDED, message: MISSING[operation] ?? "This is not in the file.", hint: commandOf(operation, parameters) } };
}

/** A text that was recorded line by line, each without the frames that it shares with the one before. */
export function wholeLines(text: string): string {
  let before: string[] = [];
  const lines = text.split("\n").map((line) => {
    const at = line.indexOf(" ");
    if (at < 0) return line;
    before = [...before.slice(0, Number(line.slice(0, at))), ...line.slice(at + 1).split(";")];
    return before.join(";");
  });
  return lines.join("\n");
}

/** What a command would take for a run, as the whole id that answers are recorded by. */
function withWholeIds(asked: Parameters): Parameters {
  const { runs } = site();
  const whole = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(whole);
    if (value === "@latest") return runs.at(-1);
    return runs.find((id) => typeof value === "string" && value.length >= 6 && id.startsWith(value)) ?? value;
  };
  const names = new Set(["run", "base", "new", "against"]);
  return Object.fromEntries(Object.entries(asked).map(([name, value]) => [name, names.has(name) ? whole(value) : value]));
}

// ---- The list of runs

async function listOf(parameters: Parameters): Promise<RunList> {
  const all = await answers("all");
  const runs = site().runs.flatMap((run) => {
    const shown = all[keyOf("show", { run })]?.["data"] as Shown | undefined;
    return shown ? [listed(shown)] : [];
  });
  const where = ((parameters["where"] ?? []) as string[]).map(parsed).filter((one) => one !== null);
  const matching = runs.filter((run) => where.every((one) => holds(run, one)));
  const sort = String(parameters["sort"] ?? "imported");
  if (sort !== "imported") matching.sort((a, b) => compare(valueOf(a, sort), valueOf(b, sort)));
  if (parameters["reverse"]) matching.reverse();
  const offset = Number(parameters["offset"] ?? 0);
  return { runs: matching.slice(offset, offset + Number(parameters["limit"] ?? 30)), matching: matching.length, total: runs.length, facets: [] };
}

function listed(shown: Shown): ListedRun {
  const kernels = shown.tables.find((one) => one.name === "kernels")?.rows ?? 0;
  const dropped = Object.values(shown.counts.dropped).reduce((sum, one) => sum + one, 0);
  return {
    run_id: shown.run_id, file_names: shown.files.join(" "), format: shown.format, backend: shown.backend, kernels, dropped, records: shown.counts.seen,
    device: shown.hardware.devices.find((one) => one.name)?.name ?? null, devices: shown.hardware.devices.length, bundle_bytes: shown.bundle_bytes,
    labels: Object.fromEntries(shown.labels.map(({ key, value }) => [key, value])), tags: shown.tags, imported_at_ns: null,
  };
}

function valueOf(run: ListedRun, key: string): string | number | null {
  if (key === "file") return run.file_names;
  const own = (run as unknown as Record<string, unknown>)[key] ?? run.labels[key];
  return typeof own === "string" || typeof own === "number" ? own : null;
}

function holds(run: ListedRun, { key, sign, value }: Condition): boolean {
  const own = valueOf(run, key);
  if (key === "tag") return run.tags.includes(value) === (sign !== "!=");
  if (sign === "!=") return String(own) !== value;
  if (own === null) return false;
  if (sign === "=") return String(own) === value;
  if (sign === "~") return String(own).toLowerCase().includes(value.toLowerCase());
  return sign === ">=" ? Number(own) >= Number(value) : Number(own) <= Number(value);
}

function compare(a: string | number | null, b: string | number | null): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a ?? "").localeCompare(String(b ?? ""));
}

// ---- The time line

const unpacked = new Map<string, Promise<SpanRows>>();

export function spanRows(run: string): Promise<SpanRows> {
  const before = unpacked.get(run);
  if (before) return before;
  const rows = part(`${run}-spans`).then(unpackRows);
  unpacked.set(run, rows);
  return rows;
}

export async function recordedTile(run: string, level: number, tile: number, rows: readonly number[]): Promise<Tile> {
  return tileFrom(await spanRows(run), level, tile, rows);
}

async function askedRows(parameters: Parameters): Promise<[SpanRows, number[]]> {
  const spans = await spanRows(String(parameters["run"]));
  return [spans, (parameters["rows"] as number[] | undefined) ?? [...spans.rows.keys()]];
}

async function areaOf(parameters: Parameters) {
  const [spans, rows] = await askedRows(parameters);
  const all = (await recordedEnvelope("timeline", { run: parameters["run"] }))["data"] as TimelineRows;
  const [begin, end] = [Number(parameters["begin_ns"] ?? all.begin_ns), Number(parameters["end_ns"] ?? all.end_ns)];
  return areaFrom(spans, rows, begin, end, Number(parameters["top"] ?? 20));
}

async function searchOf(parameters: Parameters) {
  const [spans, rows] = await askedRows(parameters);
  return searchFrom(spans, rows, String(parameters["text"]), Number(parameters["from_ns"] ?? 0));
}

/** Where on the time line the longest span is for which it holds; null: it is not in the file. */
export async function recordedPlace(run: string, which: (row: SpanRow, place: number, names: string[]) => boolean): Promise<{ start: number; length: number } | null> {
  const spans = await spanRows(run);
  const found = longestSpan(spans, (row, place) => which(row, place, spans.names));
  return found && { start: found.start_ns, length: found.dur_ns };
}
