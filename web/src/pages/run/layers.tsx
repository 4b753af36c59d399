// Where in the model the time goes: a tree of modules, layers or ops, with inclusive and self time.

import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { RunAnalysis, Stack } from "../../api/answers_run";
import { said, shown } from "../../format/names";
import { grouped, percent } from "../../format/numbers";
import { Th } from "../../parts/definitions";
import { Time } from "../../parts/figure";
import { useAnalysis } from "./asked";
import { Body, Nothing, placeKey, placeText, Scroll, Share, usePlace, useWord, Value } from "./parts";
import { firstOpen, placeOf, placesOf, pressed, rowsOf, treeBy, WAYS, waysOf, type Node, type Way } from "./tree";

export default function Layers({ id }: { id: string }): ReactNode {
  const analysis = useAnalysis(id, true);
  return (
    <Body asked={analysis} what="Summing up the layers">
      {({ data }) => <Content data={data} />}
    </Body>
  );
}

function Content({ data }: { data: RunAnalysis }): ReactNode {
  const ways = waysOf(data);
  const [word, setWord] = useWord("by", ways[0]);
  const way = ways.find((one) => one === word) ?? ways[0];
  if (!way)
    return (
      <Nothing
        why={data.layers ? `the file lists ${grouped(data.layers.count)} layers, and gives none a time` : (data.model_layers.absent ?? "the window has no ops")}
        record="With PyTorch record `with_stack=True`, which names the modules; with TensorRT add `trtexec --exportProfile`; else mark the layers with ranges."
      />
    );
  return (
    <>
      <Remarks data={data} />
      <Tree key={way} data={data} way={way} choice={ways.length > 1 ? <WayChoice ways={ways} way={way} choose={setWord} /> : null} />
      {way === "modules" || way === "layers"
        ? data.model_layers.devices.map((one) => <Stacks key={placeKey(placeOf(one))} title={placeText(placeOf(one))} stacks={one.stacks} />)
        : null}
      {data.model_layers.absent && way !== "engine" ? <p className="hint">No named layers: {shown(data.model_layers.absent, 500)}.</p> : null}
    </>
  );
}

function Remarks({ data }: { data: RunAnalysis }): ReactNode {
  const remarks = [...data.model_layers.devices.flatMap((one) => one.remarks), ...(data.layers?.remarks ?? [])];
  return [...new Set(remarks.map((one) => one.text))].map((text) => <p key={text}>{said(text)}</p>);
}

function WayChoice({ ways, way, choose }: { ways: Way[]; way: Way; choose: (way: string) => void }): ReactNode {
  return (
    <label>
      Seen as{" "}
      <select value={way} onChange={(event) => choose(event.target.value)}>
        {ways.map((one) => (
          <option key={one} value={one}>
            {WAYS[one].title.toLowerCase()}
          </option>
        ))}
      </select>
    </label>
  );
}

function Tree({ data, way, choice }: { data: RunAnalysis; way: Way; choice: ReactNode }): ReactNode {
  const places = useMemo(() => placesOf(data, way), [data, way]);
  const [place, placeChoice] = usePlace(places);
  const root = useMemo(() => treeBy(data, way, place), [data, way, place]);
  return (
    <>
      <p className="controls">
        {choice} {placeChoice}
        <span className="hint">
          {WAYS[way].of}: <Time ns={root.totalNs} />
        </span>
      </p>
      <TreeGrid key={place ? placeKey(place) : ""} root={root} way={way} />
    </>
  );
}

function TreeGrid({ root, way }: { root: Node; way: Way }): ReactNode {
  const [at, setAt] = useWord("node");
  const [open, setOpen] = useState<ReadonlySet<string>>(() => firstOpen(root, at));
  const rows = useMemo(() => rowsOf(root, open), [root, open]);
  const row = Math.max(0, rows.findIndex((one) => one.path === at));
  const body = useRef<HTMLTableSectionElement>(null);
  const wantsFocus = useRef(false);
  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    (body.current?.rows[row] as HTMLElement | undefined)?.focus();
  });
  const press = (event: KeyboardEvent) => {
    const moved = pressed(event.key, rows, row, open);
    if (!moved) return;
    event.preventDefault();
    wantsFocus.current = true;
    setOpen(moved.open);
    setAt(rows[moved.row]?.path ?? "");
  };
  const toggle = (node: Node) => {
    setAt(node.path);
    const moved = pressed("Enter", [node], 0, open);
    if (moved) setOpen(moved.open);
  };
  return (
    <Scroll label="Tree of the time">
      <table role="treegrid" aria-label={`${WAYS[way].title}, with the keys: arrows move, open and close`} className="tree" onKeyDown={press}>
        <thead>
          <tr>
            <th>Name</th>
            <Th define={`${WAYS[way].of}: of it and of all below it`}>Inclusive</Th>
            <Th define={`${WAYS[way].of}: of it without what is below it`}>Self</Th>
            <Th define="inclusive time / the inclusive time of the whole tree">Share of all</Th>
            <Th define={`${WAYS[way].counted.toLowerCase()} of it and of all below it`}>{WAYS[way].counted}</Th>
            <th aria-hidden="true" />
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((node, n) => (
            <tr
              key={node.path} tabIndex={n === row ? 0 : -1} aria-level={node.depth} aria-expanded={node.children.length > 0 ? open.has(node.path) : undefined}
              aria-selected={node.path === at} onClick={() => toggle(node)}
            >
              <td className="mono" title={node.path} style={{ paddingLeft: (node.depth - 1) * 16 }}>
                <span aria-hidden="true" className="twist">
                  {node.children.length === 0 ? "" : open.has(node.path) ? "▾" : "▸"}
                </span>
                {shown(node.name, 70)}
              </td>
              <td className="number">
                <Time ns={node.totalNs} />
              </td>
              <td className="number">
                <Time ns={node.selfNs} />
              </td>
              <td className="number">{percent(node.totalNs / Math.max(1, root.totalNs))}</td>
              <td className="number">
                <Value value={node.count} unit="count" absent="the capture does not have all launches" />
              </td>
              <td aria-hidden="true">
                <Bar self={node.selfNs / Math.max(1, root.totalNs)} total={node.totalNs / Math.max(1, root.totalNs)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** Self time filled, the rest of the inclusive time outlined. */
function Bar({ self, total }: { self: number; total: number }): ReactNode {
  return (
    <svg className="share" viewBox="0 0 100 8" preserveAspectRatio="none">
      <rect className="inside" x="0" y="1" height="6" width={total * 100} />
      <rect className="compute" x="0" y="1" height="6" width={self * 100} />
    </svg>
  );
}

function Stacks({ title, stacks }: { title: string; stacks: Stack[] }): ReactNode {
  if (stacks.length === 0) return null;
  return (
    <section aria-label={`Layers that repeat on ${title}`}>
      <h2>Layers that repeat, {title}</h2>
      <Scroll label="Table of layers that repeat">
        <table>
          <thead>
            <tr>
              <th>Layers</th>
              <Th define="layers with work in the window">How many</Th>
              <Th define="sum of the time of these layers on the device">Time</Th>
              <Th define="this time / the time of all work in the window">Share of the work</Th>
              <Th define="mean of a call of the fastest layer">Fastest</Th>
              <Th define="median of the means of the layers">Median</Th>
              <Th define="mean of a call of the slowest layer, and its number">Slowest</Th>
            </tr>
          </thead>
          <tbody>
            {stacks.map((one) => (
              <tr key={one.name}>
                <td className="mono" title={one.name}>
                  {shown(one.name, 60)}
                </td>
                <td className="number">{grouped(one.layers)}</td>
                <td className="number">
                  <Time ns={one.device_ns} />
                </td>
                <td className="number">
                  <Share value={one.share} />
                </td>
                <td className="number">
                  <Time ns={one.fastest_ns} />
                </td>
                <td className="number">
                  <Time ns={one.median_ns} />
                </td>
                <td className="number">
                  <Time ns={one.slowest_ns} /> <span className="hint">layer {one.slowest}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
