// The pages in a real browser against a real service.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { available, browser, cpuSeconds, go, leave, overflow, visit } from "./browser.mjs";
import { Service } from "./service.mjs";

const hostile = `<img src=x onerror="window.hacked=1">'"&`;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const manyRuns = 3000;
const madeAtOnce = 100;

const loss = (seed, points = 400) => Array.from({ length: points }, (_, i) => 2 * Math.exp(-i / 80) + 0.1 * Math.sin(seed + i));

describe("pages", { skip: available ? false : "no Chromium (apt-get install chromium)" }, () => {
  let service, chromium, ids;

  before(async () => {
    [service, chromium] = await Promise.all([Service.start(), browser()]);
    await service.send("PATCH", "/api/v1/experiments/0", { visibility: "shared" });
    const { experiment_id: many } = await service.mlflow("experiments/create", { name: "many" });
    const { experiment_id: named } = await service.mlflow("experiments/create", { name: hostile });
    ids = { many, named };
    const begin = Date.now() - manyRuns; // the highest number is the newest
    for (let i = 0; i < manyRuns; i += madeAtOnce)
      await Promise.all(Array.from({ length: madeAtOnce }, (_, k) => service.run({ name: `run-${i + k}`, experiment: many, started: begin + i + k, parameters: { lr: (i + k) % 3 }, metrics: { auc: (i + k) / manyRuns } })));
    ids.seeds = await Promise.all([0, 1, 2].map((seed) => service.run({ name: `gan-seed${seed}`, parameters: { seed, lr: 0.001, written: "0.29999999999999999" }, metrics: { loss: loss(seed), broken: [1, 2, NaN, Infinity, 3] }, status: "FINISHED" })));
    ids.hostile = await service.run({ name: hostile, experiment: named, parameters: { [`p${"x"}`]: hostile }, tags: { note: hostile, [`linac.group`]: hostile }, metrics: { "a/b c": [1, 2, 3] }, status: "FAILED" });
    const array = [0.001, 0.002].flatMap((lr) => [1, 2, 3].map((seed) => ({ lr, seed })));
    ids.array = await Promise.all(array.map(({ lr, seed }, i) => service.run({ name: `scan-${i + 1}`, parameters: { "train.seed": seed, "train.optimizer.lr": lr }, tags: { "linac.group": "440047d46937", "linac.group.index": i + 1 }, metrics: { loss: loss(seed, 50).map((value) => value * lr * 1000), "test/auc": [0.5, 0.9 - lr * seed, 0.7], "time/compute": [1, 2] }, status: "FINISHED" })));
    ids.live = await service.run({ name: "live", metrics: { loss: [3] } });
    await service.mlflow("registered-models/create", { name: "showers", description: hostile });
    await service.mlflow("model-versions/create", { name: "showers", source: `runs:/${ids.hostile}/model`, run_id: ids.hostile, description: hostile });
  });
  after(async () => {
    if (service) assert.equal(await service.stop(), 0, service.output);
  });

  test("who has no token comes no further; who has one stays logged in until he logs out", async () => {
    const page = await visit(chromium, service, { token: "" });
    await page.fill("input[name=token]", "linac_0_0");
    await page.click("text=Log in");
    assert.match(await page.textContent("[role=alert]"), /token is not right/);
    await page.fill("input[name=token]", service.token);
    await page.click("text=Log in");
    await page.waitForSelector("[role=grid]");
    await page.reload();
    await page.waitForSelector("[role=grid]");
    assert.equal(await page.evaluate(() => document.cookie), "", "scripts do not see the session");
    await page.click("text=Log out");
    await page.waitForSelector("input[name=token]");
    await page.reload();
    await page.waitForSelector("input[name=token]");
    await leave(page);
  });

  test("an experiment and a model are shared by a click of their owner, and of nobody else", async () => {
    const user = async (name) => {
      await service.send("POST", "/api/v1/users", { name, role: "member" });
      return (await service.send("POST", `/api/v1/users/${name}/tokens`, {})).secret;
    };
    const [ann, bob] = [await user("ann"), await user("bob")];
    const make = (path, body) => service.send("POST", `/api/2.0/mlflow/${path}`, body, ann);
    const { experiment_id: id } = await make("experiments/create", { name: "ann's own" });
    await make("registered-models/create", { name: "anns-model" });
    const [hers, his] = [await visit(chromium, service, { token: ann }), await visit(chromium, service, { token: bob })];
    await go(hers, `#/runs?experiment=${id}`);
    await hers.click("text=share with all");
    await hers.waitForSelector("text=make private");
    await his.reload();
    await go(his, `#/runs?experiment=${id}`);
    await his.waitForSelector(".visibility-shared");
    assert.equal(await his.locator("text=make private").count(), 0);
    await go(his, "#/models");
    await his.waitForSelector("text=showers", { state: "detached" });
    assert.equal(await his.locator("text=anns-model").count(), 0);
    await go(hers, "#/models/anns-model");
    await hers.click("text=share with all");
    await hers.waitForSelector("text=make private");
    await his.reload();
    await his.waitForSelector("text=anns-model");
    assert.deepEqual([...hers.complaints, ...his.complaints], []);
    for (const page of [hers, his]) await leave(page);
  });

  test("thousands of runs scroll, and only those in view exist", async () => {
    const page = await visit(chromium, service);
    await go(page, `#/runs?experiment=${ids.many}`);
    await page.waitForSelector(`#row-0 >> text=run-${manyRuns - 1}`);
    await page.focus("[role=grid]");
    await page.keyboard.press("End");
    await page.waitForSelector(`#row-${manyRuns - 1} >> text=run-0`, { timeout: 60_000 });
    assert.equal(await page.getAttribute("[role=grid]", "aria-rowcount"), String(manyRuns + 1));
    assert.ok((await page.locator("[role=row]").count()) < 100, "rows out of view are not there");
    const frames = [];
    for (let i = 0; i < 60; i++) {
      const before = await cpuSeconds(page);
      await page.evaluate(async (part) => {
        const grid = document.querySelector("[role=grid]");
        grid.scrollTop = part * grid.scrollHeight;
        await new Promise(requestAnimationFrame);
      }, i / 60);
      frames.push((await cpuSeconds(page)) - before);
    }
    assert.ok(Math.max(...frames) < 0.25, `a frame took ${Math.max(...frames)} s of the processor`);
    await page.keyboard.press("Home");
    await page.waitForSelector(`#row-0 >> text=run-${manyRuns - 1}`);
    await page.keyboard.press("Space");
    await page.keyboard.press("PageDown");
    await page.keyboard.press("Shift+Space");
    await page.keyboard.press("c");
    await page.waitForSelector("h1 >> text=/Compare [0-9]+ runs/");
    await page.waitForSelector(".chart canvas");
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("sorting and filtering are the server's, and a fault is shown where it is", async () => {
    const page = await visit(chromium, service);
    await go(page, `#/runs?experiment=${ids.many}`);
    const first = () => page.locator("#row-0 .name").textContent();
    await page.waitForSelector(`#row-0 >> text=run-${manyRuns - 1}`);
    await page.locator("[role=grid]").evaluate((grid) => (grid.scrollTop = 2000));
    await page.waitForSelector("#row-0", { state: "detached" });
    await page.click("[role=columnheader] >> text=auc");
    await page.waitForFunction((last) => document.querySelector("#row-0 .name")?.textContent === last, `run-${manyRuns - 1}`);
    await page.click("[role=columnheader] >> text=auc");
    await page.waitForFunction(() => document.querySelector("#row-0 .name")?.textContent === "run-0");
    await page.keyboard.press("/");
    await page.keyboard.type("metrics.auc >= 0.5 and params.lr = '1'");
    const half = Array.from({ length: 3 }, (_, k) => manyRuns / 2 + k).find((i) => i % 3 === 1);
    await page.waitForFunction((name) => document.querySelector("#row-0 .name")?.textContent === name, `run-${half}`);
    assert.equal(await first(), `run-${half}`);
    await page.fill("#filter", "metrics.auc >= 0.5 and $");
    await page.waitForSelector("#fault mark");
    assert.equal(await page.textContent("#fault mark"), "$");
    assert.match(await page.textContent("#fault"), /wanted is/);
    await page.fill("#filter", `${manyRuns - 1}`);
    await page.waitForFunction(() => document.querySelector(".count")?.textContent?.startsWith("1 run"));
    assert.match(page.url(), new RegExp(`filter=${manyRuns - 1}`), "the address keeps the filter");
    await leave(page);
  });

  test("the keyboard is enough: tick, compare, open, help", async () => {
    const page = await visit(chromium, service);
    await go(page, "#/runs?filter=gan");
    await page.waitForFunction(() => document.querySelector(".count")?.textContent?.startsWith("3 runs"));
    await page.focus("[role=grid]");
    await page.keyboard.press("Space");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Shift+Space");
    await page.keyboard.press("c");
    await page.waitForSelector("h1 >> text=Compare 3 runs");
    await page.waitForSelector(".legend >> text=3 runs");
    await go(page, "#/runs?filter=gan");
    await page.waitForSelector("#row-0");
    await page.focus("[role=grid]");
    const name = await page.textContent("#row-0 .name");
    await page.keyboard.press("Enter");
    await page.waitForSelector(`h1 >> text=${name}`);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open] >> text=Keys");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("names are text wherever they are shown", async () => {
    const page = await visit(chromium, service);
    const places = ["#/runs", `#/runs/${ids.hostile}`, `#/runs/${ids.hostile}?tab=curves`, `#/compare?runs=${ids.hostile},${ids.live}`, `#/compare?runs=${ids.hostile},${ids.live}&tab=table`, "#/models", "#/models/showers", `#/runs/${encodeURIComponent(hostile)}`];
    for (const place of places) {
      await go(page, place);
      await page.waitForTimeout(700);
      assert.equal(await page.evaluate(() => window.hacked), undefined, place);
      assert.equal(await page.locator("img[src=x]").count(), 0, place);
    }
    await go(page, `#/runs/${ids.hostile}`);
    await page.waitForSelector("h1");
    assert.equal(await page.textContent("h1"), hostile);
    assert.deepEqual(page.complaints.filter((text) => !/404|400/.test(text)), [], "no page breaks the policy");
    await leave(page);
  });

  test("curves grow while a run goes on", async () => {
    const page = await visit(chromium, service);
    await go(page, `#/runs/${ids.live}?tab=curves`);
    await page.waitForSelector(".chart canvas");
    await page.waitForSelector('.plot [role=img][aria-label*="live: 3"]');
    await page.waitForTimeout(500);
    const sent = Date.now();
    await service.points(ids.live, 1, { loss: Array.from({ length: 50 }, (_, i) => [i + 1, Date.now(), i === 49 ? 0.125 : 1]) });
    await page.waitForSelector('.plot [role=img][aria-label*="live: 0.125"]');
    assert.ok(Date.now() - sent < 5000);
    await service.points(ids.live, 2, { fresh: [[1, Date.now(), 7]] });
    await page.waitForSelector('section[aria-label="fresh"]');
    await service.mlflow("runs/update", { run_id: ids.live, status: "FINISHED", end_time: Date.now() });
    await page.waitForSelector("header.title .state-succeeded");
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("values that are not finite are counted and marked; smoothing and scales redraw", async () => {
    const page = await visit(chromium, service);
    await go(page, `#/runs/${ids.seeds[0]}?tab=curves`);
    const chart = page.locator('section[aria-label="broken"]');
    await chart.locator("canvas").waitFor();
    await page.waitForSelector('section[aria-label="broken"] .warn');
    assert.match(await chart.locator(".warn").textContent(), /2 not finite/);
    const picture = () => page.locator('section[aria-label="loss"] canvas').evaluate((canvas) => canvas.toDataURL());
    const seen = new Set([await picture()]);
    await page.locator("input[type=range]").fill("60");
    await page.waitForTimeout(300);
    seen.add(await picture());
    await page.check("text=log scale");
    await page.waitForTimeout(300);
    seen.add(await picture());
    await page.selectOption(".controls select", "relative");
    await page.waitForTimeout(300);
    seen.add(await picture());
    assert.equal(seen.size, 4, "each setting changes the picture");
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("runs that differ by their seed are one band, or lines", async () => {
    const page = await visit(chromium, service);
    await go(page, `#/compare?runs=${ids.seeds.join(",")}`);
    await page.waitForSelector(".legend >> text=gan");
    assert.equal(await page.locator(".legend li").count(), 1);
    await page.uncheck("text=seeds as bands");
    await page.waitForFunction(() => document.querySelectorAll(".legend li").length === 3);
    await page.click("text=Side by side");
    await page.waitForSelector("th >> text=seed");
    assert.equal(await page.locator("th[scope=row] >> text=lr").count(), 0, "what is the same is left out");
    await page.check("text=also what they share");
    await page.waitForSelector("th[scope=row] >> text=lr");
    await leave(page);
  });

  test("an array over seeds and learning rates has a band for each learning rate, which its name tells", async () => {
    const page = await visit(chromium, service);
    await go(page, `#/compare?runs=${ids.array.join(",")}`);
    await page.waitForSelector(".legend >> text=scan, lr=0.001");
    assert.deepEqual(await page.locator(".legend li").allTextContents(), [" scan, lr=0.001 3 runs", " scan, lr=0.002 3 runs"]);
    await go(page, `#/compare?runs=${ids.array.slice(2, 5).join(",")}`);
    await page.waitForSelector(".legend >> text=scan-3");
    assert.deepEqual((await page.locator(".legend li").allTextContents()).map((text) => text.trim()), ["scan, lr=0.002 2 runs", "scan-3"]);
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  /** What a click downloads. */
  const downloaded = async (page, click) => {
    const [download] = await Promise.all([page.waitForEvent("download"), click()]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  };

  test("metrics are grouped by their front, and a link shows what its sender sees", async () => {
    const page = await visit(chromium, service);
    await go(page, `#/runs/${ids.array[0]}?tab=curves`);
    await page.waitForSelector('section[aria-label="loss"] canvas');
    assert.equal(await page.locator('section[aria-label="time/compute"]').count(), 0, "accounts are folded away");
    await page.click('[aria-label="time/"] button[aria-expanded=false]');
    await page.waitForSelector('section[aria-label="time/compute"] canvas');
    await page.click('[aria-label="test/"] button[aria-expanded=true]');
    await page.waitForSelector('section[aria-label="test/auc"]', { state: "detached" });
    await page.locator("input[type=range]").fill("40");
    await page.check("text=log scale");
    await page.click('section[aria-label="loss"] [aria-label="Larger"]');
    await page.waitForFunction(() => /smooth=40/.test(location.hash) && /log=1/.test(location.hash) && /large=loss/.test(location.hash));
    const other = await visit(chromium, service, { alone: true }); // to whom the link tells all
    await go(other, await page.evaluate(() => location.hash));
    await other.waitForSelector('section[aria-label="loss"] [aria-label="Smaller"]');
    assert.equal(await other.locator("input[type=range]").inputValue(), "40");
    assert.ok(await other.isChecked("text=log scale"));
    await go(other, (await page.evaluate(() => location.hash)).replace("smooth=40", "smooth=10").replace("log=1", "log=0"));
    await other.waitForFunction(() => document.querySelector("input[type=range]").value === "10");
    assert.equal(await other.isChecked("text=log scale"), false, "another address of the same page counts too");

    const table = await downloaded(page, () => page.click('[aria-label="Save loss as CSV"]'));
    assert.equal(table.name, "loss.csv");
    assert.match(table.bytes.toString(), /^step,scan-1\r\n0,2\.08\d+\r\n/);
    const picture = await downloaded(page, () => page.click('[aria-label="Save loss as PNG"]'));
    assert.deepEqual([picture.name, picture.bytes.subarray(1, 4).toString()], ["loss.png", "PNG"]);
    assert.ok(picture.bytes.readUInt32BE(16) > 600 && picture.bytes.length > 5000, "it is the large chart");
    assert.deepEqual([...page.complaints, ...other.complaints], []);
    await leave(other);
    await leave(page);
  });

  test("a run gets another name, tags and a note; is archived, deleted and restored", async () => {
    const run = await service.run({ name: "typo", metrics: { loss: [1] }, status: "FINISHED" });
    const told = () => service.get(`/api/v1/runs/${run}`);
    const page = await visit(chromium, service);
    page.on("dialog", (dialog) => void dialog.accept());
    await go(page, `#/runs/${run}`);
    await page.click("[aria-label=Rename]");
    await page.fill('[aria-label="Name of the run"]', `mended ${hostile}`);
    await page.keyboard.press("Enter");
    await page.waitForSelector("h1 >> text=mended");
    assert.equal((await told()).name, `mended ${hostile}`);

    await page.fill('[aria-label="Tag"]', "site");
    await page.fill('[aria-label="Value of the tag"]', hostile);
    await page.click('text="Set"');
    await page.click('[aria-label="Remove tag site"]');
    await page.waitForSelector("text=No tags.");
    await page.fill('[aria-label="Tag"]', "linac.archived");
    assert.equal(await page.locator('[aria-label="Tag"]').evaluate((input) => input.checkValidity()), false, "the service's own tags are not for people");

    const note = ["# Seen", "it **fell**", "<script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "[a](javascript:window.hacked=1)", "[b](JaVaScRiPt:window.hacked=1)", "[c](data:text/html,<script>parent.hacked=1</script>)", "![d](data:image/svg+xml,<svg/onload=window.hacked=1>)", "<a href=javascript:window.hacked=1>e</a>", "[good](https://example.org/x)", "[here](#/queue)"].join("\n\n");
    await page.click('[aria-label="Write a note"]');
    await page.fill('[aria-label="Note, in Markdown"]', note);
    await page.waitForSelector(".preview h3 >> text=Seen");
    await page.fill('[aria-label="Note, in Markdown"]', "x".repeat(8001));
    assert.ok(await page.locator(".note-card button[type=submit]").isDisabled(), "what would be cut is not sent");
    await page.fill('[aria-label="Note, in Markdown"]', note);
    await page.click(".note-card button[type=submit]");
    await page.waitForSelector(".note-card > .markdown strong >> text=fell");
    assert.equal((await told()).tags["mlflow.note.content"], note);
    const links = await page.locator(".markdown a").evaluateAll((all) => all.map((one) => [one.textContent, one.href, one.rel]));
    assert.deepEqual(links.map(([text]) => text), ["good", "here"], "nothing else became a link");
    assert.equal(links[0][1], "https://example.org/x");
    assert.match(links[0][2], /noreferrer/);
    assert.equal(await page.locator(".markdown script, .markdown img, .markdown svg, .markdown [onerror]").count(), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);

    const listed = async (view, count) => {
      await go(page, `#/runs?filter=mended${view ? `&view=${view}` : ""}`);
      await page.waitForFunction((wanted) => document.querySelector(".count")?.textContent?.startsWith(`${wanted} `), count);
    };
    await page.click('text="Archive"');
    await page.waitForSelector("text=the lists leave it out");
    await listed("", 0);
    await listed("archived", 1);
    await listed("deleted", 0);
    await listed("archived", 1);
    await page.check("#row-0 [aria-label=compare]");
    await page.click('.count >> text="unarchive"');
    await page.waitForFunction(() => document.querySelector(".count").textContent.startsWith("0"));
    await listed("", 1);
    await page.check("#row-0 [aria-label=compare]");
    await page.click('.count >> text="delete"');
    await page.waitForFunction(() => document.querySelector(".count").textContent.startsWith("0"));
    assert.equal((await told()).deleted, true);
    await listed("deleted", 1);
    await go(page, `#/runs/${run}`);
    await page.waitForSelector("text=This run is deleted.");
    await page.click('text="Restore"');
    await page.waitForSelector("text=This run is deleted.", { state: "detached" });
    assert.equal((await told()).deleted, false);
    assert.deepEqual(page.complaints, []);
    await leave(page);

    await service.send("POST", "/api/v1/users", { name: "reader", role: "viewer" });
    const { secret } = await service.send("POST", "/api/v1/users/reader/tokens", {});
    const reader = await visit(chromium, service, { token: secret });
    await go(reader, `#/runs/${run}`);
    await reader.waitForSelector(".markdown strong");
    assert.equal(await reader.locator("header.title button:not(:has-text('Copy')), .note-card button, .add-tag").count(), 0, "who may only read is offered nothing to change");
    await reader.click('[aria-label="My tokens (reader)"]');
    await reader.waitForSelector("h1 >> text=My tokens");
    assert.equal(await reader.locator("h2 >> text=My secrets").count(), 0, "who may only read has no jobs");
    assert.deepEqual(await reader.locator('[aria-label="What the token may"] option').allTextContents(), ["viewer"]);
    await reader.fill('[placeholder="laptop"]', "second");
    await reader.click("text=Make a token");
    assert.match(await reader.textContent(".secret code"), /^linac_/);
    reader.on("dialog", (dialog) => void dialog.accept());
    await reader.click('[aria-label="Revoke second"]');
    await reader.waitForSelector('[aria-label="Revoke second"]', { state: "detached" }); // the user's browsers are logged out with it
    assert.deepEqual((await service.get("/api/v1/users/reader/tokens")).tokens.map((token) => token.note), [""]);
    assert.deepEqual(reader.complaints.filter((text) => !text.includes("401")), []);
    await leave(reader);

    const member = await visit(chromium, service);
    await go(member, "#/tokens");
    await member.fill('[placeholder="AWS_SECRET_ACCESS_KEY"]', "PAGES_KEY");
    await member.fill("textarea.hidden-text", "hunter2-and-more");
    await member.click("text=Keep it");
    await member.waitForSelector('[aria-label="Remove PAGES_KEY"]');
    assert.equal((await member.content()).includes("hunter2"), false);
    assert.equal(await member.inputValue("textarea.hidden-text"), "");
    member.on("dialog", (dialog) => void dialog.accept());
    await member.click('[aria-label="Remove PAGES_KEY"]');
    await member.waitForSelector("text=No secrets.");
    assert.deepEqual(member.complaints, []);
    await leave(member);
  });

  test("the first column stays while the others scroll; columns are in the address; all that fits is exported", async () => {
    const page = await visit(chromium, service);
    const columns = ["m:loss", "b:loss", "b:test/auc", "m:test/auc", "p:train.seed", "p:train.optimizer.lr", "m:time/compute"];
    await go(page, `#/runs?filter=scan&columns=${encodeURIComponent(columns.map(encodeURIComponent).join(","))}`);
    await page.waitForSelector("[role=columnheader] >> text=max test/auc");
    await page.waitForFunction(() => document.querySelector(".count").textContent.startsWith("6 runs")); // not those of before
    const grid = page.locator("[role=grid]");
    const left = (selector) => page.locator(selector).evaluate((element) => element.getBoundingClientRect().left);
    const [name, state] = ["#row-0 .fixed", "#row-0 [role=gridcell]:nth-child(3)"];
    const before = [await left(name), await left(state)];
    assert.ok(await grid.evaluate((element) => element.scrollWidth > element.clientWidth));
    assert.equal(await page.locator(".frame.behind").count(), 1, "a shade says that there is more");
    await grid.evaluate((element) => (element.scrollLeft = 200));
    await page.waitForSelector(".rows.before");
    assert.ok(Math.abs((await left(name)) - before[0]) <= 4 && Math.abs((await left(state)) - before[1] + 200) < 2);
    const covering = await page.locator(name).evaluate((element) => {
      const box = element.getBoundingClientRect();
      return element.contains(document.elementFromPoint(box.right - 3, box.top + 5));
    });
    assert.ok(covering, "what scrolls is behind it");
    await grid.evaluate((element) => (element.scrollLeft = element.scrollWidth));
    await page.waitForSelector(".frame.behind", { state: "detached" });
    const { name: file, bytes } = await downloaded(page, () => page.click('text="CSV"'));
    const rows = bytes.toString().trim().split("\r\n").map((row) => row.split(","));
    assert.deepEqual([file, rows.length, rows[0].slice(7)], ["runs.csv", 7, ["last loss", "best loss", "best test/auc", "last test/auc", "train.seed", "train.optimizer.lr", "last time/compute"]]);
    const first = rows.find((row) => row[1] === "scan-1");
    assert.deepEqual(first.slice(9, 13), ["0.899", "0.7", "1", "0.001"]);

    page.on("dialog", (dialog) => void dialog.accept("scans"));
    await page.selectOption("[aria-label=Views]", "+");
    await page.waitForFunction(() => document.querySelector("[aria-label=Views]").value === "=scans");
    const kept = await page.evaluate(() => location.hash);
    await go(page, "#/runs");
    await page.waitForSelector("[role=grid]");
    await page.selectOption("[aria-label=Views]", "=scans");
    await page.waitForFunction((hash) => location.hash === hash, kept);
    await page.waitForSelector("[role=columnheader] >> text=max test/auc");
    await page.selectOption("[aria-label=Views]", "-");
    await page.waitForFunction(() => document.querySelectorAll("[aria-label=Views] option").length === 2);
    await go(page, "#/runs?filter=scan&columns=%25E0%25A4%25A");
    await page.waitForSelector("#row-0");
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("runs are compared as points, as lines across axes, by words in their logs, by pictures and figures", async () => {
    const put = (run, path, bytes) => service.send("PUT", `/api/v1/runs/${run}/files/${path}`, bytes);
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
    const figures = (value) => Buffer.from(JSON.stringify({ verdict: "failed", reference: { name: hostile }, sample: { events: 500 }, figures: [{ name: "fpd", title: "Fréchet distance", bin: null, value, uncertainty: 0.04, floor: 0.1, floor_deviation: 0.02, limit: 0.5, passed: false, verdict: "failed" }] }));
    const [one, two] = ids.array;
    for (const epoch of ["001", "002", "010"]) await put(one, `images/epoch-${epoch}.png`, png);
    await put(two, "images/epoch-002.png", png);
    await put(one, "validation/report.json", figures(0.72));
    await put(two, "validation/report.json", figures(0.11));
    const page = await visit(chromium, service);
    const all = ids.array.join(",");
    await go(page, `#/compare?runs=${all}&tab=scatter`);
    await page.waitForFunction(() => document.querySelectorAll(".drawn circle").length === 6);
    await page.selectOption("text=Colour >> select", "m:test/auc");
    await page.waitForFunction(() => /color=m/.test(location.hash));
    assert.match(await page.locator(".drawn a").first().getAttribute("aria-label"), /^scan-\d: train.optimizer.lr 0.001, loss .*, test\/auc 0.7$/);

    await go(page, `#/compare?runs=${all}&tab=parallel`);
    await page.waitForFunction(() => document.querySelectorAll(".drawn .way").length === 6);
    const grip = await page.locator(".grip").first().boundingBox(); // of the learning rate
    await page.mouse.move(grip.x + 12, grip.y + grip.height - 2);
    await page.mouse.down();
    await page.mouse.move(grip.x + 12, grip.y + grip.height - 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForSelector("text=3 of 6 runs");
    await page.click("text=Show all");
    await page.waitForSelector("text=6 of 6 runs");
    await go(page, `#/compare?runs=${all}&tab=parallel&axes=%25E0%25A4,m%253Anone`);
    await page.waitForFunction(() => document.querySelectorAll(".drawn .way").length === 6);
    await page.focus('[aria-label="Runs that pass train.optimizer.lr"]');
    await page.keyboard.press("ArrowDown");
    await page.waitForSelector("text=3 of 6 runs");
    await page.keyboard.press("Escape");
    await page.waitForSelector("text=6 of 6 runs");

    await go(page, `#/compare?runs=${one},${two}&tab=pictures`);
    await page.waitForFunction(() => document.querySelectorAll(".pictures img").length === 2);
    assert.deepEqual(await page.locator(".pictures span").allTextContents(), ["scan-1, 10", "scan-2, 2 (has no 10)"]);
    await page.locator(".controls input[type=range]").fill("1");
    await page.waitForSelector(".pictures >> text=scan-1, 2");
    assert.match(page.url(), /at=2/);
    await page.check("text=all of them");
    await page.waitForFunction(() => document.querySelectorAll(".pictures img").length === 4);

    await go(page, `#/compare?runs=${one},${two}&tab=physics`);
    await page.waitForSelector("td >> text=7.2 ×");
    assert.match(await page.textContent('[aria-label="Physics figures"]'), /Fréchet distance.*0\.720 ± 0\.040.*0\.100 ± 0\.020.*✕ failed.*1\.1 ×/s);
    await go(page, `#/compare?runs=${all}&tab=table`);
    await page.waitForSelector("td.best");
    await go(page, `#/compare?runs=${all}&tab=logs`);
    await page.waitForSelector("text=No log speaks of an error.");
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("a version of a model has its schema, figures, checksum, tags and file", async () => {
    const file = Buffer.from("a model");
    await service.send("PUT", "/api/2.0/mlflow-artifacts/artifacts/models/calo/abc/model.keras", file);
    await service.mlflow("registered-models/create", { name: "calo" });
    const tags = { "linac.file": "model.keras", "linac.checksum": "0123456789abcdef", "linac.bytes": "7", "linac.inputs": '[{"name":"x","shape":[801,19]}]', "linac.outputs": "damaged", "linac.test.auc": "0.93", "linac.from": "catalog://showers/1", note: hostile };
    await service.mlflow("model-versions/create", { name: "calo", source: "mlflow-artifacts:/models/calo/abc", run_id: ids.array[0], tags: Object.entries(tags).map(([key, value]) => ({ key, value })) });
    const page = await visit(chromium, service);
    await go(page, "#/models/calo");
    await page.waitForSelector("td >> text=auc 0.93");
    await page.click("th[scope=row] a");
    await page.waitForSelector("td >> text=801 × 19");
    await page.waitForSelector("code >> text=0123456789abcdef");
    await page.waitForSelector(`dd >> text=${hostile}`);
    assert.equal(await page.getAttribute("p.facts >> text=catalog://showers/1", "href"), "#/models/showers/1");
    const kept = await downloaded(page, () => page.click("text=Download model.keras"));
    assert.deepEqual([kept.name, kept.bytes.equals(file)], ["model.keras", true]);
    await page.fill('[aria-label="Tag"]', "units");
    await page.fill('[aria-label="Value of the tag"]', "GeV");
    await page.click('text="Set"');
    await page.waitForSelector("dt >> text=units");
    await page.click('[aria-label="Remove tag note"]');
    await page.waitForSelector("dt >> text=note", { state: "detached" });
    await page.click('[aria-label="Change the description"]');
    await page.fill('[aria-label="Description"]', "the good one");
    await page.click('text="Save"');
    await page.waitForSelector("p >> text=the good one");
    await go(page, "#/models/calo/99");
    await page.waitForSelector("text=calo has no version 99");
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("a number that was written with all its digits is shown short, and whole where one looks for it", async () => {
    const page = await visit(chromium, service);
    await go(page, `#/runs/${ids.seeds[0]}`);
    await page.waitForSelector('dd >> text="0.3"');
    assert.equal(await page.getAttribute('dd >> text="0.3"', "title"), "0.29999999999999999");
    await leave(page);
  });

  test("files are shown: pictures, texts, and a report that is shut in", async () => {
    const put = (path, bytes) => service.send("PUT", `/api/2.0/mlflow-artifacts/artifacts/0/${ids.seeds[1]}/artifacts/${path}`, bytes);
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
    await put("images/shower.png", png);
    await put("notes.txt", Buffer.from(hostile));
    await put("evaluation/jets/report.html", Buffer.from("<h1>Scores of jets</h1>"));
    await put("report.html", Buffer.from(`<style>h1{color:rgb(1,2,3)}</style><h1>Physics report</h1><script>parent.hacked=1;document.body.textContent=""</script><img src="https://example.org/x.png">`));
    const page = await visit(chromium, service);
    await go(page, `#/runs/${ids.seeds[1]}?tab=files`);
    await page.click("text=notes.txt");
    await page.waitForSelector("dialog pre >> text=<img");
    await page.keyboard.press("Escape");
    await page.click("text=images/");
    await page.waitForFunction(() => document.querySelector(".pictures img")?.naturalWidth === 1);
    assert.deepEqual(page.complaints, []);
    await go(page, `#/runs/${ids.seeds[1]}?tab=report`);
    const title = page.frameLocator("iframe.report").locator("h1");
    await title.waitFor();
    assert.equal(await title.evaluate((element) => getComputedStyle(element).color), "rgb(1, 2, 3)", "with its own style");
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await page.selectOption(".controls select", "evaluation/jets/report.html");
    await page.frameLocator("iframe.report").locator("text=Scores of jets").waitFor();
    assert.ok(page.complaints.some((text) => /script/.test(text)) && page.complaints.some((text) => /example\.org/.test(text)), "its script and its foreign picture are refused");
    await leave(page);
  });

  const record = (run, lines) => service.send("PUT", `/api/2.0/mlflow-artifacts/artifacts/0/${run}/artifacts/metrics.jsonl`, Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
  const member = (pid, rank) => ({ rank, host: "n<1>", pid, replicas: 1 });
  const account = (pid, phases) => ({ host: "n<1>", pid, phases: Object.fromEntries(Object.entries(phases).map(([name, wall_s]) => [name, { wall_s, cpu_s: wall_s }])) });

  test("workers are shown from their entry to their end, and what they did", async () => {
    const run = ids.seeds[2];
    const begin = 1.8e9;
    const view = (time, number, global_step, members, why = "") => ({ kind: "view", time: begin + time, view: number, global_step, seconds: 0, members, why });
    const lines = [
      view(0, 1, 0, [member(1, 0), member(2, 1)]),
      { kind: "workers", time: begin + 20, global_step: 20, workers: [account(1, { compute: 12, communication: 4, input: 2 }), account(2, { compute: 10, input: 10 })] },
      view(40, 2, 40, [member(1, 0)], "nothing heard for 3.0 s"),
      view(60, 3, 60, [member(1, 0), member(3, 1)], "the next view is due"),
      { kind: "end", time: begin + 80, global_step: 80, status: "interrupted", workers: [account(1, { compute: 60, communication: 8, input: 4, update: 4 }), account(3, { compute: 15 })] },
      view(500, 1, 80, [member(9, 0)]),
    ];
    await record(run, lines);
    await service.send("PUT", `/api/2.0/mlflow-artifacts/artifacts/0/${run}/artifacts/checkpoints/step-0000000030.safetensors`, Buffer.from("x"));
    const page = await visit(chromium, service);
    await go(page, `#/runs/${run}?tab=workers`);
    const bar = (pid) => page.getAttribute(`.timeline [role=img][aria-label^="n<1> ${pid},"]`, "aria-label");
    assert.equal(await bar(1), "n<1> 1, rank 0, from 0 s to 1 min 20 s; compute 75 %, communication 10 %, input 5 %, update 5 %, waiting 5 %");
    assert.equal(await bar(2), "n<1> 2, rank 1, from 0 s to 40 s, lost: nothing heard for 3.0 s; compute 25 %, input 25 %, unknown 50 %");
    assert.match(await bar(3), /rank 1, from 1 min 00 s to 1 min 20 s; compute 75 %/);
    assert.deepEqual(await page.locator(".strip .mark").allTextContents(), ["▶", "◆", "✕", "+", "■", "▶"]);
    const happened = await page.locator(".happened li span").allTextContents();
    assert.deepEqual(happened, ["start 1, 2 workers", "checkpoint after step 30", "n<1> 2 is lost: nothing heard for 3.0 s", "n<1> 3 joins", "interrupted", "start 2, after step 80, 1 worker"]);
    const [whole, lost] = await page.locator(".timeline [role=img] svg").evaluateAll((bars) => bars.map((one) => one.getBoundingClientRect().width));
    assert.equal(whole, lost, "bars have one scale");
    const drawn = await page.locator('.timeline [role=img][aria-label^="n<1> 2,"] rect').evaluateAll((parts) => Math.max(...parts.map((one) => one.getBoundingClientRect().right)) - parts[0].ownerSVGElement.getBoundingClientRect().left);
    assert.ok(Math.abs(drawn / whole - 0.5) < 0.01, "the lost one's ends in the middle");
    await page.waitForSelector('[aria-label="The workers\' time"] >> text=75 %');
    assert.deepEqual(page.complaints, []);
    await go(page, `#/runs/${ids.live}?tab=workers`);
    await page.waitForSelector("text=says nothing of its workers");
    await leave(page);
  });

  test("a record that has lost lines is told of, and its curve has a gap there", async () => {
    const { id } = await service.send("POST", "/api/v1/ingest", { key: "70616765", name: "torn" });
    const lines = (of) => Buffer.from(of.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const step = (number) => ({ kind: "step", epoch: 0, step: number, global_step: number, loss: { loss: 1 / number } });
    const send = async (of) => service.send("POST", `/api/v1/runs/${id}/lines?offset=0`, lines(of));
    const before = [1, 2, 3, 7, 8].map(step);
    const gap = { kind: "gap", first: 4, last: 6, steps: 3, global_step: 6 };
    await send([...before, gap]);
    assert.equal((await service.get(`/api/v1/runs/${id}`)).tags["linac.lost_steps"], "4-6");
    const page = await visit(chromium, service);
    await go(page, `#/runs/${id}`);
    await page.waitForSelector("text=The record has a gap: its lines of steps 4 to 6 are lost.");
    await go(page, `#/runs/${id}?tab=curves`);
    await page.waitForSelector("text=The record has a gap: its lines of steps 4 to 6 are lost.");
    await page.waitForSelector('section[aria-label="loss"] canvas');
    assert.deepEqual(page.complaints, []);
    await leave(page);
    await send(before); // another file, which has them
    assert.equal((await service.get(`/api/v1/runs/${id}`)).tags["linac.lost_steps"], undefined);
    await send([...before, gap]);
    await service.mlflow("runs/delete-tag", { run_id: id, key: "linac.lost_steps" });
    await send(before);
  });

  test("a hundred thousand lines of a record leave the page awake", async () => {
    const [short, long] = await Promise.all(["short", "long"].map((name) => service.run({ name, status: "FINISHED" })));
    const lines = (count) => [
      { kind: "view", time: 1e9, view: 1, global_step: 0, seconds: 0, members: [0, 1, 2, 3].map((rank) => member(rank, rank)) },
      ...Array.from({ length: count }, (_, i) =>
        i % 5 ? { kind: "step", epoch: 0, step: i, global_step: i, lr: 0.001, loss: { loss: 1 / (i + 1), d_real: { total: 1, angle: 2 } } } : { kind: "workers", time: 1e9 + i, global_step: i, workers: [0, 1, 2, 3].map((pid) => account(pid, { compute: 0.6 * i, test: 0, communication: 0.2 * i, input: 0.1 * i, update: 0.05 * i, checkpoint: 0, report: 0 })) },
      ),
    ];
    await record(short, lines(100));
    await record(long, lines(100_000));
    const page = await visit(chromium, service);
    const asleep = async (run) => {
      await page.evaluate(() => {
        window.longest = 0;
        let before = performance.now();
        window.heart = setInterval(() => {
          window.longest = Math.max(window.longest, performance.now() - before);
          before = performance.now();
        });
      });
      await go(page, `#/runs/${run}?tab=workers`);
      await page.waitForSelector('.timeline [role=img][aria-label^="n<1> 3,"]', { timeout: 60_000 });
      return page.evaluate(() => (clearInterval(window.heart), window.longest));
    };
    const usual = await asleep(short);
    const longest = await asleep(long);
    assert.ok(longest < 200 + 5 * usual, `the page slept for ${longest} ms, usually for ${usual} ms`);
    assert.match(await page.getAttribute('.timeline [role=img][aria-label^="n<1> 3,"]', "aria-label"), /to 1 d 3 h; compute 60 %, communication 20 %, input 10 %, update 5 %/);
    assert.ok((await page.locator(".timeline rect").count()) < 4 * 64 * 5 + 20);
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("a model's versions get stages and aliases", async () => {
    const page = await visit(chromium, service);
    await go(page, "#/models/showers");
    await page.selectOption('[aria-label="Stage of version 1"]', "Production");
    await page.waitForTimeout(300);
    await page.fill('[aria-label="New alias of version 1"]', "champion");
    await page.click('[aria-label="Add alias to version 1"]');
    await page.waitForSelector("text=@champion");
    const told = await service.get("/api/2.0/mlflow/registered-models/alias?name=showers&alias=champion");
    assert.equal(told.model_version.current_stage, "Production");
    await page.click('[aria-label="Remove alias champion"]');
    await page.waitForSelector("text=@champion", { state: "detached" });
    assert.deepEqual(page.complaints, []);
    await leave(page);
  });

  test("an admin makes a user and a token; the user has no more than his role", async () => {
    const page = await visit(chromium, service);
    await go(page, "#/users");
    await page.fill("text=New user >> input", "anna");
    await page.selectOption('[aria-label="Role of the new user"]', "viewer");
    await page.click("text=Add");
    await page.click('[aria-label="Tokens of anna"]');
    await page.click("text=Make a token");
    const token = await page.locator(".secret code").textContent();
    assert.match(token, /^linac_/);
    const hers = await visit(chromium, service, { token });
    await hers.waitForSelector("[role=grid]");
    assert.equal(await hers.locator("header.top >> text=Users").count(), 0);
    await go(hers, "#/users");
    await hers.waitForSelector("text=Not allowed");
    page.once("dialog", (dialog) => void dialog.accept());
    await page.click("dialog >> text=Revoke");
    await page.waitForSelector("text=No tokens.");
    await go(hers, "#/queue");
    await hers.waitForSelector("input[name=token]", { timeout: 15_000 });
    await leave(page);
    await leave(hers);
  });

  test("an admin changes a user's account, role and state, and finds it in the audit", async () => {
    const page = await visit(chromium, service);
    const told = async (name) => (await service.get("/api/v1/users")).users.find((user) => user.name === name);
    await go(page, "#/users");
    await page.fill("text=New user >> input", "bert");
    await page.fill("text=account for jobs >> input", "hep");
    await page.click("text=Add");
    await page.waitForSelector('[aria-label="Account of bert"]');
    assert.deepEqual([(await told("bert")).role, (await told("bert")).account], ["member", "hep"]);
    assert.equal(await page.locator('[aria-label="Set account of bert"]').count(), 0);
    await page.fill('[aria-label="Quota of bert: cores"]', "4");
    await page.fill('[aria-label="Quota of bert: core hours a day"]', "2.5");
    await page.click('[aria-label="Set quota of bert"]');
    await page.waitForFunction(() => !document.querySelector('[aria-label="Set quota of bert"]'));
    assert.deepEqual([(await told("bert")).jobs_max, (await told("bert")).cores_max, (await told("bert")).core_hours_max], [0, 4, 2.5]);
    await page.fill('[aria-label="Account of bert"]', "physics");
    await page.click('[aria-label="Set account of bert"]');
    await page.waitForSelector('[aria-label="Set account of bert"]', { state: "detached" });
    await page.selectOption('[aria-label="Role of bert"]', "viewer");
    await page.click('[aria-label="Disable bert"]');
    await page.waitForSelector('[aria-label="Enable bert"]');
    const { role, account: of, disabled } = await told("bert");
    assert.deepEqual([role, of, disabled], ["viewer", "physics", true]);
    await page.selectOption('[aria-label="Role of admin"]', "viewer");
    await page.waitForSelector("[role=alert] >> text=last admin");
    assert.equal((await told("admin")).role, "admin");
    assert.deepEqual(page.complaints.filter((text) => !/409/.test(text)), []);

    await page.click("text=Audit");
    await page.waitForSelector("td >> text=user.create");
    await page.fill("#filter", "BERT change");
    await page.waitForFunction(() => document.querySelector("[aria-live]").textContent.startsWith("4 of "));
    assert.deepEqual(new Set(await page.locator("tbody tr td:nth-child(3)").allTextContents()), new Set(["user.change"]));
    await page.fill("#filter", "nobody at all");
    await page.waitForSelector("text=No entry fits.");
    await leave(page);
  });

  // Colours are all in which dark pages differ from light ones.
  const rules = { light: {}, dark: { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } } };
  for (const colorScheme of ["light", "dark"]) {
    test(`360 px wide, ${colorScheme}: nothing sticks out, and nothing that is serious keeps anybody out`, async () => {
      const page = await visit(chromium, service, { width: 360, height: 740, colorScheme });
      const places = ["#/runs", `#/runs/${ids.seeds[0]}`, `#/runs/${ids.seeds[0]}?tab=curves`, `#/runs/${ids.seeds[0]}?tab=log`, `#/runs/${ids.seeds[1]}?tab=files`, `#/compare?runs=${ids.seeds.join(",")}&tab=table`, "#/queue", "#/models", "#/models/showers", "#/users", "#/users?tab=audit", `#/runs/${ids.seeds[2]}?tab=workers`, "#/tokens", "#/models/calo/1", ...["parallel", "pictures", "physics"].map((tab) => `#/compare?runs=${ids.array.join(",")}&tab=${tab}`)];
      for (const place of places) {
        await go(page, place);
        if (place === "#/queue") await page.click("text=Submit a job");
        await page.waitForTimeout(700);
        assert.ok((await overflow(page)) <= 0, `${place} is wider than the window`);
        if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
        const found = await page.evaluate(async (some) => (await window.axe.run(document, { resultTypes: ["violations"], ...some })).violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.nodes[0].html}`), rules[colorScheme]);
        assert.deepEqual(found, [], place);
      }
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
      assert.ok(colorScheme === "dark" ? ground < 80 : ground > 200);
      await page.selectOption('[aria-label="Colours"]', colorScheme === "dark" ? "light" : "dark");
      const other = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
      assert.ok(colorScheme === "dark" ? other > 200 : other < 80, "the switch wins over the system");
      await leave(page);
    });
  }

  test("assets are packed, kept for ever and known again; other paths are not served", async () => {
    const page = await fetch(`${service.url}/`);
    assert.match(page.headers.get("content-security-policy"), /default-src 'self'/);
    assert.doesNotMatch(page.headers.get("content-security-policy"), /script-src/);
    const name = /assets\/index[^"]*\.js/.exec(await page.text())[0];
    const asset = await fetch(`${service.url}/${name}`, { headers: { "Accept-Encoding": "gzip" } });
    assert.equal(asset.headers.get("content-encoding"), "gzip");
    assert.match(asset.headers.get("cache-control"), /immutable/);
    assert.ok((await asset.text()).length > 50_000);
    const again = await fetch(`${service.url}/${name}`, { headers: { "If-None-Match": asset.headers.get("etag") } });
    assert.equal(again.status, 304);
    for (const path of ["/assets/none.js", "/assets/%2e%2e/index.html", "/assets/../books.db", "/index.html"]) assert.equal((await fetch(service.url + path)).status, 404, path);
  });
});
