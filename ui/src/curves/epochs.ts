// Epochs as an axis: at which steps they end, as the metric `epoch` says it, and linearly between. Pure.

import type { Point, Stretch } from "../api/types.ts";

export interface EpochEnd {
  step: number;
  epoch: number; // how many are done
}

/** By rising step, those that are known and come now; of two at a step the later one. */
export function epochEnds(known: readonly EpochEnd[], points: readonly (Stretch | Point)[]): EpochEnd[] {
  const byStep = new Map(known.map(({ step, epoch }) => [step, epoch]));
  for (const point of points) if (Number.isFinite(point.value)) byStep.set("last" in point ? point.last : point.step, point.value);
  return [...byStep].map(([step, epoch]) => ({ step, epoch })).sort((a, b) => a.step - b.step);
}

/** Before the first end and behind the last one as fast as in the epoch beside it; one alone began at step 0. */
export function epochAt(ends: readonly EpochEnd[], step: number): number {
  if (ends.length === 0) return NaN;
  if (ends.length === 1) return ends[0]!.step > 0 ? (ends[0]!.epoch * step) / ends[0]!.step : ends[0]!.epoch;
  let low = 0;
  let high = ends.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (ends[middle]!.step <= step) low = middle;
    else high = middle;
  }
  const [a, b] = [ends[low]!, ends[high]!];
  return a.epoch + ((b.epoch - a.epoch) * (step - a.step)) / (b.step - a.step);
}
