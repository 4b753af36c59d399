import { describe, expect, it } from "vitest";
import { conditionsOf } from "./history_choice";

describe("the form", () => {
  it("has a field for each condition of the address", () => {
    expect(conditionsOf(new URLSearchParams("where=a=1&where=b>=2&where="))).toEqual(["a=1", "b>=2"]);
    expect(conditionsOf(new URLSearchParams())).toEqual([""]);
  });
});
