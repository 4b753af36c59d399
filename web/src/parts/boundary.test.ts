import { describe, expect, it } from "vitest";
import { AskError } from "../api/ask";
import { Boundary, failureOf } from "./boundary";

describe("a page that failed", () => {
  it("is tried again at another address, and not at the same one", () => {
    const failed = { path: "/trend", error: new Error("x"), hasFailed: true };
    expect(Boundary.getDerivedStateFromProps({ path: "/trend", children: null }, failed)).toBeNull();
    expect(Boundary.getDerivedStateFromProps({ path: "/runs", children: null }, failed)).toEqual({ path: "/runs", error: null, hasFailed: false });
  });

  it("says in words that the server has newer pages", () => {
    const error = failureOf(new TypeError("Failed to fetch dynamically imported module: http://x/assets/trend-1.js"));
    expect(error).toBeInstanceOf(AskError);
    expect(failureOf("other")).toBe("other");
  });
});
