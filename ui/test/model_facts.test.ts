import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelVersion, Run } from "../src/api/types.ts";
import { axesOf, axisOf, ticksOf } from "../src/axes.ts";
import { artifactHref, factsOf, folderOf, pageOfAddress } from "../src/model_facts.ts";

const version = (tags: Record<string, string>, source = ""): ModelVersion => ({ model: "m", version: "1", stage: "None", status: "READY", run: "", source, description: "", user: "", created: 0, aliases: [], tags });

test("what linac has written of a version is read, and people's tags are told apart", () => {
  const facts = factsOf(version({ "linac.inputs": '[{"name":"x","shape":[801,19]},{"name":"n","shape":[]}]', "linac.test.auc": "0.9", "linac.train.auc": "0.95", "linac.train.loss": "1", "linac.bytes": "12", "linac.checksum": "ab", "linac.mlflow.model_id": "z", units: "GeV", "linac.own": "kept" }));
  assert.deepEqual(facts.inputs, [{ name: "x", shape: "801 × 19" }, { name: "n", shape: "" }]);
  assert.deepEqual(facts.figures, [{ name: "auc", train: "0.95", test: "0.9" }, { name: "loss", train: "1", test: "" }]);
  assert.deepEqual(facts.tags, [["units", "GeV"], ["linac.own", "kept"]]);
  assert.equal(facts.bytes, 12);
});

test("damaged tags are no reason to show nothing", () => {
  for (const text of ["", "x", "{}", "[1, null, \"a\", {\"shape\": 3}]", '[{"name":{}}]']) assert.ok(Array.isArray(factsOf(version({ "linac.inputs": text, "linac.bytes": "x" })).inputs), text);
  assert.ok(Number.isNaN(factsOf(version({})).bytes));
});

test("links lead below the artefacts, or nowhere", () => {
  assert.equal(folderOf(version({}, "mlflow-artifacts:/models/m/abc")), "models/m/abc");
  for (const bad of ["mlflow-artifacts://host/x", "mlflow-artifacts:/a/../../x", "s3://b/x", "runs:/1/model", "javascript:alert(1)", "mlflow-artifacts:/./x"]) assert.equal(folderOf(version({}, bad)), "", bad);
  assert.equal(artifactHref("models/a b", "x?#.keras"), "/api/2.0/mlflow-artifacts/artifacts/models/a%20b/x%3F%23.keras");
  assert.deepEqual(pageOfAddress("catalog://top/3"), ["models", "top", "3"]);
  assert.equal(pageOfAddress("catalog://top@champion"), null);
});

const run = (id: string, parameters: Record<string, string>, loss: number): Run => ({ id, experiment: "0", name: id, user: "", state: "SUCCEEDED", reason: "", deleted: false, created: 0, started: 0, ended: 0, parameters, tags: {}, metrics: { loss: { key: "loss", step: 0, time: 0, value: loss, count: 1, min: loss, max: loss } } });

test("axes: numbers straight or by their logarithm, words in order, and what is missing has no place", () => {
  const runs = [run("a", { lr: "1e-4", kind: "gru", epochs: "1", same: "x" }, 1), run("b", { lr: "0.1", kind: "cnn", epochs: "3", same: "x" }, NaN), run("c", { kind: "gru10", epochs: "2", same: "x" }, 3)];
  assert.deepEqual(axesOf(runs).map((axis) => axis.id), ["p:epochs", "p:kind", "p:lr", "m:loss"], "what is the same is no axis");
  const lr = axisOf("p:lr", runs)!;
  assert.ok(lr.log && Math.abs(lr.place(runs[0]!)!) < 1e-12 && lr.place(runs[2]!) === null);
  assert.deepEqual(runs.map(axisOf("p:kind", runs)!.place), [0.5, 0, 1]);
  assert.deepEqual(runs.map(axisOf("m:loss", runs)!.place), [0, null, 1]);
  assert.deepEqual(axisOf("p:epochs", runs)!.ticks.map((tick) => tick.text), ["1", "2", "3"]);
  assert.equal(axisOf("m:none", runs), null);
  assert.equal(axisOf("p:many", Array.from({ length: 30 }, (_, i) => run(`${i}`, { many: `w${i}` }, 1))), null);
});

test("ticks are few and round", () => {
  assert.deepEqual(ticksOf(0, 1, false), [0, 0.5, 1]);
  assert.deepEqual(ticksOf(1e-4, 1, true).map((tick) => Number(tick.toPrecision(3))), [1e-4, 1e-3, 1e-2, 0.1, 1]);
  assert.deepEqual(ticksOf(3, 3, false), [3]);
  assert.ok(ticksOf(1e-300, 1e300, true).length <= 8);
  assert.ok(ticksOf(-1e300, 1e300, false).length <= 8);
});
