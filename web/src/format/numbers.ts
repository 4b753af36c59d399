// Numbers for people: a unit, three to four significant digits, thin spaces. The exact value is told on hover.

const THIN = "\u2009";

export function grouped(value: number | bigint): string {
  const text = (typeof value === "bigint" ? value : BigInt(Math.round(value))).toString();
  return text.replace(/\B(?=(\d{3})+$)/g, THIN);
}

/** Three to four significant digits. */
export function digits(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return grouped(value);
  if (size < 0.1) return value.toPrecision(3);
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1_000) return `${grouped(ns)}${THIN}ns`;
  if (size < 1_000_000) return `${digits(ns / 1_000)}${THIN}µs`;
  if (size < 1_000_000_000) return `${digits(ns / 1_000_000)}${THIN}ms`;
  return `${digits(ns / 1_000_000_000)}${THIN}s`;
}

export function exactNs(ns: number | bigint): string {
  return `${grouped(ns)} ns`;
}

/** A share that would be rounded to nothing or to everything says that it is neither. */
export function percent(share: number): string {
  const size = Math.abs(share);
  if (size > 0 && size < 0.0005) return `<${THIN}0.1${THIN}%`;
  if (size > 0.9995 && size < 1) return `>${THIN}99.9${THIN}%`;
  return `${(share * 100).toFixed(1)}${THIN}%`;
}

export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (Math.abs(size) >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 ? grouped(size) : digits(size)}${THIN}${units[unit]}`;
}

/** A gain or loss: sign and arrow, never colour alone. */
export function signedDuration(ns: number): string {
  return ns === 0 ? duration(0) : `${ns > 0 ? "▲ +" : "▼ −"}${duration(Math.abs(ns))}`;
}

export function when(unixNs: number | bigint): string {
  return new Date(Number(BigInt(unixNs) / 1_000_000n)).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
