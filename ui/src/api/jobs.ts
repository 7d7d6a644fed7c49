// Jobs on their way into the queue, and in it.

import { ApiError, getJson, send } from "./client.ts";
import { integer, list, object, text, words, type Json } from "./json.ts";
import type { Agent, HostMark, Queue, QueuedJob, Site, State } from "./types.ts";

export async function queue(signal?: AbortSignal): Promise<Queue> {
  const json = await getJson<Json>("/api/v1/queue", signal);
  const slots = object(json["slots"]);
  const jobs = list(json["jobs"]).map(
    (one): QueuedJob => ({
      run: text(one["run"]),
      name: text(one["name"]),
      user: text(one["user"]),
      state: text(one["state"]) as State,
      reason: text(one["reason"]),
      priority: integer(one["priority"]),
      cores: integer(one["cores"]),
      memoryMb: integer(one["memory_mb"]),
      gpus: integer(one["gpus"]),
      dependsOn: words(one["depends_on"]),
      submitted: integer(one["submitted_ms"]),
      attempts: integer(one["attempts"]),
      secondsUsed: integer(one["seconds_used"]),
      cancelWished: one["cancel_wished"] === true,
      heldBy: text(one["held_by"]),
      on: text(one["on"]),
    }),
  );
  return { jobs, count: integer(json["count"]), cores: integer(slots["cores"]), memoryMb: integer(slots["memory_mb"]), gpus: integer(slots["gpus"]) };
}

/** Those that were heard of lately: one's own, and those that run everybody's jobs. */
export async function agents(signal?: AbortSignal): Promise<Agent[]> {
  return list((await getJson<Json>("/api/v1/agents", signal))["agents"]).map(
    (one): Agent => ({
      id: text(one["id"]),
      name: text(one["name"]),
      host: text(one["host"]),
      version: text(one["version"]),
      user: text(one["user"]),
      shared: one["shared"] === true,
      tags: words(one["tags"]),
      cores: integer(one["cores"]),
      coresFree: integer(one["cores_free"]),
      memoryMb: integer(one["memory_mb"]),
      gpus: integer(one["gpus"]),
      secondsLeft: integer(one["seconds_left"]),
      jobs: integer(one["jobs"]),
      draining: one["draining"] === true,
      seen: integer(one["seen_ms"]),
    }),
  );
}

/** Those from which one's jobs keep away; of an admin everybody's. */
export async function hostMarks(signal?: AbortSignal): Promise<HostMark[]> {
  return list((await getJson<Json>("/api/v1/hosts/marks", signal))["marks"]).map(
    (one): HostMark => ({
      host: text(one["host"]),
      user: text(one["user"]),
      worker: text(one["worker"]),
      core: text(one["core"]),
      what: text(one["what"]),
      run: text(one["run"]),
      marked: integer(one["marked_ms"]),
    }),
  );
}

/** It has been looked at: jobs may run there again. */
export async function clearHost(host: string): Promise<void> {
  await send("DELETE", `/api/v1/hosts/${encodeURIComponent(host)}/mark`);
}

/** To which one's jobs may be sent. */
export async function sites(signal?: AbortSignal): Promise<Site[]> {
  return list((await getJson<Json>("/api/v1/sites", signal))["sites"]).map((one): Site => ({ name: text(one["name"]), kind: text(one["kind"]) }));
}

export async function cancelRun(id: string): Promise<void> {
  await send("POST", `/api/v1/runs/${encodeURIComponent(id)}/cancel`);
}

export async function resumeRun(id: string): Promise<void> {
  await send("POST", `/api/v1/runs/${encodeURIComponent(id)}/resume`);
}

/** The job file that the run was queued with; empty for a run that was not queued here. */
export async function jobText(id: string, signal?: AbortSignal): Promise<string> {
  try {
    return text((await getJson<Json>(`/api/v1/jobs/${encodeURIComponent(id)}`, signal))["job"]);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return "";
    throw error;
  }
}

/** Nothing if the job would be queued, else an ApiError that says why not. */
export async function checkJob(submission: Json): Promise<void> {
  await send("POST", "/api/v1/jobs", { ...submission, check_only: true });
}

/** The new run. A repeated request with the same `key` gives the run of the first. */
export async function submitJob(submission: Json, key: string): Promise<{ id: string; name: string }> {
  const [run] = list((await send<Json>("POST", "/api/v1/jobs", { ...submission, key }))["runs"]);
  return { id: text(run?.["id"]), name: text(run?.["name"]) };
}
