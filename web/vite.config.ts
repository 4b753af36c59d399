import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin, type UserConfig } from "vite";
import { ASKS } from "./src/offline/asks";

/** What pages without a server need to be asked beforehand, for the program that writes them. */
const asks: Plugin = {
  name: "asks",
  generateBundle() {
    this.emitFile({ type: "asset", fileName: "asks.json", source: JSON.stringify(ASKS) });
  },
};

// The server adds the base path of a proxy when it sends the page, so all addresses are relative to <base>.
const served: UserConfig = {
  plugins: [react()],
  base: "./",
  build: { target: "es2022", sourcemap: false, assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
};

// Mode offline: one script and one style sheet, since a page that is opened as a file can load no modules. src/ops/site puts a page around them.
const offline: UserConfig = {
  plugins: [react(), asks],
  build: {
    ...served.build,
    cssCodeSplit: false,
    rollupOptions: {
      input: "src/main.tsx",
      output: { format: "iife", inlineDynamicImports: true, entryFileNames: "app.js", assetFileNames: "app.[ext]" },
    },
  },
};

export default defineConfig(({ mode }) => (mode === "offline" ? offline : served));
