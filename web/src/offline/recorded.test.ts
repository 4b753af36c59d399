import { expect, test } from "vitest";
import { ASKS, keyOf, partOf } from "./asks";
import { commandOf } from "./command";
import { wholeLines } from "./recorded";

test("a key has the parameters in their order, whatever order they were given in", () => {
  expect(keyOf("analyze", { window: "steady", run: "a", top: undefined })).toBe('analyze {"run":"a","window":"steady"}');
  expect(keyOf("rules", {})).toBe("rules {}");
});

test("every part is asked for, and what pages ask is found in the part it was put into", () => {
  expect(new Set(ASKS.map((one) => one.part))).toEqual(new Set(["all", "run", "pairs"]));
  expect(partOf("export", { run: "a", against: "b" })).toBe("pairs");
  expect(partOf("show", { run: "a" })).toBe("all");
});

test("stacks come back whole", () => {
  expect(wholeLines("0 a;b;c 3\n2 d 4\n1 x;y 5\n0 z 1\n")).toBe("a;b;c 3\na;b;d 4\na;x;y 5\nz 1\n");
  expect(wholeLines("")).toBe("");
});

test("what is not in a file is named by the command that answers it", () => {
  const run = "a".repeat(64);
  expect(commandOf("query", { run, sql: "SELECT 'x'", limit: 1000 })).toBe(`neurolens query aaaaaaaaaaaa 'SELECT '\\''x'\\'''`);
  expect(commandOf("compare", { base: [run], new: ["b"], window: "whole" })).toBe("neurolens compare --base aaaaaaaaaaaa --new b --window whole");
  expect(commandOf("note", { run, history: false })).toBe("neurolens note aaaaaaaaaaaa");
});
