// The picture: rows of tiles on two canvases, with what the pointer does to it.

import { useEffect, useImperativeHandle, useMemo, useRef, useState, type ReactNode, type Ref } from "react";
import { shown } from "../format/names";
import { duration, percent } from "../format/numbers";
import { placeText } from "../pages/run/parts";
import { arrowText, type Arrow } from "./arrows";
import type { WorkByTrack } from "./device_work";
import { itemAt, paintRows, type Emphasis } from "./draw";
import { differenceText, type Difference } from "./differences";
import { namedIn, type NamedGap } from "./idle";
import type { Selected, Span } from "./item";
import { lineAt, rowHeightFor, topsOf } from "./layout";
import { numberOf, rowOfLine, workRows, type ExtraLine, type Line, type Source } from "./lines";
import { marksText, notesOf } from "./notes";
import { AXIS, BAND, paintScene, RowPainter } from "./painter";
import type { Area } from "./page_state";
import { DARK, LIGHT } from "./palette";
import { nearestEdge } from "./snap";
import type { Outside, Step } from "./steps";
import type { Pick as Piece, TileStore } from "./tile_store";
import { extraHint, seriesRange } from "./extra_text";
import { idOf, levelFor, tableOf, type Tile } from "./tiles";
import { Titles } from "./titles";
import type { NotesOnPicture } from "./use_notes";
import { useExtraData } from "./use_extras";
import { useSize, useWheel } from "./use_stage";
import { moved, pinched, shifted, spanOf, timeAt, zoomed, type View } from "./view";

const SNAP = 7; // px
const DRAG = 3; // px that a click may move
const MOST_DEVICES = 8; // of a step that are told

/** What the keys need to know of the picture. */
export interface StageHandle {
  width: number;
  firstLine: number;
  picksOf: (line: Line) => readonly Piece[];
  pointer: () => { at: number; line: Line | null } | null; // snapped to an edge
  place: () => number | null; // of the pointer: 0 at the left edge, 1 at the right
  focus: () => void;
}

interface StageProps {
  handle: Ref<StageHandle>;
  sources: readonly Source[];
  stores: readonly TileStore[];
  lines: readonly Line[];
  work: readonly WorkByTrack[];
  all: View;
  view: View;
  setView: (view: View) => void;
  emphasis: Emphasis;
  light: (name: string | null) => void;
  selected: Selected | null;
  arrows: readonly Arrow[];
  pick: (span: Span | null, line: Line | null, at: number) => void;
  area: Area | null;
  setArea: (area: Area | null) => void;
  areaMode: boolean;
  mark: number | null;
  steps: readonly Step[];
  outside: readonly Outside[];
  differences: readonly Difference[];
  gaps: readonly (readonly NamedGap[] | null)[]; // of each run
  noted: NotesOnPicture;
  fail: (error: unknown) => void;
  fold: (group: number) => void;
  pin: (source: number, row: number) => void;
  movePin: (pin: number, by: -1 | 1) => void;
}

interface Drag {
  x: number;
  y: number;
  view: View;
  scroll: number;
  from: number; // time where it began
  isArea: boolean;
  isMoved: boolean;
}

/** Two fingers: where they began, as shares of the width, and what was seen then. */
interface Pinch {
  from: [number, number];
  view: View;
}

type Bands = Pick<StageProps, "steps" | "outside" | "differences">;

interface Hint {
  x: number;
  y: number;
  text: string;
}

export function spanFrom(tile: Tile, index: number, source: number, row: number): Span {
  const item = tile.item[index] as number;
  return {
    kind: "span", source, row, table: tableOf(item), id: idOf(item), name: tile.names[tile.name[index] as number] as string,
    start: tile.begin + (tile.start[index] as number), length: tile.length[index] as number,
  };
}

export function Stage(props: StageProps): ReactNode {
  const { sources, stores, lines, all, view, setView, selected, area, fail } = props;
  const box = useRef<HTMLDivElement>(null);
  const under = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const painter = useMemo(() => new RowPainter(), []);
  const { width, height } = useSize(box);
  const [scroll, setScroll] = useState(0);
  const [hint, setHint] = useState<Hint | null>(null);
  const drag = useRef<Drag | null>(null);
  const last = useRef<{ x: number; y: number } | null>(null);
  const fingers = useRef(new Map<number, number>()); // x of each
  const pinch = useRef<Pinch | null>(null);

  const rowHeight = rowHeightFor(lines.length);
  const tops = useMemo(() => topsOf(lines, rowHeight), [lines, rowHeight]);
  const top = AXIS + (props.steps.length + props.outside.length > 0 ? BAND : 0) + (props.differences.length > 0 ? BAND : 0);
  const level = levelFor(width > 0 ? spanOf(view) / width : 1);
  const first = Math.min(lineAt(tops, scroll), Math.max(0, lines.length - 1));
  const end = lineAt(tops, scroll + Math.max(0, height - top)) + 1;
  const seen = useMemo(() => lines.slice(first, end), [lines, first, end]);
  const shift = scroll - (tops[first] as number);
  const extras = [useExtraData(sources[0], 0, seen, view, width), useExtraData(sources[1], 1, seen, view, width)];
  const streams = useMemo(() => workRows(sources), [sources]);
  const viewIn = (source: number) => shifted(view, -(sources[source]?.shift ?? 0));

  const picksOf = (line: Line): readonly Piece[] => {
    const row = rowOfLine(line);
    const store = stores[line.source];
    return row && store ? store.picks(store.groupOf(row.row), level, viewIn(line.source)) : [];
  };

  useEffect(() => {
    if (width === 0) return;
    stores.forEach((store, source) => {
      const rows = seen.filter((line) => line.source === source).map(rowOfLine).filter((row) => row !== null);
      store.want(level, viewIn(source), rows.map((row) => row.row));
    });
  });

  useEffect(() => {
    if (width === 0) return;
    const handle = requestAnimationFrame(() => {
      const began = performance.now();
      const background = document.documentElement.dataset["theme"] === "dark" ? DARK : LIGHT;
      const known = new Map<string, readonly Piece[]>();
      const picksOfGroup = (source: number, row: number): readonly Piece[] => {
        const store = stores[source] as TileStore;
        const key = `${source}/${store.groupOf(row)}`;
        const picks = known.get(key) ?? store.picks(store.groupOf(row), level, viewIn(source));
        known.set(key, picks);
        return picks;
      };
      const seenTops = tops.slice(first, first + seen.length + 1).map((one) => one - scroll);
      const rows = seen.map((line) => {
        const row = rowOfLine(line);
        return row && stores[line.source] ? { row: row.row, picks: picksOfGroup(line.source, row.row), view: viewIn(line.source) } : null;
      });
      const boxes = painter.paint(under.current as HTMLCanvasElement, width, seenTops, rowHeight, (pixels) =>
        paintRows(pixels, width, rows, background, props.emphasis),
      );
      const placeOf = (source: number, row: number) => {
        const at = lines.findIndex((line) => line.source === source && rowOfLine(line)?.row === row);
        return at < 0 ? null : (tops[at] as number) - scroll;
      };
      paintScene(over.current as HTMLCanvasElement, {
        width, height, top, rowHeight, tops: seenTops, view, shifts: sources.map((one) => one.shift), lines: seen, extras, work: props.work,
        workRows: streams, boxes, steps: props.steps, outside: props.outside, differences: props.differences, gaps: props.gaps, notes: props.noted.marks, selected, arrows: props.arrows, placeOf, area, mark: props.mark,
      });
      const page = document.getElementById("main") as HTMLElement;
      page.dataset["frameMs"] = (performance.now() - began).toFixed(2);
      page.dataset["items"] = String([...known.values()].flat().reduce((sum, { tile }) => sum + tile.item.length, 0));
      page.dataset["notes"] = marksText(props.noted.marks);
      page.dataset["differences"] = String(props.differences.length);
      page.dataset["arrows"] = JSON.stringify(props.arrows.map(arrowText));
      if (known.size > 0 ? [...known.values()].some((picks) => picks.length > 0) : lines.length === 0 || seen.every((line) => rowOfLine(line) === null))
        page.dataset["ready"] = "true";
      page.dataset["sharp"] = String(stores.every((store) => !store.isWaiting) && extras.every((one) => !one.isWaiting));
    });
    return () => cancelAnimationFrame(handle);
  });

  const unread = extras.find((one) => one.error)?.error;
  useEffect(() => {
    if (unread) fail(unread);
  }, [unread, fail]);

  useEffect(() => {
    const at = selected ? lines.findIndex((line) => line.source === selected.source && rowOfLine(line)?.row === selected.row) : -1;
    const element = box.current;
    if (at < 0 || !element) return;
    const y = tops[at] as number;
    const room = element.clientHeight - top;
    if (y < element.scrollTop) element.scrollTop = Math.max(0, y - rowHeight * 2);
    else if (y + rowHeight > element.scrollTop + room) element.scrollTop = y + rowHeight * 3 - room;
  }, [selected, lines, tops, rowHeight, top, height]);

  const shareOf = (x: number) => (x - (box.current as HTMLDivElement).getBoundingClientRect().left) / width;

  const place = (x: number, y: number): { at: number; line: Line | null } => {
    const bounds = (box.current as HTMLDivElement).getBoundingClientRect();
    const line = y - bounds.top < top ? null : (lines[lineAt(tops, y - bounds.top - top + scroll)] ?? null);
    return { at: timeAt(view, x - bounds.left, width), line };
  };

  /** What a counter is in the view, and at the mark. */
  const rangeOf = (line: ExtraLine): string => {
    const points = extras[line.source]?.points.get(line.extra.row);
    const mark = props.mark === null ? null : props.mark - (sources[line.source]?.shift ?? 0);
    return points && line.extra.kind === "series" ? seriesRange(line.extra, points, viewIn(line.source), mark) : "";
  };

  const snapped = (x: number, y: number): number => {
    const { at, line } = place(x, y);
    const reach = (SNAP / width) * spanOf(view);
    const edges = (line ? [line] : seen).flatMap((one) => {
      const row = rowOfLine(one);
      const by = sources[one.source]?.shift ?? 0;
      const edge = row ? nearestEdge(picksOf(one), row.row, at - by, reach) : null;
      return edge === null ? [] : [edge + by];
    });
    return edges.reduce((best, edge) => (best === at || Math.abs(edge - at) < Math.abs(best - at) ? edge : best), at);
  };

  const spanAt = (at: number, line: Line | null): Span | null => {
    const row = line ? rowOfLine(line) : null;
    if (!line || !row) return null;
    const found = itemAt(picksOf(line), row.row, at - (sources[line.source]?.shift ?? 0));
    return found ? spanFrom(found.tile, found.index, line.source, row.row) : null;
  };

  useImperativeHandle(props.handle, () => ({
    width,
    firstLine: first,
    picksOf,
    pointer: () => (last.current ? { ...place(last.current.x, last.current.y), at: snapped(last.current.x, last.current.y) } : null),
    place: () => (last.current ? shareOf(last.current.x) : null),
    focus: () => box.current?.focus(),
  }));

  const turn = useRef<(event: WheelEvent) => void>(() => undefined);
  turn.current = (event) => {
    if (event.shiftKey) return; // rows scroll
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) setView(moved(view, (event.deltaX * unit) / width, all));
    else setView(zoomed(view, Math.exp(event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0015)), shareOf(event.clientX), all));
  };
  useWheel(box, turn);

  const hintAt = (x: number, y: number): Hint | null => {
    const bounds = (box.current as HTMLDivElement).getBoundingClientRect();
    const { at, line } = place(x, y);
    const textOf = (one: Line) =>
      one.kind === "extra" ? extraHint(one, at - (sources[one.source]?.shift ?? 0), extras[one.source]) : rowHint(spanAt(at, one), one, at, props, sources);
    const text = line ? textOf(line) : bandHint(y - bounds.top, at, top, props);
    return text === "" ? null : { x: x - bounds.left, y: y - bounds.top, text };
  };

  const lift = (finger: number) => {
    fingers.current.delete(finger);
    pinch.current = null;
    drag.current = null;
  };

  const areaTo = (begun: Drag, x: number, y: number): Area => {
    const ends = [begun.from, snapped(x, y)].sort((a, b) => a - b) as [number, number];
    const bounds = (box.current as HTMLDivElement).getBoundingClientRect();
    const numberAt = (clientY: number) => lineAt(tops, clientY - bounds.top - top + scroll);
    if (begun.y - bounds.top < top) return { begin: ends[0], end: ends[1], rows: null };
    const [from, to] = [numberAt(begun.y), numberAt(y)].sort((a, b) => a - b) as [number, number];
    const rows = lines.slice(Math.max(0, from), to + 1).filter((line) => line.source === 0).map((line) => numberOf(line) ?? rowOfLine(line)?.row ?? null);
    return { begin: ends[0], end: ends[1], rows: [...new Set(rows.filter((row) => row !== null))].sort((a, b) => a - b) };
  };

  return (
    <div className="timeline" data-lines={lines.length}>
      <Titles
        lines={seen} top={top} shift={shift} rowHeight={rowHeight} runs={sources.length} letters={30} fold={props.fold} pin={props.pin} movePin={props.movePin}
        rangeOf={rangeOf} band={props.differences.length > 0 ? { top: top - BAND, height: BAND, text: "▲ longer beside, ▼ shorter" } : null}
      />
      <div
        ref={box} className={`stage${props.areaMode ? " measuring" : ""}`} tabIndex={0} role="application"
        aria-label="Time line. W and S zoom, A and D move, arrow keys go from span to span, F fits, slash searches, question mark lists all keys."
        onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          fingers.current.set(event.pointerId, event.clientX);
          if (fingers.current.size > 1) {
            const [one, other] = [...fingers.current.values()] as [number, number];
            drag.current = null;
            pinch.current ??= { from: [shareOf(one), shareOf(other)], view };
            return;
          }
          const isAxis = event.clientY - event.currentTarget.getBoundingClientRect().top < top;
          const isArea = event.shiftKey || props.areaMode || isAxis;
          drag.current = { x: event.clientX, y: event.clientY, view, scroll, from: snapped(event.clientX, event.clientY), isArea, isMoved: false };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          last.current = { x: event.clientX, y: event.clientY };
          if (fingers.current.has(event.pointerId)) fingers.current.set(event.pointerId, event.clientX);
          if (pinch.current) {
            const [one, other] = [...fingers.current.values()] as [number, number];
            setView(pinched(pinch.current.view, pinch.current.from, [shareOf(one), shareOf(other)], all));
            return;
          }
          const begun = drag.current;
          if (!begun) {
            const { at, line } = place(event.clientX, event.clientY);
            props.light(spanAt(at, line)?.name ?? null);
            setHint(hintAt(event.clientX, event.clientY));
            return;
          }
          begun.isMoved ||= Math.abs(event.clientX - begun.x) > DRAG || Math.abs(event.clientY - begun.y) > DRAG;
          if (!begun.isMoved) return;
          setHint(null);
          if (begun.isArea) props.setArea(areaTo(begun, event.clientX, event.clientY));
          else {
            setView(moved(begun.view, (begun.x - event.clientX) / width, all));
            (box.current as HTMLDivElement).scrollTop = begun.scroll + begun.y - event.clientY;
          }
        }}
        onPointerUp={(event) => {
          const begun = drag.current;
          lift(event.pointerId);
          if (!begun || begun.isMoved) return; // what began elsewhere, or with two fingers, is no click
          const { at, line } = place(event.clientX, event.clientY);
          props.pick(spanAt(at, line), line, at);
        }}
        onPointerCancel={(event) => lift(event.pointerId)}
        onLostPointerCapture={(event) => lift(event.pointerId)}
        onPointerLeave={() => {
          last.current = null;
          setHint(null);
          props.light(null);
        }}
      >
        <div className="pictures">
          <canvas ref={under} style={{ top }} />
          <canvas ref={over} />
          {hint ? (
            <div className="hover" aria-hidden="true" style={{ top: hint.y + 14, ...(hint.x > width / 2 ? { right: width - hint.x + 8 } : { left: hint.x + 12 }) }}>
              {hint.text}
            </div>
          ) : null}
        </div>
        <div style={{ height: (tops.at(-1) as number) + top }} />
      </div>
    </div>
  );
}

function rowHint(span: Span | null, line: Line, at: number, { gaps, noted }: Pick<StageProps, "gaps" | "noted">, sources: readonly Source[]): string {
  if (span) return `${shown(span.name, 120)}\n${span.length === 0 ? "an instant, or no length given" : duration(span.length)}${noteHint(span, noted)}`;
  if (line.kind !== "row") return "";
  const own = at - (sources[line.source]?.shift ?? 0);
  const gap = namedIn(gaps[line.source] ?? [], line.track, { begin: own, end: own + 1 })[0];
  return gap ? `Idle ${duration(gap.end - gap.begin)}: ${gap.words}${gap.hostSpan ? ` (${shown(gap.hostSpan, 80)})` : ""}` : "";
}

function noteHint(span: Span, { notes }: NotesOnPicture): string {
  return span.source > 0 ? "" : notesOf(notes, span).map((note) => `\nNote: ${shown(note.text, 160)}`).join("");
}

function bandHint(y: number, at: number, top: number, { steps, outside, differences }: Bands): string {
  if (y < AXIS) return "";
  const isHere = (one: View) => one.begin <= at && at < one.end;
  if (differences.length > 0 && y >= top - BAND) {
    const difference = differences.find(isHere);
    return difference ? differenceText(difference) : "";
  }
  const step = steps.findLast(isHere);
  if (step) return `${shown(step.label, 100)}${step.phase ? `, ${step.phase.replaceAll("_", " ")}` : ""}\n${duration(step.end - step.begin)}${busyText(step)}`;
  const out = outside.find(isHere);
  return out ? `${out.what}: ${out.why}\n${duration(out.end - out.begin)}` : "";
}

/** How busy its devices are, each with its rank. */
export function busyText({ devices }: Step): string {
  const known = devices.filter((one) => one.window_ns > 0);
  const lines = known.slice(0, MOST_DEVICES).map((one) => `\n${percent(one.busy_ns / one.window_ns)} of it busy on ${placeText(one)}`);
  const more = known.length - lines.length;
  return `${lines.join("")}${more > 0 ? `\nand ${more} more` : ""}`;
}
