import { describe, expect, it } from "vitest";
import { alternatives, chosenSo, parsed, sentences, typed, withoutAlternatives } from "./conditions";

describe("conditions", () => {
  it("are read as the server writes them", () => {
    expect(parsed("model=a=b")).toEqual({ key: "model", sign: "=", value: "a=b" });
    expect(parsed("batch>=8")).toEqual({ key: "batch", sign: ">=", value: "8" });
    expect(parsed("engine.name!=x")).toEqual({ key: "engine.name", sign: "!=", value: "x" });
    expect(parsed("only words")).toBeNull();
  });

  it("of one key with several values are alternatives, of tags not", () => {
    expect(alternatives(["model=a", "model=b", "device=x", "tag=p", "tag=q"])).toEqual(["model"]);
  });

  it("exclude the other values, since the server has no or", () => {
    expect(withoutAlternatives(["device=x", "model=a", "model=b"], "model", ["a", "b", "c"])).toEqual(["device=x", "model~", "model!=c"]);
  });

  it("are chosen, excluded and taken back", () => {
    expect(chosenSo([], "model", "a", "is")).toEqual(["model=a"]);
    expect(chosenSo(["model=a"], "model", "a", "not")).toEqual(["model!=a"]);
    expect(chosenSo(["model!=a"], "model", "a", "not")).toEqual([]);
  });

  it("are told in words", () => {
    expect(sentences(["model=a", "batch>=8", "model=b", "tag!=x"])).toEqual([
      { words: "model is a or b", of: ["model=a", "model=b"] },
      { words: "batch ≥ 8", of: ["batch>=8"] },
      { words: "tag is not x", of: ["tag!=x"] },
    ]);
  });

  it("come from what is typed", () => {
    expect(typed("  bert ")).toBe("file~bert");
    expect(typed("batch>=8")).toBe("batch>=8");
    expect(typed(" ")).toBeNull();
  });
});
