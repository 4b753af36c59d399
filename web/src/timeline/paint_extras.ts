// Counters as lines, and sampled stacks as strips, on the upper canvas.

import { shown } from "../format/names";
import { colourOf, inkOn, packed } from "./palette";
import { rangeIn, type Point } from "./series";
import { joined, type Slice } from "./stacks";
import { pixelOf, type View } from "./view";

export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** A name that fits into so many letters. */
type Label = (name: string, room: number) => string;

const ROOM = 3; // px above and below a line
const OUTSIDE = 4; // px where a line cannot be seen

/** From the smallest to the largest value that is seen; a value stays until the next sample, and a peak is a bar. */
export function paintSeries(pen: CanvasRenderingContext2D, points: readonly Point[], view: View, frame: Frame, ink: { line: string; fill: string }): void {
  const range = rangeIn(points, view);
  if (!range) return;
  const high = frame.height - 2 * ROOM;
  const y = (value: number) => frame.top + ROOM + (range.high === range.low ? high / 2 : ((range.high - value) / (range.high - range.low)) * high);
  const x = (ns: number) => Math.min(Math.max(pixelOf(view, ns, frame.width), -OUTSIDE), frame.width + OUTSIDE);
  pen.beginPath();
  points.forEach((point, n) => {
    const next = points[n + 1]?.first ?? Infinity;
    if (next < view.begin || point.first > view.end) return;
    const [from, to] = [x(point.first), x(point.until)];
    pen.moveTo(from, y(point.low));
    pen.lineTo(from, y(point.high) - (point.low === point.high ? 0.5 : 0)); // also a single sample is seen
    if (point.last === null) return;
    pen.moveTo(from, y(point.last));
    pen.lineTo(Math.max(to, x(next)), y(point.last));
    if (points[n + 1]) pen.lineTo(x(next), y((points[n + 1] as Point).low));
  });
  pen.strokeStyle = ink.line;
  pen.lineWidth = 1.2;
  pen.stroke();
  pen.fillStyle = ink.fill;
  pen.fillRect(frame.left, frame.top + frame.height - 1, frame.width, 1);
}

/** Functions in boxes, with their names where there is room. */
export function paintStacks(pen: CanvasRenderingContext2D, slices: readonly Slice[], view: View, frame: Frame, label: Label): void {
  for (const { leaf, begin, end } of joined(slices)) {
    const left = Math.max(-2, pixelOf(view, begin, frame.width));
    const right = Math.min(frame.width + 2, pixelOf(view, end, frame.width));
    if (right < 0 || left > frame.width) continue;
    const colour = colourOf("stacks", leaf);
    pen.fillStyle = `rgb(${colour.join(" ")})`;
    pen.fillRect(left, frame.top + 2, Math.max(1, right - left - (right - left > 6 ? 1 : 0)), frame.height - 4);
    const room = Math.floor((right - Math.max(0, left) - 6) / 6);
    if (room < 3) continue;
    pen.fillStyle = inkOn(packed(colour));
    pen.fillText(label(shown(leaf, 200), room), Math.max(0, left) + 3, frame.top + frame.height / 2 + 0.5, right - left - 6);
  }
}
