// What the pages know of the service's records. The API's own words are translated in tracking.ts and nowhere else.

import { endedStates, type State } from "../generated/run_record.ts";

export type { State };

export const ended = (state: State): boolean => endedStates.includes(state);

export interface Metric {
  key: string;
  step: number;
  time: number; // ms since 1970
  value: number;
  count: number;
  min: number;
  max: number;
}

/** Of a curve that the server has thinned for drawing: some steps, with the smallest, largest and last of its finite values. NaN in
 * `min`, `max` and `value`: none of its values was finite. */
export interface Stretch {
  first: number; // step
  last: number;
  time: number; // ms since 1970, of the last point
  count: number;
  notFinite: number;
  min: number;
  max: number;
  value: number; // of the last finite point
}

/** Of a curve. */
export interface Point {
  step: number;
  time: number;
  value: number;
}

export interface Run {
  id: string;
  experiment: string;
  name: string;
  user: string;
  state: State;
  reason: string;
  deleted: boolean;
  created: number; // ms since 1970; 0: not yet
  started: number;
  ended: number;
  parameters: Record<string, string>;
  tags: Record<string, string>;
  metrics: Record<string, Metric>;
}

export interface Transition {
  time: number;
  from: State | "";
  to: State;
  reason: string;
}

export interface DataSet {
  name: string;
  digest: string;
  source: string;
}

export interface RunDetail extends Run {
  transitions: Transition[];
  inputs: DataSet[];
}

export interface Page<T> {
  items: T[];
  next: string; // token of the next page; empty at the end
}

/** Of an experiment or a model: shared with everybody who has a token, or read by its owner and admins. */
export type Visibility = "private" | "shared";

export interface Experiment {
  id: string;
  name: string;
  owner: string; // empty: nobody
  visibility: Visibility;
}

export interface Me {
  user: string;
  role: "viewer" | "member" | "admin";
  session: boolean; // false: the service asks nobody who he is
}

export interface QueuedJob {
  run: string; // empty: somebody else's, who has not shared it
  name: string;
  user: string;
  state: State;
  reason: string;
  priority: number;
  cores: number;
  memoryMb: number;
  gpus: number;
  dependsOn: string[];
  submitted: number;
  attempts: number;
  secondsUsed: number;
  cancelWished: boolean;
  heldBy: string; // why it does not start even if there is room
  on: string; // "pilots", or a site; "": the service's host
}

/** A place of others that an admin has declared. */
export interface Site {
  name: string;
  kind: string;
}

export interface Queue {
  jobs: QueuedJob[];
  count: number; // of all jobs, also those not listed
  cores: number; // of the host
  memoryMb: number;
  gpus: number;
}

/** A `linac agent` that asks for work. */
export interface Agent {
  id: string;
  name: string;
  host: string;
  version: string;
  user: string;
  shared: boolean; // runs everybody's jobs
  tags: string[];
  cores: number;
  coresFree: number;
  memoryMb: number;
  gpus: number;
  secondsLeft: number; // 0: no end is known
  jobs: number;
  draining: boolean;
  seen: number;
}

/** A host that computed wrongly. */
export interface HostMark {
  host: string;
  user: string; // whose jobs keep away; empty: everybody's
  worker: string;
  core: string;
  what: string;
  run: string; // that found it; empty: an admin's word, or not for these eyes
  marked: number;
}

export interface ModelVersion {
  model: string;
  version: string;
  stage: string;
  status: string;
  run: string;
  source: string;
  description: string;
  user: string;
  created: number;
  aliases: string[];
  tags: Record<string, string>;
}

export interface Model {
  name: string;
  owner: string; // empty: nobody
  visibility: Visibility;
  description: string;
  created: number;
  updated: number;
  tags: Record<string, string>;
  aliases: Record<string, string>; // to a version
  latest: ModelVersion[];
}

export type Role = Me["role"];

/** What a user may have at most; 0: no limit. */
export interface Quota {
  jobs: number; // that wait or run
  cores: number; // of running jobs together
  coreHours: number; // of a day
}

export interface User {
  name: string;
  role: Role;
  account: string;
  disabled: boolean;
  quota: Quota;
  created: number;
}

export interface AuditEntry {
  time: number;
  user: string;
  action: string;
  object: string;
  from: string; // address
}

/** What its user has left with the service for jobs; its value is told to nobody. */
export interface Secret {
  name: string;
  as: SecretKind;
  changed: number;
  used: number; // 0: never
  readable: boolean; // else the key that sealed it is lost
}
export type SecretKind = "env" | "file";

export interface Token {
  id: string;
  user: string;
  note: string;
  scope: Role;
  created: number;
  expires: number; // 0: never
  used: number; // 0: never
}
