// Chromium for all tests. Whatever a page complains about is kept: a test that does not expect it fails.
import { existsSync } from "node:fs";
import { after } from "node:test";
import { chromium } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));

export const available = Boolean(executablePath);

let launched;
after(async () => (await launched)?.close());

/** One for all who ask in this process: a start takes some seconds of the processor. It ends with the tests. */
export function browser() {
  return (launched ??= chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] }));
}

const usual = { width: 1280, height: 800, colorScheme: "light" };
const shared = new WeakMap();

/** The context in which the service's admin is logged in and stays so: a window and a login cost as much as a short test. An empty page
 *  keeps its window open. */
function sharedContext(from, service) {
  if (!shared.has(service)) {
    const make = async () => {
      const context = await from.newContext({ viewport: { width: usual.width, height: usual.height }, colorScheme: usual.colorScheme });
      await context.newPage();
      return context;
    };
    shared.set(service, make());
  }
  return shared.get(service);
}

/** A page, logged in if `token` is given; that of the admin in the usual window shares its context with others, unless it is to be `alone`.
 *  leave() ends it. `page.complaints`: errors of scripts and of the console. */
export async function visit(from, service, { token = service.token, alone = false, ...others } = {}) {
  const { width, height, colorScheme } = { ...usual, ...others };
  const shares = token === service.token && !alone && Object.keys(others).length === 0;
  const context = shares ? await sharedContext(from, service) : await from.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.shares = shares;
  page.setDefaultTimeout(15_000);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.complaints.push(message.text()));
  await page.goto(service.url);
  if (token) {
    await page.waitForSelector("header.top, input[name=token]");
    if ((await page.locator("header.top").count()) === 0) {
      await page.fill("input[name=token]", token);
      await page.click("text=Log in");
      await page.waitForSelector("header.top");
    }
  }
  page.complaints = page.complaints.filter((text) => !text.includes("401"));
  return page;
}

/** Ends a page, and what it has kept in the browser. */
export async function leave(page) {
  if (!page.shares) return page.context().close();
  await page.evaluate(() => localStorage.clear());
  await page.close();
}

export async function go(page, hash) {
  await page.evaluate((wanted) => (location.hash = wanted), hash);
}

/** How far the page is wider than its window. */
export async function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

const sessions = new WeakMap();

/** How long the page's main thread has had a processor: what else the machine does counts little. */
export async function cpuSeconds(page) {
  if (!sessions.has(page)) {
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    sessions.set(page, session);
  }
  const { metrics } = await sessions.get(page).send("Performance.getMetrics");
  return metrics.find((one) => one.name === "TaskDuration").value;
}
