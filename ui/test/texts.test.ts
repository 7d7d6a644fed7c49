import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf, filterOf, quoted } from "../src/filter.ts";
import { bytes, duration, number, shortest } from "../src/format.ts";
import { appended, found, linesMax, marked, plain, severity } from "../src/log_text.ts";
import { hashOf, placeOf } from "../src/router.ts";
import { below, url } from "../src/api/client.ts";
import { refreshed } from "../src/pages/runs_list.ts";
import { byInterest } from "../src/metric_order.ts";
import type { Run } from "../src/api/types.ts";

test("numbers", () => {
  const cases: [number, string][] = [[0, "0"], [12345678, "12345678"], [0.123456789, "0.12346"], [-0.5, "−0.5"], [1e-7, "1e−7"], [1.5e12, "1.5e12"], [123456.789, "123457"], [NaN, "NaN"], [Infinity, "∞"], [-Infinity, "−∞"], [1000000.5, "1e6"]];
  for (const [value, text] of cases) assert.equal(number(value), text);
});

test("a double that was written with all its digits is shown with as few as say the same", () => {
  const cases: [string, string][] = [
    ["0.0010000000000000000208", "0.001"],
    ["0.29999999999999999", "0.3"],
    ["0.30000000000000004", "0.30000000000000004"],
    ["-1.0000000000000001e-05", "-0.00001"],
    ["9.9999999999999995e-08", "1e-7"],
    [".29999999999999999", "0.3"],
    ["1.10", "1.10"],
    ["1e-3", "1e-3"],
    ["12345678901234567890", "12345678901234567890"],
    ["1.0000000000000000e999", "1.0000000000000000e999"],
    ["0.29999999999999999 s", "0.29999999999999999 s"],
    ["2026.11.22.000000000001", "2026.11.22.000000000001"],
    ["", ""],
  ];
  for (const [text, short] of cases) {
    assert.equal(shortest(text), short);
    if (short !== text) assert.equal(Number(short), Number(text));
  }
});

test("durations and sizes", () => {
  const cases: [number, string][] = [[250, "250 ms"], [1500, "1.5 s"], [59_999, "59 s"], [61_000, "1 min 01 s"], [3_600_000, "1 h 00 min"], [90_000_000, "1 d 1 h"], [NaN, ""]];
  for (const [ms, text] of cases) assert.equal(duration(ms), text);
  assert.equal(bytes(999), "999 B");
  assert.equal(bytes(1500), "1.5 kB");
  assert.equal(bytes(999_999), "1.0 MB");
});

test("words alone look for names, comparisons go as they are", () => {
  assert.equal(filterOf("  "), "");
  assert.equal(filterOf("gan o'neil"), "attributes.run_name ILIKE '%gan%' AND attributes.run_name ILIKE '%o''neil%'");
  assert.equal(filterOf("metrics.auc > 0.9"), "metrics.auc > 0.9");
  assert.equal(filterOf("params.x IS NULL"), "params.x IS NULL");
  assert.equal(quoted("loss"), "loss");
  assert.equal(quoted("val loss"), "`val loss`");
  assert.equal(quoted("a`b"), "`a``b`");
});

test("a fault is shown where the server found it, counted in bytes", () => {
  assert.deepEqual(faultOf("tags.ä ? 3", "[filter] position 9: found '?'; wanted is a comparison"), { before: "tags.ä ", at: "?", behind: " 3", message: "found '?'; wanted is a comparison" });
  assert.equal(faultOf("metrics.a >", "[filter] position 12: found the end; wanted is a value")!.at, " ");
  assert.equal(faultOf("x", "[runs] something else"), null);
});

test("logs: colours go, a progress bar shows its last state", () => {
  assert.equal(plain("\u001b[31mred\u001b[0m text"), "red text");
  assert.equal(plain("10 %\r20 %\r30 %"), "30 %");
  assert.equal(plain("windows\r"), "windows");
  assert.equal(plain("\u001b]0;title\u0007rest"), "rest");
});

test("logs: pieces join where a line was cut", () => {
  assert.deepEqual(appended(appended([], "one\ntw"), "o\nthree\n"), ["one", "two", "three", ""]);
  assert.equal(appended([], "x\n".repeat(linesMax + 5)).length, linesMax);
});

test("logs: search", () => {
  assert.deepEqual(found(["Loss 1", "x", "LOSS"], "loss"), [0, 2]);
  assert.deepEqual(found(["a"], ""), []);
  assert.deepEqual(marked("a.b.a", "."), [{ text: "a", hit: false }, { text: ".", hit: true }, { text: "b", hit: false }, { text: ".", hit: true }, { text: "a", hit: false }]);
  assert.equal(marked("<b>", "b").map((part) => part.text).join(""), "<b>");
  assert.equal(severity("2026-01-01 [error] no file"), "error");
  assert.equal(severity("warning: slow"), "warning");
  assert.equal(severity("17:25:39 W late"), "warning");
  assert.equal(severity("17:25:39 I fine"), "");
  assert.equal(severity("terror of errors"), "");
});

test("addresses keep what they are given", () => {
  const hash = hashOf(["models", "a/b c?#%"], { tab: "x&y", none: "" });
  const place = placeOf(hash);
  assert.deepEqual(place.parts, ["models", "a/b c?#%"]);
  assert.equal(place.query.get("tab"), "x&y");
  assert.equal(place.query.has("none"), false);
  assert.deepEqual(placeOf("#/runs/%E0%A4%A").parts, ["runs", "%E0%A4%A"], "a broken escape is no failure");
});

test("paths and queries of requests are encoded", () => {
  assert.equal(below("/api/f", "a b/c#d"), "/api/f/a%20b/c%23d");
  assert.equal(url("/x", { a: "1 & 2", b: undefined, c: "" }), "/x?a=1+%26+2");
});

test("a fresh first page keeps what was loaded behind it", () => {
  const run = (id: string, name = id) => ({ id, name }) as Run;
  const rows = refreshed([run("b"), run("a"), run("z")], [run("new"), run("b", "renamed")]);
  assert.deepEqual(rows.map((one) => one.name), ["new", "renamed", "a", "z"]);
});

test("what is learned comes before how fast it goes, and accounts last", () => {
  const keys = ["time/compute", "system/memory_mb", "loss", "events_per_s", "test/auc", "accuracy"];
  assert.deepEqual(keys.sort(byInterest), ["accuracy", "loss", "test/auc", "events_per_s", "system/memory_mb", "time/compute"]);
});
