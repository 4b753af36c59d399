// JSON whose whole numbers stay exact. Times of a run are nanoseconds since 1970, which need more than the 53 bits of a
// number: those become a bigint.

type Context = { source?: string };

export function parseExact(text: string): unknown {
  const reviver = (_key: string, value: unknown, context?: Context): unknown =>
    typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source !== undefined
      ? exact(value, context.source)
      : value;
  // Few answers have such numbers, and a reviver takes many times as long as the plain parser.
  return /\d{16}/.test(text) ? JSON.parse(text, reviver as (key: string, value: unknown) => unknown) : JSON.parse(text);
}

function exact(value: number, source: string): number | bigint {
  return /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/** The difference of two times, which is small enough to be a number. */
export function difference(a: number | bigint, b: number | bigint): number {
  return Number(BigInt(a) - BigInt(b));
}
