// The two canvases of the picture: below, a bitmap of one line a row, stretched; above, all that is text or outline.

import { shown } from "../format/names";
import { duration, signedDuration } from "../format/numbers";
import type { Arrow } from "./arrows";
import { groupText, type WorkByTrack } from "./device_work";
import type { Difference } from "./differences";
import type { Box } from "./draw";
import type { NamedGap } from "./idle";
import { isOfTrack } from "./idle";
import type { Selected } from "./item";
import { numberOf, rowOfLine, type Line } from "./lines";
import { isNotedKernel, type NoteMarks } from "./notes";
import { paintSeries, paintStacks } from "./paint_extras";
import { inkOn } from "./palette";
import type { Outside, Step } from "./steps";
import type { ExtraData } from "./use_extras";
import { marks, markStep, pixelOf, shifted, timeText, type View } from "./view";

export const AXIS = 22;
export const BAND = 16;
const FLAG = 8;

/** The lower canvas. Buffers are kept from frame to frame. */
export class RowPainter {
  private small = new OffscreenCanvas(1, 1);
  private image: ImageData | null = null;

  /** `tops` has the upper edge of each line, and the end of the last. */
  paint(canvas: HTMLCanvasElement, width: number, tops: readonly number[], rowHeight: number, fill: (pixels: Uint32Array) => Box[]): Box[] {
    const rows = tops.length - 1;
    const lines = Math.max(1, rows);
    const high = Math.max(1, Math.ceil(tops.at(-1) as number));
    if (this.image?.width !== width || this.image.height !== lines) {
      this.small = new OffscreenCanvas(width, lines);
      this.image = new ImageData(width, lines);
    }
    const boxes = fill(new Uint32Array(this.image.data.buffer));
    (this.small.getContext("2d") as OffscreenCanvasRenderingContext2D).putImageData(this.image, 0, 0);
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== high) canvas.height = high;
    const screen = canvas.getContext("2d") as CanvasRenderingContext2D;
    screen.clearRect(0, 0, width, high);
    screen.imageSmoothingEnabled = false;
    for (let row = 0; row < rows; row++) screen.drawImage(this.small, 0, row, width, 1, 0, (tops[row] as number) + 1, width, rowHeight - 2);
    return boxes;
  }
}

export interface Scene {
  width: number;
  height: number;
  top: number; // px above the first row: axis and bands
  rowHeight: number;
  tops: readonly number[]; // upper edge of each line that is seen, below `top`, and the end of the last
  view: View;
  shifts: readonly number[]; // of the runs
  lines: readonly Line[]; // that are seen
  extras: readonly ExtraData[]; // of each run
  work: readonly WorkByTrack[]; // of each run
  workRows: ReadonlySet<string>;
  boxes: readonly Box[];
  steps: readonly Step[];
  outside: readonly Outside[];
  differences?: readonly Difference[];
  gaps: readonly (readonly NamedGap[] | null)[]; // of each run
  notes: NoteMarks;
  selected: Selected | null;
  arrows: readonly Arrow[];
  placeOf: (source: number, row: number) => number | null; // its upper edge below `top`, may lie outside
  area: (View & { rows: number[] | null }) | null;
  mark: number | null;
}

interface Ink {
  text: string;
  quiet: string;
  line: string;
  accent: string;
  raised: string;
  idle: string;
  mark: string;
  better: string;
  worse: string;
}

const inks = new Map<string, Ink>();

/** Asked for once a theme: a question about style in every frame makes the browser lay out the page in every frame. */
function inkOf(): Ink {
  const theme = document.documentElement.dataset["theme"] ?? "light";
  const known = inks.get(theme);
  if (known) return known;
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`);
  const ink = { text: of("text"), quiet: of("quiet"), line: of("line"), accent: of("accent"), raised: of("raised"), idle: of("idle"), mark: of("communication"), better: of("better"), worse: of("worse") };
  inks.set(theme, ink);
  return ink;
}

/** The upper canvas. */
export function paintScene(canvas: HTMLCanvasElement, scene: Scene): void {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(scene.width * ratio), Math.round(scene.height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${scene.width}px`;
    canvas.style.height = `${scene.height}px`;
  }
  const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, scene.width, scene.height);
  pen.textBaseline = "middle";
  const ink = inkOf();
  pen.save();
  pen.beginPath();
  pen.rect(0, scene.top, scene.width, scene.height - scene.top);
  pen.clip();
  gridLines(pen, scene, ink);
  headers(pen, scene, ink);
  namedGaps(pen, scene, ink);
  extraRows(pen, scene, ink);
  labels(pen, scene);
  selection(pen, scene, ink);
  noteMarks(pen, scene, ink);
  arrows(pen, scene, ink);
  pen.restore();
  axis(pen, scene, ink);
  bands(pen, scene, ink);
  differences(pen, scene, ink);
  areaAndMark(pen, scene, ink);
}

const yOf = (scene: Scene, line: number) => scene.top + (scene.tops[line] as number);

function gridLines(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  pen.strokeStyle = ink.line;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const at of marks(scene.view, scene.width / 120)) {
    const x = Math.round(pixelOf(scene.view, at, scene.width)) + 0.5;
    pen.moveTo(x, scene.top);
    pen.lineTo(x, scene.height);
  }
  pen.globalAlpha = 0.35;
  pen.stroke();
  pen.globalAlpha = 1;
}

function axis(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  pen.fillStyle = ink.quiet;
  pen.font = "11px system-ui, sans-serif";
  const step = markStep(scene.view, scene.width / 120);
  for (const at of marks(scene.view, scene.width / 120)) pen.fillText(timeText(at, step), pixelOf(scene.view, at, scene.width) + 3, AXIS / 2);
}

/** A group is a line of its own: what it adds up to. */
function headers(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  pen.font = "11px system-ui, sans-serif";
  scene.lines.forEach((line, n) => {
    if (line.kind !== "group") return;
    const y = yOf(scene, n);
    pen.strokeStyle = ink.line;
    pen.beginPath();
    pen.moveTo(0, Math.round(y) + 0.5);
    pen.lineTo(scene.width, Math.round(y) + 0.5);
    pen.stroke();
    if (rowOfLine(line)) return;
    pen.fillStyle = ink.quiet;
    pen.fillText(groupText(line.group, scene.work[line.source] ?? new Map()), 6, y + scene.rowHeight / 2);
  });
}

function namedGaps(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  scene.lines.forEach((line, n) => {
    if (line.kind !== "row" || !scene.workRows.has(`${line.source}/${line.row.row}`)) return;
    const own = shifted(scene.view, -(scene.shifts[line.source] ?? 0));
    for (const gap of scene.gaps[line.source] ?? []) {
      if (gap.end < own.begin || gap.begin > own.end || gap.device === "cpu" || !isOfTrack(gap, line.track)) continue;
      const left = Math.max(-10, pixelOf(own, gap.begin, scene.width));
      const right = Math.min(scene.width + 10, pixelOf(own, gap.end, scene.width));
      if (right - left >= 4) hatch(pen, left, yOf(scene, n) + 2, right - left, scene.rowHeight - 4, ink.idle);
    }
  });
}

function extraRows(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  pen.font = `${scene.rowHeight >= 16 ? 11 : 9}px system-ui, sans-serif`;
  scene.lines.forEach((line, n) => {
    if (line.kind !== "extra") return;
    const data = scene.extras[line.source] as ExtraData;
    const own = shifted(scene.view, -(scene.shifts[line.source] ?? 0));
    const frame = { left: 0, top: yOf(scene, n), width: scene.width, height: yOf(scene, n + 1) - yOf(scene, n) };
    if (line.extra.kind === "series") paintSeries(pen, data.points.get(line.extra.row) ?? [], own, frame, { line: ink.accent, fill: ink.line });
    else paintStacks(pen, data.slices.get(line.extra.track.track) ?? [], own, frame, labelText);
  });
}

function hatch(pen: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, colour: string): void {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let at = x - height; at < x + width; at += 5) {
    pen.moveTo(at, y + height);
    pen.lineTo(at + height, y);
  }
  pen.stroke();
  pen.restore();
}

const short = new Map<string, string>();

/** Labels repeat from frame to frame. */
function labelText(name: string, room: number): string {
  const key = `${room}/${name}`;
  const known = short.get(key);
  if (known !== undefined) return known;
  if (short.size > 5000) short.clear();
  const text = shown(name, room);
  short.set(key, text);
  return text;
}

function labels(pen: CanvasRenderingContext2D, scene: Scene): void {
  pen.font = `${scene.rowHeight >= 16 ? 11 : 9}px system-ui, sans-serif`;
  for (const box of scene.boxes) {
    const room = Math.floor((box.right - box.left - 6) / 6);
    if (room < 3 || box.isDim) continue;
    pen.fillStyle = inkOn(box.colour);
    pen.fillText(labelText(box.name, room), box.left + 3, yOf(scene, box.line) + scene.rowHeight / 2 + 0.5, box.right - box.left - 6);
  }
}

/** A flag in the corner of what has a note: of a span however short it is drawn, of kernels where they have room for a label. */
function noteMarks(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  for (const span of scene.notes.spans) {
    const left = pixelOf(scene.view, span.start, scene.width);
    const right = pixelOf(scene.view, span.start + span.length, scene.width);
    if (right < 0 || left > scene.width) continue;
    scene.lines.forEach((line, n) => {
      if (line.source === 0 && rowOfLine(line)?.row === span.row) flag(pen, left, Math.min(right, scene.width), yOf(scene, n), ink);
    });
  }
  for (const box of scene.boxes)
    if (scene.lines[box.line]?.source === 0 && isNotedKernel(scene.notes, box.item, box.name)) flag(pen, box.left, box.right, yOf(scene, box.line), ink);
}

/** In the right corner, where names seldom reach; something narrower than the flag has it at its left. */
function flag(pen: CanvasRenderingContext2D, left: number, right: number, y: number, ink: Ink): void {
  const corner = Math.max(right, left + FLAG);
  pen.beginPath();
  pen.moveTo(corner, y + 1);
  pen.lineTo(corner - FLAG, y + 1);
  pen.lineTo(corner, y + 1 + FLAG);
  pen.closePath();
  pen.fillStyle = ink.mark;
  pen.fill();
  pen.strokeStyle = ink.raised;
  pen.lineWidth = 1;
  pen.stroke();
}

function selection(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  const { selected } = scene;
  if (!selected) return;
  const own = shifted(scene.view, -(scene.shifts[selected.source] ?? 0));
  const left = Math.max(-5, pixelOf(own, selected.start, scene.width));
  const right = Math.min(scene.width + 5, pixelOf(own, selected.start + selected.length, scene.width));
  pen.strokeStyle = ink.accent;
  pen.lineWidth = 2;
  pen.setLineDash(selected.kind === "gap" ? [4, 3] : []);
  scene.lines.forEach((line, n) => {
    if (line.source === selected.source && rowOfLine(line)?.row === selected.row)
      pen.strokeRect(left, yOf(scene, n) + 1, Math.max(3, right - left), scene.rowHeight - 2);
  });
  pen.setLineDash([]);
}

function arrows(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  pen.strokeStyle = ink.accent;
  pen.fillStyle = ink.accent;
  pen.lineWidth = 1.5;
  for (const { from, to } of scene.arrows) {
    const own = shifted(scene.view, -(scene.shifts[from.source] ?? 0));
    const [begin, end] = [scene.placeOf(from.source, from.row), scene.placeOf(to.source, to.row)];
    if (begin === null || end === null) continue;
    const x1 = pixelOf(own, from.start, scene.width);
    const x2 = pixelOf(own, to.start, scene.width);
    if (Math.max(x1, x2) < -50 || Math.min(x1, x2) > scene.width + 50) continue;
    arrow(pen, clamp(x1, scene.width), scene.top + begin + scene.rowHeight / 2, clamp(x2, scene.width), scene.top + end + scene.rowHeight / 2);
  }
}

const clamp = (x: number, width: number) => Math.min(Math.max(x, -4000), width + 4000);

function arrow(pen: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  const bend = Math.min(60, Math.abs(x2 - x1) / 2 + 12);
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x2, y2);
  pen.lineTo(x2 - 7, y2 - 3.5);
  pen.lineTo(x2 - 7, y2 + 3.5);
  pen.fill();
}

/** Steps with their phase; what lies outside of them is hatched. */
function bands(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  if (scene.top <= AXIS) return;
  pen.font = "10px system-ui, sans-serif";
  const draw = (one: View, text: string, isStep: boolean, n: number) => {
    const left = Math.max(-2, pixelOf(scene.view, one.begin, scene.width));
    const right = Math.min(scene.width + 2, pixelOf(scene.view, one.end, scene.width));
    if (right < 0 || left > scene.width || right - left < 1) return;
    if (isStep) {
      pen.fillStyle = ink.accent;
      pen.globalAlpha = n % 2 === 0 ? 0.22 : 0.12;
      pen.fillRect(left, AXIS, right - left, BAND - 2);
      pen.globalAlpha = 1;
    } else hatch(pen, left, AXIS, right - left, BAND - 2, ink.idle);
    pen.strokeStyle = ink.line;
    pen.lineWidth = 1;
    pen.strokeRect(Math.round(left) + 0.5, AXIS + 0.5, Math.round(right - left), BAND - 3);
    const room = Math.floor((right - Math.max(0, left) - 8) / 5.5);
    pen.fillStyle = ink.text;
    if (room >= 4 && text !== "") pen.fillText(labelText(text, room), Math.max(0, left) + 4, AXIS + BAND / 2 - 1);
  };
  const isUnder = (one: View) => scene.steps.some((step) => step.begin < one.end && one.begin < step.end);
  scene.outside.forEach((one, n) => draw(one, isUnder(one) ? "" : one.what, false, n));
  scene.steps.forEach((one, n) => draw(one, one.phase ? `${one.label} · ${one.phase.replaceAll("_", " ")}` : one.label, true, n));
}

/** Above the middle where the step beside is longer, below where it is shorter, as high as it is large; in words where there is room. */
function differences(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  const list = scene.differences ?? [];
  const largest = Math.abs(list.at(-1)?.more ?? 0);
  const middle = scene.top - BAND / 2 - 1;
  pen.font = "10px system-ui, sans-serif";
  for (const { begin, end, more } of list) {
    const left = Math.max(-2, pixelOf(scene.view, begin, scene.width));
    const right = Math.min(scene.width + 2, pixelOf(scene.view, end, scene.width));
    if (right < 0 || left > scene.width) continue;
    const wide = Math.max(1, right - left - 1);
    const high = largest === 0 ? 0 : Math.max(1, Math.round((Math.abs(more) / largest) * (BAND / 2 - 1)));
    const colour = more > 0 ? ink.worse : ink.better;
    const text = signedDuration(more);
    const isTold = pen.measureText(text).width + 8 < right - Math.max(0, left);
    pen.fillStyle = more === 0 ? ink.line : colour;
    pen.globalAlpha = isTold ? 0.15 : 1;
    if (isTold) pen.fillRect(left, middle - BAND / 2 + 1, wide, BAND - 2);
    else if (more === 0) pen.fillRect(left, middle, wide, 1);
    else pen.fillRect(left, more > 0 ? middle - high : middle, wide, high);
    pen.globalAlpha = 1;
    pen.fillStyle = more === 0 ? ink.quiet : colour;
    if (isTold) pen.fillText(text, Math.max(0, left) + 4, middle);
  }
}

function areaAndMark(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  if (scene.mark !== null) {
    const x = Math.round(pixelOf(scene.view, scene.mark, scene.width)) + 0.5;
    pen.strokeStyle = ink.accent;
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    pen.strokeRect(x, 0, 0.1, scene.height);
    pen.setLineDash([]);
  }
  const { area } = scene;
  if (!area) return;
  const left = pixelOf(scene.view, area.begin, scene.width);
  const right = pixelOf(scene.view, area.end, scene.width);
  pen.fillStyle = ink.accent;
  pen.globalAlpha = 0.14;
  if (area.rows === null) pen.fillRect(left, scene.top, right - left, scene.height);
  else
    scene.lines.forEach((line, n) => {
      const number = numberOf(line) ?? rowOfLine(line)?.row ?? -1;
      if (line.source === 0 && area.rows?.includes(number)) pen.fillRect(left, yOf(scene, n), right - left, yOf(scene, n + 1) - yOf(scene, n));
    });
  pen.globalAlpha = 1;
  pen.strokeStyle = ink.accent;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const x of [left, right]) {
    pen.moveTo(Math.round(x) + 0.5, 0);
    pen.lineTo(Math.round(x) + 0.5, scene.height);
  }
  pen.stroke();
  const text = duration(area.end - area.begin);
  pen.font = "600 11px system-ui, sans-serif";
  const wide = pen.measureText(text).width;
  const x = Math.min(Math.max(4, (left + right - wide) / 2), scene.width - wide - 4);
  pen.fillStyle = ink.raised;
  pen.fillRect(x - 3, 2, wide + 6, AXIS - 6);
  pen.fillStyle = ink.accent;
  pen.fillText(text, x, AXIS / 2 - 1);
}
