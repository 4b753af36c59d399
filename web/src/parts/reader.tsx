// Who reads the pages, where people sign in, and the way out.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { askCaller } from "../api/ask";

export function Reader(): ReactNode {
  const caller = useQuery({ queryKey: ["caller"], queryFn: ({ signal }) => askCaller(signal), staleTime: Infinity });
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
