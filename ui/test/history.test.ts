import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunDetail } from "../src/api/types.ts";
import { stays, wasQueued } from "../src/history.ts";

const run = (fields: Partial<RunDetail>) => ({ state: "RUNNING", created: 1000, started: 1000, transitions: [], ...fields }) as RunDetail;

test("a run without changes is where it began", () => {
  const fresh = run({ transitions: [{ time: 1000, from: "", to: "RUNNING", reason: "" }] });
  assert.equal(wasQueued(fresh), false);
  assert.deepEqual(stays(fresh, 5000), [{ state: "RUNNING", from: 1000, until: 5000, reason: "" }]);
});

test("each state lasts until the next, and the last one for ever", () => {
  const queued = run({
    state: "FAILED",
    transitions: [
      { time: 1000, from: "", to: "PENDING", reason: "" },
      { time: 2000, from: "PENDING", to: "RUNNING", reason: "attempt 1" },
      { time: 9000, from: "RUNNING", to: "FAILED", reason: "no data" },
    ],
  });
  assert.equal(wasQueued(queued), true);
  const found = stays(queued, 20000);
  assert.deepEqual(found.map((stay) => [stay.state, stay.from, stay.reason]), [["PENDING", 1000, ""], ["RUNNING", 2000, "attempt 1"], ["FAILED", 9000, "no data"]]);
  assert.equal(found[1]!.until, 9000);
  assert.ok(Number.isNaN(found[2]!.until));
});
