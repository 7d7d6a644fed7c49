// The figures of a comparison of showers as `linac validate` writes them (report.json), beside what the reference differs from itself
// by: a figure alone says nothing. Pure.

import { list, number, object, text, type Json } from "./api/json.ts";
import { number as words } from "./format.ts";

export interface PhysicsFigure {
  name: string;
  title: string;
  value: number; // NaN: none
  uncertainty: number;
  floor: number; // the same figure between halves of the reference
  floorDeviation: number;
  limit: number;
  verdict: string; // "" without a gate
}

export interface PhysicsReport {
  path: string;
  verdict: string;
  reference: string;
  events: number; // of the sample
  figures: PhysicsFigure[]; // of the whole sample
}

const orNaN = (value: unknown): number => (value === null ? NaN : number(value));

/** Null for a file that is something else. */
export function physicsReport(path: string, content: string): PhysicsReport | null {
  let json: Json;
  try {
    json = object(JSON.parse(content));
  } catch {
    return null;
  }
  const all = list(json["figures"]);
  if (!all.some((one) => "floor" in one)) return null;
  const figures = all
    .filter((one) => one["bin"] === null || one["bin"] === undefined)
    .map((one): PhysicsFigure => ({
      name: text(one["name"]),
      title: text(one["title"]),
      value: orNaN(one["value"]),
      uncertainty: orNaN(one["uncertainty"]),
      floor: orNaN(one["floor"]),
      floorDeviation: orNaN(one["floor_deviation"]),
      limit: orNaN(one["limit"]),
      verdict: text(one["verdict"]),
    }));
  return { path, verdict: text(json["verdict"]), reference: text(object(json["reference"])["name"]), events: number(object(json["sample"])["events"]), figures };
}

/** How many floors it is; NaN where there is no floor. */
export const inFloors = ({ value, floor }: PhysicsFigure): number => (floor > 0 && Number.isFinite(value) ? value / floor : NaN);

/** "0.012 ± 0.003", to the second digit of the error. */
export function withError(value: number, error: number): string {
  if (!Number.isFinite(value)) return "–";
  if (!(error > 0)) return words(value, 3);
  const decimals = Math.min(Math.max(1 - Math.floor(Math.log10(error)), 0), 8);
  return `${value.toFixed(decimals)} ± ${error.toFixed(decimals)}`.replace(/-/g, "−");
}
