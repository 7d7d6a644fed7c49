import assert from "node:assert/strict";
import { test } from "node:test";
import { inFloors, physicsReport, withError } from "../src/figures.ts";
import { pictureAt, placeOf, seriesOf } from "../src/pictures.ts";

const file = (path: string) => ({ path, bytes: 1, folder: false, href: path });

test("pictures are sorted into series by their last number", () => {
  assert.deepEqual(placeOf("images/epoch-012.png"), { series: "epoch-#.png", number: 12 });
  assert.deepEqual(placeOf("images/v2-epoch-3-x.png"), { series: "v2-epoch-#-x.png", number: 3 });
  assert.equal(placeOf("images/losses.png").series, "losses.png");
  const runs = [[file("images/epoch-001.png"), file("images/epoch-003.png"), file("images/losses.png"), file("images/notes.txt")], [file("images/epoch-002.png"), { ...file("images/x.png"), folder: true }]];
  assert.deepEqual(seriesOf(runs), [{ name: "epoch-#.png", numbers: [1, 2, 3] }, { name: "losses.png", numbers: [] }]);
});

test("a run that has no picture of an epoch shows the nearest before, else its first", () => {
  const files = [4, 2, 8].map((epoch) => file(`images/epoch-${epoch}.png`));
  assert.deepEqual([1, 2, 3, 5, 8, 99].map((epoch) => pictureAt(files, "epoch-#.png", epoch)!.number), [2, 2, 2, 4, 8, 8]);
  assert.equal(pictureAt(files, "losses.png", 1), null);
  assert.equal(pictureAt([file("losses.png")], "losses.png", 7)!.file.path, "losses.png");
});

test("figures of showers stand beside their floors; other files are none", () => {
  const report = physicsReport("report/report.json", JSON.stringify({ verdict: "failed", reference: { name: "geant4" }, sample: { events: 500 }, figures: [{ name: "fpd", title: "Fréchet", bin: null, value: 0.6, uncertainty: 0.1, floor: 0.2, floor_deviation: 0.01, limit: 0.5, verdict: "failed" }, { name: "fpd", bin: { energy_gev: [1, 2] }, value: 9, floor: 1 }, { name: "bad", title: "", bin: null, value: null, uncertainty: null, floor: 0 }] }))!;
  assert.deepEqual(report.figures.map((figure) => [figure.name, inFloors(figure)]), [["fpd", 0.6 / 0.2], ["bad", NaN]]);
  assert.equal(report.reference, "geant4");
  for (const other of ["", "[]", "{}", "null", '{"figures": 3}', '{"figures": [{"name": "x"}]}', '{"kind": "run"}']) assert.equal(physicsReport("x", other), null, other);
});

test("values are written to the second digit of their error", () => {
  assert.equal(withError(0.123456, 0.0123), "0.123 ± 0.012");
  assert.equal(withError(-12.3, 4), "−12.3 ± 4.0");
  assert.equal(withError(0.5, 0), "0.5");
  assert.equal(withError(NaN, 1), "–");
  assert.equal(withError(1, 1e-12).startsWith("1.00000000"), true);
});
