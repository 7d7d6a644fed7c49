// Studies of hyper-parameters: the list, and all that the page of one shows.

import { getJson, url } from "./client.ts";
import { integer, list, number, object, text, words, type Json } from "./json.ts";

export interface StudyLine {
  name: string;
  user: string;
  trials: number;
  told: number;
  created: number; // ms since 1970
  updated: number;
}

export interface Trial {
  number: number;
  state: string;
  reason: string;
  values: number[]; // of each objective; NaN: none
  words: (string | null)[]; // of each parameter; null where it is inactive
  steps: number | null;
  seconds: number | null;
}

export interface StudyRecord {
  lines: number; // of its journal: it is as old as that
  facts: [string, string][];
  objectives: { name: string; maximize: boolean }[];
  parameters: { name: string }[];
  trials: Trial[];
  front: number[];
  importance: number[][]; // of each objective, of each parameter
}

export async function studies(signal?: AbortSignal): Promise<StudyLine[]> {
  const json = await getJson<Json>("/api/v1/studies", signal);
  return list(json["studies"]).map((one) => ({
    name: text(one["name"]),
    user: text(one["user"]),
    trials: integer(one["trials"]),
    told: integer(one["told"]),
    created: integer(one["created_ms"]),
    updated: integer(one["updated_ms"]),
  }));
}

const array = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const finite = (value: unknown): number => (value === null ? NaN : number(value));

function trialOf(one: Json): Trial {
  const curve = array(one["curve"]).map(array);
  const last = curve[curve.length - 1];
  const told = array(one["values"]).map(finite);
  return {
    number: integer(one["trial"]),
    state: text(one["state"]),
    reason: text(one["reason"]),
    values: told.length > 0 ? told : [finite(last?.[1] ?? null)],
    words: array(one["words"]).map((word) => (word === null ? null : text(word))),
    steps: last ? integer(last[0]) : null,
    seconds: one["seconds"] === null ? null : number(one["seconds"]),
  };
}

export interface StudyNews {
  record: StudyRecord | null; // null where it has no more lines than are known
  queue: string; // how the queue stands that carries it out, in words; "": programs do
}

function queueWords(json: Json): string {
  const [place, state, reason] = [text(json["on"]), text(json["state"]), text(json["reason"])];
  return `the queue${place && ` at ${place}`}: ${state}${reason && `: ${reason}`}`;
}

export async function studyNews(name: string, since: number, signal?: AbortSignal): Promise<StudyNews> {
  const json = await getJson<Json>(url(`/api/v1/studies/${encodeURIComponent(name)}/record`, { since }), signal);
  const queue = json["queue"] === null ? "" : queueWords(object(json["queue"]));
  return { record: json["record"] === null ? null : recordOf(json), queue };
}

function recordOf(json: Json): StudyRecord {
  const record = object(json["record"]);
  return {
    lines: integer(json["lines"]),
    facts: array(record["facts"]).map((fact) => words(fact) as [string, string]),
    objectives: list(record["objectives"]).map((one) => ({ name: text(one["name"]), maximize: one["maximize"] === true })),
    parameters: list(record["parameters"]).map((one) => ({ name: text(one["name"]) })),
    trials: list(record["trials"]).map(trialOf),
    front: array(record["front"]).map(integer),
    importance: array(record["importance"]).map((shares) => array(shares).map(finite)),
  };
}
