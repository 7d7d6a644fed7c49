// What linac has written down of a version of a model, in its tags (control/client/model_catalog.h). Pure.

import { below } from "./api/client.ts";
import type { ModelVersion } from "./api/types.ts";

export interface Port {
  name: string;
  shape: string; // "801 × 19"
}

export interface Figure {
  name: string;
  train: string;
  test: string;
}

export interface ModelFacts {
  inputs: Port[];
  outputs: Port[];
  figures: Figure[];
  file: string;
  checksum: string;
  bytes: number; // NaN: not known
  from: string; // the version that it was trained on from
  status: string; // of its run
  linac: string; // version of the program
  tags: [string, string][]; // people's own
}

function ports(text: string | undefined): Port[] {
  let all: unknown;
  try {
    all = JSON.parse(text ?? "[]");
  } catch {
    return []; // a tag that somebody has changed
  }
  if (!Array.isArray(all)) return [];
  return all.map((one) => {
    const { name, shape } = (typeof one === "object" && one !== null ? one : {}) as { name?: unknown; shape?: unknown };
    return { name: String(name ?? ""), shape: Array.isArray(shape) ? shape.map(String).join(" × ") : "" };
  });
}

const figureTag = /^linac\.(train|test)\.(.+)$/;
const known = ["inputs", "outputs", "file", "checksum", "bytes", "from", "status", "version"].map((name) => `linac.${name}`);

export function factsOf({ tags }: ModelVersion): ModelFacts {
  const figures = new Map<string, Figure>();
  for (const [key, value] of Object.entries(tags)) {
    const [, part, name] = figureTag.exec(key) ?? [];
    if (!name) continue;
    const figure = figures.get(name) ?? { name, train: "", test: "" };
    figure[part as "train" | "test"] = value;
    figures.set(name, figure);
  }
  return {
    inputs: ports(tags["linac.inputs"]),
    outputs: ports(tags["linac.outputs"]),
    figures: [...figures.values()].sort((a, b) => a.name.localeCompare(b.name)),
    file: tags["linac.file"] ?? "",
    checksum: tags["linac.checksum"] ?? "",
    bytes: Number(tags["linac.bytes"] || NaN),
    from: tags["linac.from"] ?? "",
    status: tags["linac.status"] ?? "",
    linac: tags["linac.version"] ?? "",
    tags: Object.entries(tags).filter(([key]) => !known.includes(key) && !figureTag.test(key) && !key.startsWith("linac.mlflow.")),
  };
}

export const artifactsPath = "/api/2.0/mlflow-artifacts/artifacts";
const scheme = "mlflow-artifacts:/";

/** Where the service has the version's files; "" for those that lie elsewhere. */
export function folderOf({ source }: ModelVersion): string {
  const folder = source.startsWith(scheme) ? source.slice(scheme.length) : "";
  return folder.startsWith("/") || folder.split("/").some((part) => part === ".." || part === ".") ? "" : folder;
}

export function artifactHref(folder: string, file: string): string {
  return below(artifactsPath, `${folder}/${file}`);
}

/** "catalog://topology/3" as the parts of its page's address; null for anything else. */
export function pageOfAddress(address: string): string[] | null {
  const [, name, version] = /^catalog:\/\/([^@/]+)\/(\d+)$/.exec(address) ?? [];
  return name ? ["models", name, version!] : null;
}
