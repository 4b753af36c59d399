// The machine that the server runs on: what is installed, what does not fit together, and what to do about it.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ask } from "../api/ask";
import type { Listed, System } from "../api/answers_pages";
import { shown } from "../format/names";
import { grouped } from "../format/numbers";
import { CopyAs, mcpCall } from "../parts/copy_as";
import { Failure, Waiting } from "../parts/state";

const SOFTWARE: Record<string, string> = {
  neurolens_version: "NeuroLens", python_version: "Python", pytorch_version: "PyTorch", cuda_version: "CUDA", rocm_version: "ROCm",
    triton_version: "Triton", tensorrt_version: "TensorRT",
  onnxruntime_version: "ONNX Runtime", jax_version: "JAX", transformers_version: "Transformers", vllm_version: "vLLM",
    driver: "Driver of the device", kernel_version: "Operating system",
};

const LISTS: { key: "issues" | "missing" | "warnings" | "outdated"; title: string; none: string; todo: string }[] = [
  {
    key: "issues", title: "Versions that do not fit together", none: "All versions that were checked fit together.",
    todo: "A program may fail or be slow. Install a version that both packages accept, best in an environment of its own.",
  },
  { key: "missing", title: "Packages that others need and that are not there", none: "No needed package is missing.",
    todo: "Install them with pip, or remove the package that needs them." },
  { key: "warnings", title: "Warnings", none: "There is no warning.", todo: "Nothing fails because of these. Read them if a figure looks odd." },
  { key: "outdated", title: "Packages with a newer version", none: "No package is known to be old.",
    todo: "Update one at a time, and compare a run before with one after." },
];

export default function SystemPage(): ReactNode {
  const system = useQuery({ queryKey: ["system"], staleTime: 0, queryFn: async ({ signal }) => (await ask<System>("system", {}, signal)).data });
  return (
    <main id="main" data-ready={system.data !== undefined || system.error !== null}>
      <h1>System</h1>
      {system.error ? <Failure error={system.error} retry={() => void system.refetch()} /> : null}
      {system.isPending ? <Waiting what="Looking at the machine of the server" /> : null}
      {system.data ? (
        <>
          <p className="verdict">
            <strong>{sentence(system.data)}</strong>
            <CopyAs ways={{ command: "neurolens system", link: location.href, ...mcpCall("system") }} />
          </p>
          <Software software={system.data.software} />
          {LISTS.map((one) => (
            <section key={one.key}>
              <h2>{one.title}</h2>
              <Listing list={system.data.dependencies[one.key]} none={one.none} todo={one.todo} />
            </section>
          ))}
          <p className="hint">
            {grouped(system.data.dependencies.checked)} requirements of installed packages were checked.{" "}
            {grouped(system.data.dependencies.not_checked)} were not: they have conditions, or a form that is not
            known.
          </p>
        </>
      ) : null}
    </main>
  );
}

function sentence({ dependencies }: System): string {
  const count = (list: Listed) => (list.value?.length ?? 0);
  const wrong = count(dependencies.issues) + count(dependencies.missing);
  if (!dependencies.issues.value) return "Whether the installed packages fit together is not known.";
  return wrong === 0 ? "No installed package contradicts another one, as far as it was checked."
    : `${grouped(wrong)} ${wrong === 1 ? "thing does" : "things do"} not fit together.`;
}

function Software({ software }: { software: System["software"] }): ReactNode {
  const names = [...new Set([...Object.keys(SOFTWARE), ...Object.keys(software)])].filter((name) => software[name]);
  return (
    <table>
      <caption>Software of the machine that the server runs on</caption>
      <tbody>
        {names.map((name) => {
          const one = software[name] as System["software"][string];
          return (
            <tr key={name}>
              <th scope="row">{SOFTWARE[name] ?? name.replaceAll("_", " ")}</th>
              <td>{one.value === undefined ? <span className="absent">— {one.absent_reason}</span> : shown(one.value, 120)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Listing({ list, none, todo }: { list: Listed; none: string; todo: string }): ReactNode {
  if (!list.value) return <p className="absent">— not known: {list.absent_reason}</p>;
  if (list.value.length === 0) return <p>{none}</p>;
  return (
    <>
      <ul>
        {list.value.map((one) => (
          <li key={one}>{shown(one, 300)}</li>
        ))}
      </ul>
      <p className="hint">What to do: {todo}</p>
    </>
  );
}
