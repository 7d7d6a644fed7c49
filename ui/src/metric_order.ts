// The order of metrics on a page: what is learned first, how fast it goes next, accounts of time and machines last.

import { metricFronts, metricMeans, metricNames } from "./generated/run_record.ts";

const { learningRate, epochs, epochSeconds, workers, rateEnd } = metricNames;
const speeds: readonly string[] = [learningRate, epochs, epochSeconds, workers];
const fronts = [...Object.values(metricFronts), "workers/", "cost/"];
/** How fast it goes and how: no measure of the model. */
export const isSpeed = (key: string): boolean => speeds.includes(key) || key.endsWith(rateEnd);
const isAccount = (key: string) => fronts.some((front) => key.startsWith(front));

const rank = (key: string) => (isAccount(key) ? 2 : isSpeed(key) ? 1 : 0);

export function byInterest(a: string, b: string): number {
  return rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true });
}

/** Without those of single steps that have their mean over the epoch beside them: one batch says little of a run. */
export function withoutBatches(keys: readonly string[]): string[] {
  const all = new Set(keys);
  const { loss, train } = metricMeans;
  return keys.filter((key) => !all.has(train + (key.startsWith(loss) ? key.slice(loss.length) : key)));
}
