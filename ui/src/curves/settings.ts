// How curves are drawn, as words of the page's address, so that a link shows what its sender sees. Pure.

import { isSpeed } from "../metric_order.ts";
import type { Axis } from "./lines.ts";

export interface Settings {
  slider: number; // 0..100
  log: boolean;
  axis: Axis;
  groups: boolean;
  envelope: boolean;
  find: string;
  large: string; // a metric; "": none
  range: readonly [number, number] | null; // of the axis
}

export const initial: Settings = { slider: 0, log: false, axis: "step", groups: true, envelope: true, find: "", large: "", range: null };

const axes: readonly Axis[] = ["step", "epoch", "relative", "time"];

export function queryOf(settings: Settings): Record<string, string> {
  const { slider, log, axis, groups, envelope, find, large, range } = settings;
  return { smooth: String(slider), over: axis, log: log ? "1" : "0", bands: groups ? "1" : "0", minmax: envelope ? "1" : "0", metrics: find, large, range: range ? range.join("..") : "" };
}

/** What the address says over `otherwise`; words that it does not know are passed over. */
export function settingsOf(query: URLSearchParams, otherwise: Settings): Settings {
  const flag = (name: string, other: boolean) => ({ "1": true, "0": false })[query.get(name) ?? ""] ?? other;
  const slider = Number(query.get("smooth") || NaN);
  const axis = axes.find((one) => one === query.get("over")) ?? otherwise.axis;
  const ends = (query.get("range") ?? "").split("..").map((end) => Number(end || NaN));
  return {
    slider: slider >= 0 && slider <= 100 ? slider : otherwise.slider,
    log: flag("log", otherwise.log),
    axis,
    groups: flag("bands", otherwise.groups),
    envelope: flag("minmax", otherwise.envelope),
    find: query.get("metrics") ?? otherwise.find,
    large: query.get("large") ?? otherwise.large,
    range: ends.length === 2 && ends[0]! < ends[1]! && ends.every(Number.isFinite) ? [ends[0]!, ends[1]!] : null,
  };
}

/** What a browser keeps for other runs: not what belongs to the metrics of these. */
export function habits({ slider, log, axis, groups, envelope }: Settings): Partial<Settings> {
  return { slider, log, axis, groups, envelope };
}

export interface MetricGroup {
  prefix: string; // "": those that have none
  title: string;
  keys: string[];
}

const speed = "(speed)"; // of metrics without a prefix, apart from what is learned

/** By what stands before the first slash, in the order of their first metrics. */
export function byPrefix(keys: readonly string[]): MetricGroup[] {
  const groups = new Map<string, string[]>();
  for (const key of keys) {
    const slash = key.indexOf("/");
    const prefix = slash > 0 ? key.slice(0, slash) : isSpeed(key) ? speed : "";
    groups.set(prefix, [...(groups.get(prefix) ?? []), key]);
  }
  return [...groups].map(([prefix, of]) => ({ prefix, title: prefix === speed ? "speed" : prefix ? `${prefix}/` : "metrics", keys: of }));
}
