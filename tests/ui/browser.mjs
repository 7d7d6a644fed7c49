// Chromium for a test. Whatever a page complains about is kept: a test that does not expect it fails.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));

export const available = Boolean(executablePath);

export async function browser() {
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

/** A page in a browser of its own, logged in if `token` is given. `page.complaints`: errors of scripts and of the console. */
export async function visit(from, service, { token = service.token, width = 1280, height = 800, colorScheme = "light" } = {}) {
  const context = await from.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.complaints.push(message.text()));
  await page.goto(service.url);
  if (token) {
    await page.fill("input[name=token]", token);
    await page.click("text=Log in");
    await page.waitForSelector("header.top");
  }
  page.complaints = page.complaints.filter((text) => !text.includes("401"));
  return page;
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
