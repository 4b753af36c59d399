// The time line of a run: rows of tiles, drawn on a canvas; what is seen is in the address of the page.

import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useSearchParams } from "wouter";
import type { AreaAnswer, SearchAnswer, SpanFound, TimelineRow, TimelineRows, TimelineTrack } from "../api/answers";
import { ask } from "../api/ask";
import { shown } from "../format/names";
import { duration, exactNs, grouped } from "../format/numbers";
import { KnownTime, Time } from "../parts/figure";
import { isTyping } from "../parts/keys";
import { Empty, Failure, Waiting } from "../parts/state";
import { RunHead } from "./run";
import { itemAt, paintRows, type Box } from "../timeline/draw";
import { DARK, LIGHT } from "../timeline/palette";
import { TileStore } from "../timeline/tile_store";
import { idOf, levelFor, tableOf } from "../timeline/tiles";
import { around, marks, moved, pixelOf, spanOf, timeAt, viewOf, viewText, zoomed, type View } from "../timeline/view";

const ROW = 18;
const AXIS = 22;

export default function TimelinePage({ id }: { id: string }): ReactNode {
  const rows = useQuery({ queryKey: ["timeline", id], queryFn: async ({ signal }) => (await ask<TimelineRows>("timeline", { run: id }, signal)).data });
  return (
    <main id="main" className="timeline-page" data-ready={rows.error !== null || rows.data?.rows.length === 0 ? "true" : undefined}>
      <RunHead id={id} at="timeline" />
      {rows.error ? <Failure error={rows.error} retry={() => void rows.refetch()} /> : null}
      {rows.isPending ? <Waiting what="Making the time line" /> : null}
      {rows.data?.rows.length === 0 ? (
        <Empty>
          Nothing in this run has a time
          {rows.data.not_placed > 0 ? `: ${grouped(rows.data.not_placed)} records have none` : ""}. What it has is on its overview.
        </Empty>
      ) : null}
      {rows.data && rows.data.rows.length > 0 ? <Timeline id={id} data={rows.data} /> : null}
    </main>
  );
}

interface Line {
  row: TimelineRow;
  track: TimelineTrack;
  isFirst: boolean; // of its track
}

/** Streams of devices first, then threads; deeper rows below. */
function linesOf(data: TimelineRows): Line[] {
  const tracks = new Map(data.tracks.map((track) => [track.track, track]));
  const rank = (row: TimelineRow) => (tracks.get(row.track)?.kind === "stream" ? 0 : 1);
  const sorted = [...data.rows].sort((a, b) => rank(a) - rank(b) || a.track - b.track || a.depth - b.depth || a.lane - b.lane);
  return sorted.map((row, n) => ({ row, track: tracks.get(row.track) as TimelineTrack, isFirst: sorted[n - 1]?.track !== row.track }));
}

interface Selection {
  row: number;
  name: string;
  table: string;
  id: number;
  start: number;
  length: number;
}

function Timeline({ id, data }: { id: string; data: TimelineRows }): ReactNode {
  const [search, setSearch] = useSearchParams();
  const all = useMemo<View>(() => ({ begin: data.begin_ns, end: data.end_ns }), [data]);
  const [view, setView] = useState<View>(() => firstView(search, data, all));
  const [selected, setSelected] = useState<Selection | null>(null);
  const [area, setArea] = useState<View | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const lines = useMemo(() => linesOf(data), [data]);

  useEffect(() => {
    const timer = setTimeout(() => {
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          after.delete("gap");
          after.set("at", viewText(view));
          return after;
        },
        { replace: true },
      );
    }, 250);
    return () => clearTimeout(timer);
  }, [view, setSearch]);

  const goTo = useCallback(
    (span: SpanFound) => {
      setSelected({ row: span.row, name: span.name, table: span.table, id: span.id, start: span.start_ns, length: span.dur_ns });
      setView(around(span.start_ns, span.start_ns + span.dur_ns, all));
    },
    [all],
  );

  return (
    <>
      <div className="timeline-bar">
        <Search id={id} view={view} goTo={goTo} />
        <span className="hint" role="status">
          {duration(view.begin)} to {duration(view.end)}, {duration(spanOf(view))} of {duration(spanOf(all))}
        </span>
        <button onClick={() => setView(all)}>Whole run</button>
      </div>
      {failure ? <Failure error={failure} retry={() => setFailure(null)} /> : null}
      <Canvas
        id={id} lines={lines} rows={data.rows.length} all={all} view={view} setView={setView}
        selected={selected} select={setSelected} area={area} setArea={setArea} fail={setFailure} goTo={goTo}
      />
      <Details id={id} selected={selected} area={area} origin={data.origin_ns} zoom={(begin, end) => setView(around(begin, end, all))} />
    </>
  );
}

function firstView(search: URLSearchParams, data: TimelineRows, all: View): View {
  const gap = /^(\d+)-(\d+)$/.exec(search.get("gap") ?? "");
  if (!gap) return viewOf(search.get("at"), all);
  const begin = Number(BigInt(gap[1] as string) - BigInt(data.origin_ns));
  return around(begin, begin + Number(gap[2]), all);
}

interface CanvasProps {
  id: string;
  lines: Line[];
  rows: number;
  all: View;
  view: View;
  setView: (view: View) => void;
  selected: Selection | null;
  select: (selection: Selection | null) => void;
  area: View | null;
  setArea: (area: View | null) => void;
  fail: (error: unknown) => void;
  goTo: (span: SpanFound) => void;
}

function Canvas(props: CanvasProps): ReactNode {
  const { id, lines, all, view, setView, selected, select, area, setArea, fail } = props;
  const box = useRef<HTMLDivElement>(null);
  const under = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [top, setTop] = useState(0);
  const [version, setVersion] = useState(0);
  const [lit, setLit] = useState<string | null>(null);
  const drag = useRef<{ x: number; view: View; moved: boolean; isArea: boolean } | null>(null);
  const store = useMemo(() => new TileStore(id, props.rows, () => setVersion((n) => n + 1), fail), [id, props.rows, fail]);
  const latest = useRef({ view, all });
  latest.current = { view, all };

  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const watch = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  const width = Math.max(0, size.width);
  const level = levelFor(width > 0 ? spanOf(view) / width : 1);
  const first = Math.floor(top / ROW);
  const seen = lines.slice(first, first + Math.ceil(Math.max(0, size.height - AXIS) / ROW) + 1);

  useEffect(() => {
    if (width > 0) store.want(level, view, seen.map((line) => line.row.row));
  });

  useEffect(() => {
    if (width === 0) return;
    const handle = requestAnimationFrame(() => {
      const began = performance.now();
      const background = document.documentElement.dataset["theme"] === "dark" ? DARK : LIGHT;
      const shownRows = seen.map((line) => ({ row: line.row.row, tiles: store.tilesFor(line.row.row, level, view) }));
      const boxes = paint(under.current as HTMLCanvasElement, width, shownRows.length, top % ROW, (pixels) =>
        paintRows(pixels, width, shownRows, view, background, lit),
      );
      label(over.current as HTMLCanvasElement, width, size.height, top % ROW, seen, boxes, view, selected, area);
      const page = document.getElementById("main") as HTMLElement;
      page.dataset["frameMs"] = (performance.now() - began).toFixed(2);
      if (shownRows.some((row) => row.tiles.length > 0)) page.dataset["ready"] = "true";
    });
    return () => cancelAnimationFrame(handle);
  }, [store, width, size.height, top, seen, level, view, lit, selected, area, version]);

  const pointed = (event: React.PointerEvent | React.MouseEvent): Selection | null => {
    const bounds = (over.current as HTMLCanvasElement).getBoundingClientRect();
    const line = lines[Math.floor((event.clientY - bounds.top - AXIS + top) / ROW)];
    if (!line || event.clientY - bounds.top < AXIS) return null;
    const row = line.row.row;
    const found = itemAt(store.tilesFor(row, level, view), row, timeAt(view, event.clientX - bounds.left, width));
    if (!found) return null;
    const { tile, index } = found;
    const item = tile.item[index] as number;
    return {
      row, name: tile.names[tile.name[index] as number] as string, table: tableOf(item), id: idOf(item),
      start: tile.begin + (tile.start[index] as number), length: tile.length[index] as number,
    };
  };

  useKeys(props, width);
  useWheel(box, latest, setView);

  return (
    <div className="timeline">
      <div className="titles" aria-hidden="true" style={{ paddingTop: AXIS }}>
        {seen.map((line) => (
          <div key={line.row.row} className={line.isFirst ? "first" : ""} style={{ height: ROW, marginTop: line === seen[0] ? -(top % ROW) : 0 }}>
            {line.isFirst ? shown(`${line.track.process} / ${line.track.title}`, 34) : ""}
          </div>
        ))}
      </div>
      <div
        ref={box} className="stage" tabIndex={0} role="application"
        aria-label="Time line. W and S zoom, A and D move, F fits, slash searches, question mark lists all keys."
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, view, moved: false, isArea: event.shiftKey };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const begun = drag.current;
          if (!begun) {
            setLit(pointed(event)?.name ?? null);
            return;
          }
          begun.moved ||= Math.abs(event.clientX - begun.x) > 3;
          if (!begun.moved) return;
          if (begun.isArea) {
            const left = (over.current as HTMLCanvasElement).getBoundingClientRect().left;
            const ends = [begun.x, event.clientX].map((x) => timeAt(view, x - left, width)).sort((a, b) => a - b);
            setArea({ begin: ends[0] as number, end: ends[1] as number });
          } else setView(moved(begun.view, (begun.x - event.clientX) / width, all));
        }}
        onPointerUp={(event) => {
          if (!drag.current?.moved) select(pointed(event));
          drag.current = null;
        }}
      >
        <div className="pictures">
          <canvas ref={under} style={{ top: AXIS }} />
          <canvas ref={over} />
        </div>
        <div style={{ height: lines.length * ROW + AXIS }} />
      </div>
    </div>
  );
}

/** One line a row, stretched; the bitmap is as wide as the screen has pixels. */
function paint(canvas: HTMLCanvasElement, width: number, rows: number, shift: number, fill: (pixels: Uint32Array) => Box[]): Box[] {
  const small = new OffscreenCanvas(width, Math.max(1, rows));
  const pen = small.getContext("2d") as OffscreenCanvasRenderingContext2D;
  const image = pen.createImageData(width, Math.max(1, rows));
  const boxes = fill(new Uint32Array(image.data.buffer));
  pen.putImageData(image, 0, 0);
  canvas.width = width;
  canvas.height = Math.max(1, rows * ROW);
  const screen = canvas.getContext("2d") as CanvasRenderingContext2D;
  screen.imageSmoothingEnabled = false;
  for (let row = 0; row < rows; row++) screen.drawImage(small, 0, row, width, 1, 0, row * ROW - shift + 1, width, ROW - 2);
  return boxes;
}

function label(
  canvas: HTMLCanvasElement, width: number, height: number, shift: number, seen: Line[], boxes: Box[], view: View, selected: Selection | null, area: View | null,
): void {
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
  const style = getComputedStyle(document.documentElement);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.fillStyle = style.getPropertyValue("--quiet");
  pen.strokeStyle = style.getPropertyValue("--line");
  for (const at of marks(view, width / 120)) {
    const x = Math.round(pixelOf(view, at, width)) + 0.5;
    pen.beginPath();
    pen.moveTo(x, AXIS - 6);
    pen.lineTo(x, height);
    pen.stroke();
    pen.fillText(duration(at), x + 3, AXIS / 2);
  }
  const places = new Map(seen.map((line, n) => [line.row.row, AXIS + n * ROW - shift]));
  pen.fillStyle = "#fff";
  for (const box of boxes) {
    const y = places.get(box.row);
    if (y === undefined || y < AXIS) continue;
    const room = Math.floor((box.right - box.left - 6) / 6);
    if (room >= 3) pen.fillText(shown(box.name, room), box.left + 3, y + ROW / 2, box.right - box.left - 6);
  }
  const y = selected ? places.get(selected.row) : undefined;
  if (selected && y !== undefined && y >= AXIS) {
    const left = pixelOf(view, selected.start, width);
    pen.strokeStyle = style.getPropertyValue("--accent");
    pen.lineWidth = 2;
    pen.strokeRect(left, y + 1, Math.max(3, pixelOf(view, selected.start + selected.length, width) - left), ROW - 2);
  }
  pen.globalAlpha = 0.15;
  pen.fillStyle = style.getPropertyValue("--accent");
  if (area) pen.fillRect(pixelOf(view, area.begin, width), 0, pixelOf(view, area.end, width) - pixelOf(view, area.begin, width), height);
}

function useWheel(box: React.RefObject<HTMLDivElement | null>, latest: React.RefObject<{ view: View; all: View }>, setView: (view: View) => void): void {
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const turn = (event: WheelEvent) => {
      if (event.shiftKey) return; // rows scroll
      event.preventDefault();
      const { view, all } = latest.current;
      const bounds = element.getBoundingClientRect();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) setView(moved(view, event.deltaX / bounds.width, all));
      else setView(zoomed(view, Math.exp(event.deltaY * 0.0015), (event.clientX - bounds.left) / bounds.width, all));
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [box, latest, setView]);
}

function useKeys({ id, view, all, setView, selected, select, setArea, goTo, fail }: CanvasProps, width: number): void {
  useEffect(() => {
    const neighbour = async (direction: "next" | "previous") => {
      if (!selected) return;
      const from_ns = direction === "next" ? Math.floor(selected.start) + 1 : Math.floor(selected.start);
      try {
        const { data } = await ask<SearchAnswer>("timeline", { run: id, what: "search", text: selected.name, rows: [selected.row], from_ns });
        const found = data[direction];
        if (found) goTo(found);
      } catch (error) {
        fail(error);
      }
    };
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || width === 0) return;
      const whole = view.begin === all.begin && view.end === all.end;
      const keys: Record<string, () => void> = {
        w: () => setView(zoomed(view, 0.7, 0.5, all)),
        s: () => setView(zoomed(view, 1 / 0.7, 0.5, all)),
        a: () => setView(moved(view, -0.15, all)),
        d: () => setView(moved(view, 0.15, all)),
        f: () => setView(selected && !whole ? around(selected.start, selected.start + selected.length, all) : all),
        m: () => selected && setArea({ begin: selected.start, end: selected.start + selected.length }),
        M: () => setArea(null),
        ".": () => void neighbour("next"),
        ",": () => void neighbour("previous"),
        Escape: () => select(null),
        "/": () => document.getElementById("search")?.focus(),
      };
      const act = keys[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [id, view, all, setView, selected, select, setArea, goTo, fail, width]);
}

function Search({ id, view, goTo }: { id: string; view: View; goTo: (span: SpanFound) => void }): ReactNode {
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const find = async (direction: "next" | "previous") => {
    if (!text) return;
    const from_ns = Math.floor((view.begin + view.end) / 2) + (direction === "next" ? 1 : 0);
    try {
      const { data } = await ask<SearchAnswer>("timeline", { run: id, what: "search", text, from_ns });
      setSaid(data.count === 0 ? "no span has this name" : `${grouped(data.count)} spans`);
      const found = data[direction] ?? data[direction === "next" ? "previous" : "next"];
      if (found) goTo(found);
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void find("next");
      }}
    >
      <input
        id="search" type="search" aria-label="Search spans by name" placeholder="Search  /" value={text} onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <button>Next</button>
      <button type="button" onClick={() => void find("previous")}>
        Previous
      </button>
      <span role="status">{said}</span>
    </form>
  );
}

function Details(props: { id: string; selected: Selection | null; area: View | null; origin: number | bigint; zoom: (begin: number, end: number) => void }): ReactNode {
  const { id, selected, area, origin, zoom } = props;
  return (
    <section className="details" aria-label="Details" aria-live="polite">
      {selected ? (
        <dl>
          <dt>Name</dt>
          <dd className="mono">{shown(selected.name, 400)}</dd>
          <dt>Length</dt>
          <dd title={exactNs(selected.length)}>{selected.length === 0 ? "an instant, or no length given" : duration(selected.length)}</dd>
          <dt>Start</dt>
          <dd title={exactNs(BigInt(origin) + BigInt(Math.round(selected.start)))}>{duration(selected.start)} after the begin</dd>
          <dt>Row</dt>
          <dd>
            {selected.table} {selected.id} <button onClick={() => zoom(selected.start, selected.start + selected.length)}>Zoom to it</button>
          </dd>
        </dl>
      ) : (
        <p className="hint">Click a span to see it here. Drag with ⇧ to sum up a stretch. Press ? for all keys.</p>
      )}
      {area ? <Area id={id} area={area} /> : null}
    </section>
  );
}

function Area({ id, area }: { id: string; area: View }): ReactNode {
  const begin_ns = Math.round(area.begin);
  const end_ns = Math.round(area.end);
  const sums = useQuery({
    queryKey: ["area", id, begin_ns, end_ns],
    gcTime: 10_000,
    queryFn: async ({ signal }) => (await ask<AreaAnswer>("timeline", { run: id, what: "area", begin_ns, end_ns, top: 50 }, signal)).data,
  });
  if (sums.error) return <Failure error={sums.error} />;
  if (!sums.data) return <Waiting what="Summing up" />;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Sums of the area">
      <p>
        {duration(end_ns - begin_ns)}: {grouped(sums.data.count)} spans
      </p>
      <table>
        <thead>
          <tr>
            {["Name", "Count", "Sum", "Union", "Mean", "Min", "Max"].map((title) => (
              <th key={title}>{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sums.data.by_name.map((one) => (
            <tr key={one.name}>
              <td className="mono" title={one.name}>
                {shown(one.name, 60)}
              </td>
              <td className="number">{grouped(one.count)}</td>
              <td className="number"><Time ns={one.sum_ns} /></td>
              <td className="number"><KnownTime figure={one.union_ns} /></td>
              <td className="number"><Time ns={one.mean_ns} /></td>
              <td className="number"><Time ns={one.min_ns} /></td>
              <td className="number"><Time ns={one.max_ns} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {sums.data.not_shown > 0 ? <p className="hint">and {grouped(sums.data.not_shown)} more names</p> : null}
    </div>
  );
}
