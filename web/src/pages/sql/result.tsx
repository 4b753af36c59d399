// The rows of an answer: drawn as far as they are seen, as a chart of two columns, and with a way to the time line.

import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState, type ReactNode } from "react";
import { useLocation } from "wouter";
import type { QueryRows } from "../../api/answers_pages";
import { shown } from "../../format/names";
import { duration, grouped } from "../../format/numbers";
import { addressOfRow } from "../runs/jump";
import { barsOf, cellText, exactText, idColumn, isNumber } from "./rows";

const ROW = 24;

function titleOf(column: string, cell: unknown): string {
  return column.endsWith("_ns") && typeof cell === "number" && !/(start|end|from|to|until|at)_ns$/.test(column)
    ? `${exactText(cell)} ns: ${duration(cell)}` : exactText(cell) || "NULL: there is no value";
}

/** Columns get the room that their longest text of the first rows needs, within bounds; the same in each row. */
function widths({ columns, rows }: QueryRows): string {
  return columns
    .map((name, n) => {
      const longest = rows.slice(0, 100).reduce((most, row) => Math.max(most, cellText(row[n]).length), name.length);
      return `${Math.min(64, Math.max(6, longest + 1))}ch`;
    })
    .join(" ");
}

export function ResultTable({ data, run }: { data: QueryRows; run: string }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const [, go] = useLocation();
  const [said, setSaid] = useState("");
  const virtual = useVirtualizer({ count: data.rows.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 12 });
  const jump = idColumn(data.columns);
  const layout = { gridTemplateColumns: (jump ? "70px " : "") + widths(data) };
  const open = async (id: unknown) => {
    if (!jump || !isNumber(id)) return;
    try {
      const address = await addressOfRow(run, jump.table, Number(id));
      if (address) go(address);
      else setSaid("This row has no time.");
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <div role="status">{said}</div>
      <div ref={box} className="result" role="table" aria-label="Rows" aria-rowcount={data.rows.length + 1} tabIndex={0}>
        <div role="rowgroup" className="head">
          <div role="row" className="cells" style={layout} aria-rowindex={1}>
            {jump ? <span role="columnheader">Timeline</span> : null}
            {data.columns.map((column, n) => (
              <span role="columnheader" key={n} className={isNumber(data.rows[0]?.[n]) ? "number" : ""} title={column}>
                {column}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const row = data.rows[item.index] as unknown[];
            return (
              <div key={item.key} role="row" className="cells" aria-rowindex={item.index + 2}
                style={{ ...layout, position: "absolute", transform: `translateY(${item.start}px)` }}>
                {jump ? (
                  <span role="cell">
                    {isNumber(row[jump.at]) ? (
                      <button className="plain link" aria-label={`Show row ${item.index + 1} on the timeline`} onClick={() => void open(row[jump.at])}>
                        show ▸
                      </button>
                    ) : null}
                  </span>
                ) : null}
                {row.map((cell, n) => (
                  <span role="cell" key={n} className={isNumber(cell) ? "number" : cell === null ? "hint" : ""}
                    title={titleOf(data.columns[n] as string, cell)}>
                    {shown(cellText(cell), 120)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

/** Bars of one column by another one. */
export function Chart({ data, label, value, set }: { data: QueryRows; label: string; value: string; set: (label: string, value: string) => void }): ReactNode {
  const bars = barsOf(data, label, value);
  const most = bars.reduce((largest, bar) => Math.max(largest, Math.abs(bar.value)), 0) || 1;
  const text = (number: number) => (value.endsWith("_ns") ? duration(number) : Number.isInteger(number) ? grouped(number) : number.toPrecision(4));
  const options = data.columns.map((one) => (
    <option key={one} value={one}>
      {one}
    </option>
  ));
  return (
    <section aria-label="Chart">
      <div className="line">
        <label>
          Bars of{" "}
          <select value={value} onChange={(event) => set(label, event.target.value)}>
            {options}
          </select>
        </label>
        <label>
          by{" "}
          <select value={label} onChange={(event) => set(event.target.value, value)}>
            {options}
          </select>
        </label>
        <span className="hint">{bars.length < data.rows.length ? `${bars.length} of ${grouped(data.rows.length)} rows` : ""}</span>
      </div>
      {bars.length === 0 ? <p>The column {value} has no numbers.</p> : null}
      <table className="bars">
        <tbody>
          {bars.map((bar, n) => (
            <tr key={n}>
              <th scope="row" className="mono" title={bar.label}>
                {shown(bar.label, 40)}
              </th>
              <td aria-hidden="true">
                <svg viewBox="0 0 100 10" preserveAspectRatio="none">
                  <rect width={(Math.abs(bar.value) / most) * 100} y="1" height="8" />
                </svg>
              </td>
              <td className="number">{text(bar.value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
