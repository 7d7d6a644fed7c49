// What a job would take at each place, as the service plans it.

import { send } from "./client.ts";
import { integer, list, number, object, text, words, type Json } from "./json.ts";

/** Four of five should be between low and high. */
export interface Interval {
  low: number;
  middle: number;
  high: number;
}

export interface PlanRow {
  name: string;
  good: boolean; // it fits, and meets deadline and budget
  fits: boolean;
  front: boolean; // none that fits is both sooner and cheaper
  onTime: number; // how likely the deadline is met
  seconds: Interval;
  step: Interval;
  queue: number; // seconds, as all below
  start: number;
  computing: number; // of a step, as the two below
  waiting: number;
  exchange: number;
  first: number; // of the whole, as those below
  between: number;
  takenAway: number;
  usd: Interval | undefined;
  kwh: Interval | undefined;
  co2: Interval | undefined;
  preemptions: number;
  checkpointMinutes: number;
  remarks: string[];
}

export interface Measurement {
  run: string; // its id
  name: string;
  host: string;
  steps: number;
  step: number; // seconds
}

export interface Plan {
  currency: string;
  usd: number; // US dollars for one of it
  steps: number;
  goal: string;
  rows: PlanRow[];
  count: number; // rows that there are
  remarks: string[];
  measured: Measurement[];
  learned: number; // runs that were planned, and what came of them
}

/** What is planned: a run's job, or a job file's text with settings that differ. */
export type Subject = { run: string } | { job: string; set: string[] };

/** The fields of the request that are not the subject: deadline_s, budget, by, ... */
export type PlanWishes = Json;

function interval(value: unknown): Interval | undefined {
  if (value === null || value === undefined) return undefined;
  const json = object(value);
  return { low: number(json["low"]), middle: number(json["middle"]), high: number(json["high"]) };
}

const none: Interval = { low: NaN, middle: NaN, high: NaN };
const middle = (value: unknown): number => number(object(value)["middle"]) || 0;

function row(json: Json): PlanRow {
  return {
    name: text(json["name"]),
    good: json["good"] === true,
    fits: json["fits"] === true,
    front: json["front"] === true,
    onTime: number(json["on_time"]),
    seconds: interval(json["seconds"]) ?? none,
    step: interval(json["step_s"]) ?? none,
    queue: middle(json["queue_s"]),
    start: middle(json["start_s"]),
    computing: middle(json["compute_s"]),
    waiting: middle(json["waiting_s"]),
    exchange: middle(json["exchange_s"]),
    first: middle(json["first_s"]),
    between: middle(json["between_s"]),
    takenAway: middle(json["preempted_s"]),
    usd: interval(json["money_usd"]),
    kwh: interval(json["kwh"]),
    co2: interval(json["co2_kg"]),
    preemptions: number(json["preemptions"]) || 0,
    checkpointMinutes: number(json["checkpoint_minutes"]) || 0,
    remarks: words(json["remarks"]),
  };
}

export async function makePlan(subject: Subject, wishes: PlanWishes, signal?: AbortSignal): Promise<Plan> {
  const json = await send<Json>("POST", "/api/v1/plans", { ...subject, ...wishes }, signal);
  const currency = object(json["currency"]);
  const goal = object(json["goal"]);
  return {
    currency: text(currency["code"]) || "USD",
    usd: number(currency["usd"]) || 1,
    steps: middle(goal["steps"]),
    goal: text(goal["remark"]),
    rows: list(json["rows"]).map(row),
    count: integer(json["count"]),
    remarks: words(json["remarks"]),
    measured: list(json["measured"]).map((one) => ({ run: text(one["run"]), name: text(one["name"]), host: text(one["host"]), steps: integer(one["steps"]), step: number(one["step_s"]) })),
    learned: integer(object(object(json["experience"])["whole"])["runs"]),
  };
}
