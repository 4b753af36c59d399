// Small parts that several pages of a run share.

import { useState, type ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import type { Metric, Place } from "../../api/answers_run";
import { AskError } from "../../api/ask";
import { bytes, digits, duration, exactNs, grouped, percent } from "../../format/numbers";
import { sentence, shown } from "../../format/names";
import { copyText } from "../../parts/copy_text";
import { Absent, defined } from "../../parts/figure";
import { Empty, Failure, Waiting } from "../../parts/state";
import { useReady } from "./asked";

interface Asked<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** Waits, says what failed, or shows the answer. */
export function Body<T>({ asked, what, children }: { asked: Asked<T>; what: string; children: (data: T) => ReactNode }): ReactNode {
  useReady(asked.data !== undefined || Boolean(asked.error));
  if (asked.error) return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  return asked.data === undefined ? <Waiting what={what} /> : children(asked.data);
}

/** Nothing to show: why, in the words of the analysis, and what to record, with commands `in such quotes`. */
export function Nothing({ why, record }: { why: string; record: string }): ReactNode {
  return (
    <Empty>
      <p>{sentence(why)}</p>
      <p>{record.split("`").map((part, n) => (n % 2 === 1 ? <code key={n}>{part}</code> : part))}</p>
    </Empty>
  );
}

export function placeText({ device, rank }: Place): string {
  const what = device === null ? "device not named" : device === "cpu" ? "host" : `device ${device}`;
  return rank === null ? what : `rank ${rank}, ${what}`;
}

export function placeKey({ device, rank }: Place): string {
  return `${rank ?? ""}/${device ?? ""}`;
}

/** A value in its unit, as people read it. */
export function inUnit(value: number, unit: string): string {
  if (unit === "ns") return duration(value);
  if (unit === "ratio") return percent(value);
  if (unit === "B") return bytes(value);
  if (unit === "B/s") return `${bytes(value)}/s`;
  if (unit === "count" || unit === "") return Number.isInteger(value) ? grouped(value) : digits(value);
  return `${Number.isInteger(value) ? grouped(value) : digits(value)}\u2009${shown(unit, 24)}`;
}

export function exactly(value: number, unit: string): string {
  return unit === "ns" ? exactNs(value) : `${value} ${unit === "ratio" || unit === "count" ? "" : unit}`.trim();
}

interface ValueProps {
  value: number | null | undefined;
  unit: string;
  absent?: string | undefined;
  define?: string | undefined;
}

/** A figure of its unit, or a dash with the reason. */
export function Value({ value, unit, absent, define }: ValueProps): ReactNode {
  if (value === null || value === undefined) return <Absent reason={absent ?? "the run does not say"} />;
  return (
    <span className="figure" title={exactly(value, unit)} {...defined(define)}>
      {inUnit(value, unit)}
    </span>
  );
}

export function MetricValue({ metric }: { metric: Metric | undefined }): ReactNode {
  return metric ? <Value value={metric.value} unit={metric.unit} absent={metric.absent} /> : <Absent reason="the analysis has no such figure" />;
}

/** A share in percent, or a dash with the reason. */
export function Share({ value, absent, define }: Omit<ValueProps, "unit">): ReactNode {
  return <Value value={value} unit="ratio" absent={absent} define={define} />;
}

/** A long name: its ends, the whole on hover, and a button that copies it. */
export function Name({ text, label, most = 70 }: { text: string; label?: string; most?: number }): ReactNode {
  const [said, setSaid] = useState("");
  const copy = async () => {
    setSaid((await copyText(text)) ? "✓" : "The browser refused");
    setTimeout(() => setSaid(""), 2000);
  };
  return (
    <>
      <span className="mono" title={text}>
        {shown(label ?? text, most)}
      </span>{" "}
      <button className="copy-name" onClick={() => void copy()} aria-label={`Copy the name ${shown(label ?? text, 60)}`}>
        {said || <CopyIcon />}
      </button>
    </>
  );
}

function CopyIcon(): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 12 12" aria-hidden="true">
      <rect x="1" y="1" width="7" height="7" />
      <path d="M10 4 H11 V11 H4 V10" />
    </svg>
  );
}

/** A link to a stretch of the time line, in absolute time. */
export function Stretch({ id, start, length, children }: { id: string; start: number | bigint; length: number; children: ReactNode }): ReactNode {
  return <Link href={stretchLink(id, start, length)}>{children}</Link>;
}

export function stretchLink(id: string, start: number | bigint, length: number): string {
  return `/runs/${id}/timeline?gap=${String(start)}-${length}`;
}

export function sqlLink(id: string, sql: string): string {
  return `/sql?${new URLSearchParams({ run: id, sql }).toString()}`;
}

/** A word of the address, and how to change it. Choices replace, so that Back leaves the page. */
export function useWord(name: string, otherwise = ""): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = (value: string) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === otherwise) after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  return [search.get(name) ?? otherwise, set];
}

/** One of several devices or ranks, kept in the address; nothing where there is one. */
export function usePlace<T extends Place>(places: T[]): [T | undefined, ReactNode] {
  const [word, setWord] = useWord("device");
  const chosen = places.find((one) => placeKey(one) === word) ?? places[0];
  if (places.length < 2 || !chosen) return [chosen, null];
  return [
    chosen,
    <label key="place">
      Of{" "}
      <select value={placeKey(chosen)} onChange={(event) => setWord(event.target.value)}>
        {places.map((one) => (
          <option key={placeKey(one)} value={placeKey(one)}>
            {placeText(one)}
          </option>
        ))}
      </select>
    </label>,
  ];
}

export function Scroll({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}

export function errorText(error: unknown): string {
  if (error instanceof AskError && error.hint) return `${error.message} ${error.hint}`;
  return error instanceof Error ? error.message : String(error);
}
