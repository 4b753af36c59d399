import { afterEach, describe, expect, it, vi } from "vitest";
import { askBytes, askCaller, AskError, ask } from "./ask";

afterEach(() => vi.unstubAllGlobals());

describe("a server that does not answer", () => {
  it("is named as such, whatever was asked", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    for (const asked of [ask("runs"), askBytes("timeline", { run: "r" }), askCaller()]) {
      const error: unknown = await asked.catch((one: unknown) => one);
      expect(error).toBeInstanceOf(AskError);
      expect(error).toMatchObject({ code: "unavailable", message: "The server does not answer." });
    }
  });

  it("is not blamed for what the page took back", async () => {
    const control = new AbortController();
    control.abort();
    vi.stubGlobal("fetch", () => Promise.reject(new DOMException("aborted", "AbortError")));
    expect(await askBytes("timeline", {}, control.signal).catch((one: unknown) => one)).toBeInstanceOf(DOMException);
  });
});
