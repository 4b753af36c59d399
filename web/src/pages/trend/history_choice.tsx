// Which runs of the ledger, in which groups, by which figure: what the questions about many runs have in common.

import type { FormEvent, ReactNode } from "react";
import { grouped } from "../../format/numbers";
import { shellWord } from "../../parts/copy_as";

export const NEWEST = 1000; // more take long where figures of runs are not kept yet
export const METRICS = ["step_time", "total_time", "busy_time", "idle_time", "kernel_count", "exposed_comm_time", "exposed_copy_time"];
const FIELDS = ["metric", "kernel", "class", "group_by", "where", "limit"] as const;

export type Asked = Record<string, string | string[] | number>;

export function historyOf(search: URLSearchParams): Asked {
  const parameters: Asked = { limit: NEWEST };
  for (const name of FIELDS) {
    const values = search.getAll(name).filter(Boolean);
    if (values.length > 0) parameters[name] = name === "where" ? values : name === "limit" ? Number(values[0]) : (values[0] as string);
  }
  return parameters;
}

export function commandOf(operation: string, asked: Asked): string {
  const words = Object.entries(asked).flatMap(([name, value]) => [value].flat().map((one) => `--${name.replace("_", "-")} ${shellWord(String(one))}`));
  return [`neurolens ${operation}`, ...words].join(" ");
}

/** Each can be changed or emptied; without any there is room for one. */
export function conditionsOf(search: URLSearchParams): string[] {
  const all = search.getAll("where").filter(Boolean);
  return all.length > 0 ? all : [""];
}

interface Props {
  search: URLSearchParams;
  choose: (next: URLSearchParams) => void;
  groups: string;
  limits: number[];
  withKernels?: boolean;
}

export function HistoryChoice({ search, choose, groups, limits, withKernels }: Props): ReactNode {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [name, value] of new FormData(event.currentTarget)) if (typeof value === "string" && value.trim() !== "") next.append(name, value.trim());
    choose(next);
  };
  const kept = withKernels ? [] : ["kernel", "class"].filter((name) => search.get(name));
  return (
    <form key={search.toString()} className="choice" onSubmit={submit}>
      <label>
        Figure <input name="metric" list="metrics" placeholder="step_time" defaultValue={search.get("metric") ?? ""} />
      </label>
      <datalist id="metrics">
        {METRICS.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      {withKernels ? (
        <label>
          or kernels named <input name="kernel" placeholder="part of a name" defaultValue={search.get("kernel") ?? ""} />
        </label>
      ) : null}
      {withKernels && search.get("class") ? (
        <label>
          or kernels of the class <input name="class" defaultValue={search.get("class") ?? ""} />
        </label>
      ) : null}
      {conditionsOf(search).map((one, n) => (
        <label key={n}>
          {n === 0 ? "Only runs with" : "and with"} <input name="where" placeholder="model=llama-3-8b" defaultValue={one} />
        </label>
      ))}
      {kept.map((name) => (
        <input key={name} type="hidden" name={name} value={search.get(name) ?? ""} />
      ))}
      <label>
        {groups} <input name="group_by" placeholder="model,device" defaultValue={search.get("group_by") ?? ""} />
      </label>
      <label>
        Newest runs{" "}
        <select name="limit" defaultValue={search.get("limit") ?? String(NEWEST)}>
          {limits.map((one) => (
            <option key={one} value={one}>
              {grouped(one)}
            </option>
          ))}
        </select>
      </label>
      <button>Show</button>
    </form>
  );
}
