// A plan as people read it: its wishes as a request, its intervals in words, its parts, and where its points lie. Pure.

import type { Interval, Plan, PlanRow, PlanWishes } from "./api/plans.ts";
import { secondsOf } from "./submission.ts";

/** What the form says, as texts. */
export interface WishTexts {
  deadline: string; // "8h"
  budget: string; // "200"
  currency: string;
  by: string;
  machines: string; // "gcp/*, aws/p3*"
  hosts: string;
  spot: boolean;
  goal: string;
}

export const noWishes: WishTexts = { deadline: "", budget: "", currency: "USD", by: "money", machines: "", hosts: "", spot: false, goal: "" };

function amount(text: string): number {
  if (text.trim() === "") return 0;
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new Error(`budget: ${text} is no sum of money; write e.g. 200`);
  return value;
}

function count(text: string): number {
  if (text.trim() === "") return 1;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`hosts: ${text} is no number of hosts; write e.g. 16`);
  return value;
}

/** The request, or an Error that says what cannot be understood. */
export function wishesOf(texts: WishTexts): PlanWishes {
  const wishes: PlanWishes = {
    deadline_s: secondsOf(texts.deadline),
    budget: amount(texts.budget),
    currency: texts.currency,
    by: texts.by,
    hosts: count(texts.hosts),
    machines: texts.machines.split(",").map((one) => one.trim()).filter(Boolean),
    spot: texts.spot,
  };
  if (texts.goal.trim()) wishes["goal"] = texts.goal.trim();
  return wishes;
}

/** Two digits that count, three from 100 on. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const before = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.min(6, Math.max(0, 2 - before)));
}

const units: [number, string][] = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
  [1e-3, "ms"],
];

/** Rather 80 min than 1.3 h. */
export function unitOf(seconds: number): [number, string] {
  return units.find(([size]) => seconds >= 1.5 * size) ?? units[units.length - 1]!;
}

export interface IntervalWords {
  middle: string; // "1.2 h"
  between: string; // "1.0 to 1.4"
}

export function inWords(value: Interval, unit: [number, string] = [1, ""]): IntervalWords {
  const [size, name] = unit;
  return { middle: `${digits(value.middle / size)}${name ? ` ${name}` : ""}`, between: `${digits(value.low / size)} to ${digits(value.high / size)}` };
}

export const durationWords = (value: Interval): IntervalWords => inWords(value, unitOf(value.middle));

export function moneyOf(row: PlanRow, plan: Plan): Interval | undefined {
  return row.usd && { low: row.usd.low / plan.usd, middle: row.usd.middle / plan.usd, high: row.usd.high / plan.usd };
}

export interface Part {
  name: string;
  seconds: number;
}

/** Of what the time is made, in the order in which it comes. */
export function partsOf(row: PlanRow, steps: number): Part[] {
  return [
    { name: "queue", seconds: row.queue },
    { name: "start", seconds: row.start },
    { name: "computing", seconds: row.computing * steps },
    { name: "waiting for the slowest", seconds: row.waiting * steps },
    { name: "exchange", seconds: row.exchange * steps },
    { name: "first steps", seconds: row.first },
    { name: "tests, checkpoints, end", seconds: row.between },
    { name: "taken away", seconds: row.takenAway },
  ];
}

/** A logarithmic axis from pixel `from` to pixel `to`. */
export interface LogAxis {
  low: number;
  high: number;
  from: number;
  to: number;
}

/** Around the values above 0, with some room. */
export function axisAround(values: readonly number[], from: number, to: number): LogAxis {
  const there = values.filter((value) => Number.isFinite(value) && value > 0);
  const low = Math.min(...there), high = Math.max(...there);
  if (there.length === 0) return { low: 1, high: 10, from, to };
  return { low: low / 1.3, high: high * 1.3, from, to };
}

export function placeOn(axis: LogAxis, value: number): number {
  return axis.from + ((axis.to - axis.from) * Math.log(value / axis.low)) / Math.log(axis.high / axis.low);
}

export function valueAt(axis: LogAxis, pixel: number): number {
  const share = Math.min(1, Math.max(0, (pixel - axis.from) / (axis.to - axis.from)));
  return axis.low * (axis.high / axis.low) ** share;
}

/** 1, 2, 5, 10, ... in the axis; each power of ten alone where these are many. */
export function ticksOf(axis: LogAxis, most = 8): number[] {
  for (const steps of [[1, 2, 5], [1]]) {
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(axis.low)); power <= Math.ceil(Math.log10(axis.high)); ++power)
      for (const step of steps) {
        const tick = step * 10 ** power;
        if (tick >= axis.low && tick <= axis.high) ticks.push(tick);
      }
    if (ticks.length <= most || steps.length === 1) return ticks;
  }
  return [];
}

const deadlineUnits: [number, string][] = [
  [3600, "h"],
  [60, "m"],
];

/** A duration as the form has it: "8h", "260m", "45s"; fine enough that a step of a tenth is another text. */
export function deadlineText(seconds: number): string {
  const many = 20;
  const fits = (count: number) => count >= many || (count >= 1 && Math.abs(count - Math.round(count)) < 0.005 * count);
  const [size, letter] = deadlineUnits.find(([one]) => fits(seconds / one)) ?? ([1, "s"] as [number, string]);
  const count = seconds / size;
  return `${Math.max(1, count >= 100 ? Number(count.toPrecision(2)) : Math.round(count))}${letter}`;
}

/** A sum as the form has it, to two digits. */
export const budgetText = (money: number): string => String(Number(money.toPrecision(2)));
