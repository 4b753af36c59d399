// The whole run in small: how busy its devices and threads are, and what of it is seen, as a box that can be dragged.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, type ReactNode } from "react";
import { duration } from "../format/numbers";
import { densityOf, type Density } from "./density";
import type { Source } from "./lines";
import { useSize } from "./use_stage";
import { pixelOf, shifted, spanOf, timeAt, type View } from "./view";

const HEIGHT = 34;

interface MinimapProps {
  sources: readonly Source[];
  all: View;
  view: View;
  setView: (view: View) => void;
}

export function Minimap({ sources, all, view, setView }: MinimapProps): ReactNode {
  const source = sources[0] as Source;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef(false);
  const { width } = useSize(box);
  const density = useQuery({ queryKey: ["density", source.id], queryFn: async ({ signal }) => await densityOf(source, signal) });

  const theme = document.documentElement.dataset["theme"];
  useEffect(() => {
    if (width > 0 && canvas.current) paint(canvas.current, width, density.data ?? null, all);
  }, [width, density.data, all, theme]);

  const centre = (clientX: number) => {
    const at = timeAt(all, clientX - (box.current as HTMLDivElement).getBoundingClientRect().left, width);
    setView(shifted(view, at - (view.begin + view.end) / 2));
  };
  const left = Math.max(0, pixelOf(all, view.begin, width));
  const right = Math.min(width, pixelOf(all, view.end, width));
  return (
    <div className="minimap">
      <span className="hint">{duration(spanOf(all))} in all</span>
      <div
        ref={box} className="whole" role="img" aria-label="The whole run in small: upper half devices, lower half threads; the box is what is seen" style={{ height: HEIGHT }}
        onPointerDown={(event) => {
          drag.current = true;
          event.currentTarget.setPointerCapture(event.pointerId);
          centre(event.clientX);
        }}
        onPointerMove={(event) => drag.current && centre(event.clientX)}
        onPointerUp={() => (drag.current = false)}
        onPointerCancel={() => (drag.current = false)}
      >
        <canvas ref={canvas} />
        <div className="window" style={{ left, width: Math.max(3, right - left) }} />
      </div>
    </div>
  );
}

function paint(canvas: HTMLCanvasElement, width: number, density: Density | null, all: View): void {
  canvas.width = width;
  canvas.height = HEIGHT;
  const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
  if (!density) return;
  const style = getComputedStyle(document.documentElement);
  const half = density.device && density.host ? HEIGHT / 2 : HEIGHT;
  const draw = (shares: Float32Array | null, colour: string, bottom: number) => {
    if (!shares) return;
    pen.fillStyle = colour;
    for (let x = 0; x < width; x++) {
      const share = shares[Math.floor((timeAt(all, x, width) - density.begin) / density.step)] ?? 0;
      const high = Math.max(1, Math.round(share * (half - 2)));
      if (share > 0) pen.fillRect(x, bottom - high, 1, high);
    }
  };
  draw(density.device, style.getPropertyValue("--compute"), half);
  draw(density.host, "rgb(104, 141, 122)", HEIGHT);
}
