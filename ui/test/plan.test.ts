import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlanRow } from "../src/api/plans.ts";
import { axisAround, budgetText, deadlineText, digits, durationWords, inWords, moneyOf, noWishes, partsOf, placeOn, ticksOf, unitOf, valueAt, wishesOf } from "../src/plan.ts";
import { secondsOf } from "../src/submission.ts";

const one = (middle: number) => ({ low: middle / 2, middle, high: middle * 2 });
const row: PlanRow = { name: "here, 1 worker", good: true, fits: true, front: true, onTime: 1, seconds: one(5400), step: one(0.5), queue: 60, start: 4, computing: 0.4, waiting: 0.05, exchange: 0.05, first: 0, between: 10, takenAway: 0, usd: one(12), kwh: undefined, co2: undefined, preemptions: 0, checkpointMinutes: 0, remarks: [] };

test("wishes become a request, and what is none is named", () => {
  assert.deepEqual(wishesOf(noWishes), { deadline_s: 0, budget: 0, currency: "USD", by: "money", hosts: 1, machines: [], spot: false });
  assert.deepEqual(wishesOf({ ...noWishes, deadline: "8h", budget: " 200 ", machines: "gcp/*, ,aws/p3", hosts: "16", goal: " test auc >= 0.98 " }), { deadline_s: 28800, budget: 200, currency: "USD", by: "money", hosts: 16, machines: ["gcp/*", "aws/p3"], spot: false, goal: "test auc >= 0.98" });
  for (const part of [{ deadline: "soon" }, { budget: "NaN" }, { budget: "-3" }, { budget: "Infinity" }, { hosts: "1.5" }, { hosts: "0" }]) assert.throws(() => wishesOf({ ...noWishes, ...part }), new RegExp(Object.values(part)[0]!));
});

test("figures have two digits that count, and units that people use", () => {
  assert.deepEqual([0, 0.0123, 1.26, 12.6, 126.4, NaN, Infinity].map(digits), ["0", "0.012", "1.3", "13", "126", "–", "–"]);
  assert.deepEqual([80 * 60, 2 * 3600, 0.02, 40, 200000].map((seconds) => unitOf(seconds)[1]), ["min", "h", "ms", "s", "d"]);
  assert.deepEqual(durationWords(one(7200)), { middle: "2.0 h", between: "1.0 to 4.0" });
  assert.deepEqual(inWords(one(12)), { middle: "12", between: "6.0 to 24" });
});

test("money is told in the plan's currency", () => {
  const plan = { currency: "EUR", usd: 1.2, steps: 1, goal: "", rows: [], count: 0, remarks: [], measured: [], learned: 0 };
  assert.equal(moneyOf(row, plan)?.middle.toFixed(6), "10.000000");
  assert.equal(moneyOf({ ...row, usd: undefined }, plan), undefined);
});

test("the parts of the time are those of all steps", () => {
  const parts = partsOf(row, 1000);
  assert.deepEqual(parts.map((part) => Math.round(part.seconds)), [60, 4, 400, 50, 50, 0, 10, 0]);
});

test("a place on the axis is the value there again", () => {
  const axis = axisAround([3, 0, NaN, 3000], 58, 800);
  for (const value of [3, 50, 3000]) assert.ok(Math.abs(valueAt(axis, placeOn(axis, value)) / value - 1) < 1e-9);
  assert.equal(valueAt(axis, -1000).toFixed(6), axis.low.toFixed(6));
  assert.equal(valueAt(axis, 10_000).toFixed(3), axis.high.toFixed(3));
  assert.deepEqual(ticksOf(axis, 20), [5, 10, 20, 50, 100, 200, 500, 1000, 2000]);
  assert.deepEqual(ticksOf(axis, 4), [10, 100, 1000]);
  assert.deepEqual(ticksOf(axisAround([], 0, 100)), [1, 2, 5, 10]);
  const alone = axisAround([7], 0, 100);
  assert.ok(placeOn(alone, 7) > 0 && placeOn(alone, 7) < 100);
});

test("a line that is moved writes what the form reads", () => {
  for (const seconds of [3, 45, 130, 5400, 8 * 3600, 40 * 86400]) assert.ok(Math.abs(secondsOf(deadlineText(seconds)) / seconds - 1) < 0.2, deadlineText(seconds));
  assert.deepEqual([8 * 3600, 100, 0.2].map(deadlineText), ["8h", "100s", "1s"]);
  for (const seconds of [10, 120, 4 * 3600, 86400]) assert.notEqual(deadlineText(seconds * 1.1), deadlineText(seconds));
  assert.deepEqual([123.4, 0.01234, 7].map(budgetText), ["120", "0.012", "7"]);
});
