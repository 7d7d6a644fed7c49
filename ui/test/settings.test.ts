import assert from "node:assert/strict";
import { test } from "node:test";
import { tableOfLines } from "../src/curves/export.ts";
import type { DrawnLine } from "../src/curves/lines.ts";
import { ofWords, wordsOf } from "../src/router.ts";
import { byPrefix, habits, initial, queryOf, settingsOf, type Settings } from "../src/curves/settings.ts";

const through = (settings: Settings, otherwise: Settings) => settingsOf(new URLSearchParams(Object.entries(queryOf(settings)).filter(([, value]) => value !== "")), otherwise);

test("the address holds all that is chosen, whatever the reader's habits are", () => {
  const chosen: Settings = { slider: 37, log: true, axis: "relative", groups: false, envelope: false, find: "a&b=c", large: "test/auc #1", range: [1.5, 20] };
  const other: Settings = { ...initial, slider: 90, log: false, axis: "time" };
  assert.deepEqual(through(chosen, other), chosen);
  assert.deepEqual(through(initial, { ...chosen, ...habits(chosen), find: "", large: "" }), initial);
  assert.deepEqual(settingsOf(new URLSearchParams(), { ...initial, ...habits(chosen) }), { ...initial, slider: 37, log: true, axis: "relative", groups: false, envelope: false });
});

test("words of an address that mean nothing are passed over", () => {
  for (const bad of ["smooth=x&over=never&log=2&range=5..1", "smooth=-1&range=a..b", "smooth=1e9&range=1", "range=..&over=__proto__", "range=Infinity..2", "smooth=&log=&bands="]) assert.deepEqual(settingsOf(new URLSearchParams(bad), initial), initial, bad);
});

test("metrics are grouped by what stands before the first slash", () => {
  assert.deepEqual(byPrefix(["loss", "test/auc", "auc", "test/a/b", "/odd", "learning_rate", "events_per_s"]).map(({ title, keys }) => [title, ...keys]), [
    ["metrics", "loss", "auc", "/odd"],
    ["test/", "test/auc", "test/a/b"],
    ["speed", "learning_rate", "events_per_s"],
  ]);
});

test("a chart as a table has a row for each place, and the edges of bands", () => {
  const line = (label: string, x: number[], y: (number | null)[], edges = false): DrawnLine => ({ label, color: 0, x, y, faint: null, low: edges ? y.map((v) => v! - 1) : null, high: edges ? y.map((v) => v! + 1) : null, marks: [] });
  assert.deepEqual(tableOfLines([line("a", [1, 2], [5, null]), line("b", [2, 3], [7, 8], true)], "step"), [
    ["step", "a", "b", "b, low", "b, high"],
    [1, 5, null, null, null],
    [2, null, 7, 6, 8],
    [3, null, 8, 7, 9],
  ]);
});

test("names that hold anything pass through an address, and one that was cut is none", () => {
  const words = ["m:a,b", "p:c d%&=#", "ü/ß"];
  const query = new URLSearchParams({ columns: ofWords(words) });
  assert.deepEqual(wordsOf(new URLSearchParams(query.toString()).get("columns")!), words);
  assert.deepEqual([wordsOf(""), wordsOf("%E0%A4"), wordsOf("a,%")], [[], [], []]);
});
