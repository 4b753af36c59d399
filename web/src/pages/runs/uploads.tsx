// Upload by a button or by dropping files anywhere on the page, with a queue that shows how far each is.

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { Link } from "wouter";
import { shown } from "../../format/names";
import { bytes, percent } from "../../format/numbers";
import { Failure } from "../../parts/state";
import { runsChanged } from "../../parts/fresh";
import { keep, kept } from "../../parts/kept";
import { addFiles, cancel, forgetEnded, queueNow, retry, watchQueue, type Sending } from "./upload_queue";

export function UploadButton({ label = "Upload" }: { label?: string }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button className="main" onClick={() => input.current?.click()}>
        {label}
      </button>
      <input
        ref={input} type="file" multiple hidden aria-label="Files to upload"
        onChange={(event) => {
          addFiles([...(event.currentTarget.files ?? [])], keptAsOne());
          event.currentTarget.value = "";
        }}
      />
    </>
  );
}

const AS_ONE = "runs.as_one";
const keptAsOne = (): boolean => kept(AS_ONE) === "yes";

/** Files that are dropped anywhere on the page are taken. */
export function DropTarget(): ReactNode {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      addFiles([...(event.dataTransfer?.files ?? [])], keptAsOne());
    };
    window.addEventListener("dragover", over);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", over);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", drop);
    };
  }, []);
  return isOver ? <div className="drop-target">Drop the files to import them</div> : null;
}

export function UploadQueue(): ReactNode {
  const queue = useSyncExternalStore(watchQueue, queueNow);
  const [asOne, setAsOne] = useState(keptAsOne);
  const client = useQueryClient();
  const ended = queue.filter((one) => one.step === "done").length;
  useEffect(() => {
    if (ended > 0) runsChanged(client);
  }, [ended, client]);
  if (queue.length === 0) return null;
  return (
    <section className="uploads" aria-label="Uploads">
      <div className="line">
        <strong role="status">
          {ended} of {queue.length} imported
        </strong>
        <label>
          <input
            type="checkbox" checked={asOne}
            onChange={() => {
              keep(AS_ONE, asOne ? "no" : "yes");
              setAsOne(!asOne);
            }}
          />{" "}
          files that come together next are one run (ranks of a job)
        </label>
        <button onClick={forgetEnded}>Hide what has ended</button>
      </div>
      <ul>
        {queue.map((one) => (
          <li key={one.id}>
            <OneUpload one={one} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function wordsOf(one: Sending): string {
  switch (one.step) {
    case "waiting":
      return "waits for its turn";
    case "sending":
      return `sent ${bytes(one.bytes * one.fraction)} of ${bytes(one.bytes)}`;
    case "importing":
      return `${one.what || "importing"}${one.fraction > 0 ? `, ${percent(one.fraction)} of the import` : ""}`;
    case "done":
      return one.runs.length === 1 ? "imported" : `${one.runs.length} runs imported`;
    case "failed":
      return "failed";
    case "cancelled":
      return "cancelled";
  }
}

function OneUpload({ one }: { one: Sending }): ReactNode {
  const isGoing = one.step === "waiting" || one.step === "sending" || one.step === "importing";
  return (
    <>
      <span className="name" title={one.name}>
        {one.runs.length === 1 ? <Link href={`/runs/${one.runs[0]}`}>{shown(one.name, 60)}</Link> : shown(one.name, 60)}
      </span>
      {isGoing ? <progress aria-label={`Progress of ${shown(one.name, 40)}`} value={one.fraction} max={1} /> : <span />}
      <span className="hint">{wordsOf(one)}</span>
      {isGoing ? <button onClick={() => cancel(one.id)}>Cancel</button> : one.step === "done" ? <span />
        : <button onClick={() => retry(one.id)}>Try again</button>}
      {one.error ? <Failure error={one.error} /> : null}
    </>
  );
}
