// The picture of a recording: rows of the time line with its newest edge at the right.

import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { shown } from "../format/names";
import { duration } from "../format/numbers";
import { itemAt, paintRows } from "../timeline/draw";
import { lineAt, rowHeightFor, topsOf } from "../timeline/layout";
import { groupsOf, linesOf, rowOfLine, toggled } from "../timeline/lines";
import { NO_MARKS } from "../timeline/notes";
import { AXIS, paintScene, RowPainter } from "../timeline/painter";
import { DARK, LIGHT } from "../timeline/palette";
import type { Pick } from "../timeline/tile_store";
import { Titles } from "../timeline/titles";
import { useSize, useWheel } from "../timeline/use_stage";
import { moved, timeAt, zoomed, type View } from "../timeline/view";
import type { Seen } from "./following";
import { keptView, sourceOf } from "./live_data";

interface LiveStageProps {
  seen: Seen;
  view: View;
  setWidth: (width: number) => void;
  look: (view: View, isMoved: boolean) => void; // a zoom while it is followed keeps following
}

interface Hint {
  x: number;
  y: number;
  name: string;
  text: string;
}

export function LiveStage({ seen, view, setWidth, look }: LiveStageProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const under = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const painter = useMemo(() => new RowPainter(), []);
  const { width, height } = useSize(box);
  const [scroll, setScroll] = useState(0);
  const [shut, setShut] = useState<number[]>([]);
  const [pins, setPins] = useState<number[]>([]);
  const [hint, setHint] = useState<Hint | null>(null);
  const [lit, setLit] = useState<string | null>(null);
  const drag = useRef<{ x: number; view: View } | null>(null);
  useEffect(() => setWidth(width), [width, setWidth]);

  const { data, tile } = seen;
  const lines = useMemo(() => linesOf(groupsOf([sourceOf(data)]), { pins, shut, filter: "" }), [data, pins, shut]);
  const rowHeight = rowHeightFor(lines.length);
  const tops = useMemo(() => topsOf(lines, rowHeight), [lines, rowHeight]);
  const first = Math.min(lineAt(tops, scroll), Math.max(0, lines.length - 1));
  const inSight = lines.slice(first, lineAt(tops, scroll + Math.max(0, height - AXIS)) + 1);
  const picks = useMemo((): readonly Pick[] => (tile ? [{ tile, begin: -Infinity, end: Infinity }] : []), [tile]);
  const all = keptView(data);

  useEffect(() => {
    if (width === 0) return;
    const handle = requestAnimationFrame(() => {
      const background = document.documentElement.dataset["theme"] === "dark" ? DARK : LIGHT;
      const seenTops = tops.slice(first, first + inSight.length + 1).map((one) => one - scroll);
      const rows = inSight.map((line) => {
        const row = rowOfLine(line);
        return row ? { row: row.row, picks, view } : null;
      });
      const boxes = painter.paint(under.current as HTMLCanvasElement, width, seenTops, rowHeight, (pixels) =>
        paintRows(pixels, width, rows, background, { lit, only: "" }),
      );
      paintScene(over.current as HTMLCanvasElement, {
        width, height, top: AXIS, rowHeight, tops: seenTops, view, shifts: [0], lines: inSight, extras: [], work: [], workRows: new Set(), boxes, steps: [],
        outside: [], gaps: [], notes: NO_MARKS, selected: null, arrows: [], placeOf: () => null, area: null, mark: null,
      });
    });
    return () => cancelAnimationFrame(handle);
  });

  const turn = useRef<(event: WheelEvent) => void>(() => undefined);
  turn.current = (event) => {
    if (event.shiftKey) return; // rows scroll
    event.preventDefault();
    const bounds = (box.current as HTMLDivElement).getBoundingClientRect();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) look(moved(view, (event.deltaX * unit) / width, all), true);
    else look(zoomed(view, Math.exp(event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0015)), (event.clientX - bounds.left) / width, all), false);
  };
  useWheel(box, turn);

  const hintAt = (x: number, y: number): Hint | null => {
    const bounds = (box.current as HTMLDivElement).getBoundingClientRect();
    const [left, below] = [x - bounds.left, y - bounds.top];
    const line = below < AXIS ? undefined : lines[lineAt(tops, below - AXIS + scroll)];
    const row = line ? rowOfLine(line) : null;
    const found = row ? itemAt(picks, row.row, timeAt(view, left, width)) : null;
    if (!found) return null;
    const name = found.tile.names[found.tile.name[found.index] as number] as string;
    const length = found.tile.length[found.index] as number;
    return { x: left, y: below, name, text: `${shown(name, 120)}\n${length === 0 ? "an instant" : duration(length)}` };
  };

  return (
    <div className="timeline live" data-lines={lines.length} data-view={`${Math.round(view.begin)}-${Math.round(view.end)}`}>
      <Titles
        lines={inSight} top={AXIS} shift={scroll - (tops[first] as number)} rowHeight={rowHeight} runs={1} letters={30} rangeOf={() => ""}
        fold={(group) => setShut(toggled(shut, group))} pin={(_, row) => setPins(toggled(pins, row))} movePin={() => undefined}
      />
      <div
        ref={box} className="stage" tabIndex={0} role="application"
        aria-label="Recording. Space pauses and follows, W and S zoom, A and D move, question mark lists all keys."
        onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, view };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const begun = drag.current;
          if (begun) {
            setHint(null);
            if (event.clientX !== begun.x) look(moved(begun.view, (begun.x - event.clientX) / width, all), true);
            return;
          }
          const found = hintAt(event.clientX, event.clientY);
          setHint(found);
          setLit(found?.name ?? null);
        }}
        onPointerUp={() => (drag.current = null)}
        onPointerCancel={() => (drag.current = null)}
        onPointerLeave={() => {
          setHint(null);
          setLit(null);
        }}
      >
        <div className="pictures">
          <canvas ref={under} style={{ top: AXIS }} />
          <canvas ref={over} />
          {hint ? (
            <div className="hover" aria-hidden="true" style={{ top: hint.y + 14, ...(hint.x > width / 2 ? { right: width - hint.x + 8 } : { left: hint.x + 12 }) }}>
              {hint.text}
            </div>
          ) : null}
        </div>
        <div style={{ height: (tops.at(-1) as number) + AXIS }} />
      </div>
    </div>
  );
}
