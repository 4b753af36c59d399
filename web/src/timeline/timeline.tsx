// The time line as a whole: the state of the page, what the keys do, and the parts that show it.

import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useSearch } from "wouter";
import type { TimelineRows } from "../api/answers";
import { shown } from "../format/names";
import { grouped } from "../format/numbers";
import { OFFLINE } from "../offline/mode";
import { Failure } from "../parts/state";
import { AreaSums } from "./area";
import { BesideStrip, useBeside } from "./beside";
import { CrumbsBar, useCrumbs } from "./crumbs_bar";
import { useWork } from "./device_work";
import { GapDetails, SpanDetails } from "./details";
import { Beside, GoTo, Perfetto, type Asked } from "./dialogs";
import { differencesOf } from "./differences";
import { extrasLeftOut } from "./extras";
import type { Target } from "./go_to";
import { readSelected, selectedText, type Selected, type Span } from "./item";
import { groupsOf, hullOf, linesOf, movedPin, numberOf, ownPins, pinOf, rowOfLine, toggled, withExtras, type Line, type Source } from "./lines";
import { Minimap } from "./minimap";
import { nearestDrawn, nextOf, previousOf } from "./neighbours";
import { readState, type Area, type PageState, type SortedBy } from "./page_state";
import { rememberedPins, rememberPins } from "./pins";
import { gapAt, located, placed, rowAsker } from "./place";
import type { Unplaced } from "./records";
import { findSpan, sameName, Search, spanOfFound, type Way } from "./search";
import { NOTE_FIELD } from "./span_notes";
import { spanFrom, Stage, type StageHandle } from "./stage";
import { stepAround, stepFrom, windowOf, type Step } from "./steps";
import { useAnalysed } from "./use_analysed";
import { useExtraRows, useExtras } from "./use_extras";
import { useKeys } from "./use_keys";
import { useLinks } from "./use_links";
import { useNotesOnPicture } from "./use_notes";
import { usePageState } from "./use_page_state";
import { useStores } from "./use_stores";
import { around, fitted, isSame, kept, moved, shifted, showing, zoomed, type View } from "./view";

const NO_STEPS: readonly Step[] = [];

export function Timeline({ id, data }: { id: string; data: TimelineRows }): ReactNode {
  const own = useMemo<View>(() => ({ begin: data.begin_ns, end: data.end_ns }), [data]);
  const [state, patch] = usePageState((search) => firstState(search, data, own), own);
  const [chosen, setSelected] = useState<Selected | null>(null);
  const [chosenWith, setChosenWith] = useState(state.beside);
  const [lit, light] = useState<string | null>(null);
  const [mark, setMark] = useState<number | null>(null);
  const [areaMode, setAreaMode] = useState(false);
  const [asked, setAsked] = useState<Asked>(null);
  const [said, say] = useState("");
  const [failure, fail] = useState<unknown>(null);
  const stage = useRef<StageHandle>(null);
  const isToShow = useRef(new URLSearchParams(useSearch()).has("show"));

  // What was chosen of a run beside is gone with it.
  if (chosenWith !== state.beside) {
    setChosenWith(state.beside);
    if (chosen?.source === 1) setSelected(null);
  }

  const analysed = useAnalysed(id, data.origin_ns);
  const steps = analysed.steps ?? NO_STEPS;
  const beside = useBeside(state.beside, state.step, analysed);
  const besideSteps = beside?.source ? beside.steps : null;
  const differences = useMemo(() => differencesOf(steps, besideSteps ?? NO_STEPS), [steps, besideSteps]);
  const [besideData, besideShift] = [beside?.source?.data, beside?.source?.shift ?? 0];
  const sources = useMemo<Source[]>(
    () => [{ id, data, shift: 0 }, ...(besideData ? [{ id: state.beside, data: besideData, shift: besideShift }] : [])],
    [id, data, besideData, besideShift, state.beside],
  );
  const selected = chosen && chosen.source < sources.length ? chosen : null;
  const gaps = [analysed.gaps, beside?.gaps ?? null];
  const all = useMemo(() => hullOf(sources), [sources]);
  const extraRows = useExtraRows(id);
  const leftOut = extrasLeftOut(extraRows.data ?? []);
  const [extras, besideExtras] = [useExtras(sources[0]), useExtras(sources[1])];
  const groups = useMemo(() => withExtras(groupsOf(sources), [extras, besideExtras]), [sources, extras, besideExtras]);
  const lines = useMemo(() => linesOf(groups, { pins: state.pins, shut: state.shut, filter: state.rows }), [groups, state.pins, state.shut, state.rows]);
  const stores = useStores(sources, fail);
  const work = [useWork(id), useWork(state.beside)];
  const crumbs = useCrumbs(state.view, all);
  const noted = useNotesOnPicture(sources[0] as Source);

  // A link may show what only the run beside has: where the view may lie is known when that run is there.
  const isWhole = state.beside === "" || besideData !== undefined;
  useEffect(() => {
    const fits = fitted(state.view, all);
    if (isWhole && !isSame(fits, state.view)) patch({ view: fits });
  }, [all, isWhole]);

  const leave = useCallback(() => stage.current?.focus(), []);
  const setView = useCallback((view: View) => patch({ view }), [patch]);
  const setArea = useCallback((area: Area | null) => patch({ area }), [patch]);
  const zoom = useCallback((begin: number, end: number) => setView(around(begin, end, all)), [setView, all]);
  const sort = useCallback((by: SortedBy) => patch({ by }), [patch]);

  const choose = useCallback(
    (one: Selected | null) => {
      setSelected(one);
      patch({ selected: one ? selectedText(one) : "" });
    },
    [patch],
  );

  /** Selects and shows it: its group is opened, the view moves there. */
  const goTo = useCallback(
    (one: Selected) => {
      const by = sources[one.source]?.shift ?? 0;
      const isSeen = lines.some((line) => line.source === one.source && rowOfLine(line)?.row === one.row);
      const group = groups.find((each) => each.source === one.source && each.rows.some(({ row }) => row.row === one.row));
      setSelected(one);
      patch({
        selected: selectedText(one),
        view: showing(state.view, one.start + by, one.start + one.length + by, stage.current?.width ?? 1000, all),
        ...(isSeen || !group ? {} : { shut: state.shut.filter((number) => number !== group.number), rows: "" }),
      });
    },
    [sources, lines, groups, patch, state.view, state.shut, all],
  );

  const tried = useCallback(async (act: () => Promise<void>, signal?: AbortSignal) => {
    try {
      await act();
    } catch (error) {
      if (!signal?.aborted) fail(error);
    }
  }, []);

  // A link, or Back, names a selection: it is looked up.
  useEffect(() => {
    if (state.selected === (selected ? selectedText(selected) : "")) return;
    const wanted = readSelected(state.selected);
    const source = wanted ? sources[wanted.source] : undefined;
    if (!wanted || !source) {
      if (wanted && state.beside !== "") return; // the run beside is not there yet
      setSelected(null);
      if (state.selected !== "") patch({ selected: "" });
      return;
    }
    const control = new AbortController();
    void tried(async () => {
      const found = "table" in wanted ? await located(source, wanted.source, wanted.table, wanted.id, control.signal) : await gapAt(source, wanted.source, wanted.row, wanted.at);
      if (control.signal.aborted) return;
      setSelected(found);
      if (found === null) patch({ selected: "" });
    }, control.signal);
    return () => control.abort();
  }, [state.selected, state.beside, selected, sources, tried, patch]);

  useEffect(() => {
    if (!selected || !isToShow.current) return;
    isToShow.current = false;
    goTo(selected);
    zoom(selected.start - 2 * selected.length, selected.start + 3 * selected.length);
  }, [selected, goTo, zoom]);

  const span = selected?.kind === "span" ? selected : null;
  const spanSource = span ? sources[span.source] : undefined;
  const { record, links, arrows, error } = useLinks(span, spanSource);
  const go = useCallback(
    (to: Unplaced) =>
      void tried(async () => {
        const found = spanSource && span ? await placed(spanSource, span.source, to) : null;
        if (found) goTo(found);
      }),
    [tried, spanSource, span, goTo],
  );

  const find = (way: Way) =>
    void tried(async () => {
      const source = sources[selected?.source ?? 0] ?? (sources[0] as Source);
      if (state.find === "") return;
      const from = selected ? selected.start + (way === "next" ? 1 : 0) : state.view.begin - source.shift;
      const { count, found } = await findSpan(source.id, state.find, way, from);
      say(count === 0 ? "no span has this name" : `${grouped(count)} ${count === 1 ? "span" : "spans"}`);
      if (found) goTo(spanOfFound(found, sources.indexOf(source)));
    });

  const alike = (way: Way) =>
    void tried(async () => {
      if (!span || !spanSource) return;
      const found = await sameName(spanSource.id, span, way);
      if (found) goTo(spanOfFound(found, span.source));
      else say(`no ${way} span of this name on this row`);
    });

  const neighbour = (way: Way) => {
    if (!selected) return startHere();
    return void tried(async () => {
      const source = sources[selected.source] as Source;
      const askRow = rowAsker(source, selected.row);
      const end = selected.start + (selected.kind === "gap" ? selected.length : Math.max(1, selected.length));
      const found = way === "next" ? await nextOf(askRow, selected.row, end) : await previousOf(askRow, selected.row, selected.start);
      if (found) goTo(spanFrom(found.tile, found.index, selected.source, selected.row));
      else say(`no ${way} span on this row`);
    });
  };

  const drawnOn = (line: Line, at: number): Span | null => {
    const row = rowOfLine(line);
    const found = row ? nearestDrawn(stage.current?.picksOf(line) ?? [], row.row, at - (sources[line.source]?.shift ?? 0)) : null;
    return found && row ? spanFrom(found.tile, found.index, line.source, row.row) : null;
  };

  const startHere = () => vertical((stage.current?.firstLine ?? 0) - 1, 1);

  const vertical = (from: number, by: -1 | 1) => {
    const by0 = selected ? (sources[selected.source]?.shift ?? 0) : 0;
    const middle = selected ? selected.start + selected.length / 2 + by0 : (state.view.begin + state.view.end) / 2;
    const at = Math.min(Math.max(middle, state.view.begin), state.view.end);
    for (let n = from + by; n >= 0 && n < lines.length; n += by) {
      const found = drawnOn(lines[n] as Line, at);
      if (found) return goTo(found);
    }
    return undefined;
  };

  const ownLine = () => (selected ? lines.findLastIndex((line) => line.source === selected.source && rowOfLine(line)?.row === selected.row) : -1);

  const pick = (found: Span | null, line: Line | null, at: number) => {
    if (!line) {
      const step = steps.findLast((one) => one.begin <= at && at < one.end);
      if (step) zoom(step.begin, step.end);
      return;
    }
    const row = rowOfLine(line);
    if (found || !row) return choose(found);
    void tried(async () => {
      const source = sources[line.source] as Source;
      choose(await gapAt(source, line.source, row.row, Math.floor(at - source.shift)));
    });
  };

  const measure = () => {
    if (selected) {
      const by = sources[selected.source]?.shift ?? 0;
      const ends = { begin: selected.start + by, end: selected.start + Math.max(1, selected.length) + by };
      const before = state.area;
      const isSpread = before !== null && !isSame(before, ends) && (before.end <= ends.begin || ends.end <= before.begin);
      return setArea(isSpread ? { begin: Math.min(before.begin, ends.begin), end: Math.max(before.end, ends.end), rows: null } : { ...ends, rows: null });
    }
    const at = stage.current?.pointer()?.at ?? (state.view.begin + state.view.end) / 2;
    if (mark === null) return setMark(at);
    setMark(null);
    if (Math.round(at) !== Math.round(mark)) setArea({ begin: Math.min(at, mark), end: Math.max(at, mark), rows: null });
    return undefined;
  };

  const fit = () => {
    const one = selected ?? null;
    const by = one ? (sources[one.source]?.shift ?? 0) : 0;
    const fitted = one ? around(one.start + by, one.start + one.length + by, all) : state.area ? around(state.area.begin, state.area.end, all) : all;
    setView(isSame(fitted, state.view) ? all : fitted);
  };

  const setPins = (pins: number[]) => {
    patch({ pins });
    rememberPins(pins, data);
  };
  const pin = (source: number, row: number) => setPins(toggled(state.pins, pinOf(source, row)));

  const pinThis = () => {
    const line = stage.current?.pointer()?.line ?? null;
    const row = line ? numberOf(line) : null;
    if (selected) pin(selected.source, selected.row);
    else if (line && row !== null) pin(line.source, row);
  };

  const toStep = (way: Way) => {
    const step = stepFrom(steps, state.view, way);
    if (step) return zoom(step.begin, step.end);
    const { count } = analysed;
    if (analysed.steps === null) return say(analysed.error ? "the steps could not be read" : "the steps are not read yet");
    return say(steps.length === 0 ? "no steps are known" : count > steps.length ? `only the first ${grouped(steps.length)} of ${grouped(count)} steps are told` : `no ${way} step`);
  };

  const back = () => {
    if (mark !== null) setMark(null);
    else if (state.area) setArea(null);
    else if (selected) choose(null);
    else if (state.rows !== "") patch({ rows: "" });
    else setView(crumbs.at(-1) ?? all);
  };

  const goToTarget = async (target: Target): Promise<string> => {
    if ("at" in target) {
      if (target.at < all.begin || target.at > all.end) return "The run has nothing at this time.";
      setView(kept(shifted(state.view, target.at - (state.view.begin + state.view.end) / 2), all));
      setMark(target.at);
      return "";
    }
    const found = await located(sources[0] as Source, 0, target.table, target.id);
    if (!found) return `${target.table} has no row ${target.id} with a time.`;
    goTo(found);
    return "";
  };

  useKeys({
    w: () => setView(zoomed(state.view, 0.7, stage.current?.place() ?? 0.5, all)),
    s: () => setView(zoomed(state.view, 1 / 0.7, stage.current?.place() ?? 0.5, all)),
    a: () => setView(moved(state.view, -0.15, all)),
    d: () => setView(moved(state.view, 0.15, all)),
    f: fit,
    m: measure,
    M: () => (setMark(null), setArea(null)),
    p: pinThis,
    g: () => setAsked("go"),
    e: () => setAsked("perfetto"),
    t: () => document.getElementById(NOTE_FIELD)?.focus(),
    n: () => find("next"),
    N: () => find("previous"),
    ".": () => alike("next"),
    ",": () => alike("previous"),
    "[": () => toStep("previous"),
    "]": () => toStep("next"),
    "/": () => document.getElementById("search")?.focus(),
    Escape: back,
    ArrowRight: () => neighbour("next"),
    ArrowLeft: () => neighbour("previous"),
    ArrowDown: () => (selected ? vertical(ownLine(), 1) : startHere()),
    ArrowUp: () => (selected ? vertical(ownLine(), -1) : startHere()),
  });

  const isAnyShut = groups.some((one) => !one.isFolded && state.shut.includes(one.number));
  const foldAll = () => patch({ shut: groups.filter((one) => one.isFolded === isAnyShut).map((one) => one.number) });
  const movePin = (one: number, by: -1 | 1) => setPins(movedPin(state.pins, one, by));
  const fold = (group: number) => patch({ shut: toggled(state.shut, group) });
  /** Another run beside, or none: what was chosen and pinned of the one before means nothing there. */
  const putBeside = (run: string) =>
    patch({ beside: run, step: 0, pins: ownPins(state.pins), ...(readSelected(state.selected)?.source === 1 ? { selected: "" } : {}) });
  const client = useQueryClient();
  const retry = () => {
    stores.forEach((store) => store.retry());
    void client.refetchQueries({ type: "active", predicate: ({ state: { status } }) => status === "error" });
    fail(null);
  };
  return (
    <>
      <div className="timeline-bar">
        <Search text={state.find} only={state.only} said={said} change={patch} find={find} leave={leave} />
        <input
          type="search" aria-label="Filter rows" placeholder="Filter rows" size={12} value={state.rows} onChange={(event) => patch({ rows: event.target.value })}
          onKeyDown={(event) => event.key === "Escape" && leave()}
        />
        <button onClick={foldAll}>{isAnyShut ? "Open all" : "Fold all"}</button>
        <button aria-pressed={areaMode} title="Or drag with ⇧, or on the axis" onClick={() => setAreaMode(!areaMode)}>
          Measure
        </button>
        <button onClick={() => setAsked("go")} title="G">
          Go to
        </button>
        <button onClick={() => setAsked("perfetto")} title="E">
          Perfetto
        </button>
        <button onClick={() => setAsked("beside")}>Beside</button>
        <CrumbsBar crumbs={crumbs} view={state.view} all={all} go={setView} />
        {analysed.count > steps.length && steps.length > 0 ? <span className="hint">Bands: the first {grouped(steps.length)} of {grouped(analysed.count)} steps</span> : null}
        {leftOut > 0 && !OFFLINE ? <span className="hint">{grouped(leftOut)} more counters are left out</span> : null}
      </div>
      {failure ? <Failure error={failure} retry={retry} /> : null}
      {analysed.error ? (
        <div role="group" aria-label="Steps and causes of gaps">
          Steps and the causes of gaps could not be read:
          <Failure error={analysed.error} retry={analysed.retry} />
        </div>
      ) : null}
      {extraRows.error ? <Failure error={extraRows.error} retry={() => void extraRows.refetch()} /> : null}
      {beside ? <BesideStrip beside={beside} steps={analysed.steps} step={state.step} change={(step) => patch({ step })} close={() => putBeside("")} /> : null}
      <Minimap sources={sources} all={all} view={state.view} setView={(view) => setView(kept(view, all))} />
      {lines.length === 0 ? <p className="empty">No row has “{shown(state.rows, 80)}” in its name.</p> : null}
      <Stage
        handle={stage} sources={sources} stores={stores} lines={lines} work={work} all={all} view={state.view} setView={setView}
        emphasis={{ lit: lit ?? (sources.length > 1 ? (span?.name ?? null) : null), only: state.only ? state.find : "" }} light={light}
        selected={selected} arrows={arrows} pick={pick} area={state.area} setArea={setArea} areaMode={areaMode} mark={mark}
        steps={steps} outside={analysed.outside} differences={differences} gaps={gaps} noted={noted} fail={fail} fold={fold} pin={pin} movePin={movePin}
      />
      <section className={`details${selected && state.area ? " both" : selected || state.area ? "" : " small"}`} aria-label="Details" aria-live="polite" data-selected={selected ? selectedText(selected) : ""}>
        {state.area ? (
          <AreaSums
            id={id} data={data} area={state.area} extras={extras} step={stepAround(steps, state.area)} by={state.by} sort={sort} zoom={zoom} light={light} link={location.href}
            allRows={() => setArea(state.area ? { ...state.area, rows: null } : null)} close={() => setArea(null)}
          />
        ) : null}
        {span && spanSource ? (
          <SpanDetails
            span={span} source={spanSource} record={record} linked={links} failure={error} go={go} light={light} leave={leave} link={location.href} zoom={fit}
          />
        ) : null}
        {selected?.kind === "gap" ? (
          <GapDetails
            gap={selected} source={sources[selected.source] as Source} gaps={gaps[selected.source] ?? null} zoom={fit}
            failed={Boolean(selected.source === 0 ? analysed.error : beside?.error)}
          />
        ) : null}
        {!selected && !state.area ? <p className="hint">Click a span, or press an arrow key. Drag with ⇧ or on the axis to sum up a stretch. Press ? for all keys.</p> : null}
      </section>
      {asked === "go" ? <GoTo origin={data.origin_ns} go={goToTarget} close={() => setAsked(null)} /> : null}
      {asked === "perfetto" ? (
        <Perfetto id={id} window={windowOf(state.view, all, data.origin_ns)} close={() => setAsked(null)} />
      ) : null}
      {asked === "beside" ? <Beside id={id} choose={(run) => (putBeside(run), setAsked(null))} close={() => setAsked(null)} /> : null}
    </>
  );
}

/** A link to a gap of the analysis names its time on the clock; one of a note names its span. Without a view it is no link to a picture with its pins. */
function firstState(search: URLSearchParams, data: TimelineRows, all: View): PageState {
  const read = readState(search, all);
  const pins = search.has("at") || search.has("pin") ? read.pins : rememberedPins(data);
  const state = { ...read, pins, selected: search.get("show") ?? read.selected };
  const gap = /^(\d+)-(\d+)$/.exec(search.get("gap") ?? "");
  if (!gap) return state;
  const begin = Number(BigInt(gap[1] as string) - BigInt(data.origin_ns));
  const end = begin + Number(gap[2]);
  return { ...state, view: around(begin, end, all), area: { begin, end, rows: null } };
}
