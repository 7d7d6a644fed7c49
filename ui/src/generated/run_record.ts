// What a run leaves for others to read (docs/reference/run-record.md). Written from src/linac/base/job by its test
// record_pages_test.cpp, which says how to write it anew; not to be changed by hand.

import { integer, list, measures, number, object, text, words, type Json, type Measures } from "../api/json.ts";

export const recordVersion = 1;

export const phases = ["compute", "test", "communication", "input", "update", "checkpoint", "report"] as const;
export type Phase = (typeof phases)[number];

export const states = ["PENDING", "STARTING", "RUNNING", "RECOVERING", "SUCCEEDED", "FAILED", "FAILED_PRECHECKS", "CANCELLED", "LOST"] as const;
export type State = (typeof states)[number];
export const endedStates: readonly State[] = ["SUCCEEDED", "FAILED", "FAILED_PRECHECKS", "CANCELLED", "LOST"];

export const statusSucceeded = "succeeded";

export const metricNames = { learningRate: "learning_rate", epochs: "epoch", epochSeconds: "epoch_seconds", workers: "workers", rateEnd: "_per_s" } as const;
export const metricFronts = { parts: "parts/", time: "time/", system: "system/" } as const;
export const metricMeans = { loss: "loss/", train: "train/" } as const;

export const betterLower: readonly string[] = ["binary_crossentropy", "binary_focal_crossentropy", "categorical_crossentropy", "categorical_focal_crossentropy", "hinge", "huber", "kl_divergence", "log_cosh", "mean_absolute_error", "mean_absolute_percentage_error", "mean_squared_error", "mean_squared_logarithmic_error", "poisson", "squared_hinge", "loss", "total", "response", "linearity", "profile", "spectrum", "correlation", "fpd", "kpd", "ssim", "ks", "wasserstein", "separation", "chi2"];
export const betterHigher: readonly string[] = ["accuracy", "top_k_accuracy", "auc", "precision", "recall", "f1_score", "cosine_similarity", "r2"];

export interface ViewMember {
  rank: number; // in this view
  host: string; // empty for a worker that trains alone
  pid: number; // process on the host
  replicas: number; // that it carries
}

const readViewMember = (json: Json): ViewMember => ({
  rank: integer(json["rank"]),
  host: text(json["host"]),
  pid: integer(json["pid"]),
  replicas: integer(json["replicas"]),
});

export interface PhaseTime {
  wall_s: number; // [s] by the clock
  cpu_s: number; // [s] of the process's threads
}

const readPhaseTime = (json: Json): PhaseTime => ({
  wall_s: number(json["wall_s"]),
  cpu_s: number(json["cpu_s"]),
});

export type PhaseTimes = Partial<Record<Phase, PhaseTime>>;

const phaseTimes = (value: unknown): PhaseTimes => {
  const json = object(value);
  return Object.fromEntries(phases.filter((phase) => phase in json).map((phase) => [phase, readPhaseTime(object(json[phase]))]));
};

export interface WorkerAccount {
  host: string;
  pid: number; // process on the host
  phases: PhaseTimes; // time by phase
  cpu_s: number; // [s] of the process
  sent_bytes: number; // [bytes] to other workers
  sent_messages: number; // to other workers
  exchange_s: number; // [s] in which messages of a sum were under way, hidden by computing or not
  rank: number | undefined; // in the view
  pace_s: number | undefined; // [s] wall time of a replica of a step, smoothed; 0: not known
}

const readWorkerAccount = (json: Json): WorkerAccount => ({
  host: text(json["host"]),
  pid: integer(json["pid"]),
  phases: phaseTimes(json["phases"]),
  cpu_s: number(json["cpu_s"]),
  sent_bytes: integer(json["sent_bytes"]),
  sent_messages: integer(json["sent_messages"]),
  exchange_s: number(json["exchange_s"]),
  rank: json["rank"] === undefined ? undefined : integer(json["rank"]),
  pace_s: json["pace_s"] === undefined ? undefined : number(json["pace_s"]),
});

export interface ViewLine {
  kind: "view";
  record: number | undefined; // version of the record
  time: number; // [s since 1970] when training began in this view
  global_step: number; // steps that were done by then
  view: number; // number, rising within a start
  why: string; // why the workers are others than before; empty at a start
  seconds: number; // [s] before `time`, in which nobody trained
  members: ViewMember[]; // the workers by rank
}

const readViewLine = (json: Json): ViewLine => ({
  kind: "view",
  record: json["record"] === undefined ? undefined : integer(json["record"]),
  time: number(json["time"]),
  global_step: integer(json["global_step"]),
  view: integer(json["view"]),
  why: text(json["why"]),
  seconds: number(json["seconds"]),
  members: list(json["members"]).map(readViewMember),
});

export interface StepLine {
  kind: "step";
  epoch: number; // from 0
  step: number; // steps of this epoch that are done, this one included
  global_step: number; // steps of the training that are done
  lr: number | undefined; // learning rate of the step
  loss: Measures; // means over the step's events
}

const readStepLine = (json: Json): StepLine => ({
  kind: "step",
  epoch: integer(json["epoch"]),
  step: integer(json["step"]),
  global_step: integer(json["global_step"]),
  lr: json["lr"] === undefined ? undefined : number(json["lr"]),
  loss: measures(json["loss"]),
});

export interface EpochLine {
  kind: "epoch";
  epoch: number; // the one that is done, from 0
  global_step: number; // steps of the training that are done
  train: Measures; // means over the epoch's steps
  test: Measures; // means over the test data; empty without
  physics: Measures; // figures of the comparison of test showers; empty where none were due
  signs_of_collapse: string[]; // what looks wrong about the showers, in words
  seconds: number | undefined; // [s] how long it took, test included
  input_s: number | undefined; // [s] in which the worker that writes the record waited for its next batch
  opened_s: number | undefined; // [s] before its first step, in which that worker opened the data
}

const readEpochLine = (json: Json): EpochLine => ({
  kind: "epoch",
  epoch: integer(json["epoch"]),
  global_step: integer(json["global_step"]),
  train: measures(json["train"]),
  test: measures(json["test"]),
  physics: measures(json["physics"]),
  signs_of_collapse: words(json["signs_of_collapse"]),
  seconds: json["seconds"] === undefined ? undefined : number(json["seconds"]),
  input_s: json["input_s"] === undefined ? undefined : number(json["input_s"]),
  opened_s: json["opened_s"] === undefined ? undefined : number(json["opened_s"]),
});

export interface RollbackLine {
  kind: "rollback";
  epoch: number; // where the training goes on
  global_step: number; // where the training goes on
  rollbacks: number; // of the run, this one included
  what: string; // what had happened
  where: string; // in which step
}

const readRollbackLine = (json: Json): RollbackLine => ({
  kind: "rollback",
  epoch: integer(json["epoch"]),
  global_step: integer(json["global_step"]),
  rollbacks: integer(json["rollbacks"]),
  what: text(json["what"]),
  where: text(json["where"]),
});

export interface RoundLine {
  kind: "round";
  epoch: number; // from 0
  global_step: number; // steps of the training that are done, those of the round included
  round: number; // rounds that are done, this one included
  steps: number; // of the round
  drift: number; // root of the mean square by which the groups' ways differ from their mean, in lengths of that mean
  way: number; // length of the mean of the groups' ways, over all weights
  wait_s: number; // [s] in which the worker that writes the record waited for the last group
  exchange_s: number; // [s] in which it came together with the others
  bytes: number; // that it sent to other groups
  staleness: number; // of groups that take turns: turns of others since a group's last one, the mean over the groups, and over layers where these have turns of their own
  staleness_max: number; // likewise, the most
}

const readRoundLine = (json: Json): RoundLine => ({
  kind: "round",
  epoch: integer(json["epoch"]),
  global_step: integer(json["global_step"]),
  round: integer(json["round"]),
  steps: integer(json["steps"]),
  drift: number(json["drift"]),
  way: number(json["way"]),
  wait_s: number(json["wait_s"]),
  exchange_s: number(json["exchange_s"]),
  bytes: integer(json["bytes"]),
  staleness: number(json["staleness"]),
  staleness_max: integer(json["staleness_max"]),
});

export interface GapLine {
  kind: "gap";
  first: number; // `global_step` of the first line that is lost
  last: number; // of the last one
  steps: number; // how many are lost of those between
  global_step: number; // steps that were done when that was found
}

const readGapLine = (json: Json): GapLine => ({
  kind: "gap",
  first: integer(json["first"]),
  last: integer(json["last"]),
  steps: integer(json["steps"]),
  global_step: integer(json["global_step"]),
});

export interface AuditLine {
  kind: "audit";
  time: number; // [s since 1970] when it was found
  global_step: number; // steps that were done by then; the one behind them was audited
  clean_step: number; // steps that were done when an audit last found all workers right; -1: no audit since the start
  wrong: ViewMember[]; // workers that compute wrongly: the run went on without them
  suspects: ViewMember[]; // workers of which at least one computes wrongly, and nobody can tell which: the run ended
  what: string; // which replica, and where its results begin to differ
}

const readAuditLine = (json: Json): AuditLine => ({
  kind: "audit",
  time: number(json["time"]),
  global_step: integer(json["global_step"]),
  clean_step: integer(json["clean_step"]),
  wrong: list(json["wrong"]).map(readViewMember),
  suspects: list(json["suspects"]).map(readViewMember),
  what: text(json["what"]),
});

export interface WorkersLine {
  kind: "workers";
  time: number; // [s since 1970]
  global_step: number; // steps that were done by then
  view: number; // its number
  workers: WorkerAccount[]; // those that were heard
}

const readWorkersLine = (json: Json): WorkersLine => ({
  kind: "workers",
  time: number(json["time"]),
  global_step: integer(json["global_step"]),
  view: integer(json["view"]),
  workers: list(json["workers"]).map(readWorkerAccount),
});

export interface EndLine {
  kind: "end";
  time: number; // [s since 1970]
  global_step: number; // steps that were done
  status: string; // as in run.json
  workers: WorkerAccount[]; // the workers' times
}

const readEndLine = (json: Json): EndLine => ({
  kind: "end",
  time: number(json["time"]),
  global_step: integer(json["global_step"]),
  status: text(json["status"]),
  workers: list(json["workers"]).map(readWorkerAccount),
});

export type RunLine = ViewLine | StepLine | EpochLine | RollbackLine | RoundLine | GapLine | AuditLine | WorkersLine | EndLine;
export type LineKind = RunLine["kind"];

const readers: Record<string, (json: Json) => RunLine> = {
  view: readViewLine,
  step: readStepLine,
  epoch: readEpochLine,
  rollback: readRollbackLine,
  round: readRoundLine,
  gap: readGapLine,
  audit: readAuditLine,
  workers: readWorkersLine,
  end: readEndLine,
};

/** A line of metrics.jsonl; null for what is none, or of a kind that is not known. Throws for the record of a newer linac. */
export function readRunLine(line: string): RunLine | null {
  let json: Json;
  try {
    json = object(JSON.parse(line));
  } catch {
    return null; // cut off by a kill
  }
  if (Number(json["record"]) > recordVersion) throw new Error(`The run was written by a newer linac (its record has version ${text(json["record"])}, these pages read up to ${recordVersion}): look at it with that version.`);
  const kind = text(json["kind"]);
  return Object.hasOwn(readers, kind) ? readers[kind]!(json) : null;
}
