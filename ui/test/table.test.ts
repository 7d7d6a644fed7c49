import assert from "node:assert/strict";
import { test } from "node:test";
import type { Metric, Run } from "../src/api/types.ts";
import { best, bestOf, betterOf } from "../src/better.ts";
import { csv, fileName } from "../src/csv.ts";
import { withoutBatches } from "../src/metric_order.ts";
import { choices, tableOf, usual } from "../src/pages/columns.tsx";

test("CSV quotes what has to be quoted, and no text becomes a formula", () => {
  assert.equal(csv([["a", 'b"c', "d,e"], ["x\ny", null, 0.1 + 0.2]]), 'a,"b""c","d,e"\r\n"x\ny",,0.30000000000000004\r\n');
  assert.equal(csv([["=1+1", "+cmd", "@SUM(A1)", "-x", "\t=1"]]), "'=1+1,'+cmd,'@SUM(A1),'-x,'\t=1\r\n");
  assert.equal(csv([[-1, "-1e-3", "+2", NaN, -Infinity]]), "-1,-1e-3,+2,NaN,-Infinity\r\n", "numbers stay numbers");
});

test("names of files have harmless letters", () => {
  assert.equal(fileName("test/auc < 1", "csv"), "test_auc_1.csv");
  assert.equal(fileName("../../etc", "png"), "etc.png");
  assert.equal(fileName("…", "png"), "linac.png");
  assert.equal(fileName("Größe", "png"), "Größe.png");
});

const metric = (key: string, min: number, max: number, value = min): Metric => ({ key, step: 1, time: 0, value, count: 2, min, max });

test("what is better follows linac's table, for outputs and families too", () => {
  assert.deepEqual(["loss", "test/auc", "OUTPUT_accuracy", "physics/ks.response", "mean_squared_error", "learning_rate", "val_loss"].map(betterOf), ["least", "most", "most", "least", "least", null, "least"]);
  assert.equal(best(metric("auc", 0.1, 0.9)), 0.9);
  assert.equal(best(metric("loss", 0.1, 0.9)), 0.1);
  assert.equal(best(metric("whatever", 0.1, 0.9)), 0.1);
});

test("the best of several is marked, unless it is no news", () => {
  assert.deepEqual([...bestOf("auc", [0.1, 0.9, NaN, 0.9])], [1, 3]);
  assert.deepEqual([...bestOf("loss", [0.1, 0.9])], [0]);
  assert.deepEqual([...bestOf("loss", [0.1, 0.1])], []);
  assert.deepEqual([...bestOf("loss", [0.1, NaN])], []);
  assert.deepEqual([...bestOf("temperature", [1, 2])], []);
});

test("a run is shown with the loss of its epoch, not of its last batch", () => {
  assert.deepEqual(withoutBatches(["loss", "train/loss", "test/loss", "loss/d", "train/d", "learning_rate"]), ["train/loss", "test/loss", "train/d", "learning_rate"]);
  assert.deepEqual(withoutBatches(["loss", "accuracy"]), ["loss", "accuracy"], "there is no epoch yet");
  const metrics = Object.fromEntries(["loss", "train/loss", "test/loss"].map((key) => [key, metric(key, 0.1, 0.9)]));
  const run = { id: "1", parameters: {}, metrics } as unknown as Run;
  assert.deepEqual(usual([run], choices([run])), ["m:test/loss", "m:train/loss"]);
});

test("the table of runs has last and best values, whole", () => {
  const run: Run = { id: "1", experiment: "0", name: "a", user: "u", state: "SUCCEEDED", reason: "", deleted: false, created: 0, started: 0, ended: 86400000, parameters: { lr: "1e-3" }, tags: {}, metrics: { auc: metric("auc", 0.25, 0.75, 0.5) } };
  const [head, row] = tableOf([run], ["m:auc", "b:auc", "p:lr", "m:none"], (id) => `e${id}`);
  assert.deepEqual(head!.slice(-4), ["last auc", "best auc", "lr", "last none"]);
  assert.deepEqual(row, ["1", "a", "e0", "u", "SUCCEEDED", "", "1970-01-02T00:00:00.000Z", 0.5, 0.75, "1e-3", undefined]);
});
