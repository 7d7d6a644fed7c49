import assert from "node:assert/strict";
import { test } from "node:test";
import { numberFromJson } from "../src/api/json.ts";
import type { Point, Stretch } from "../src/api/types.ts";
import { extended, joined, stretchOf } from "../src/curves/curve.ts";

const point = (step: number, value: number): Point => ({ step, time: 1000 + step, value });
const total = (curve: readonly Stretch[]) => curve.reduce((sum, stretch) => sum + stretch.count, 0);

test("numbers of the API", () => {
  assert.equal(numberFromJson(1.5), 1.5);
  assert.equal(numberFromJson("Infinity"), Infinity);
  assert.equal(numberFromJson("-Infinity"), -Infinity);
  assert.ok(Number.isNaN(numberFromJson("NaN")));
  assert.ok(Number.isNaN(numberFromJson(null)));
});

test("a point that is not finite is counted, and is no value", () => {
  const stretch = stretchOf(point(3, Infinity));
  assert.equal(stretch.notFinite, 1);
  assert.ok(Number.isNaN(stretch.value) && Number.isNaN(stretch.min) && Number.isNaN(stretch.max));
});

test("joined stretches keep extremes, counts and the last finite value", () => {
  const both = joined(joined(stretchOf(point(1, 5)), stretchOf(point(2, -1))), stretchOf(point(3, NaN)));
  assert.deepEqual({ ...both }, { first: 1, last: 3, time: 1003, count: 3, notFinite: 1, min: -1, max: 5, value: -1 });
});

test("points go on behind the curve, into it, or between its stretches", () => {
  const curve: Stretch[] = [
    { first: 0, last: 9, time: 9, count: 10, notFinite: 0, min: 0, max: 1, value: 0.5 },
    { first: 20, last: 29, time: 29, count: 10, notFinite: 0, min: 0, max: 1, value: 0.25 },
  ];
  const behind = extended(curve, [point(30, 7)], 100);
  assert.equal(behind.length, 3);
  assert.equal(behind[2]!.value, 7);
  const within = extended(curve, [point(5, -3)], 100);
  assert.equal(within.length, 2);
  assert.equal(within[0]!.min, -3);
  assert.equal(within[0]!.value, 0.5, "the last value of the stretch stays that of its last step");
  const between = extended(curve, [point(15, 2)], 100);
  assert.deepEqual(between.map((stretch) => stretch.last), [9, 15, 29]);
  assert.equal(curve[0]!.min, 0, "the curve that was given is as it was");
});

test("a point that arrives twice changes nothing that is drawn", () => {
  const once = extended([], [point(1, 2), point(2, 3)], 100);
  const twice = extended(once, [point(2, 3)], 100);
  assert.deepEqual(twice.map(({ value, min, max }) => [value, min, max]), once.map(({ value, min, max }) => [value, min, max]));
});

test("a live curve never has more stretches than wanted and loses no point and no extreme", () => {
  let curve: Stretch[] = [];
  for (let step = 0; step < 10000; step += 7) curve = extended(curve, Array.from({ length: 7 }, (_, i) => point(step + i, Math.sin(step + i))), 100);
  assert.ok(curve.length <= 100 && curve.length > 40, String(curve.length));
  assert.equal(total(curve), 7 * Math.ceil(10000 / 7));
  const values = Array.from({ length: total(curve) }, (_, i) => Math.sin(i));
  assert.equal(Math.max(...curve.map((stretch) => stretch.max)), Math.max(...values));
  assert.ok(curve.every((stretch, i) => i === 0 || stretch.first > curve[i - 1]!.last));
});
