// Curves as the server thins them for drawing (api/types.ts), put together with what arrives live. Pure; nothing here knows of pages.

import type { Point, Stretch } from "../api/types.ts";

export function stretchOf(point: Point): Stretch {
  const finite = Number.isFinite(point.value);
  const value = finite ? point.value : NaN;
  return { first: point.step, last: point.step, time: point.time, count: 1, notFinite: finite ? 0 : 1, min: value, max: value, value };
}

function smaller(a: number, b: number): number {
  return Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b);
}

function larger(a: number, b: number): number {
  return Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b);
}

/** Two neighbouring stretches, `b` behind `a`, as one. */
export function joined(a: Stretch, b: Stretch): Stretch {
  return {
    first: Math.min(a.first, b.first),
    last: Math.max(a.last, b.last),
    time: b.time,
    count: a.count + b.count,
    notFinite: a.notFinite + b.notFinite,
    min: smaller(a.min, b.min),
    max: larger(a.max, b.max),
    value: Number.isNaN(b.value) ? a.value : b.value,
  };
}

/** The first index whose stretch ends at `step` or behind it. */
function indexAt(curve: readonly Stretch[], step: number): number {
  let low = 0;
  let high = curve.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve[middle]!.last < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Live points on top of a thinned curve, in at most `most` stretches: when it grows beyond, neighbours are joined. A point that
 * falls into an existing stretch is counted into it, whatever the order in which points arrive.
 */
export function extended(curve: readonly Stretch[], points: readonly Point[], most: number): Stretch[] {
  let result = curve.slice();
  for (const point of points) {
    const one = stretchOf(point);
    const end = result[result.length - 1];
    if (!end || end.last < point.step) {
      result.push(one);
      continue;
    }
    const at = indexAt(result, point.step);
    const there = result[at]!;
    if (there.first <= point.step) result[at] = there.last === point.step ? joined(there, one) : { ...joined(there, one), time: there.time, value: there.value };
    else result.splice(at, 0, one);
  }
  while (result.length > most) {
    const halved: Stretch[] = [];
    for (let i = 0; i < result.length; i += 2) {
      const next = result[i + 1];
      halved.push(next ? joined(result[i]!, next) : result[i]!);
    }
    result = halved;
  }
  return result;
}
