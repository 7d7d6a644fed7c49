// From submission to report, by the real program: submit, see it wait and run, watch its curve grow, read its log and report, cancel.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { available, browser, go, visit } from "./browser.mjs";
import { Service } from "./service.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const linac = process.env.LINAC;
const waitMs = 120_000;
const reason = !available ? "no Chromium (apt-get install chromium)" : !linac ? "LINAC does not name the program" : false;

describe("a job", { skip: reason }, () => {
  let service, chromium, page;

  const verb = async (...words) => {
    const environment = { ...process.env, LINAC_SERVER: service.url, LINAC_TOKEN: service.token, XDG_CONFIG_HOME: service.folder };
    return (await promisify(execFile)(linac, words, { cwd: root, env: environment })).stdout;
  };
  const submit = async (...words) => JSON.parse(await verb("submit", "examples/topology.yaml", "--set", "workers=1", "--json", ...words)).runs[0].id;
  const lastValue = () => page.getAttribute('section[aria-label="loss"] [role=img]', "aria-label");

  before(async () => {
    [service, chromium] = await Promise.all([Service.start(), browser()]);
    page = await visit(chromium, service);
  });
  after(async () => {
    if (service) assert.equal(await service.stop(), 0, service.output);
  });

  test("is seen from the queue to its report", async () => {
    const id = await submit("--name", "classifier", "--set", "train.epochs=15");
    await go(page, `#/runs/${id}?tab=curves`);
    const chart = page.locator('section[aria-label="loss"]');
    await chart.locator("canvas").waitFor({ timeout: waitMs });
    const early = await lastValue();
    await page.waitForFunction((before) => document.querySelector('section[aria-label="loss"] [role=img]').getAttribute("aria-label") !== before, early, { timeout: waitMs });
    await page.waitForSelector("header.title .state-succeeded", { timeout: waitMs });
    const told = (await service.get(`/api/v1/runs/${id}`)).metrics.loss;
    await page.waitForFunction((value) => document.querySelector('section[aria-label="loss"] [role=img]').getAttribute("aria-label").endsWith(value), String(Number(told.last.toPrecision(5))), { timeout: 10_000 });

    await go(page, `#/runs/${id}?tab=curves&over=epoch`);
    await page.locator('section[aria-label="test/loss"]').scrollIntoViewIfNeeded();
    await page.waitForSelector('[aria-label="Save test/loss as CSV"]');
    const [table] = await Promise.all([page.waitForEvent("download"), page.click('[aria-label="Save test/loss as CSV"]')]);
    const places = (await readFile(await table.path(), "utf8")).trim().split("\n").map((line) => line.split(",")[0].trim());
    assert.deepEqual(places, ["epoch", ...Array.from({ length: 15 }, (_, i) => String(i + 1))], "each test is at the end of its epoch");

    await go(page, `#/runs/${id}`);
    await page.waitForSelector(".history >> text=succeeded");
    const history = await page.locator(".history .state").allTextContents();
    assert.match(history.join(" "), /pending.*starting.*running.*succeeded/s);
    await page.waitForSelector("text=Job as resolved");
    assert.match(await page.textContent("pre.code"), /inclusive_classifier/);
    assert.match(await page.textContent(".columns"), /topology-train\.parquet/);

    await go(page, `#/runs/${id}?tab=log`);
    await page.fill("#filter", "epoch 15/15");
    await page.waitForSelector(".logline mark >> text=epoch 15/15");

    await go(page, `#/compare?runs=${id}&tab=logs`);
    await page.fill("#filter", "epoch 15/15");
    await page.waitForSelector(".hits mark >> text=epoch 15/15");

    await go(page, `#/runs/${id}?tab=files`);
    await page.waitForSelector("text=Checkpoints");
    await page.click("text=images/");
    await page.waitForFunction(() => document.querySelector(".pictures img")?.naturalWidth > 100);

    const report = page.frameLocator("iframe.report");
    await go(page, `#/runs/${id}?tab=report`);
    await report.locator("text=ROC curves").first().waitFor();
    assert.equal(await page.getAttribute("iframe.report", "title"), "evaluation/report.html", "the training has judged its test");

    const run = await service.get(`/api/v1/runs/${id}`);
    await go(page, `#/runs/${id}`);
    await verb("report", join(service.folder, "artifacts", run.artifact_uri.replace("mlflow-artifacts:/", "")));
    await go(page, `#/runs/${id}?tab=report`);
    await page.selectOption(".controls select", "report/report.html");
    await page.waitForSelector('iframe.report[title="report/report.html"]');
    await report.locator("h1").waitFor();
    assert.ok(await report.locator("img").first().evaluate((image) => image.naturalWidth > 0), "its pictures are shown");
    assert.deepEqual(page.complaints, []);
  });

  test("is cancelled in the queue, and resumed from its page", async () => {
    const id = await submit("--name", "endless", "--set", "train.epochs=100000", "--set", "data.test=[]", "--set", "checkpoint.best_by=loss");
    await go(page, "#/queue");
    page.on("dialog", (dialog) => void dialog.accept());
    await page.waitForSelector("td >> text=running", { timeout: waitMs });
    await page.click('[aria-label="Cancel endless"]');
    await page.waitForSelector("text=Nothing waits and nothing runs", { timeout: waitMs });
    await go(page, `#/runs/${id}`);
    await page.waitForSelector("header.title .state-cancelled");
    await page.click("text=Resume");
    await page.waitForSelector("header.title >> text=/pending|starting|running/", { timeout: waitMs });
    await page.click("header.title >> text=Cancel");
    await page.waitForSelector("header.title .state-cancelled", { timeout: waitMs });
    assert.deepEqual(page.complaints, []);
  });

  test("may be left to agents, which are seen below the queue", async () => {
    const { secret } = await service.send("POST", "/api/v1/users/admin/tokens", { scope: "agent" });
    const words = ["agent", "--server", service.url, "--folder", join(service.folder, "agent"), "--slots", "cores=1,gpus=0", "--name", "slot-7", "--tags", "site=T2", "--time", "2h"];
    const agent = spawn(linac, words, { env: { ...process.env, LINAC_TOKEN: secret }, stdio: "ignore" });
    const ended = new Promise((resolve) => agent.on("exit", resolve));
    try {
      await go(page, "#/queue");
      await page.waitForSelector('[aria-label="Agents"] >> text=slot-7', { timeout: waitMs });
      assert.match(await page.textContent('[aria-label="Agents"] tbody'), /admin0.*1 core.*1 of 1 cores free.*site=T2/);
      await page.click("text=Submit a job");
      await page.setInputFiles("input[type=file]", join(root, "examples/topology.yaml"));
      await page.selectOption("text=Carried out by >> select", "pilots");
      await page.click('text="Check"');
      await page.waitForSelector("[role=alert] >> text=/is a relative path, and agents and sites have no folder of yours/");
      await page.click("text=Submit a job");
    } finally {
      agent.kill("SIGTERM");
      await ended;
    }
    assert.deepEqual(page.complaints.filter((text) => !/400|422/.test(text)), []);
  });

  test("is submitted from the browser: checked first, then queued", async () => {
    await go(page, "#/queue");
    await page.click("text=Submit a job");
    await page.click('text="Check"');
    assert.match(await page.textContent("[role=alert]"), /no job yet/);
    await page.fill("textarea[name=job]", "name: pasted\nmodle: {}\n");
    await page.click('text="Check"');
    await page.waitForSelector("[role=alert] >> text=/modle.*did you mean 'model'/s");
    const file = (await readFile(join(root, "examples/topology.yaml"), "utf8")).replace("data/topology-train.parquet", "data/none.parquet");
    await page.fill("textarea[name=job]", file);
    await page.fill("text=Folder on the service's host >> input", root);
    await page.click('text="Check"');
    await page.waitForSelector("[role=alert] >> text=none.parquet");
    await page.setInputFiles("input[type=file]", join(root, "examples/topology.yaml"));
    await page.waitForSelector("[role=alert]", { state: "detached" });
    await page.fill("text=Name >> input", "from the browser");
    await page.fill("text=Priority >> input", "-3");
    await page.fill("text=Cores >> input", "1");
    await page.fill("text=Time >> input", "2h");
    await page.fill("textarea[name=set]", "workers=1\ntrain.epochs=100000\ndata.test=[]\ncheckpoint.best_by=loss");
    const before = (await service.get("/api/v1/runs")).runs.length;
    await page.click('text="Check"');
    await page.waitForSelector("[role=status] >> text=would be queued");
    assert.equal((await service.get("/api/v1/runs")).runs.length, before, "a check leaves nothing behind");
    await page.click("text=Put it into the queue");
    const id = (await page.getAttribute("[role=status] a", "href")).split("/").at(-1);
    const told = await service.get(`/api/v1/jobs/${id}`);
    assert.deepEqual([told.name, told.priority, told.cores, told.seconds_max], ["from the browser", -3, 1, 7200]);
    assert.match(told.job, /epochs: 100000/);
    await page.waitForSelector("td >> text=running", { timeout: waitMs });
    await page.click('[aria-label="Cancel from the browser"]');
    await page.waitForSelector("text=Nothing waits and nothing runs", { timeout: waitMs });
    assert.deepEqual(page.complaints.filter((text) => !/400|422/.test(text)), []);
    page.complaints.length = 0;
  });

  test("that fails says why", async () => {
    const id = await submit("--name", "too large", "--set", "train.batch=1000000");
    await go(page, `#/runs/${id}`);
    await page.waitForSelector("header.title .state-failed_prechecks", { timeout: waitMs });
    assert.match(await page.textContent(".reason"), /batch|events/);
  });
});
