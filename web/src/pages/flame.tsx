// Where time goes as a tree: what ran inside of what, as wide as it took; of two runs, what grew and what shrank.

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, type KeyboardEvent, type ReactNode } from "react";
import { Link } from "wouter";
import { askText } from "../api/ask";
import { hash, shown } from "../format/names";
import { duration, exactNs, percent, signedDuration } from "../format/numbers";
import { useAddress } from "../parts/address";
import { CopyAs, mcpCall, shellWord } from "../parts/copy_as";
import { Absent, Time } from "../parts/figure";
import { staleOf } from "../parts/fresh";
import { Empty, Failure, Waiting } from "../parts/state";
import { boxesOf, folded, frameAt, heaviest, matches, moved, readStacks, timeOf, titleOf, withPairedDevices, type Box,
  type Frame, type Weight } from "./flame/tree";
import { RunName, RunPicker } from "./runs/picker";

const ROW = 20;

export default function FlamePage(): ReactNode {
  const [search, set] = useAddress();
  const run = search.get("run") ?? "@latest";
  const base = search.get("base");
  const stacks = useQuery({
    queryKey: ["flame", run, base],
    staleTime: staleOf(run, base),
    gcTime: 60_000,
    queryFn: async ({ signal }) => {
      const asked = base ? { run: base, against: run } : { run };
      const roots = readStacks(await askText("export", { ...asked, format: "collapsed" }, signal), base !== null);
      return base ? withPairedDevices(roots) : roots;
    },
  });
  const command = base ? `neurolens export ${shellWord(base)} --format collapsed --against ${shellWord(run)}`
    : `neurolens export ${shellWord(run)} --format collapsed`;
  return (
    <main id="main" data-ready={stacks.data !== undefined || stacks.error !== null}>
      <h1>Flame graph</h1>
      <div className="line">
        <span>
          Of{" "}
          <Link href={`/runs/${encodeURIComponent(run)}`}>
            <RunName id={run} />
          </Link>
          {base ? (
            <>
              {" "}
              against{" "}
              <Link href={`/runs/${encodeURIComponent(base)}`}>
                <RunName id={base} />
              </Link>
            </>
          ) : null}
        </span>
        <RunPicker label="Show another run" placeholder="another run" choose={(id) => set({ run: id, at: null, of: null })} />
        {base ? <button onClick={() => set({ base: null, by: null })}>Without the base</button> : null}
        <RunPicker label="Show the difference from a base" placeholder="difference from a base" choose={(id) => set({ base: id, at: null, of: null })} />
        <CopyAs ways={{ command, link: location.href, ...(base ? mcpCall("compare", { base: [base], new: [run] }) : mcpCall("analyze", { run, top: 100 })) }} />
      </div>
      {stacks.error ? <Failure error={stacks.error} retry={() => void stacks.refetch()} /> : null}
      {stacks.isPending ? <Waiting what="Reading the stacks" /> : null}
      {stacks.data?.length === 0 ? <Empty>Nothing in this run has both a time and a place in a tree.</Empty> : null}
      {stacks.data && stacks.data.length > 0 ? <Flame key={`${run} ${base}`} roots={stacks.data} isDifference={base !== null} search={search} set={set} />
        : null}
    </main>
  );
}

interface FlameProps {
  roots: Frame[];
  isDifference: boolean;
  search: URLSearchParams;
  set: (changes: Record<string, string | null>, replace?: boolean) => void;
}

/** The devices say most; without one, the timeline with the most time. */
function firstOf(roots: Frame[]): Frame {
  return roots.find(isDevice) ?? (roots[0] as Frame);
}

const isDevice = (root: Frame): boolean => /(^| )device /.test(root.name) && !root.name.startsWith("ranges");

function Flame({ roots, isDifference, search, set }: FlameProps): ReactNode {
  const isFolded = search.get("chains") !== "1";
  const chosen = roots.find((one) => one.name === search.get("of")) ?? firstOf(roots);
  const by: Weight = isDifference && search.get("by") === "base" ? "base" : "value";
  const root = useMemo(() => (isFolded ? { ...chosen, children: chosen.children.map(folded) } : chosen), [chosen, isFolded]);
  const zoom = search.get("at") ?? "";
  const text = search.get("find") ?? "";
  const top = frameAt(root, zoom);
  const found = text ? timeOf(root, text) : 0;
  return (
    <>
      <div className="line">
        <label>
          Time of{" "}
          <select value={chosen.name} onChange={(event) => set({ of: event.target.value, at: null })}>
            {roots.map((one) => (
              <option key={one.name} value={one.name}>
                {shown(one.name, 50)}: {duration(Math.max(one.value, one.base))}
              </option>
            ))}
          </select>
        </label>
        {isDifference ? (
          <label>
            Width by{" "}
            <select value={by} onChange={(event) => set({ by: event.target.value === "base" ? "base" : null })}>
              <option value="value">the new run</option>
              <option value="base">the base</option>
            </select>
          </label>
        ) : null}
        <label>
          <input type="checkbox" checked={isFolded} onChange={() => set({ chains: isFolded ? "1" : null, at: null })} /> fold chains
        </label>
        <input type="search" aria-label="Search frames" placeholder="Search frames" value={text}
          onChange={(event) => set({ find: event.target.value }, true)} />
        <span role="status">{text ? `${duration(found)}, ${percent(found / Math.max(1, root.value))} of ${shown(root.name, 30)}` : ""}</span>
      </div>
      <Crumbs root={root} zoom={zoom} set={(at) => set({ at })} />
      <Picture root={root} zoom={zoom} by={by} text={text} isDifference={isDifference} setZoom={(at) => set({ at: at || null })} />
      <Heaviest frame={top} isDifference={isDifference} />
    </>
  );
}

function Crumbs({ root, zoom, set }: { root: Frame; zoom: string; set: (at: string | null) => void }): ReactNode {
  const parts = zoom.split(".").filter(Boolean);
  const steps = ["", ...parts.map((_, n) => parts.slice(0, n + 1).join("."))];
  const seen = steps.length > 5 ? [steps[0] as string, ...steps.slice(-4)] : steps;
  return (
    <nav aria-label="Zoom" className="crumbs">
      {seen.map((path, n) => (
        <span key={path}>
          {n > 0 ? " › " : ""}
          <button className="plain link" aria-current={path === zoom ? "location" : undefined} onClick={() => set(path || null)}>
            {shown(titleOf(frameAt(root, path)), 40)}
          </button>
        </span>
      ))}
    </nav>
  );
}

/** Only what ends a stack of a device ran there; all else is of the host. */
function colour(frame: Frame, isOfDevice: boolean): string {
  if (/nccl|rccl|all_?reduce|all_?gather/i.test(frame.name)) return "communication";
  if (/^mem(cpy|set)/i.test(frame.name)) return "copy";
  return isOfDevice && frame.children.length === 0 ? "compute" : "host";
}

/** Blue has shrunk, red has grown; the share of the frame's own time says how deep. */
function shade({ value, base }: Frame): string {
  const share = (value - base) / Math.max(1, value, base);
  return `color-mix(in srgb, var(--${share > 0 ? "worse" : "better"}) ${Math.round(Math.abs(share) * 45)}%, var(--raised))`;
}

interface PictureProps {
  root: Frame;
  zoom: string;
  by: Weight;
  text: string;
  isDifference: boolean;
  setZoom: (path: string) => void;
}

function Picture({ root, zoom, by, text, isDifference, setZoom }: PictureProps): ReactNode {
  const [active, setActive] = useState(zoom);
  const boxes = useMemo(() => boxesOf(root, zoom, by), [root, zoom, by]);
  const current = boxes.find((box) => box.path === active) ?? boxes[0];
  const rows = boxes.reduce((most, box) => Math.max(most, box.depth + 1), 1);
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && current) setZoom(current.path);
    else if (event.key === "Escape") setZoom(moved(root, zoom, "ArrowUp") ?? "");
    else {
      const next = current ? moved(root, current.path, event.key) : null;
      if (next === null || !boxes.some((box) => box.path === next)) return;
      setActive(next);
    }
    event.preventDefault();
  };
  return (
    <>
      <div
        className="flame" role="tree" tabIndex={0} aria-label="Flame graph. Arrows move, Enter zooms in, Escape zooms out."
          aria-activedescendant={current ? `frame-${current.path}` : undefined}
        style={{ height: rows * ROW + 2 }} onKeyDown={press}
      >
        {boxes.map((box) => (
          <OneBox
            key={box.path} box={box} isOfDevice={isDevice(root)} isActive={box.path === current?.path} isFound={matches(box.frame, text)}
              isQuiet={text !== ""} isDifference={isDifference}
            point={() => setActive(box.path)} zoom={() => setZoom(box.path)}
          />
        ))}
      </div>
      <p className="readout mono" role="status">
        {current ? <Readout frame={current.frame} root={root} isDifference={isDifference} /> : null}
      </p>
    </>
  );
}

interface OneBoxProps {
  box: Box;
  isOfDevice: boolean;
  isActive: boolean;
  isFound: boolean;
  isQuiet: boolean;
  isDifference: boolean;
  point: () => void;
  zoom: () => void;
}

function OneBox({ box, isOfDevice, isActive, isFound, isQuiet, isDifference, point, zoom }: OneBoxProps): ReactNode {
  const { frame, path, depth, left, width } = box;
  const sign = !isDifference || frame.value === frame.base ? "" : frame.value > frame.base ? "▲ " : "▼ ";
  const letters = Math.floor(width * 170); // of a wide window; a narrow one cuts the end
  const kind = isDifference ? "" : `${colour(frame, isOfDevice)} shade${hash(frame.name) % 3}`;
  return (
    <div
      id={`frame-${path}`} role="treeitem" aria-level={depth + 1} aria-selected={isActive} aria-label={`${shown(titleOf(frame), 80)}, ${duration(frame.value)}`}
      className={`box ${kind} ${isFound ? "found" : isQuiet ? "quiet" : ""}`} onClick={zoom} onPointerEnter={point}
      style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: depth * ROW, ...(isDifference ? { background: shade(frame) } : {}) }}
    >
      {letters > 4 ? `${sign}${shown(titleOf(frame), letters)}` : ""}
    </div>
  );
}

function Readout({ frame, root, isDifference }: { frame: Frame; root: Frame; isDifference: boolean }): ReactNode {
  return (
    <>
      {shown(titleOf(frame), 160)} <strong title={exactNs(frame.value)}>{duration(frame.value)}</strong>,{" "}
      {percent(frame.value / Math.max(1, root.value))} of {shown(root.name, 40)}
      {isDifference ? `, ${signedDuration(frame.value - frame.base)} against ${duration(frame.base)}` : ""}
      {frame.chain.length > 0 ? <span className="hint"> below {shown(frame.chain.join(" › "), 200)}</span> : null}
    </>
  );
}

function Heaviest({ frame, isDifference }: { frame: Frame; isDifference: boolean }): ReactNode {
  const sums = useMemo(() => heaviest(frame, 25), [frame]);
  return (
    <section aria-label="Own time by name">
      <h2>Own time by name, in {shown(frame.name, 60)}</h2>
      <div className="scroll" tabIndex={0} role="region" aria-label="Table of own times">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              {isDifference ? <th className="number">Base</th> : null}
              <th className="number">{isDifference ? "New" : "Own time"}</th>
              {isDifference ? <th className="number">Difference</th> : <th className="number">Share of {shown(frame.name, 24)}</th>}
            </tr>
          </thead>
          <tbody>
            {sums.map((one) => (
              <tr key={one.name}>
                <td className="mono" title={one.name}>
                  {shown(one.name, 90)}
                </td>
                {isDifference ? (
                  <td className="number">
                    {one.base > 0 ? <Time ns={one.base} /> : <Absent reason="it is not in the base" />}
                  </td>
                ) : null}
                <td className="number">
                  {one.self > 0 ? <Time ns={one.self} /> : <Absent reason="it is not in the new run" />}
                </td>
                {isDifference ? (
                  <td className={`number ${one.self > one.base ? "worse" : one.self < one.base ? "better" : ""}`}>{signedDuration(one.self - one.base)}</td>
                ) : (
                  <td className="number">{percent(one.self / Math.max(1, frame.value))}</td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
