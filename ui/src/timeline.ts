// Who worked on a run when, and on what: from the lines of its metrics.jsonl (as `linac report` reads them). Of a file of any length
// only sums are kept. Pure.

import { readRunLine, statusSucceeded, type LineKind, type Phase, type ViewLine, type ViewMember, type WorkerAccount } from "./generated/run_record.ts";

export const activities = ["compute", "communication", "input", "update", "record", "waiting", "unknown"] as const;
export type Activity = (typeof activities)[number];
export type Seconds = Record<Activity, number>;

// What a worker tells of itself; the rest of its time it waited.
const activityOf: Record<Phase, Activity> = { compute: "compute", test: "compute", communication: "communication", input: "input", update: "update", checkpoint: "record", report: "record" };

export interface Stretch {
  from: number; // seconds since the run began, pauses between its starts left out
  until: number;
  seconds: Seconds; // shares rather: a worker tells of a step when it is done, a moment later than the record
}

export interface Worker {
  start: number; // which one of the run's
  host: string;
  pid: number;
  rank: number; // its last
  from: number;
  until: number;
  lost: string | null; // why it left before the end
  stretches: Stretch[]; // a worker that was halted may have been away between two of them
  total: Seconds;
}

export type MarkKind = "start" | "end" | "loss" | "join" | "recovery" | "checkpoint";

export interface Mark {
  kind: MarkKind;
  at: number; // seconds since the run began, as above
  time: number; // ms since 1970
  what: string;
}

export interface Timeline {
  seconds: number;
  begins: number[]; // of each start
  workers: Worker[]; // in the order in which they came
  left: number; // workers beyond those that are kept
  marks: Mark[]; // in the order of time
}

/** What other places know of the run. */
export interface Known {
  checkpoints: readonly number[]; // steps
  recoveries: readonly { time: number; reason: string }[]; // ms since 1970
}

const stretchesMax = 64; // of a worker; then two become one
const momentsMax = 4096;
const workersMax = 1000;
const marksMax = 1000; // the newest are kept

interface Hand {
  host: string;
  pid: number;
  rank: number;
  from: number; // unix seconds, here and below
  until: number; // NaN: it is there
  lost: string | null;
  known: number; // its last account, or its entry
  stretches: Stretch[];
  told: Map<string, number>; // what the phases had taken by then
  total: Seconds; // of the stretches, but for waiting
}

interface Start {
  begin: number;
  last: number; // the last moment that the record speaks of
  view: number;
  status: string; // how it ended; empty: it goes on or was killed
  hands: Map<string, Hand>;
  present: Set<string>;
}

const nothing = (): Seconds => ({ compute: 0, communication: 0, input: 0, update: 0, record: 0, waiting: 0, unknown: 0 });
const sum = (seconds: Seconds): number => activities.reduce((all, one) => all + seconds[one], 0);
const keyOf = ({ host, pid }: { host: string; pid: number }): string => `${host} ${pid}`;

// Steps and epochs are most of a file, and say nothing here.
const told: readonly LineKind[] = ["view", "workers", "end"];
const isTold = new RegExp(`"kind":\\s*"(?:${told.join("|")})"`);

function add(to: Seconds, more: Seconds): void {
  for (const one of activities) to[one] += more[one];
}

/** Two neighbours become one. */
function halved(stretches: readonly Stretch[]): Stretch[] {
  const result: Stretch[] = [];
  stretches.forEach((stretch, i) => {
    const before = result.at(-1);
    if (i % 2 === 0 || before?.until !== stretch.from) return result.push(stretch);
    before.until = stretch.until;
    add(before.seconds, stretch.seconds);
  });
  return result;
}

export class TimelineReader {
  private starts: Start[] = [];
  private moments: { start: number; time: number; step: number }[] = [];
  private marks: { kind: MarkKind; start: number; time: number; what: string }[] = [];
  private left = new Set<string>(); // workers beyond those that are kept

  /** The next line of the file. What is none is passed over; throws for the record of a newer linac. */
  line(text: string): void {
    const line = isTold.test(text) ? readRunLine(text) : null;
    if (line?.kind !== "view" && line?.kind !== "workers" && line?.kind !== "end") return;
    const { time } = line;
    if (!(time > 0)) return;
    if (line.kind === "view") this.view(line);
    const start = this.starts.at(-1);
    if (!start) return;
    start.last = Math.max(start.last, time);
    this.moment(time, line.global_step);
    if (line.kind === "view") return;
    for (const worker of line.workers) this.account(start, worker, time, line.kind === "end");
    if (line.kind === "end") {
      start.status = line.status;
      this.mark("end", time, start.status);
    }
  }

  private mark(kind: MarkKind, time: number, what: string): void {
    this.marks.push({ kind, start: this.starts.length - 1, time, what });
    if (this.marks.length > marksMax) this.marks.shift();
  }

  private moment(time: number, step: number): void {
    this.moments.push({ start: this.starts.length - 1, time, step });
    if (this.moments.length > momentsMax) this.moments = this.moments.filter(({ start }, i) => i % 2 === 0 || start !== this.moments[i - 1]!.start);
  }

  private view({ time, view: number, seconds, members, global_step: step, why }: ViewLine): void {
    const begin = time - Math.max(0, seconds || 0);
    if (members.length === 0) return;
    let start = this.starts.at(-1);
    // The views of a start are numbered upwards. One may follow an end: of a writer that failed and was replaced.
    const fresh = !start || number <= start.view || start.status === statusSucceeded;
    if (!start || fresh) {
      start = { begin, last: time, view: number, status: "", hands: new Map(), present: new Set() };
      this.starts.push(start);
      this.mark("start", begin, `start ${this.starts.length}, ${step > 0 ? `after step ${step}, ` : ""}${members.length} ${members.length === 1 ? "worker" : "workers"}`);
    }
    start.view = number;
    start.status = "";
    const here = new Set(members.map(keyOf));
    for (const key of start.present) {
      if (here.has(key)) continue;
      const hand = start.hands.get(key)!;
      hand.until = Math.max(begin, hand.from);
      hand.lost = why;
      start.present.delete(key);
      this.mark("loss", begin, `${key} is lost${why ? `: ${why}` : ""}`);
    }
    for (const member of members) this.member(start, member, begin, fresh);
  }

  private member(start: Start, member: ViewMember, begin: number, first: boolean): void {
    const key = keyOf(member);
    let hand = start.hands.get(key);
    if (!hand) {
      if (this.starts.reduce((all, one) => all + one.hands.size, 0) >= workersMax) return void this.left.add(key);
      hand = { host: member.host, pid: member.pid, rank: 0, from: begin, until: NaN, lost: null, known: begin, stretches: [], told: new Map(), total: nothing() };
      start.hands.set(key, hand);
    }
    hand.rank = member.rank;
    if (start.present.has(key)) return;
    start.present.add(key);
    if (!first) this.mark("join", begin, `${key} joins`);
    if (hand.lost === null) return;
    // It was halted, say, and has come back.
    this.unknown(hand, hand.until);
    hand.known = begin;
    hand.until = NaN;
    hand.lost = null;
  }

  /** A worker that trains alone has no group to know its name from. */
  private named(start: Start, account: WorkerAccount): Hand | undefined {
    const key = keyOf(account);
    const [only, hand] = [...start.hands][0] ?? [];
    if (!start.hands.has(key) && only !== undefined && hand?.host === "") {
      Object.assign(hand, { host: account.host, pid: account.pid });
      start.hands = new Map([[key, hand]]);
      if (start.present.delete(only)) start.present.add(key);
    }
    return start.hands.get(key);
  }

  private account(start: Start, account: WorkerAccount, time: number, isLast: boolean): void {
    const hand = this.named(start, account);
    if (!hand) return;
    const seconds = nothing();
    for (const [name, one] of Object.entries(account.phases)) {
      const told = one.wall_s || 0;
      seconds[activityOf[name as Phase]] += Math.max(0, told - (hand.told.get(name) ?? 0));
      hand.told.set(name, told);
    }
    const told = sum(seconds);
    const until = Number.isNaN(hand.until) ? time : Math.min(time, hand.until);
    if (told === 0 && !(isLast && hand.lost === null)) return; // as it was: its step goes on, or it has been lost
    add(hand.total, seconds);
    if (until <= hand.known) return;
    seconds.waiting = Math.max(0, until - hand.known - told);
    hand.stretches.push({ from: hand.known, until, seconds });
    hand.known = until;
    if (hand.stretches.length > stretchesMax) hand.stretches = halved(hand.stretches);
  }

  /** Nothing has been heard since its last account. */
  private unknown(hand: Hand, until: number): void {
    const seconds = until - hand.known;
    if (!(seconds > 0)) return;
    hand.stretches.push({ from: hand.known, until, seconds: { ...nothing(), unknown: seconds } });
    hand.total.unknown += seconds;
  }

  timeline({ checkpoints, recoveries }: Known = { checkpoints: [], recoveries: [] }): Timeline {
    const begins: number[] = [];
    let seconds = 0;
    for (const start of this.starts) {
      begins.push(seconds);
      seconds += Math.max(0, start.last - start.begin);
    }
    const at = (start: number, time: number) => {
      const { begin, last } = this.starts[start]!;
      return begins[start]! + Math.max(0, Math.min(time, last) - begin);
    };
    const mark = (kind: MarkKind, start: number, time: number, what: string): Mark => ({ kind, at: at(start, time), time: time * 1000, what });
    const marks = this.marks.map(({ kind, start, time, what }) => mark(kind, start, time, what));
    for (const step of checkpoints) {
      const moment = this.momentOf(step);
      if (moment) marks.push(mark("checkpoint", moment.start, moment.time, `checkpoint after step ${step}`));
    }
    for (const { time, reason } of recoveries) {
      const start = this.starts.reduce((last, one, i) => (one.begin <= time / 1000 ? i : last), -1);
      if (start >= 0) marks.push(mark("recovery", start, time / 1000, `recovery${reason ? `: ${reason}` : ""}`));
    }
    return {
      seconds,
      begins,
      workers: this.starts.flatMap((start, i) => [...start.hands.values()].map((hand) => this.worker(start, i, hand, (time) => at(i, time)))),
      left: this.left.size,
      marks: marks.sort((a, b) => a.at - b.at || a.time - b.time),
    };
  }

  /** When a step was done: it lies between two moments. */
  private momentOf(step: number): { start: number; time: number } | null {
    for (let i = this.moments.length - 1; i >= 0; i--) {
      const { start, time, step: before } = this.moments[i]!;
      if (before >= step) continue;
      const next = this.moments[i + 1];
      if (next?.start !== start) return { start, time };
      const part = Math.min(1, (step - before) / Math.max(1, next.step - before));
      return { start, time: time + part * (next.time - time) };
    }
    return null;
  }

  private worker(start: Start, index: number, hand: Hand, at: (time: number) => number): Worker {
    const { host, pid, rank, lost } = hand;
    const left = Number.isNaN(hand.until) ? Math.max(start.last, hand.known) : hand.until;
    const whole = { ...hand, stretches: [...hand.stretches], total: { ...hand.total } };
    this.unknown(whole, left);
    const stretches = whole.stretches.map(({ from, until, seconds }) => ({ from: at(from), until: at(until), seconds: { ...seconds } }));
    const present = stretches.reduce((all, { from, until }) => all + until - from, 0);
    const { total } = whole;
    const told = sum(total);
    if (told > present) for (const one of activities) total[one] *= present / told; // they may reach back to before the entry
    else total.waiting = present - told;
    return { start: index, host, pid, rank, from: at(hand.from), until: at(left), lost, stretches, total };
  }
}

const tickSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** Places on an axis of so many seconds, at most `most` of them behind 0, with their words. */
export function ticks(seconds: number, most: number): { at: number; words: string }[] {
  const step = tickSteps.find((one) => one * most >= seconds) ?? Math.ceil(seconds / most / 604800) * 604800;
  const [unit, name] = step < 60 ? [1, "s"] : step < 3600 ? [60, "min"] : step < 86400 ? [3600, "h"] : [86400, "d"];
  const result = [];
  for (let at = 0; at <= seconds; at += step) result.push({ at, words: `${at / unit} ${name}` });
  return result;
}
