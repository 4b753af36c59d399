import { describe, expect, it } from "vitest";
import { tileOf } from "./tile_for_test";
import { TileStore, type askTile } from "./tile_store";

const SPANS = [{ row: 0, start: 100, length: 5_000 }];

function storeOf(mostBytes = 1e9) {
  const asked: { level: number; tile: number; signal: AbortSignal | undefined; answer: () => void }[] = [];
  const ask: typeof askTile = (_run, level, tile, _rows, signal) =>
    new Promise((resolve) => asked.push({ level, tile, signal, answer: () => resolve(tileOf(SPANS, level, tile)) }));
  const store = new TileStore("r", 3, () => undefined, () => undefined, ask, mostBytes);
  const answerAll = async () => {
    asked.splice(0).forEach((one) => one.answer());
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
  return { store, asked, answerAll };
}

describe("the store of tiles", () => {
  it("asks once for what is seen, and stops asking for what is not", () => {
    const { store, asked } = storeOf();
    store.want(4, { begin: 0, end: 10_000 }, [0]);
    store.want(4, { begin: 0, end: 10_000 }, [0]);
    expect(asked.map((one) => one.tile)).toEqual([0, 1]);
    store.want(4, { begin: 8192, end: 10_000 }, [0]);
    expect(asked.map((one) => one.signal?.aborted)).toEqual([true, false]);
  });

  it("asks for a tile that failed again only when it is told to", async () => {
    let asked = 0;
    const failures: unknown[] = [];
    const view = { begin: 0, end: 100 };
    const refuse: typeof askTile = () => Promise.reject(new Error(`gone ${++asked}`));
    const store: TileStore = new TileStore("r", 3, () => asked < 50 && store.want(0, view, [0]), (error) => failures.push(error), refuse);
    const wait = () => new Promise((resolve) => setTimeout(resolve, 5));
    store.want(0, view, [0]);
    await wait();
    expect([asked, failures.length, store.isWaiting]).toEqual([1, 1, false]);
    store.retry();
    store.want(0, view, [0]);
    await wait();
    expect(asked).toBe(2);
  });

  it("stretches what it has until the right resolution is there", async () => {
    const { store, answerAll } = storeOf();
    const view = { begin: 0, end: 500 };
    store.want(9, { begin: 0, end: 200_000 }, [0]);
    await answerAll();
    store.want(0, view, [0]);
    expect(store.picks(0, 0, view).map((pick) => [pick.tile.level, pick.begin, pick.end])).toEqual([[9, 0, 512]]);
    await answerAll();
    expect(store.picks(0, 0, view)[0]?.tile.level).toBe(0);
    expect(store.picks(0, 1, view)[0]?.tile.level).toBe(9); // coarser comes before finer
  });

  it("shows finer tiles when nothing coarser is there", async () => {
    const { store, answerAll } = storeOf();
    store.want(0, { begin: 0, end: 500 }, [0]);
    await answerAll();
    expect(store.picks(0, 2, { begin: 0, end: 2000 }).map((pick) => pick.tile.level)).toEqual([0]);
  });

  it("keeps no more bytes than it may, the latest wanted last", async () => {
    const { store, answerAll } = storeOf(250);
    for (const begin of [0, 512, 1024, 1536]) {
      store.want(0, { begin, end: begin + 1 }, [0]);
      await answerAll();
    }
    expect(store.keptBytes).toBeLessThanOrEqual(250);
    expect(store.picks(0, 0, { begin: 1536, end: 1537 })).toHaveLength(1);
    expect(store.picks(0, 0, { begin: 0, end: 1 })).toHaveLength(0);
  });
});
