// Builds the pages and writes them as C++: node build.mjs BUILD_FOLDER. Works on a copy below BUILD_FOLDER, so that the sources stay
// clean, and gets the packages only when the lock file has changed. A failure (no network, say) is told, but is no failure of the
// build: the program then has no pages and says how to add them. The file `again`, touched then, makes the next build try anew.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const source = dirname(fileURLToPath(import.meta.url));
const build = process.argv[2];
const work = join(build, "work");
const packageFiles = ["package.json", "package-lock.json", ".npmrc"];
const sources = ["index.html", "vite.config.ts", "tsconfig.json", "src"];

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

function run(program, ...args) {
  execFileSync(program, args, { cwd: work, stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, LINAC_UI_OUT: join(build, "dist") } });
}

function installPackages() {
  const lock = readFileSync(join(source, "package-lock.json"), "utf8");
  const stamp = join(work, "node_modules", ".lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  for (const name of packageFiles) copyFileSync(join(source, name), join(work, name));
  run("npm", "ci", "--prefer-offline", "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000");
  writeFileSync(stamp, lock);
}

function buildPages() {
  for (const name of sources) {
    rmSync(join(work, name), { recursive: true, force: true });
    cpSync(join(source, name), join(work, name), { recursive: true });
  }
  run(process.execPath, "node_modules/vite/bin/vite.js", "build");
}

/** Bytes as the inside of a C++ array. */
function array(bytes) {
  const lines = [];
  for (let i = 0; i < bytes.length; i += 40) lines.push(bytes.subarray(i, i + 40).join(","));
  return lines.join(",\n");
}

function cpp(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
  const arrays = [];
  const entries = [];
  files.forEach((file, i) => {
    const type = types[extname(file)];
    if (!type) throw new Error(`${file}: no content type; add it to ui/build.mjs`);
    const plain = readFileSync(file);
    const packed = gzipSync(plain, { level: 9 });
    const tag = createHash("sha256").update(plain).digest("hex").slice(0, 32);
    const path = `/${file.slice(folder.length + 1).replaceAll("\\", "/")}`;
    arrays.push(`const unsigned char plain${i}[] = {\n${array(plain)}};`, `const unsigned char packed${i}[] = {\n${array(packed)}};`);
    entries.push(`    {"${path === "/index.html" ? "/" : path}", "${type}", "\\"${tag}\\"", view(plain${i}), view(packed${i})},`);
  });
  return `#include "linac/control/service/ui_assets.h"

namespace linac::service {
namespace {

template <size_t n>
std::string_view view(const unsigned char (&bytes)[n]) {
  return {reinterpret_cast<const char*>(bytes), n};
}

${arrays.join("\n")}

}  // namespace

const std::vector<UiAsset>& ui_assets() {
  static const std::vector<UiAsset> kAssets = {
${entries.join("\n")}
  };
  return kAssets;
}

}  // namespace linac::service
`;
}

mkdirSync(work, { recursive: true });
const output = join(build, "ui_bundle.cpp");
try {
  installPackages();
  buildPages();
  writeFileSync(output, cpp(join(build, "dist")));
} catch (error) {
  const why = String(error.stderr ?? error.message).trim().split("\n").slice(-6).join("\n  ");
  console.log(`ui: the pages are left out; the next build tries again:\n  ${why}`);
  copyFileSync(join(source, "no_pages.cpp"), output);
  const before = new Date(Date.now() - 10_000); // clocks of files are coarse: older than `again` for certain
  utimesSync(output, before, before);
  writeFileSync(join(build, "again"), "");
}
