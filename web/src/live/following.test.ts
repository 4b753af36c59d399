import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { follow, questionOf, type Following, type Wanted } from "./following";
import { TOLD } from "./live.test.data";
import type { Told } from "./live_data";

describe("what is asked for", () => {
  const wanted = { keep: 30, span: 10e9, rest: null, width: 800 };

  it("is the newest stretch while it is followed", () => {
    expect(questionOf("1-a", wanted, null)).toEqual({ recording: "1-a", keep: 30, top: 12, picture: true, width: 800, span_ns: 10e9 });
  });

  it("is a stretch that rests once, and then only the figures", () => {
    const rest = { begin: 1e9, end: 3e9 };
    expect(questionOf("1-a", { ...wanted, rest }, null)).toMatchObject({ picture: true, span_ns: 2e9, end_ns: 3e9 });
    expect(questionOf("1-a", { ...wanted, rest }, { begin: 1e9, end: 3e9 })).toEqual({ recording: "1-a", keep: 30, top: 12 });
    expect(questionOf("1-a", { ...wanted, rest }, { begin: 1e9, end: 4e9 })).toMatchObject({ picture: true });
  });

  it("is no picture before there is room for one", () => {
    expect(questionOf("1-a", { ...wanted, width: 0 }, null)).toEqual({ recording: "1-a", keep: 30, top: 12 });
  });
});

describe("following", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const ENDED: Told = { ...TOLD, state: "ended", run_id: "ab" };
  const HEAD: Told = { recording: "1-a", command: "", state: "ended", why: "", run_id: "ab", started_at_ns: 1n };

  /** A server whose answers take so long. */
  function start(answer: () => Told, tookMs = 10) {
    const wanted: Wanted = { keep: 30, span: 10e9, rest: null, width: 800 };
    const asked: number[] = [];
    let said: Following | undefined;
    const following = follow("1-a", {
      ask: async (question) => {
        asked.push(question["span_ns"] as number);
        await new Promise((done) => setTimeout(done, tookMs));
        return answer();
      },
      wanted: () => wanted,
      tell: (state) => (said = state),
    });
    return { ...following, wanted, asked, said: () => said as Following };
  }

  it("asks four times a second, and no more once there is a run", async () => {
    let told: Told = TOLD;
    const page = start(() => told);
    await vi.advanceTimersByTimeAsync(990);
    expect(page.asked.length).toBe(4);
    told = ENDED;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(page.asked.length).toBe(5);
    page.stop();
  });

  it("reads what was written before the end, too", async () => {
    const page = start(() => ({ ...ENDED, behind_bytes: page.asked.length < 3 ? 1 : 0 }));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(page.asked.length).toBe(3);
  });

  it("asks for the last view after the end, also if it was wanted during a question", async () => {
    const page = start(() => ENDED, 100);
    await vi.advanceTimersByTimeAsync(1000);
    for (const span of [5e9, 2e9, 1e9]) {
      page.wanted.span = span;
      page.wake();
      await vi.advanceTimersByTimeAsync(20);
    }
    await vi.advanceTimersByTimeAsync(1000);
    expect(page.asked).toEqual([10e9, 5e9, 1e9]);
  });

  it("keeps the figures that the server has let go of", async () => {
    let told = ENDED;
    const page = start(() => told);
    await vi.advanceTimersByTimeAsync(1000);
    told = HEAD;
    page.wake();
    await vi.advanceTimersByTimeAsync(1000);
    expect(page.said()).toMatchObject({ isStale: true, seen: { data: { totals: TOLD.totals, command: TOLD.command, run_id: "ab" } } });
  });

  it("has a head and no figures if there never were any", async () => {
    const page = start(() => HEAD);
    await vi.advanceTimersByTimeAsync(1000);
    expect(page.said()).toMatchObject({ head: HEAD, seen: null });
  });

  it("says an error after the end, and asks again when it is told to", async () => {
    let told: Told | null = ENDED;
    const page = start(() => {
      if (told) return told;
      throw new Error("gone");
    });
    await vi.advanceTimersByTimeAsync(1000);
    told = null;
    page.wake();
    await vi.advanceTimersByTimeAsync(1000);
    expect(page.said().error).toBeInstanceOf(Error);
    expect(page.said().seen).not.toBeNull();
    told = ENDED;
    page.wake();
    await vi.advanceTimersByTimeAsync(1000);
    expect(page.said().error).toBeNull();
  });

  it("asks seldom if no run comes, and says so", async () => {
    const page = start(() => ({ ...ENDED, run_id: null }));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(page.said().isWithoutRun).toBe(false);
    expect(page.asked.length).toBeLessThan(25);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(page.said().isWithoutRun).toBe(true);
    const before = page.asked.length;
    await vi.advanceTimersByTimeAsync(50_000);
    expect(page.asked.length - before).toBe(10);
    page.stop();
  });
});
