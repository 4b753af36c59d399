// What a figure is: its name, formula, unit, and of what it is a share, beside the figure that is pointed at or has the focus. Figures only name
// their definition (`data-define`), and cells of a table leave that to the head of their column, so that long tables stay light.

import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import type { Metrics } from "../api/answers_run";
import { ask } from "../api/ask";
import { shown } from "../format/names";

type Metric = Metrics["metrics"][number];

export const METRICS = queryOptions({ queryKey: ["metrics"], queryFn: async ({ signal }) => (await ask<Metrics>("metrics", {}, signal)).data });

/** What the formulas of the sum of a window call by a letter. */
const LETTERS: [RegExp, string][] = [[/\bC\b/, "C: kernels that are not communication"], [/\bM\b/, "M: communication kernels"], [/\bD\b/, "D: copies and sets of memory"]];

/** The lines that are shown, the first as a title. What is the id of no metric is a definition in words, without a title. */
export function definitionOf(word: string, metrics: Metric[]): string[] {
  const metric = metrics.find((one) => one.id === word);
  if (!metric) return ["", word];
  const of = metric.of === "" || metric.of === "1" ? "" : `, of ${metric.of}`;
  const letters = LETTERS.filter(([letter]) => letter.test(metric.formula)).map(([, words]) => words);
  return [metric.name, metric.formula, ...letters, `${metric.id}, in ${metric.unit}${of}`];
}

interface Place {
  word: string;
  exact: string; // told on hover by the browser
  left: number;
  top: number;
  bottom: number;
}

export function Definitions(): ReactNode {
  const client = useQueryClient();
  const [place, setPlace] = useState<Place | null>(null);
  const [metrics, setMetrics] = useState<Metric[] | null>(null);
  useEffect(() => {
    const show = (event: Event) => {
      const hasFocus = event.type === "focusin";
      if (hasFocus && !(event.target as Element).matches(":focus-visible")) return;
      setPlace(placeOf(event.target as Element, hasFocus));
    };
    const hide = () => setPlace(null);
    const press = (event: KeyboardEvent) => event.key === "Escape" && hide();
    document.addEventListener("pointerover", show);
    document.addEventListener("focusin", show);
    document.addEventListener("focusout", hide);
    document.addEventListener("scroll", hide, true);
    document.addEventListener("keydown", press);
    return () => {
      document.removeEventListener("pointerover", show);
      document.removeEventListener("focusin", show);
      document.removeEventListener("focusout", hide);
      document.removeEventListener("scroll", hide, true);
      document.removeEventListener("keydown", press);
    };
  }, []);
  const isWanted = place !== null && metrics === null;
  useEffect(() => {
    if (!isWanted) return;
    client.fetchQuery(METRICS).then((data) => setMetrics(data.metrics), () => setMetrics([]));
  }, [isWanted, client]);
  if (!place || !metrics) return null;
  const isLow = place.bottom + 120 > innerHeight || !place.exact; // over the figure, where the browser does not put its own box
  const vertical = isLow && place.top > 120 ? { bottom: innerHeight - place.top + 4 } : { top: place.bottom + 4 };
  const [title, ...lines] = definitionOf(place.word, metrics);
  return (
    <div role="tooltip" className="definition" style={{ left: Math.max(8, Math.min(place.left, innerWidth - 388)), ...vertical }}>
      {title ? <strong>{shown(title, 300)}</strong> : null}
      {[place.exact, ...lines].filter(Boolean).map((line) => (
        <span key={line}>{shown(line, 600)}</span>
      ))}
    </div>
  );
}

function placeOf(target: Element, hasFocus: boolean): Place | null {
  const figure = target.closest("[data-define]") ?? cellOf(target);
  const word = figure && (figure.getAttribute("data-define") ?? headOf(figure as HTMLTableCellElement)?.getAttribute("data-define"));
  if (!figure || !word || target.closest(".absent")) return null; // why it is absent says more
  const { left, top, bottom } = figure.getBoundingClientRect();
  return { word, exact: hasFocus ? (figure.getAttribute("title") ?? "") : "", left, top, bottom };
}

function cellOf(target: Element): Element | null {
  return target.closest("tbody td");
}

function headOf(cell: HTMLTableCellElement): Element | undefined {
  return cell.closest("table")?.tHead?.rows[0]?.cells[cell.cellIndex];
}

/** The head of a column of figures. */
export function Th({ define, children, className = "number" }: { define: string; children: ReactNode; className?: string }): ReactNode {
  return (
    <th className={className} tabIndex={0} data-define={define}>
      {children}
    </th>
  );
}
