import type { ReactNode } from "react";
import { shown } from "../format/names";
import { grouped } from "../format/numbers";
import { pinOf, type Line } from "./lines";

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
}

/** Names of the lines: groups fold, rows can be pinned. */
export function Titles({ lines, top, shift, rowHeight, runs, letters, fold, pin, movePin }: TitlesProps): ReactNode {
  const uppermost = shift > rowHeight / 2 ? 1 : 0; // says its track, even if that began above
  return (
    <div className={`titles${rowHeight < 16 ? " dense" : ""}`} style={{ paddingTop: top }}>
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
              <li key={`${line.isPinned ? "p" : "r"}${line.source}/${line.row.row}`} style={{ height: rowHeight }} className={line.isPinned ? "pinned" : ""}>
                <span title={`${line.track.process} / ${line.track.title}, depth ${line.row.depth}, lane ${line.row.lane}: ${grouped(line.row.spans)} spans`}>
                  {line.isFirst || n === uppermost ? shown(line.title, letters) : ""}
                </span>
                {line.isPinned ? <PinOrder pin={pinOf(line.source, line.row.row)} title={line.title} move={movePin} /> : null}
                <button
                  className="pin" aria-pressed={line.isPinned} aria-label={`${line.isPinned ? "Unpin" : "Pin"} row ${line.row.row}`}
                  title={line.isPinned ? "Unpin this row" : "Pin this row on top"} onClick={() => pin(line.source, line.row.row)}
                >
                  {line.isPinned ? "×" : "⌃"}
                </button>
              </li>
            ),
          )}
        </ul>
      </div>
    </div>
  );
}

function PinOrder({ pin, title, move }: { pin: number; title: string; move: (pin: number, by: -1 | 1) => void }): ReactNode {
  return (
    <>
      <button className="pin" aria-label={`Move ${title} up`} onClick={() => move(pin, -1)}>
        ↑
      </button>
      <button className="pin" aria-label={`Move ${title} down`} onClick={() => move(pin, 1)}>
        ↓
      </button>
    </>
  );
}
