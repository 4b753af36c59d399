// Where the points and levels of a series are drawn, in a box of 1000 by 160.

import type { TrendGroup } from "../../api/answers_pages";
import { digits, duration, percent } from "../../format/numbers";

export const WIDTH = 1000;
export const HEIGHT = 160;
const EDGE = 8;

export interface Chart {
  points: { x: number; y: number }[];
  levels: { x1: number; x2: number; y: number }[];
  changes: { x: number }[];
  low: number;
  high: number;
}

export function chartOf(group: TrendGroup): Chart {
  const values = group.points.map((one) => one.value);
  const low = values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const x = (n: number) => (values.length < 2 ? WIDTH / 2 : EDGE + (n / (values.length - 1)) * (WIDTH - 2 * EDGE));
  const y = (value: number) => (high === low ? HEIGHT / 2 : HEIGHT - EDGE - ((value - low) / (high - low)) * (HEIGHT - 2 * EDGE));
  const starts = [0, ...group.change_points.map((one) => one.at)];
  const levels = starts.map((start, n) => {
    const end = (starts[n + 1] ?? values.length) - 1;
    return { x1: x(start), x2: x(end), y: y(median(values.slice(start, end + 1))) };
  });
  return {
    points: values.map((value, n) => ({ x: x(n), y: y(value) })),
    levels: values.length > 0 ? levels : [],
    changes: group.change_points.map((one) => ({ x: (x(one.at) + x(one.at - 1)) / 2 })),
    low, high,
  };
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** The point nearest to a place across the box, from 0 to 1. */
export function nearest(count: number, share: number): number {
  const place = ((share * WIDTH - EDGE) / (WIDTH - 2 * EDGE)) * (count - 1);
  return Math.max(0, Math.min(count - 1, Math.round(place)));
}

export function valueText(value: number, unit: string): string {
  if (unit === "ns") return duration(value);
  if (unit === "ratio") return percent(value);
  return unit ? `${digits(value)}\u2009${unit}` : digits(value);
}

export function groupTitle(group: Record<string, string | null>): string {
  const known = Object.entries(group).filter(([, value]) => value !== null);
  return known.length > 0 ? known.map(([, value]) => value).join(" · ") : `runs without ${Object.keys(group).join(" and ")}`;
}
