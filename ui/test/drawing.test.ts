import assert from "node:assert/strict";
import { test } from "node:test";
import type { Stretch } from "../src/api/types.ts";
import { epochAt, epochEnds } from "../src/curves/epochs.ts";
import { band, familyOf, grouped } from "../src/curves/groups.ts";
import { lines, type Curve, type Drawing } from "../src/curves/lines.ts";
import { lostInWords, lostSteps } from "../src/gaps.ts";
import { smoothed, weightOfSlider } from "../src/curves/smoothing.ts";

const named = (name: string, tags: Record<string, string> = {}, id = name) => ({ id, name, tags, parameters: {} as Record<string, string>, started: 0 });
const close = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

test("smoothing leaves a constant alone from its first value on", () => {
  for (const value of smoothed([2, 2, 2, 2], 0.9)) close(value, 2);
});

test("smoothing is the mean weighted by powers", () => {
  const [first, second, third] = smoothed([1, 3, 5], 0.5);
  close(first!, 1);
  close(second!, (0.5 * 1 + 3) / 1.5);
  close(third!, (0.25 * 1 + 0.5 * 3 + 5) / 1.75);
});

test("smoothing passes over what is not finite and none of it is lost", () => {
  const values = smoothed([1, NaN, Infinity, 1], 0.9);
  assert.ok(Number.isNaN(values[1]) && Number.isNaN(values[2]));
  close(values[3]!, 1);
  assert.deepEqual(smoothed([1, 2], 0), [1, 2]);
});

test("the slider rises from no smoothing to nearly all", () => {
  assert.equal(weightOfSlider(0), 0);
  close(weightOfSlider(100), 0.999);
  assert.ok(weightOfSlider(40) < weightOfSlider(41));
  assert.equal(weightOfSlider(-5), 0);
});

const job = (name: string, parameters: Record<string, string>, tags: Record<string, string> = { "linac.group": "440047d46937", "linac.group.index": "1" }) => ({ ...named(name, tags), parameters });
const groupsOf = (runs: ReturnType<typeof named>[]) => grouped(runs).groups.map((group) => [group.name, ...group.members.map((run) => run.id)]);

test("families by tag and by seed", () => {
  assert.equal(familyOf(named("gan-seed3")), "gan");
  assert.equal(familyOf(named("gan lr=1e-3 seed=12")), "gan lr=1e-3");
  assert.equal(familyOf(named("gan_seed_3")), "gan");
  assert.equal(familyOf(named("calm-shower-417")), null, "a number alone is no seed");
  assert.equal(familyOf(named("gan-seed3", { "linac.group": "scan" })), "scan");
  const { groups, single } = grouped([named("a-seed1"), named("b"), named("a-seed2"), named("c-seed1")]);
  assert.deepEqual(groups.map((group) => [group.name, group.members.length]), [["a", 2]]);
  assert.deepEqual(single.map((run) => run.name), ["b", "c-seed1"]);
});

test("an array over seeds and learning rates has a group for each learning rate, and each says which", () => {
  const array = ["0.001", "0.002"].flatMap((lr, i) => [1, 2].map((seed) => job(`top-${2 * i + seed}`, { "train.seed": `${seed}`, "train.optimizer.lr": lr, "train.epochs": "5" })));
  assert.deepEqual(groupsOf(array), [["top, lr=0.001", "top-1", "top-2"], ["top, lr=0.002", "top-3", "top-4"]]);
  assert.deepEqual(groupsOf(array.slice(0, 3)), [["top, lr=0.001", "top-1", "top-2"]], "one of a kind is no group");
  assert.deepEqual(grouped(array.slice(0, 3)).single.map((run) => run.id), ["top-3"]);
});

test("an array over seeds alone is one group, named as its runs; numbers are compared, not how they are written", () => {
  assert.deepEqual(groupsOf([job("top-1 seed=1", { "train.seed": "1", lr: "1e-3" }), job("top-2 seed=2", { "train.seed": "2", lr: "0.001" })]), [["top", "top-1 seed=1", "top-2 seed=2"]]);
  assert.deepEqual(groupsOf([job("x-1", { lr: "1" }, { "linac.group": "scan" }), job("y-2", { lr: "1" }, { "linac.group": "scan" })]), [["scan", "x-1", "y-2"]], "a tag that somebody chose is the name");
});

test("names with a seed at their end do not hide that something else differs", () => {
  const run = (name: string, lr: string) => ({ ...named(name), parameters: { seed: name.slice(-1), lr } });
  assert.deepEqual(groupsOf([run("gan-seed1", "1"), run("gan-seed2", "2")]), []);
  assert.deepEqual(groupsOf([run("gan-seed1", "1"), run("gan-seed2", "1"), run("gan-seed3", "2")]), [["gan, lr=1", "gan-seed1", "gan-seed2"]]);
});

test("a setting that is no more than another's end is told whole, and many are cut", () => {
  const two = (a: string, b: string) => [1, 2].map((seed) => job(`j-${a}${b}${seed}`, { "a.lr": a, "b.lr": b, "train.seed": `${seed}` }));
  assert.deepEqual(groupsOf([...two("1", "1"), ...two("1", "2"), ...two("2", "2")]).map(([name]) => name), ["j, a.lr=1, b.lr=1", "j, a.lr=1, b.lr=2", "j, a.lr=2, b.lr=2"]);
  const many = (value: string) => [1, 2].map((seed) => job(`j-${value}${seed}`, { a: value, b: value, c: value, d: value, seed: `${seed}` }));
  assert.deepEqual(groupsOf([...many("1"), ...many("2")]).map(([name]) => name), ["j, a=1, b=1, c=1, …", "j, a=2, b=2, c=2, …"]);
});

test("a band is mean and standard deviation, taken between steps, and only where runs are", () => {
  const found = band([
    { x: [0, 10], y: [0, 10] },
    { x: [0, 5, 20], y: [2, 7, 7] },
  ]);
  assert.deepEqual(found.x, [0, 5, 10, 20]);
  assert.deepEqual(found.runs, [2, 2, 2, 1]);
  close(found.mean[0]!, 1);
  close(found.high[0]! - found.mean[0]!, Math.SQRT2);
  close(found.mean[1]!, 6);
  close(found.mean[2]!, 8.5);
  close(found.mean[3]!, 7);
  close(found.low[3]!, 7);
});

test("a band passes over gaps", () => {
  const found = band([
    { x: [0, 1, 2], y: [1, NaN, 3] },
    { x: [0, 1, 2], y: [1, 2, 3] },
  ]);
  assert.deepEqual(found.mean, [1, 2, 3]);
});

const stretch = (step: number, value: number, low = value, high = value, notFinite = 0): Stretch => ({ first: step, last: step, time: 5000 + step, count: low === high ? 1 : 3, notFinite, min: low, max: high, value });
const plainly: Drawing = { axis: "step", smoothing: 0, log: false, groups: null, envelope: true, epochs: new Map() };
const curve = (name: string, stretches: Stretch[]): Curve => ({ run: named(name), color: 0, stretches });

test("a line has its envelope, its gaps and its marks", () => {
  const [line] = lines([curve("a", [stretch(1, 2, 1, 4), stretch(2, NaN, NaN, NaN, 1), stretch(3, 5, 5, 6)])], plainly);
  assert.deepEqual(line!.y, [2, null, 5]);
  assert.deepEqual(line!.low, [1, null, 5]);
  assert.deepEqual(line!.high, [4, null, 6]);
  assert.deepEqual(line!.marks, [2]);
  assert.equal(lines([curve("a", [stretch(1, 2)])], plainly)[0]!.low, null, "single points have no envelope");
});

test("where the record has lost lines nothing is drawn, but between points that always are as far apart", () => {
  const lost = (text: string, stretches: Stretch[]): Curve => ({ ...curve("a", stretches), run: named("a", { "linac.lost_steps": text }) });
  const steps = [1, 2, 3, 7, 8].map((step) => stretch(step, step, step, step + 1));
  const [line] = lines([lost("4-6", steps)], { ...plainly, smoothing: 0.5 });
  assert.deepEqual(line!.x, [1, 2, 3, 5, 7, 8]);
  for (const values of [line!.y, line!.faint, line!.low, line!.high]) assert.deepEqual(values!.map((value) => value === null), [false, false, false, true, false, false]);
  for (const other of ["", "3-6", "9", "4-6x", "-1"]) assert.equal(lines([lost(other, steps)], plainly)[0]!.x.length, 5, other);
  assert.equal(lines([lost("4-6", [1, 2, 3, 4, 5, 6, 7].map((step) => stretch(step, 1)))], plainly)[0]!.x.length, 7, "the service has them");
  assert.equal(lines([lost("120", [100, 200, 300].map((step) => stretch(step, 1)))], plainly)[0]!.x.length, 3, "an epoch's points");
  assert.equal(lines([lost("4", [stretch(3, 1)])], plainly)[0]!.x.length, 1);
  assert.equal(lostInWords(lostSteps({ "linac.lost_steps": "4,7-9" })), "step 4, steps 7 to 9");
  assert.equal(lostInWords(lostSteps({ "linac.lost_steps": "1,3,5,7,9,11,13" })), "step 1, step 3, step 5, step 7, step 9 and 2 more stretches");
  assert.deepEqual(lostSteps({ "linac.lost_steps": "" }), []);
});

test("on a logarithmic axis only what is positive is drawn", () => {
  const [line] = lines([curve("a", [stretch(1, -2), stretch(2, 0), stretch(3, 4, -1, 5)])], { ...plainly, log: true });
  assert.deepEqual(line!.y, [null, null, 4]);
  assert.deepEqual(line!.high, [null, null, 5]);
  assert.ok(line!.low![2]! > 0);
});

test("places on the axis of time always rise", () => {
  const stretches = [stretch(1, 1), { ...stretch(2, 2), time: 4000 }, { ...stretch(3, 3), time: 9000 }];
  const [line] = lines([curve("a", stretches)], { ...plainly, axis: "time" });
  assert.ok(line!.x[0]! < line!.x[1]! && line!.x[1]! < line!.x[2]!);
  close(line!.x[2]!, 9);
});

test("epochs are an axis: exact where one ends, straight between, and of a branch those of the run before too", () => {
  const ends = epochEnds(epochEnds([], [stretch(10, 1), stretch(20, 2)]), [{ step: 40, time: 0, value: 3 }, { step: 20, time: 0, value: 2 }]);
  assert.deepEqual([0, 5, 10, 15, 20, 30, 40, 60].map((step) => epochAt(ends, step)), [0, 0.5, 1, 1.5, 2, 2.5, 3, 4]);
  assert.equal(epochAt([{ step: 8, epoch: 4 }], 6), 3);
  assert.ok(Number.isNaN(epochAt([], 6)));
  const epochs = new Map([["a", ends], ["branch", epochEnds([], [stretch(25, 5), stretch(30, 6)])]]);
  const drawn = lines([curve("a", [stretch(5, 1), stretch(20, 2)]), curve("branch", [stretch(22, 3), stretch(30, 4)]), curve("old", [stretch(1, 1)])], { ...plainly, axis: "epoch", epochs });
  assert.deepEqual(drawn.map((line) => line.label), ["a", "branch"], "one whose epochs are not known is left out");
  assert.deepEqual(drawn[0]!.x, [0.5, 2]);
  close(drawn[1]!.x[0]!, 4.4);
  close(drawn[1]!.x[1]!, 6);
});

test("runs of a group are one line with a band", () => {
  const drawn = lines([curve("a-seed1", [stretch(1, 1)]), curve("a-seed2", [stretch(1, 3)]), curve("b", [stretch(1, 9)]), curve("c-seed1", [stretch(1, 4)])], { ...plainly, groups: new Map([["a-seed1", "a"], ["a-seed2", "a"], ["c-seed1", "c"]]) });
  assert.deepEqual(drawn.slice(1).map((line) => line.label), ["b", "c-seed1"], "of a group with one curve here that one is drawn");
  assert.deepEqual(drawn[0]!.y, [2]);
  close(drawn[0]!.high![0]!, 2 + Math.SQRT2);
  assert.match(drawn[0]!.label, /^a \(2 runs/);
});
