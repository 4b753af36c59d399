// Where the run comes from: files, adapters, counts that add up, and how to check it byte for byte.

import type { ReactNode } from "react";
import type { Shown } from "../../api/answers_run";
import { shown } from "../../format/names";
import { bytes, grouped } from "../../format/numbers";
import { CopyAs } from "../../parts/copy_as";
import { Absent } from "../../parts/figure";
import { useDocument, useShown } from "./asked";
import { Body, Scroll, Value } from "./parts";

export default function Provenance({ id }: { id: string }): ReactNode {
  const run = useShown(id);
  return (
    <Body asked={run} what="Reading where the run comes from">
      {(data) => (
        <>
          <Check id={data.run_id} />
          <Files data={data} />
          <Counts data={data} />
          <Read data={data} />
          <Labels data={data} />
          <Tables data={data} />
        </>
      )}
    </Body>
  );
}

function Check({ id }: { id: string }): ReactNode {
  const command = `neurolens verify ${id.slice(0, 12)}`;
  return (
    <section aria-label="Check">
      <h2>Check</h2>
      <p>
        The id is made from the content of the files: <span className="mono">{id}</span>
      </p>
      <p>
        Where the ledger is, <code>{command}</code> checks that the run is what was imported, byte for byte. <CopyAs ways={{ "this command": command }} />
      </p>
    </section>
  );
}

function Files({ data }: { data: Shown }): ReactNode {
  return (
    <section aria-label="Files">
      <h2>Files</h2>
      <p className="hint">
        {data.files.length === 0 ? "The names of the files were not kept." : `Imported from: ${data.files.map((one) => shown(one, 80)).join(", ")}`}
      </p>
      <Scroll label="Table of files">
        <table>
          <thead>
            <tr>
              <th>Role</th>
              <th>Format</th>
              <th>Tool</th>
              <th className="number">Size</th>
              <th className="number">Unpacked</th>
              <th>SHA-256</th>
            </tr>
          </thead>
          <tbody>
            {data.sources.map((one, n) => (
              <tr key={n}>
                <td>{one.role}</td>
                <td>
                  {one.format}
                  {one.compression === "none" ? "" : `, ${one.compression}`}
                </td>
                <td>{one.tool ? shown(`${one.tool} ${one.tool_version ?? ""}`.trim(), 50) : <Absent reason="the file does not name the tool" />}</td>
                <td className="number">
                  <Value value={one.bytes} unit="B" />
                </td>
                <td className="number">
                  <Value value={one.text_bytes} unit="B" absent="the file is no text" />
                </td>
                <td className="mono">{one.sha256}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** Every record that was seen is stored, folded or dropped; the sum shows it. */
function Counts({ data: { counts } }: { data: Shown }): ReactNode {
  const rows: [string, number][] = [
    ["stored", counts.stored],
    ...Object.entries(counts.folded).map(([reason, count]): [string, number] => [`folded: ${reason.replaceAll("_", " ")}`, count]),
    ...Object.entries(counts.dropped).map(([reason, count]): [string, number] => [`lost: ${reason.replaceAll("_", " ")}`, count]),
  ];
  return (
    <section aria-label="Records">
      <h2>Records</h2>
      <table>
        <tbody>
          {rows.map(([what, count]) => (
            <tr key={what} className={what.startsWith("lost") ? "worse" : ""}>
              <th scope="row">{what}</th>
              <td className="number">{grouped(count)}</td>
            </tr>
          ))}
          <tr className="sum">
            <th scope="row">in the files</th>
            <td className="number">{grouped(counts.seen)}</td>
          </tr>
        </tbody>
      </table>
      <p className="hint">
        {Object.keys(counts.dropped).length === 0 ? "Nothing was lost." : "Lost records are in no figure."}{" "}
        Folded records repeat or describe others, and became part of them.
      </p>
    </section>
  );
}

function Read({ data }: { data: Shown }): ReactNode {
  const document = useDocument(data.run_id).data;
  const versions = Object.entries(data.software.versions);
  return (
    <section aria-label="How it was read">
      <h2>How it was read</h2>
      <dl className="facts">
        <dt>Read by</dt>
        <dd>
          {document ? (
            Object.entries(document.revision.adapters).map(([name, version]) => `adapter ${name}, version ${version}`).join("; ")
          ) : (
            <Absent reason="the document of the run was not read yet" />
          )}
        </dd>
        <dt>Schema</dt>
        <dd>{document?.schema ?? <Absent reason="the document of the run was not read yet" />}</dd>
        <dt>Recorded with</dt>
        <dd>{data.flags.length > 0 ? data.flags.join(", ") : <Absent reason="the file names no options of the profiler" />}</dd>
        <dt>Versions</dt>
        <dd>
          {versions.length > 0 ? (
            versions.map(([name, version]) => `${shown(name, 40)} ${shown(version, 40)}`).join(", ")
          ) : (
            <Absent reason="the file names no versions of software" />
          )}
        </dd>
        <dt>Devices</dt>
        <dd>{data.hardware.devices.length > 0 ? <Devices data={data} /> : <Absent reason="the file names no devices" />}</dd>
        <dt>Remarks of the adapter</dt>
        <dd>{Object.entries(data.health).map(([what, count]) => `${what.replaceAll("_", " ")}: ${String(count)}`).join(", ") || "none"}</dd>
      </dl>
    </section>
  );
}

function Devices({ data }: { data: Shown }): ReactNode {
  return data.hardware.devices
    .map(({ device, name, memory_bytes: size }) => `${device ?? "number not known"}: ${name ? shown(name, 40) : "not named"}${size ? `, ${bytes(size)}` : ""}`)
    .join("; ");
}

function Labels({ data }: { data: Shown }): ReactNode {
  return (
    <section aria-label="Labels and tags">
      <h2>Labels and tags</h2>
      {data.labels.length > 0 ? (
        <table>
          <thead>
            <tr>
              <th>Label</th>
              <th>Value</th>
              <th>Set by</th>
            </tr>
          </thead>
          <tbody>
            {data.labels.map((one) => (
              <tr key={one.key}>
                <td>{shown(one.key, 40)}</td>
                <td>{shown(one.value, 80)}</td>
                <td>{one.origin === "source" ? "the file" : one.origin}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p>No labels.</p>
      )}
      <p>
        {data.tags.length > 0 ? `Tags: ${data.tags.map((one) => shown(one, 40)).join(", ")}.` : "No tags."}
        {data.baselines.length > 0 ? ` Baseline: ${data.baselines.map((one) => shown(one, 40)).join(", ")}.` : ""}
      </p>
    </section>
  );
}

function Tables({ data }: { data: Shown }): ReactNode {
  return (
    <section aria-label="Tables">
      <h2>
        Tables <span className="hint">{bytes(data.bundle_bytes)} on disk</span>
      </h2>
      <Scroll label="Tables of the run">
        <table>
          <thead>
            <tr>
              <th>Table</th>
              <th className="number">Rows</th>
              <th className="number">Size</th>
              <th>SHA-256</th>
            </tr>
          </thead>
          <tbody>
            {data.tables.map((one) => (
              <tr key={one.name}>
                <td>{one.name}</td>
                <td className="number">{grouped(one.rows)}</td>
                <td className="number">{bytes(one.bytes)}</td>
                <td className="mono">{one.sha256}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
