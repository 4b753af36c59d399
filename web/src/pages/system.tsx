import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ask } from "../api/ask";
import { CopyAs } from "../parts/copy_as";
import { Failure, Waiting } from "../parts/state";

type Listed = { value: unknown[] } | { absent_reason: string };
type Text = { value: string } | { absent_reason: string };
interface System {
  software: Record<string, Text>;
  dependencies: Record<string, Listed | number>;
}

export default function SystemPage(): ReactNode {
  const system = useQuery({ queryKey: ["system"], queryFn: async ({ signal }) => (await ask<System>("system", {}, signal)).data });
  return (
    <main id="main" data-ready={system.data !== undefined}>
      <h1>System</h1>
      {system.error ? <Failure error={system.error} retry={() => void system.refetch()} /> : null}
      {system.isPending ? <Waiting what="Looking at the machine of the server" /> : null}
      {system.data ? (
        <>
          <CopyAs ways={{ command: "neurolens system" }} />
          <table>
            <caption>Software of the machine that the server runs on</caption>
            <tbody>
              {Object.entries(system.data.software).map(([name, one]) => (
                <tr key={name}>
                  <th scope="row">{name.replaceAll("_", " ")}</th>
                  <td>{"value" in one ? one.value : <span className="absent">not known: {one.absent_reason}</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {Object.entries(system.data.dependencies).map(([name, list]) => (
            <section key={name}>
              <h2>{name}</h2>
              <Listing list={list} />
            </section>
          ))}
        </>
      ) : null}
    </main>
  );
}

function Listing({ list }: { list: Listed | number }): ReactNode {
  if (typeof list === "number") return <p>{list}</p>;
  if ("absent_reason" in list) return <p className="absent">not known: {list.absent_reason}</p>;
  if (list.value.length === 0) return <p>none found</p>;
  return (
    <ul>
      {list.value.map((one, number) => (
        <li key={number}>{typeof one === "string" ? one : Object.values(one as object).map(String).join(": ")}</li>
      ))}
    </ul>
  );
}
