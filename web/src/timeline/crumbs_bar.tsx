import { useEffect, useRef, useState, type ReactNode } from "react";
import { duration } from "../format/numbers";
import { crumbsAfter } from "./crumbs";
import { isSame, spanOf, timeText, type View } from "./view";

const REST_MS = 400;

/** Crumbs follow the view when it rests. */
export function useCrumbs(view: View, all: View): View[] {
  const [crumbs, setCrumbs] = useState<View[]>([]);
  const rested = useRef(all);
  useEffect(() => {
    const timer = setTimeout(() => {
      setCrumbs((before) => crumbsAfter(before, rested.current, view));
      rested.current = view;
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [view]);
  return crumbs;
}

/** Both ends, with more digits where they would look the same. */
export function stretchText(view: View): string {
  const [begin, end] = [duration(view.begin), duration(view.end)];
  return begin === end ? `${timeText(view.begin, spanOf(view) / 100)} to ${timeText(view.end, spanOf(view) / 100)}` : `${begin} to ${end}`;
}

export function CrumbsBar({ crumbs, view, all, go }: { crumbs: readonly View[]; view: View; all: View; go: (view: View) => void }): ReactNode {
  const between = crumbs.filter((one) => spanOf(one) < spanOf(all) * 0.95);
  return (
    <nav aria-label="Zoom" className="crumbs">
      <button className="link" onClick={() => go(all)} aria-current={isSame(view, all) ? "true" : undefined}>
        Whole run
      </button>
      {between.map((one) => (
        <button key={`${one.begin}/${one.end}`} className="link" title={stretchText(one)} onClick={() => go(one)}>
          {duration(spanOf(one))}
        </button>
      ))}
      <span role="status">
        {stretchText(view)}, {duration(spanOf(view))} of {duration(spanOf(all))}
      </span>
    </nav>
  );
}
