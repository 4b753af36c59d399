import type { ReactNode } from "react";
import { shown } from "../format/names";
import { grouped } from "../format/numbers";
import { numberOf, pinOf, type ExtraLine, type Line } from "./lines";

interface TitlesProps {
  lines: readonly Line[]; // that are seen
  top: number;
  shift: number;
  rowHeight: number;
  runs: number;
  letters: number;
  fold: (group: number) => void;
  pin: (source: number, row: number) => void;
  movePin: (pin: number, by: -1 | 1) => void;
  rangeOf: (line: ExtraLine) => string;
  band?: { top: number; height: number; text: string } | null; // the title of a band above the rows
}

/** Names of the lines: groups fold, rows can be pinned. */
export function Titles({ lines, top, shift, rowHeight, runs, letters, fold, pin, movePin, rangeOf, band }: TitlesProps): ReactNode {
  const uppermost = shift > rowHeight / 2 ? 1 : 0; // says its track, even if that began above
  return (
    <div className={`titles${rowHeight < 16 ? " dense" : ""}`} style={{ paddingTop: top }}>
      {band ? (
        <span className="band" title={band.text} style={{ top: band.top, lineHeight: `${band.height}px` }}>
          {band.text}
        </span>
      ) : null}
      <div className="clip">
        <ul style={{ marginTop: -shift }}>
          {lines.map((line, n) =>
            line.kind === "group" ? (
              <li key={`g${line.group.number}`} className="group" style={{ height: rowHeight }}>
                <button aria-expanded={!line.isShut} title={line.group.title} onClick={() => fold(line.group.number)}>
                  {line.isShut ? "▸" : "▾"} {shown(line.group.title, letters)}
                  {runs > 1 ? (line.source === 0 ? " (this run)" : " (beside)") : ""}
                </button>
              </li>
            ) : (
              <li
                key={`${line.isPinned ? "p" : "r"}${line.source}/${numberOf(line)}`}
                className={[...(line.isPinned ? ["pinned"] : []), ...(line.kind === "extra" ? [line.extra.kind] : [])].join(" ")}
                style={{ height: line.kind === "extra" && line.extra.kind === "series" ? 2 * rowHeight : rowHeight }}
              >
                {line.kind === "extra" ? (
                  <ExtraTitle line={line} letters={letters} range={rangeOf(line)} />
                ) : (
                  <span title={`${line.track.process} / ${line.track.title}, depth ${line.row.depth}, lane ${line.row.lane}: ${grouped(line.row.spans)} spans`}>
                    {line.isFirst || n === uppermost ? shown(line.title, letters) : ""}
                  </span>
                )}
                <PinButtons line={line} pin={pin} movePin={movePin} />
              </li>
            ),
          )}
        </ul>
      </div>
    </div>
  );
}

/** A counter says what it ranges over in the view. */
function ExtraTitle({ line: { extra, title }, letters, range }: { line: ExtraLine; letters: number; range: string }): ReactNode {
  const about = `${title}: ${grouped(extra.samples)} samples, ${extra.track.process} / ${extra.track.title}`;
  return (
    <span title={range === "" ? about : `${about}; in view ${range}`} data-extra={title}>
      {shown(title, letters)}
      {extra.kind === "series" ? <small data-range={title}>{range}</small> : null}
    </span>
  );
}

type RowLine = Exclude<Line, { kind: "group" }>;

function PinButtons({ line, pin, movePin }: { line: RowLine } & Pick<TitlesProps, "pin" | "movePin">): ReactNode {
  const number = numberOf(line) as number;
  return (
    <>
      {line.isPinned ? <PinOrder pin={pinOf(line.source, number)} title={line.title} move={movePin} /> : null}
      <button
        className="pin" aria-pressed={line.isPinned} aria-label={`${line.isPinned ? "Unpin" : "Pin"} row ${number}`}
        title={line.isPinned ? "Unpin this row" : "Pin this row on top"} onClick={() => pin(line.source, number)}
      >
        {line.isPinned ? "×" : "⌃"}
      </button>
    </>
  );
}

function PinOrder({ pin, title, move }: { pin: number; title: string; move: (pin: number, by: -1 | 1) => void }): ReactNode {
  return (
    <>
      <button className="pin" aria-label={`Move ${shown(title, 60)} up`} onClick={() => move(pin, -1)}>
        ↑
      </button>
      <button className="pin" aria-label={`Move ${shown(title, 60)} down`} onClick={() => move(pin, 1)}>
        ↓
      </button>
    </>
  );
}
