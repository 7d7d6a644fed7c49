// A running service for a test, and requests to it. LINAC names the program. It listens on a free port of 127.0.0.1, keeps its data
// in a temporary folder that goes with it, and is ended by its own process id.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const startMsMax = 30_000;

export class Service {
  static async start(...options) {
    const service = new Service();
    service.folder = mkdtempSync(join(tmpdir(), "linac-ui-"));
    if (!process.env.LINAC) throw new Error("set LINAC to the program linac");
    const words = ["serve", "--data", service.folder, "--listen", "127.0.0.1:0", ...options];
    service.output = "";
    service.process = spawn(process.env.LINAC, words, { stdio: ["ignore", "pipe", "pipe"] });
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the service did not start:\n${service.output}`)), startMsMax);
      const heard = (text) => {
        service.output += text;
        service.url = /linac serves (\S+)/.exec(service.output)?.[1];
        service.token = /linac_\w+_\w+/.exec(service.output)?.[0];
        if (service.url && service.token) resolve(clearTimeout(timer));
      };
      service.process.stdout.setEncoding("utf8").on("data", heard);
      service.process.stderr.setEncoding("utf8").on("data", heard);
      service.process.on("exit", (code) => reject(new Error(`the service ended (${code}):\n${service.output}`)));
    });
    return service;
  }

  async stop() {
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.process.kill("SIGTERM");
    const code = await ended;
    rmSync(this.folder, { recursive: true, force: true });
    return code;
  }

  async send(method, path, body, token = this.token) {
    const binary = body instanceof Uint8Array;
    const headers = { Authorization: `Bearer ${token}`, ...(body === undefined || binary ? {} : { "Content-Type": "application/json" }) };
    const { response, text } = await new Promise((resolve, reject) => {
      // Not fetch(), of which thousands of requests take three times as long.
      const sent = request(this.url + path, { method, headers }, (response) => {
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("end", () => resolve({ response, text: Buffer.concat(parts).toString() }));
        response.on("error", reject);
      });
      sent.on("error", reject);
      sent.end(body === undefined || binary ? body : JSON.stringify(body));
    });
    if (response.statusCode < 200 || response.statusCode > 299) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
    return text && response.headers["content-type"]?.includes("json") ? JSON.parse(text) : text;
  }

  get(path) {
    return this.send("GET", path);
  }

  mlflow(path, body) {
    return this.send("POST", `/api/2.0/mlflow/${path}`, body);
  }

  /** A run as an MLflow client records one; gives its id. */
  async run({ name, experiment = "0", started = Date.now(), parameters = {}, tags = {}, metrics = {}, status }) {
    const made = await this.mlflow("runs/create", { experiment_id: experiment, run_name: name, start_time: started });
    const id = made.run.info.run_id;
    const pairs = (values) => Object.entries(values).map(([key, value]) => ({ key, value: String(value) }));
    const points = Object.entries(metrics).flatMap(([key, values]) =>
      [values].flat().map((value, step) => ({ key, value: Number.isFinite(value) ? value : String(value), timestamp: Date.now() + step, step })),
    );
    for (let at = 0; at < Math.max(points.length, 1); at += 900) {
      const first = at === 0 ? { params: pairs(parameters), tags: pairs(tags) } : {};
      await this.mlflow("runs/log-batch", { run_id: id, metrics: points.slice(at, at + 900), ...first });
    }
    if (status) await this.mlflow("runs/update", { run_id: id, status, end_time: Date.now() });
    return id;
  }

  /** Points as a training worker sends them. */
  points(run, sequence, points) {
    return this.send("POST", `/api/v1/runs/${run}/points`, { sender: "test", sequence, points });
  }
}
