import assert from "node:assert/strict";
import { test } from "node:test";
import { activities, ticks, TimelineReader, type Known, type Seconds, type Worker } from "../src/timeline.ts";

type Line = Record<string, unknown>;

const member = (host: string, pid: number, rank = 0) => ({ rank, host, pid, replicas: 1 });
const account = (host: string, pid: number, phases: Record<string, number>) => ({ host, pid, phases: Object.fromEntries(Object.entries(phases).map(([name, wall_s]) => [name, { wall_s, cpu_s: 0 }])) });
const view = (time: number, number: number, step: number, seconds: number, members: Line[], why = ""): Line => ({ kind: "view", time, view: number, global_step: step, seconds, members, why });
const workers = (time: number, step: number, accounts: Line[]): Line => ({ kind: "workers", time, global_step: step, workers: accounts });
const end = (time: number, step: number, status: string, accounts: Line[] = []): Line => ({ kind: "end", time, global_step: step, status, workers: accounts });

function read(lines: Line[], known?: Known) {
  const reader = new TimelineReader();
  for (const line of lines) reader.line(JSON.stringify(line));
  return reader.timeline(known);
}

const some = (seconds: Partial<Seconds>): Seconds => ({ ...Object.fromEntries(activities.map((one) => [one, 0])), ...seconds }) as Seconds;
const all = (seconds: Seconds) => activities.reduce((sum, one) => sum + seconds[one], 0);
const close = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);

// Worker 2 is lost after 20 s and step 20, worker 3 joins after 30 s; the end is after 50 s.
const changing = [
  view(1000, 1, 0, 0, [member("n1", 1), member("n<2>", 2, 1)]),
  workers(1010, 10, [account("n1", 1, { compute: 6, communication: 2 }), account("n<2>", 2, { compute: 4, communication: 2 })]),
  { kind: "step", global_step: 20 },
  view(1021, 2, 20, 1, [member("n1", 1)], "[comm] peer failed"),
  view(1030.5, 3, 30, 0.5, [member("n1", 1), member("n3", 3, 1)], "the next view is due"),
  workers(1040, 40, [account("n1", 1, { compute: 20, communication: 5 }), account("n3", 3, { compute: 6, communication: 1 })]),
  { kind: "epoch", global_step: 50 },
  end(1050, 50, "succeeded", [account("n1", 1, { compute: 25, test: 5, communication: 10 }), account("n3", 3, { compute: 12, communication: 2 })]),
];

test("workers come and go, and their seconds add up", () => {
  const timeline = read(changing);
  assert.equal(timeline.seconds, 50);
  const [first, second, third] = timeline.workers as [Worker, Worker, Worker];
  assert.deepEqual([first.from, first.until, first.lost], [0, 50, null]);
  assert.deepEqual(first.total, some({ compute: 30, communication: 10, waiting: 10 }));
  assert.deepEqual([second.host, second.from, second.until, second.lost], ["n<2>", 0, 20, "[comm] peer failed"]);
  assert.deepEqual(second.total, some({ compute: 4, communication: 2, waiting: 4, unknown: 10 }));
  assert.deepEqual([third.from, third.until, third.rank], [30, 50, 1]);
  assert.deepEqual(first.stretches.map((stretch) => [stretch.from, stretch.until, stretch.seconds.compute]), [[0, 10, 6], [10, 40, 14], [40, 50, 10]]);
  assert.deepEqual(timeline.marks.map((mark) => [mark.kind, mark.at]), [["start", 0], ["loss", 20], ["join", 30], ["end", 50]]);
  assert.equal(timeline.marks[1]!.what, "n<2> 2 is lost: [comm] peer failed");
});

test("starts follow each other without the pause between them; checkpoints and recoveries find their places", () => {
  const lines = [
    view(1000, 1, 0, 0, [member("n1", 1)]),
    workers(1010, 100, [account("n1", 1, { compute: 10 })]),
    workers(1020, 200, [account("n1", 1, { compute: 20 })]),
    view(5005, 1, 150, 5, [member("n1", 7)]),
    workers(5015, 250, [account("n1", 7, { compute: 12 })]),
  ];
  const timeline = read(lines, { checkpoints: [150, 175, 260], recoveries: [{ time: 1_030_000, reason: "killed" }, { time: 1, reason: "before all" }] });
  assert.deepEqual(timeline.begins, [0, 20]);
  assert.equal(timeline.seconds, 35);
  assert.deepEqual(timeline.workers.map((worker) => [worker.start, worker.from, worker.until]), [[0, 0, 20], [1, 20, 35]]);
  const at = (what: string) => timeline.marks.find((mark) => mark.what === what)!.at;
  assert.equal(at("checkpoint after step 150"), 15, "it was written before the second start");
  assert.equal(at("checkpoint after step 175"), 27.5);
  assert.equal(at("checkpoint after step 260"), 35, "after the last account");
  assert.equal(at("recovery: killed"), 20);
  assert.equal(at("start 2, after step 150, 1 worker"), 20);
  assert.equal(timeline.marks.filter((mark) => mark.kind === "recovery").length, 1);
});

test("a view behind an end goes on with the same start, unless the run had succeeded", () => {
  const lines = (status: string) => [view(1000, 1, 0, 0, [member("n1", 1), member("n2", 2)]), end(1010, 5, status), view(1012, 2, 5, 1, [member("n2", 2)], "disk full")];
  const replaced = read(lines("failed"));
  assert.equal(replaced.begins.length, 1);
  assert.deepEqual(replaced.workers.map((worker) => [worker.pid, worker.until, worker.lost]), [[1, 11, "disk full"], [2, 12, null]]);
  assert.equal(read(lines("succeeded")).begins.length, 2);
});

test("a worker that was halted comes back into its own row", () => {
  const timeline = read([
    view(1000, 1, 0, 0, [member("n1", 1), member("n2", 2)]),
    workers(1010, 5, [account("n2", 2, { compute: 10 })]),
    view(1020, 2, 5, 0, [member("n1", 1)], "halted"),
    view(1030, 3, 6, 0, [member("n1", 1), member("n2", 2)]),
    workers(1040, 8, [account("n2", 2, { compute: 15 })]),
  ]);
  const worker = timeline.workers[1]!;
  assert.deepEqual([worker.from, worker.until, worker.lost], [0, 40, null]);
  assert.deepEqual(worker.stretches.map(({ from, until }) => [from, until]), [[0, 10], [10, 20], [30, 40]]);
  assert.deepEqual(worker.total, some({ compute: 15, waiting: 5, unknown: 10 }));
});

test("a worker that trains alone gets its name from its account, and its entry may lie behind what it counts", () => {
  const timeline = read([view(1000, 1, 0, 3, [{ rank: 0, host: "", pid: 0, replicas: 1 }]), workers(1010, 5, [account("n1", 4, { input: 20, compute: 6 })])]);
  assert.deepEqual(timeline.workers.map((worker) => [worker.host, worker.pid]), [["n1", 4]]);
  close(timeline.workers[0]!.total.input, 10);
  close(timeline.workers[0]!.total.compute, 3);
});

test("who tells nothing new is still at its step", () => {
  const lines = [view(1000, 1, 0, 0, [member("n1", 1)]), workers(1010, 0, [account("n1", 1, { compute: 0 })]), workers(1020, 0, [account("n1", 1, { compute: 0 })]), workers(1030, 1, [account("n1", 1, { compute: 30 })])];
  assert.deepEqual(read(lines).workers[0]!.stretches, [{ from: 0, until: 30, seconds: some({ compute: 30 }) }]);
  const goes_on = read([...lines, workers(1040, 1, [account("n1", 1, { compute: 30 })])]);
  assert.deepEqual(goes_on.workers[0]!.total, some({ compute: 30, unknown: 10 }));
  const over = read([...lines, end(1040, 1, "failed", [account("n1", 1, { compute: 30 })])]);
  assert.deepEqual(over.workers[0]!.total, some({ compute: 30, waiting: 10 }));
});

test("what a lost worker told counts once", () => {
  const told = account("n2", 2, { compute: 5 });
  const timeline = read([view(1000, 1, 0, 0, [member("n1", 1), member("n2", 2)]), workers(1005, 1, [told]), view(1020, 2, 1, 0, [member("n1", 1)]), workers(1030, 2, [told])]);
  assert.deepEqual(timeline.workers[1]!.total, some({ compute: 5, unknown: 15 }));
});

test("damage is passed over", () => {
  const reader = new TimelineReader();
  const lines = ['{"kind":"view"', "", "null", "[1]", '{"kind":"view","time":"x","members":[{}]}', '{"kind":"view","time":5,"members":3}', '{"kind":"workers","time":7,"workers":[null,3]}', '{"kind":"end"}'];
  for (const line of lines) reader.line(line);
  assert.deepEqual(reader.timeline(), { seconds: 0, begins: [], workers: [], left: 0, marks: [] });
  reader.line(JSON.stringify(view(1000, 1, 0, 0, [member("n1", 1)])));
  for (const line of [...lines, '{"kind":"workers","time":1001,"workers":[{"host":"n1","pid":1,"phases":{"compute":null,"input":{"wall_s":"NaN"}}}]}']) reader.line(line);
  assert.equal(reader.timeline().workers.length, 1);
});

test("the record of a newer linac is refused in words", () => {
  const reader = new TimelineReader();
  assert.throws(() => reader.line('{"kind":"view","record":2,"time":5}'), /newer linac/);
  reader.line(JSON.stringify({ ...view(1000, 1, 0, 0, [member("n1", 1)]), record: 1 }));
  assert.equal(reader.timeline().workers.length, 1);
});

test("of a long run sums are kept, and none of them is lost", () => {
  const reader = new TimelineReader();
  const add = (line: Line) => reader.line(JSON.stringify(line));
  add(view(1000, 1, 0, 0, [member("n1", 1)]));
  for (let i = 1; i <= 20_000; i++) add(workers(1000 + 10 * i, 100 * i, [account("n1", 1, { compute: 6 * i, input: 3 * i })]));
  const timeline = reader.timeline({ checkpoints: [1_000_050], recoveries: [] });
  const worker = timeline.workers[0]!;
  assert.ok(worker.stretches.length <= 64);
  assert.deepEqual(worker.total, some({ compute: 120_000, input: 60_000, waiting: 20_000 }));
  worker.stretches.forEach((stretch, i) => {
    assert.equal(stretch.from, worker.stretches[i - 1]?.until ?? 0);
    close(all(stretch.seconds), stretch.until - stretch.from);
  });
  close(timeline.marks.find((mark) => mark.kind === "checkpoint")!.at, 100_005);
});

test("workers and marks have a limit, which is told", () => {
  const reader = new TimelineReader();
  for (let i = 1; i <= 1200; i++) reader.line(JSON.stringify(view(1000 + i, i, i, 0, [member("n1", 1), member("n2", 100 + i)])));
  const timeline = reader.timeline();
  assert.equal(timeline.workers.length, 1000);
  assert.equal(timeline.left, 201);
  assert.equal(timeline.marks.length, 1000);
});

test("an axis has few places, in words", () => {
  assert.deepEqual(ticks(50, 5).map((tick) => tick.words), ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s"]);
  assert.deepEqual(ticks(5400, 4).map((tick) => tick.words), ["0 min", "30 min", "60 min", "90 min"]);
  assert.deepEqual(ticks(100_000, 4).map((tick) => tick.words), ["0 h", "12 h", "24 h"]);
  for (const seconds of [0.5, 7, 333, 86_400, 3e6, 1e9]) assert.ok(ticks(seconds, 5).length <= 6);
});
