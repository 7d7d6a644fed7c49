#include "linac/physics/report/page/frame.h"

namespace linac::report {

std::string page_style() {
  return R"css(
:root {
  color-scheme: light dark;
  --paper: #fbfbfa; --ink: #24262b; --soft: #666a73; --line: #e2e3e6; --panel: #ffffff;
  --good: #1d7a4c; --bad: #b93a17; --heat: 217, 85, 43;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #17191d; --ink: #e4e5e8; --soft: #9a9ea8; --line: #30333a; --panel: #1e2126;
    --good: #5fc492; --bad: #f58a66; --heat: 240, 112, 70;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  -webkit-text-size-adjust: 100%;
}
main { max-width: 1120px; margin: 0 auto; padding: 40px 28px 72px; }
h1 { font-size: 26px; line-height: 1.25; font-weight: 650; margin: 0 0 20px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 17px; font-weight: 650; margin: 52px 0 14px; }
p { margin: 0 0 8px; }
code { font: 12px/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; color: var(--soft); overflow-wrap: anywhere; }
small { font-size: 12px; color: var(--soft); }
.quiet { color: var(--soft); }
.ok { color: var(--good); white-space: nowrap; }
.bad { color: var(--bad); font-weight: 600; white-space: nowrap; }

.verdict { background: var(--panel); border: 1px solid var(--line); border-left: 5px solid var(--soft); border-radius: 6px; padding: 18px 24px 14px; }
.verdict .word { font-size: 30px; line-height: 1.2; font-weight: 700; letter-spacing: 0.02em; margin-bottom: 6px; }
.verdict.passed { border-left-color: var(--good); }
.verdict.passed .word { color: var(--good); }
.verdict.failed { border-left-color: var(--bad); }
.verdict.failed .word { color: var(--bad); }
.verdict.neutral .word { font-size: 22px; letter-spacing: 0; }
.verdict ul { margin: 0 0 10px; padding: 0; list-style: none; }
.verdict code { margin-left: 4px; }
.how { display: inline-block; min-width: 100px; margin-right: 8px; color: var(--bad); font-weight: 600; }
.open .how { color: var(--soft); }
.timebar { display: flex; height: 14px; margin: 10px 0 12px; border-radius: 3px; overflow: hidden; }
.timebar span { display: block; flex: none; }
.parts td { width: 7.5em; white-space: nowrap; }
.swatch { display: inline-block; width: 10px; height: 10px; margin-right: 8px; border-radius: 2px; }
.remarks { margin: 16px 0 0; padding-left: 25px; color: var(--soft); }

table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 7px 14px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-size: 12.5px; font-weight: 500; color: var(--soft); padding-top: 0; vertical-align: bottom; }
tbody th { font-weight: 400; }
tbody th .title { display: block; line-height: 1.4; }
tbody th small { display: block; line-height: 1.4; }
td.n { white-space: nowrap; }
td.none { color: var(--soft); }
.worst small { display: block; white-space: nowrap; }
.figures thead th { white-space: nowrap; }
.intervals td small { display: block; }

.distances th { padding: 5px 14px 5px 0; }
.distances td { width: 15%; padding: 5px 10px; border-left: 2px solid var(--paper); }
.distances thead th:not(:first-child) { padding-left: 12px; }
.distances td small { margin-left: 8px; }
.distances .title, .distances code { display: inline; margin-right: 8px; }
.h1 { background: rgba(var(--heat), 0.08); }
.h2 { background: rgba(var(--heat), 0.16); }
.h3 { background: rgba(var(--heat), 0.26); }
.h4 { background: rgba(var(--heat), 0.38); }
.h5 { background: rgba(var(--heat), 0.52); }
.distances .h4 *, .distances .h5 * { color: inherit; }
.short { display: none; }
.key { margin-top: 10px; font-size: 12.5px; color: var(--soft); }
.key span { padding: 2px 8px; color: var(--ink); }

details { margin-top: 36px; }
summary { cursor: pointer; color: var(--soft); padding: 6px 0; }
.bins th, .bins td { padding-top: 3px; padding-bottom: 3px; }
.bins .bin th { font-weight: 650; padding-top: 26px; }

.pictures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 28px 24px; }
figure { margin: 0; min-width: 0; }
figure.wide { grid-column: 1 / -1; }
.sheet { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: 8px; overflow-x: auto; }
img { display: block; width: 100%; height: auto; }
figcaption { margin-top: 8px; font-size: 13px; line-height: 1.45; color: var(--soft); }
figcaption b { display: inline-block; color: var(--ink); font-weight: 600; margin-right: 8px; }
figcaption b::first-letter { text-transform: uppercase; }

dl { margin: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 12px 32px; }
dt { font-size: 12.5px; color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.reading { max-width: 46em; }

@media screen and (max-width: 1040px) {
  .figures { font-size: 13px; }
  .figures th, .figures td { padding-right: 10px; }
}
@media screen and (max-width: 800px) {
  main { padding: 24px 16px 48px; }
  h1 { font-size: 21px; }
  h2 { margin-top: 40px; }
  .verdict { padding: 14px 16px 10px; }
  .pictures { grid-template-columns: minmax(0, 1fr); }
  .sheet { padding: 4px; }
  .wide img { width: 720px; max-width: none; }
  .figures thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .figures, .figures tbody, .figures tr, .figures th, .figures td { display: block; }
  .figures tr { border-bottom: 1px solid var(--line); padding: 10px 0; }
  .figures th, .figures td { border: 0; padding: 0; }
  .figures td { display: flex; gap: 12px; }
  .figures td::before { content: attr(data-label); color: var(--soft); font-size: 12.5px; flex: 0 0 92px; }
  .long { display: none; }
  .short { display: inline; }
  .how { display: block; margin-top: 4px; }
  .parts td { width: auto; }
  .distances, .distances thead, .distances tbody { display: block; }
  .distances tr { display: grid; grid-template-columns: repeat(4, 1fr); border-bottom: 1px solid var(--line); }
  .distances tr > :first-child { grid-column: 1 / -1; padding: 6px 0 2px; }
  .distances th, .distances td { border-bottom: 0; }
  .distances td { padding: 3px 6px; width: auto; font-size: 13px; }
  .distances td small { display: block; margin: 0; font-size: 11px; }
  .distances thead th:first-child { display: none; }
  .distances thead th:not(:first-child) { grid-column: auto; padding: 0 6px 4px; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --soft: #555; --line: #ccc; --panel: #fff; --good: #1d7a4c; --bad: #b93a17; --heat: 217, 85, 43; }
  body { font-size: 9.5pt; }
  h2 { margin-top: 28px; }
  table { font-size: 8pt; }
  table code, table small { font-size: 7pt; }
  th, td { padding: 4px 8px 4px 0; }
  main { max-width: none; padding: 0; }
  tr, figure, .verdict { break-inside: avoid; }
  h2 { break-after: avoid; }
  .sheet { border: 0; padding: 0; }
  .distances td, .key span, .timebar span, .parts td { width: 7.5em; white-space: nowrap; }
.swatch { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";
}

}  // namespace linac::report
