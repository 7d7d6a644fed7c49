// The service's records as the pages know them (types.ts). Values that are missing get a harmless default: a page that shows
// less is better than none.

import { getJson, send, setCsrf, url } from "./client.ts";
import { integer, list, numberFromJson, object, text, texts, type Json } from "./json.ts";
import { visibilityOf } from "./visibility.ts";
import type { DataSet, Experiment, Me, Metric, Page, Point, Run, RunDetail, State, Stretch, Transition } from "./types.ts";

function metric(key: string, json: Json): Metric {
  return {
    key,
    step: integer(json["step"]),
    time: integer(json["time_ms"]),
    value: numberFromJson(json["last"]),
    count: integer(json["count"]),
    min: numberFromJson(json["min"]),
    max: numberFromJson(json["max"]),
  };
}

export function run(json: Json): Run {
  return {
    id: text(json["id"]),
    experiment: text(json["experiment"]),
    name: text(json["name"]),
    user: text(json["user"]),
    state: text(json["state"]) as State,
    reason: text(json["reason"]),
    deleted: json["deleted"] === true,
    created: integer(json["created_ms"]),
    started: integer(json["started_ms"]),
    ended: integer(json["ended_ms"]),
    parameters: texts(json["parameters"]),
    tags: texts(json["tags"]),
    metrics: Object.fromEntries(Object.entries(object(json["metrics"])).map(([key, one]) => [key, metric(key, object(one))])),
  };
}

const transition = (json: Json): Transition => ({
  time: integer(json["time_ms"]),
  from: text(json["from"]) as State | "",
  to: text(json["to"]) as State,
  reason: text(json["reason"]),
});

const dataSet = (json: Json): DataSet => ({ name: text(json["name"]), digest: text(json["digest"]), source: text(json["source"]) });

export interface RunsQuery {
  experiment: string; // empty: all
  filter: string;
  order: string; // "metrics.`val loss` DESC"; empty: newest first
  token: string;
  limit: number;
  view?: "active" | "deleted";
}

export async function runs(query: RunsQuery, signal?: AbortSignal): Promise<Page<Run>> {
  const { experiment, filter, order, token, limit, view } = query;
  const json = await getJson<Json>(url("/api/v1/runs", { experiment, filter, order_by: order, page_token: token, limit, view }), signal);
  return { items: list(json["runs"]).map(run), next: text(json["next"]) };
}

export async function runDetail(id: string, signal?: AbortSignal): Promise<RunDetail> {
  const json = await getJson<Json>(`/api/v1/runs/${encodeURIComponent(id)}`, signal);
  return { ...run(json), transitions: list(json["transitions"]).map(transition), inputs: list(json["inputs"]).map(dataSet) };
}

export async function experiments(signal?: AbortSignal): Promise<Experiment[]> {
  const found: Experiment[] = [];
  let token = "";
  do {
    const json = await getJson<Json>(url("/api/v1/experiments", { limit: 1000, page_token: token }), signal);
    for (const one of list(json["experiments"])) found.push({ id: text(one["id"]), name: text(one["name"]), owner: text(one["user"]), visibility: visibilityOf(one) });
    token = text(json["next"]);
  } while (token && found.length < 10000);
  return found;
}

type StretchList = [first: number, last: number, time: number, count: number, notFinite: number, min: unknown, max: unknown, value: unknown];

function stretch([first, last, time, count, notFinite, min, max, value]: StretchList): Stretch {
  return { first, last, time, count, notFinite, min: numberFromJson(min), max: numberFromJson(max), value: numberFromJson(value) };
}

export interface CurvesQuery {
  runs: readonly string[];
  key: string;
  stretches: number;
  from?: number; // steps, both included
  to?: number;
}

/** One metric's curves by run. */
export async function curves({ runs: ids, key, ...window }: CurvesQuery, signal?: AbortSignal): Promise<Map<string, Stretch[]>> {
  const json = await send<Json>("POST", "/api/v1/curves", { runs: ids, keys: [key], ...window }, signal);
  return new Map(list(json["curves"]).map((one) => [text(one["run"]), (one["stretches"] as StretchList[]).map(stretch)]));
}

/** The data of an event "points": the points of each key. */
export function pointsOfEvent(data: string): Map<string, Point[]> {
  const keys = JSON.parse(data) as Record<string, [number, number, unknown][]>;
  return new Map(Object.entries(keys).map(([key, points]) => [key, points.map(([step, time, value]) => ({ step, time, value: numberFromJson(value) }))]));
}

function me(json: Json): Me {
  const csrf = text(json["csrf_token"]);
  setCsrf(csrf);
  return { user: text(json["user"]), role: text(json["role"]) as Me["role"], session: csrf !== "" };
}

export async function whoAmI(): Promise<Me> {
  return me(await getJson<Json>("/api/v1/me"));
}

export async function login(token: string): Promise<Me> {
  return me(await send<Json>("POST", "/api/v1/login", { token }));
}

export async function logout(): Promise<void> {
  await send("POST", "/api/v1/logout", null);
  setCsrf("");
}
