import { defineConfig } from "vite";

// Nothing is loaded from elsewhere and nothing is written into the page: the server's Content-Security-Policy allows neither.
// LINAC_SERVER is where `npm run dev` finds a service.
export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    outDir: process.env["LINAC_UI_OUT"] ?? "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    host: "127.0.0.1",
    proxy: {
      "/api": { target: process.env["LINAC_SERVER"] ?? "http://127.0.0.1:5000", changeOrigin: true, configure: (proxy) => void proxy.on("proxyReq", (request) => request.removeHeader("origin")) },
    },
  },
});
