import assert from "node:assert/strict";
import { test } from "node:test";
import { integer, list, texts, words } from "../src/api/json.ts";
import type { AuditEntry } from "../src/api/types.ts";
import { fitting } from "../src/pages/audit.tsx";
import { emptyDraft, secondsOf, submissionOf } from "../src/submission.ts";

test("durations are those of linac submit", () => {
  const cases: [string, number][] = [["", 0], [" ", 0], ["90", 90], ["90s", 90], ["30m", 1800], [" 12h ", 43_200], ["2d", 172_800], ["2 d", 172_800]];
  for (const [text, seconds] of cases) assert.equal(secondsOf(text), seconds);
  for (const text of ["h", "1w", "-1s", "1.5h", "1h30m"]) assert.throws(() => secondsOf(text), /no duration/);
});

test("a draft becomes a request", () => {
  const draft = { ...emptyDraft, job: "name: x\n", directory: " /data ", set: "train.epochs=5\n\n  train.lr=1e-3 \n", priority: "-2", cores: "4", time: "1h", name: " mine ", on: "pilots" };
  assert.deepEqual(submissionOf(draft), { job: "name: x\n", directory: "/data", name: "mine", experiment: "", set: ["train.epochs=5", "train.lr=1e-3"], priority: -2, cores: 4, seconds_max: 3600, on: "pilots" });
  assert.throws(() => submissionOf(emptyDraft), /no job yet/);
  for (const wrong of [{ priority: "high" }, { cores: "1.5" }, { time: "soon" }]) assert.throws(() => submissionOf({ ...draft, ...wrong }), new RegExp(Object.values(wrong)[0]!.replace(".", "\\.")));
});

test("entries of the audit fit if all words are in them", () => {
  const entry = (user: string, action: string, object: string): AuditEntry => ({ time: Date.UTC(2026, 10, 22, 12), user, action, object, from: "127.0.0.1" });
  const entries = [entry("admin", "user.create", "anna"), entry("anna", "token.create", "ab12"), entry("admin", "token.revoke", "ab12")];
  assert.deepEqual(fitting(entries, "").length, 3);
  assert.deepEqual(fitting(entries, "ANNA create").map((one) => one.action), ["user.create", "token.create"]);
  assert.deepEqual(fitting(entries, "2026-11 revoke 127.").map((one) => one.object), ["ab12"]);
  assert.deepEqual(fitting(entries, "nobody"), []);
});

test("fields that are missing or of another type do no harm", () => {
  assert.equal(integer("12"), 12);
  assert.equal(integer({}), 0);
  assert.deepEqual(list([null, 3, { a: 1 }]), [{}, {}, { a: 1 }]);
  assert.deepEqual(list("x"), []);
  assert.deepEqual(texts({ a: null, b: 2 }), { a: "", b: "2" });
  assert.deepEqual(texts(null), {});
  assert.deepEqual(words(["a", 1]), ["a", "1"]);
  assert.deepEqual(words("ab"), []);
});
