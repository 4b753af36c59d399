// One run: its head and its tabs. Each tab is a page of its own address, and loaded when it is opened.

import { lazy, Suspense, type ComponentType, type LazyExoticComponent, type ReactNode } from "react";
import { Link } from "wouter";
import type { Shown } from "../api/answers_run";
import { lossReason } from "../format/loss_reasons";
import { shown } from "../format/names";
import { grouped, when } from "../format/numbers";
import { CopyAs, mcpCall, shellWord } from "../parts/copy_as";
import { Waiting } from "../parts/state";
import { STEADY, useShown, useWindow } from "./run/asked";
import { SERIES as COUNTERS } from "./run/counter_series";
import { CALLS as KERNELS, COLLECTIVES as RANKS } from "./run/kernel_list";
import { SERIES as MEMORY } from "./run/memory_series";
import "../style_run.css";

type Tab = LazyExoticComponent<ComponentType<{ id: string }>>;

/** Their words in the address, titles, the command that says the same, and the SQL where the page rests on a table. */
const TABS: { word: string; title: string; page?: Tab; command: string; sql?: string }[] = [
  { word: "", title: "Overview", page: lazy(() => import("./run/overview")), command: "analyze ID" },
  { word: "timeline", title: "Timeline", command: "timeline ID" },
  { word: "layers", title: "Layers", page: lazy(() => import("./run/layers")), command: "analyze ID --top 10000" },
  { word: "kernels", title: "Kernels", page: lazy(() => import("./run/kernels")), command: "analyze ID --top 10000", sql: KERNELS },
  { word: "roofline", title: "Roofline", page: lazy(() => import("./run/roofline")), command: "analyze ID --top 10000" },
  { word: "memory", title: "Memory", page: lazy(() => import("./run/memory")), command: "analyze ID", sql: MEMORY },
  { word: "ranks", title: "Ranks", page: lazy(() => import("./run/ranks")), command: "analyze ID", sql: RANKS },
  { word: "counters", title: "Counters", page: lazy(() => import("./run/counters")), command: "analyze ID --top 10000", sql: COUNTERS },
  { word: "provenance", title: "Provenance", page: lazy(() => import("./run/provenance")), command: "show ID" },
  { word: "notes", title: "Notes", page: lazy(() => import("./run/notes")), command: "note ID" },
];

export function RunPage({ id, tab = "" }: { id: string; tab?: string | undefined }): ReactNode {
  const Page = TABS.find((one) => one.word === tab)?.page;
  if (!Page) return <NoTab id={id} />;
  return (
    <main id="main">
      <RunHead id={id} at={tab} />
      <Suspense fallback={<Waiting what="Loading the page" />}>
        <Page key={tab} id={id} />
      </Suspense>
    </main>
  );
}

function NoTab({ id }: { id: string }): ReactNode {
  return (
    <main id="main" data-ready="true">
      <RunHead id={id} at="?" />
      <p>A run has no such page.</p>
    </main>
  );
}

/** Its model, or the files that it was imported from. */
function titleOf({ labels, files, run_id }: Shown): string {
  const model = labels.find((one) => one.key === "model")?.value;
  const file = files[0]?.split("/").at(-1) ?? run_id.slice(0, 12);
  return model ?? (files.length > 1 ? `${file} and ${files.length - 1} more` : file);
}

/** When its first record was made, where its clock tells that. */
function recordedAt({ window, clock }: Shown): number | bigint | null {
  return clock?.kind === "unix" && window ? window.start_ns : null;
}

export function RunHead({ id, at }: { id: string; at: string }): ReactNode {
  const shownRun = useShown(id).data;
  const window = useWindow();
  const query = window === STEADY ? "" : `?window=${encodeURIComponent(window)}`;
  const title = shownRun ? titleOf(shownRun) : id.slice(0, 12);
  const devices = [...new Set(shownRun?.hardware.devices.flatMap((one) => one.name ?? []))];
  const lost = Object.entries(shownRun?.counts.dropped ?? {});
  const recorded = shownRun ? recordedAt(shownRun) : null;
  const tab = TABS.find((one) => one.word === at);
  const parameters = { run: id, ...(tab?.command.startsWith("analyze") && query ? { window } : {}) };
  const command = (TABS.find((one) => one.word === at)?.command ?? "show ID").replace("ID", id.slice(0, 12));
  return (
    <header className="run-head">
      <h1 title={title}>{shown(title, 80)}</h1>
      <p>
        {[devices.map((one) => shown(one, 40)).join(", "), shownRun?.format, recorded ? `recorded ${when(recorded)}` : ""].filter(Boolean).join(" · ")}
        {shownRun?.labels.filter((one) => one.key !== "model").map((one) => (
          <span className="tag" key={one.key}>
            {shown(one.key, 24)}: {shown(one.value, 32)}
          </span>
        ))}
        {shownRun?.tags.map((tag) => (
          <span className="tag" key={tag}>
            {shown(tag, 24)}
          </span>
        ))}
        <CopyAs
          ways={{
            id, command: `neurolens ${command}${command.startsWith("analyze") && query ? ` --window ${shellWord(window)}` : ""}`, link: location.href,
            ...(tab?.sql ? { SQL: tab.sql } : {}), ...mcpCall(command.split(" ")[0] ?? "show", parameters),
          }}
        />
      </p>
      {lost.length > 0 ? (
        <p className="banner" role="note">
          Records are missing: {lost.map(([reason, count]) => `${grouped(count)} (${lossReason(reason)})`).join(", ")}
        </p>
      ) : null}
      <nav aria-label="Of this run" className="tabs">
        {TABS.map(({ word, title: name }) => (
          <Link key={word} href={`/runs/${id}${word ? `/${word}` : ""}${word === "timeline" ? "" : query}`} aria-current={at === word ? "page" : undefined}>
            {name}
          </Link>
        ))}
        <Link href={`/flame?run=${id}`}>Flame</Link>
        <Link href={`/similar?run=${id}`}>Similar</Link>
        <Link href={`/sql?run=${id}`}>SQL</Link>
      </nav>
    </header>
  );
}
