import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ask } from "./api/ask";
import { App } from "./app";
import { OFFLINE } from "./offline/mode";
import { staleOfKey } from "./parts/fresh";
import { noteAnswers } from "./parts/server_gone";
import { askTile } from "./timeline/tile_store";
import "./style.css";

// Runs never change, so what was asked once stays true; only lists, and what goes by a name, are asked for again.
const client = new QueryClient({
  defaultOptions: { queries: { staleTime: ({ queryKey }) => staleOfKey(queryKey), retry: false, refetchOnWindowFocus: false } },
});
noteAnswers(client);

// A file has no server that scripts could ask: they ask the page.
if (OFFLINE) Object.assign(globalThis, { neurolens: { ask, askTile } });

createRoot(document.getElementById("app") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
