import { describe, expect, it } from "vitest";
import { itemAt, paintRows } from "./draw";
import { inkOn, LIGHT, packed } from "./palette";
import { wholePick } from "./tile_for_test";
import { idOf, levelFor, tableOf, tilesOf, unpack } from "./tiles";

/** As src/timeline/packed_tile.cpp lays it out: two rows, three items, two names. */
function packedTile(): ArrayBuffer {
  const parts: ArrayBufferView[] = [
    new Uint32Array([0x32544c4e, 2, 3, 2, 4, 512]),
    new Float64Array([8192]),
    new Float64Array([16, 160, -100]),
    new Float64Array([32, 0, 5000]),
    new Float64Array([32, 0, 8192]),
    new Uint32Array([7, 9, 2, 3]),
    new Uint32Array([0, 1, 0]),
    new Uint32Array([5, (1 << 30) | 6, 7]),
    new Uint32Array([1, 1, 0]),
    new Uint32Array([4, 9]),
    new Uint16Array([1, 10, 0]),
    new Uint16Array([2, 1, 512]),
    new TextEncoder().encode("gemmé✓"),
  ];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
    at += part.byteLength;
  }
  return bytes.buffer;
}

describe("tiles", () => {
  it("are read as the server packs them", () => {
    const tile = unpack(packedTile());
    expect(tile.level).toBe(4);
    expect(tile.begin).toBe(8192);
    expect(tile.names).toEqual(["gemm", "é✓"]);
    expect([...tile.rows]).toEqual([[7, { from: 0, to: 2 }], [9, { from: 2, to: 3 }]]);
    expect([...tile.start]).toEqual([16, 160, -100]);
    expect(tableOf(tile.item[1] as number)).toBe("kernels");
    expect(idOf(tile.item[1] as number)).toBe(6);
  });

  it("of another kind are refused", () => {
    expect(() => unpack(new ArrayBuffer(40))).toThrow("no tile");
  });

  it("are found under the cursor, and nothing between them", () => {
    const picks = [wholePick(unpack(packedTile()))];
    expect(itemAt(picks, 7, 8192 + 20)?.index).toBe(0);
    expect(itemAt(picks, 7, 8192 + 60)).toBeNull();
    expect(itemAt(picks, 7, 8192 + 165)?.index).toBe(1);
    expect(itemAt(picks, 9, 8192 + 4000)?.index).toBe(2);
    expect(itemAt(picks, 8, 8192)).toBeNull();
  });

  it("are painted where they are, and nowhere else", () => {
    const width = 512;
    const pixels = new Uint32Array(width * 2);
    const tile = unpack(packedTile());
    const view = { begin: 8192, end: 16384 };
    const rows = [7, 9].map((row) => ({ row, picks: [wholePick(tile)], view }));
    const boxes = paintRows(pixels, width, rows, LIGHT, { lit: null, only: "" });
    const empty = packed(LIGHT) >>> 0;
    const painted = [...pixels.subarray(0, width)].map((one, x) => (one === empty ? -1 : x)).filter((x) => x >= 0);
    expect(painted).toEqual([1, 2, 10]);
    expect([...pixels.subarray(width)].every((one) => one !== empty)).toBe(true);
    expect(boxes.map((box) => box.name)).toEqual(["gemm"]);
  });

  it("dim what a search does not find, and light a name", () => {
    const tile = unpack(packedTile());
    const painted = (lit: string | null, only: string) => {
      const pixels = new Uint32Array(512);
      paintRows(pixels, 512, [{ row: 7, picks: [wholePick(tile)], view: { begin: 8192, end: 16384 } }], LIGHT, { lit, only });
      return [pixels[1], pixels[10]];
    };
    const [gemm, other] = painted(null, "");
    expect(painted(null, "GEM")[0]).toBe(gemm);
    expect(painted(null, "GEM")[1]).not.toBe(other);
    expect(painted("gemm", "")[0]).not.toBe(gemm);
    expect(painted("gemm", "")[1]).toBe(other);
  });

  it("have labels that can be read", () => {
    expect(inkOn(packed([20, 30, 90]))).toBe("#fff");
    expect(inkOn(packed([244, 180, 60]))).toBe("#000");
  });

  it("cover a stretch without gaps, at the level that a pixel needs", () => {
    expect(levelFor(1)).toBe(0);
    expect(levelFor(4096)).toBe(12);
    expect(levelFor(5000)).toBe(12);
    expect(tilesOf(0, 0, 1024)).toEqual([0, 1]);
    expect(tilesOf(0, -1, 1)).toEqual([-1, 0]);
  });
});
