// Scales of charts: pure arithmetic.

export interface Scale {
  from: number;
  to: number;
}

/** Whole decades around all values; values that a logarithm has not do not count. */
export function decades(values: number[]): Scale {
  const some = values.filter((one) => one > 0 && Number.isFinite(one)).map(Math.log10);
  if (some.length === 0) return { from: 0, to: 1 };
  const from = Math.floor(Math.min(...some));
  const to = Math.ceil(Math.max(...some));
  return { from, to: Math.max(to, from + 1) };
}

/** The place of a value on a logarithmic scale, 0 to 1. */
export function logPlace(value: number, scale: Scale): number {
  return (Math.log10(value) - scale.from) / (scale.to - scale.from);
}

export function decadeMarks(scale: Scale): number[] {
  return Array.from({ length: scale.to - scale.from + 1 }, (_, n) => 10 ** (scale.from + n));
}

/** What the roof allows at an intensity, in operations a second. */
export function roofAt(intensity: number, bandwidth: number, peak: number): number {
  return Math.min(peak, bandwidth * intensity);
}

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];

/** A rate with a prefix of 1000: 312 TFLOP/s. */
export function rate(value: number, unit: string): string {
  let size = value;
  let n = 0;
  while (Math.abs(size) >= 1000 && n < PREFIXES.length - 1) {
    size /= 1000;
    n++;
  }
  return `${size >= 100 || Number.isInteger(size) ? Math.round(size) : size.toPrecision(3)}\u2009${PREFIXES[n]}${unit}`;
}

/** A line through points whose value stays until the next one, in a box of 100 by 100. */
export function stairs(points: [number, number][], left: number, right: number, top: number): string {
  const x = (at: number) => (((at - left) / Math.max(1, right - left)) * 100).toFixed(3);
  const y = (value: number) => (100 - (value / Math.max(1, top)) * 100).toFixed(3);
  return points.map(([at, value], n) => (n === 0 ? `M${x(at)} ${y(value)}` : `H${x(at)}V${y(value)}`)).join("") + (points.length > 0 ? "H100" : "");
}
