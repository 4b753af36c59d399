import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server adds the base path of a proxy when it sends the page, so all addresses are relative to <base>.
export default defineConfig({
  plugins: [react()],
  base: "./",
  build: { target: "es2022", sourcemap: false, assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
});
