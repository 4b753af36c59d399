import { describe, expect, it } from "vitest";
import { difference, parseExact } from "../api/exact_json";
import { shellWord } from "../parts/copy_as";
import { hash, said, sentence, shown, visible } from "./names";
import { bytes, digits, duration, grouped, percent, signedDuration } from "./numbers";

describe("numbers", () => {
  it("have a unit and three to four digits", () => {
    expect(duration(0)).toBe("0\u2009ns");
    expect(duration(999)).toBe("999\u2009ns");
    expect(duration(12_345)).toBe("12.35\u2009µs");
    expect(duration(309_437)).toBe("309.4\u2009µs");
    expect(duration(3_907_825)).toBe("3.908\u2009ms");
    expect(duration(5_000_000_000_000)).toBe("5\u2009000\u2009s");
    expect(bytes(1500)).toBe("1.500\u2009kB");
    expect(percent(0.0791)).toBe("7.9\u2009%");
    expect([0, 0.0001, 0.9999, 1].map(percent)).toEqual(["0.0\u2009%", "<\u20090.1\u2009%", ">\u200999.9\u2009%", "100.0\u2009%"]);
    expect(grouped(1752830083334350183n)).toBe("1\u2009752\u2009830\u2009083\u2009334\u2009350\u2009183");
  });

  it("that are small are no zeros", () => {
    expect([0, 0.0004, 0.05, -0.0123456, 0.25, 12.3456, 123.456].map(digits)).toEqual(["0", "0.000400", "0.0500", "-0.0123", "0.250", "12.35", "123.5"]);
  });

  it("say gain and loss by sign and arrow", () => {
    expect(signedDuration(-128_750)).toContain("▼ −");
    expect(signedDuration(2_125)).toContain("▲ +");
    expect(signedDuration(0)).toBe("0\u2009ns");
  });
});

describe("exact JSON", () => {
  it("keeps nanoseconds since 1970, where the browser tells the source text", () => {
    const data = parseExact('{"start_ns":1752830083334350183,"dur_ns":5,"share":0.25,"text":"1752830083334350183"}') as Record<string, unknown>;
    expect(data["dur_ns"]).toBe(5);
    expect(data["share"]).toBe(0.25);
    expect(data["text"]).toBe("1752830083334350183");
    const hasSource = JSON.parse("1", (_key: string, _value: unknown, context?: { source?: string }) => context?.source !== undefined) as boolean;
    if (hasSource) expect(data["start_ns"]).toBe(1752830083334350183n);
  });

  it("subtracts times exactly", () => {
    expect(difference(1752830083334350183n, 1752830083334350000n)).toBe(183);
  });
});

describe("names", () => {
  it("keep both ends when they are cut", () => {
    expect(shown("abcdefghij", 5)).toBe("ab…ij");
    expect(shown("", 5)).toBe("(no name)");
    expect(shown("😀😀😀😀", 3)).toBe("😀…😀");
  });

  it("show no character that hides or turns others", () => {
    expect(visible("a\u202eb\u0007c\u200bd")).toBe("a\ufffdb\ufffdc\ufffdd");
  });

  it("that cannot be seen are told", () => {
    expect([shown(""), shown(" \t"), shown("\u2800\u3164")]).toEqual(["(no name)", "(a name of blanks)", "(a name of blanks)"]);
  });

  it("have the same number everywhere", () => {
    expect(hash("gemm")).toBe(hash("gemm"));
    expect(hash("gemm")).not.toBe(hash("gemn"));
  });
});

describe("a sentence of the program", () => {
  it("has the units of the pages", () => {
    expect(said("127 us a step faster, 2 used")).toBe("127\u2009µs a step faster, 2 used");
    expect(sentence("one run is 5 us longer")).toBe("One run is 5\u2009µs longer.");
  });
});

describe("a shell word", () => {
  it("is quoted where it must be", () => {
    expect(shellWord("@latest~1")).toBe("@latest~1");
    expect(shellWord("it's")).toBe(`'it'\\''s'`);
  });
});
