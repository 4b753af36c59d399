import { describe, expect, it } from "vitest";
import type { Note } from "../api/answers_run";
import { noteLink } from "../parts/notes";
import type { Span } from "./item";
import { aboutOf, isNotedKernel, marksText, notedKernels, notedSpans, notesOf } from "./notes";

const note = (about: string, number = 1): Note => ({ note: number, about, text: "x", user: "u", written_at_ns: 0 });
const span = (table: Span["table"], id: number, name: string): Span => ({ kind: "span", source: 0, row: 0, table, id, name, start: 0, length: 1 });

describe("notes on the time line", () => {
  it("are about spans by number, and about kernels by name", () => {
    expect(aboutOf(span("spans", 7, "aten::mm"))).toBe("span:7");
    expect(aboutOf(span("kernels", 7, "gemm: a;b"))).toBe("kernel:gemm: a;b");
    expect(aboutOf(span("copies", 7, "Memcpy"))).toBeNull();
    expect(aboutOf(span("kernels", 7, ""))).toBeNull();
  });

  it("of a span are those about it alone", () => {
    const notes = [note("span:7", 1), note("span:70", 2), note("", 3), note("kernel:gemm", 4)];
    expect(notesOf(notes, span("spans", 7, "x")).map((one) => one.note)).toEqual([1]);
    expect(notesOf(notes, span("kernels", 1, "gemm")).map((one) => one.note)).toEqual([4]);
    expect(notesOf(notes, span("syncs", 7, "x"))).toEqual([]);
  });

  it("have their marks told", () => {
    const notes = [note("span:7"), note("span:7"), note("span:x"), note("kernel:gemm"), note("finding:a")];
    expect(notedSpans(notes)).toEqual([7]);
    const marks = { spans: [span("spans", 7, "x")], kernels: notedKernels(notes) };
    expect(marksText(marks)).toBe('["kernel:gemm","span:7"]');
    expect(isNotedKernel(marks, 1 << 30, "gemm")).toBe(true);
    expect(isNotedKernel(marks, 1, "gemm")).toBe(false);
  });

  it("link to what they are about", () => {
    expect(noteLink("r", "span:7")).toBe("/runs/r/timeline?show=s7");
    expect(noteLink("r", "kernel:a&b")).toBe("/runs/r/timeline?find=a%26b");
    expect(noteLink("r", "finding:x")).toBeNull();
    expect(noteLink("r", "")).toBeNull();
  });
});
