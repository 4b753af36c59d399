// The size of the picture, and what it is scrolled to.

import { useEffect, useState, type RefObject } from "react";

export interface Size {
  width: number;
  height: number;
}

export function useSize(box: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    const element = box.current as HTMLElement;
    const watch = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    watch.observe(element);
    return () => watch.disconnect();
  }, [box]);
  return size;
}

/** Wheel turns that are ours: a browser would scroll the page. */
export function useWheel(box: RefObject<HTMLElement | null>, turn: RefObject<(event: WheelEvent) => void>): void {
  useEffect(() => {
    const element = box.current as HTMLElement;
    const listen = (event: WheelEvent) => turn.current(event);
    element.addEventListener("wheel", listen, { passive: false });
    return () => element.removeEventListener("wheel", listen);
  }, [box, turn]);
}
