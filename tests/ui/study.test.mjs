// The page of a study in a real browser, while programs ask and tell.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { available, browser, go, leave, overflow, visit } from "./browser.mjs";
import { Service } from "./service.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const one = "search:\n  x: {low: -2, high: 2}\n  kind: {kind: categorical, choices: [a, b]}\nsampler: {name: sobol}\nbudget: {trials: 80}\n";
const two = "search: {x: {low: 0, high: 1}, y: {low: 0, high: 1}}\nobjective: [{metric: a, direction: minimize}, {metric: b, direction: minimize}]\n";

describe("a study", { skip: available ? false : "no Chromium (apt-get install chromium)" }, () => {
  let service, chromium;
  const step = async (name, told) => {
    const { trial, point } = await service.send("POST", `/api/v1/studies/${name}/ask`, { lease: "x" });
    await service.send("POST", `/api/v1/studies/${name}/trials/${trial}/tell`, told(point, trial));
  };
  const parabola = (point, trial) => (trial === 5 ? { state: "pruned", reason: "<b>behind</b> the others" } : trial === 6 ? { value: "NaN" } : { value: point.x ** 2 + (point.kind === "b" ? 1 : 0) });

  before(async () => {
    [service, chromium] = await Promise.all([Service.start(), browser()]);
    for (const [name, study] of [["one", one], ["two", two]]) await service.send("POST", "/api/v1/studies", { name, study });
    for (let i = 0; i < 20; i++) {
      await step("one", parabola);
      await step("two", ({ x, y }) => ({ values: [x, 1 - Math.sqrt(x) + y] }));
    }
  });
  after(async () => {
    if (service) assert.equal(await service.stop(), 0, service.output);
  });

  test("is found in the list, follows what is told, and its trials are sorted and filtered", async () => {
    const page = await visit(chromium, service);
    await page.click("text=Studies");
    await page.click("a:text-is('one')");
    await page.waitForSelector("text=20 of 20 trials");
    const column = (n) => page.$$eval(`table.plain:has(th[aria-sort]) tbody tr > :nth-child(${n})`, (cells) => cells.map((cell) => cell.textContent));
    const values = (await column(3)).slice(0, 18).map(Number);
    assert.deepEqual(values, [...values].sort((a, b) => a - b), "the best first");
    await page.click("button:text-is('Trial')");
    assert.deepEqual(await column(1), Array.from({ length: 20 }, (_, i) => String(i + 1)));
    await page.fill("input[type=search]", "pruned behind");
    await page.waitForSelector("text=1 of 20 trials");
    assert.deepEqual(await column(8), ["<b>behind</b> the others"]);
    await page.fill("input[type=search]", "");
    await step("one", () => ({ value: -7.25 }));
    await page.waitForSelector("text=The best of 21 trials is number 21: loss −7.25");
    await page.click("svg[aria-label^='The trials across'] a[aria-label^='trial 21:']", { force: true });
    await page.waitForSelector("text=1 of 21 trials");
    assert.equal(await overflow(page), 0);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target)}`), []);
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("of several objectives shows its front", async () => {
    const page = await visit(chromium, service);
    await go(page, "#/studies/two");
    const { front } = await service.get("/api/v1/studies/two");
    await page.waitForSelector(`text=Those that no other one beats: ${front.length} of 20`);
    const onFront = page.locator("svg[aria-label='b over a, 20 trials'] a[aria-label*='on the front']");
    await onFront.first().waitFor();
    assert.equal(await onFront.count(), front.length);
    await go(page, "#/studies/none");
    await page.waitForSelector("text=no study 'none'");
    await leave(page);
  });
});
