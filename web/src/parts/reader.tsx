// Who reads the pages, where people sign in, and the way out.

import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { askCaller, type Caller } from "../api/ask";

function useCaller(): UseQueryResult<Caller> {
  return useQuery({ queryKey: ["caller"], queryFn: ({ signal }) => askCaller(signal), staleTime: Infinity });
}

/** Whether the reader may change labels, notes and the like. */
export function useMayWrite(): boolean {
  const caller = useCaller();
  return caller.data !== undefined && caller.data.may !== "read";
}

export function Reader(): ReactNode {
  const caller = useCaller();
  if (!caller.data?.can_sign_out) return null;
  return (
    <form method="post" action="sign-out" className="reader">
      <span>
        {caller.data.name}, project {caller.data.project}
      </span>
      <button>Sign out</button>
    </form>
  );
}
