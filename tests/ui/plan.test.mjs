// Plans on the pages of a service, in a real browser: of a run that has measured, and of one that has not. Nothing trains: the run's
// record is written here.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { hostname } from "node:os";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { available, browser, go, leave, overflow, visit } from "./browser.mjs";
import { Service } from "./service.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const data = fileURLToPath(new URL("../../data", import.meta.url));
const job = `name: planned
model: {kind: inclusive_classifier, variant: gru}
data: {train: [${data}/topology-train.parquet], inputs: [{name: GRU_input, column: GRU_input}, {name: HLF_input, column: HLF_input}], targets: [{column: encoded_label}]}
train: {epochs: 30, replicas: 4, batch: 30, fit: {loss: categorical_crossentropy}}
checkpoint: {best_by: loss}
`;
const steps = 300, wall = 150;
const account = { host: hostname(), pid: 7, cpu_s: wall, sent_bytes: 0, sent_messages: 0, exchange_s: 0, phases: { compute: { wall_s: 0.9 * wall, cpu_s: 0.9 * wall } }, steps: { steps, wall_s: wall, squares_s2: (1.01 * wall * wall) / steps, input_s: 0, networks: [] } };
const summary = { record: 1, name: "planned", status: "succeeded", updated: "2026-11-29T10:00:00Z", host: { name: hostname(), cores: 2, processor: "a processor" }, workers: 1, replicas_side_by_side: 2, outline: { steps_per_epoch: 100, flop: 1e9, updates: [{ beside: 0, parts: [{ bytes: 4e5, left: 0.3 }] }] }, global_step: steps, epochs_done: 3, time_by_worker: [account] };
const lines = [
  { kind: "view", record: 1, time: 1000, global_step: 0, view: 1, why: "", seconds: 4, members: [{ rank: 0, host: hostname(), pid: 7, replicas: 4 }] },
  { kind: "epoch", epoch: 0, global_step: 100, seconds: 50, opened_s: 1, input_s: 0, train: {}, test: {} },
  { kind: "step", epoch: 0, step: 1, global_step: 1, loss: {} },
  { kind: "end", time: 1160, global_step: steps, status: "succeeded", workers: [account] },
];
const files = { "job.yaml": job, "run.json": JSON.stringify(summary), "metrics.jsonl": lines.map((line) => JSON.stringify(line) + "\n").join("") };

describe("a plan", { skip: available ? false : "no Chromium (apt-get install chromium)" }, () => {
  let service, chromium, run, bare;
  const names = (page) => page.$$eval("[aria-label=Places] tbody th", (cells) => cells.map((cell) => cell.textContent));

  before(async () => {
    [service, chromium] = await Promise.all([Service.start("--price", "0.5"), browser()]);
    const made = async (name) => (await service.mlflow("runs/create", { experiment_id: "0", run_name: name })).run.info.run_id;
    [run, bare] = [await made("planned"), await made("bare")];
    for (const [name, text] of Object.entries(files)) await service.send("PUT", `/api/v1/runs/${run}/files/${name}`, new TextEncoder().encode(text));
  });
  after(async () => {
    if (service) assert.equal(await service.stop(), 0, service.output);
  });

  for (const [width, colorScheme] of [[1280, "light"], [360, "dark"]])
    test(`is ranked anew as deadline and budget move, ${width} px wide, ${colorScheme}`, async () => {
      const page = await visit(chromium, service, { width, colorScheme });
      await go(page, `#/runs/${run}?tab=plan`);
      await page.waitForSelector("text=all 3000 steps of the job, 30 epochs");
      assert.deepEqual(await names(page), ["the service's host, 1 worker"]);
      await page.fill("input[placeholder^='gcp/v100']", "gcp/v100x*");
      await page.waitForSelector("text=gcp/v100x8, 1 worker");
      const all = await names(page);
      await page.click("button:text-is('gcp/v100x8, 1 worker')");
      await page.waitForSelector("[aria-label=Why] >> text=computing");
      await page.fill("input[placeholder='8h']", "1s");
      await page.waitForSelector("text=Nothing meets deadline and budget.");
      await page.fill("input[placeholder='8h']", "");
      await page.waitForSelector("text=Nothing meets deadline and budget.", { state: "detached" });

      const line = page.locator("[role=slider][aria-label=Deadline]");
      assert.equal(await line.getAttribute("aria-valuetext"), "none");
      await page.locator(".planchart svg").scrollIntoViewIfNeeded();
      const box = await page.locator(".planchart svg").boundingBox();
      await page.mouse.move(box.x + Number(await line.locator(".reach").getAttribute("x1")), box.y + 60);
      await page.mouse.down();
      await page.mouse.move(box.x + 70, box.y + 60, { steps: 5 });
      await page.mouse.up();
      assert.match(await page.inputValue("input[placeholder='8h']"), /^\d+[smh]$/);
      await page.waitForSelector("text=Nothing meets deadline and budget.");
      await line.focus();
      const before = await line.getAttribute("aria-valuenow");
      await page.keyboard.press("ArrowRight");
      await page.waitForFunction((old) => Number(document.querySelector("[role=slider][aria-label=Deadline]").getAttribute("aria-valuenow")) > Number(old), before);
      await page.fill("input[placeholder='8h']", "100d");
      await page.selectOption("label:has-text('Least first') select", "time");
      await page.waitForFunction((old) => [...document.querySelectorAll("[aria-label=Places] tbody th")].length === old, all.length);
      await page.fill("input[placeholder='200']", "many");
      await page.waitForSelector("text=budget: many is no sum of money");
      await page.fill("input[placeholder='200']", "");
      await page.waitForSelector("text=budget: many", { state: "detached" });
      assert.equal(await overflow(page), 0);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target)}`), []);
      assert.deepEqual(page.complaints, []);
      if (process.env.LINAC_SHOTS) await page.screenshot({ path: `${process.env.LINAC_SHOTS}/plan-${width}.png`, fullPage: true });
      await leave(page);
    });

  test("has its picture as soon as a place has a price", async () => {
    const free = await Service.start();
    try {
      const own = (await free.mlflow("runs/create", { experiment_id: "0", run_name: "planned" })).run.info.run_id;
      for (const [name, text] of Object.entries(files)) await free.send("PUT", `/api/v1/runs/${own}/files/${name}`, new TextEncoder().encode(text));
      const page = await visit(chromium, free);
      await go(page, `#/runs/${own}?tab=plan`);
      await page.waitForSelector("text=nothing to draw time against");
      await page.fill("input[placeholder^='gcp/v100']", "gcp/v100x8");
      await page.waitForSelector(".planchart svg");
      await page.fill("input[placeholder^='gcp/v100']", "");
      await page.waitForSelector("text=nothing to draw time against");
      assert.deepEqual(page.complaints, []);
      await page.context().close();
    } finally {
      await free.stop();
    }
  });

  test("of a run without a measurement says what to do; a job's text is planned from the form", async () => {
    const page = await visit(chromium, service);
    await go(page, `#/runs/${bare}?tab=plan`);
    await page.waitForSelector("text=there is no job to plan");
    await go(page, "#/queue");
    await page.click("text=Submit a job");
    await page.fill("textarea[name=job]", job.replace("batch: 30", "batch: 31"));
    await page.click("button:text-is('Plan')");
    await page.waitForSelector("text=nothing has been measured of this work");
    await page.fill("textarea[name=job]", job);
    await page.fill("textarea[name=set]", "train.epochs=60");
    await page.click("button:text-is('Plan')");
    await page.waitForSelector("text=all 6000 steps of the job, 60 epochs");
    await leave(page);
  });
});
