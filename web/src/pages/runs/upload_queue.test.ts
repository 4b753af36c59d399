import { afterEach, describe, expect, it, vi } from "vitest";
import { addFiles, pieces, queueNow } from "./upload_queue";

describe("pieces of a file", () => {
  it("cover it once, from what was received on", () => {
    expect(pieces(10, 0, 4)).toEqual([[0, 4], [4, 8], [8, 10]]);
    expect(pieces(10, 7, 4)).toEqual([[7, 10]]);
    expect(pieces(10, 10, 4)).toEqual([]);
    expect(pieces(0, 0, 4)).toEqual([]);
  });
});

describe("an import", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("goes on when its events break off: the job is asked for until it has ended", async () => {
    vi.useFakeTimers();
    const states = ["running", null, "running", "done"]; // null: the server does not answer
    const answers: Record<string, () => object> = {
      "POST uploads": () => ({ upload_id: "u", files: [{ name: "a", bytes: 1, received: 1 }] }),
      "POST import": () => ({}),
      "GET jobs/u": () => {
        const state = states.shift();
        if (state === null) throw new TypeError("Failed to fetch");
        return { job_id: "u", state, answer: state === "done" ? { data: { run_id: "abcdef" } } : undefined };
      },
    };
    vi.stubGlobal("fetch", async (address: string, { method }: { method: string }) =>
      Response.json(await Promise.resolve().then(answers[`${method} ${address.replace("api/v1/", "")}`] as () => object)));
    class Broken {
      onerror = () => undefined;
      constructor() {
        setTimeout(() => this.onerror(), 0);
      }
      addEventListener = () => undefined;
      close = () => undefined;
    }
    vi.stubGlobal("EventSource", Broken);
    addFiles([new File(["x"], "a")], false);
    await vi.advanceTimersByTimeAsync(10);
    expect(queueNow()[0]).toMatchObject({ step: "importing", error: null });
    await vi.advanceTimersByTimeAsync(5000);
    expect(queueNow()[0]).toMatchObject({ step: "done", runs: ["abcdef"], error: null });
  });
});
