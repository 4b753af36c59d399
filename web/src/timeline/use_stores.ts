// A store of tiles for each run on the picture.

import { useEffect, useMemo, useReducer } from "react";
import type { Source } from "./lines";
import { TileStore } from "./tile_store";

/** Every tile that comes draws the picture anew. */
export function useStores(sources: readonly Source[], fail: (error: unknown) => void): TileStore[] {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const known = sources.map(({ id, data }) => `${id}/${data.rows.length}`).join(" ");
  const stores = useMemo(
    () => known.split(" ").map((one) => {
      const [id, rows] = one.split("/") as [string, string];
      return new TileStore(id, Number(rows), draw, fail);
    }),
    [known, fail],
  );
  useEffect(() => () => stores.forEach((store) => store.stop()), [stores]);
  return stores;
}
