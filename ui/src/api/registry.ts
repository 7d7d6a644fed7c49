// The model catalog. What changes it is MLflow's REST API, which the service serves too.

import { getJson, send, url } from "./client.ts";
import { integer, list, text, texts, words, type Json } from "./json.ts";
import { visibilityOf } from "./visibility.ts";
import type { Model, ModelVersion, Page } from "./types.ts";

const changes = "/api/2.0/mlflow";
const literal = (value: string) => `'${value.replace(/'/g, "''")}'`;

const version = (json: Json): ModelVersion => ({
  model: text(json["model"]),
  version: text(json["version"]),
  stage: text(json["stage"]),
  status: text(json["status"]),
  run: text(json["run"]),
  source: text(json["source"]),
  description: text(json["description"]),
  user: text(json["user"]),
  created: integer(json["created_ms"]),
  aliases: words(json["aliases"]),
  tags: texts(json["tags"]),
});

const model = (json: Json): Model => ({
  name: text(json["name"]),
  owner: text(json["user"]),
  visibility: visibilityOf(json),
  description: text(json["description"]),
  created: integer(json["created_ms"]),
  updated: integer(json["updated_ms"]),
  tags: texts(json["tags"]),
  aliases: texts(json["aliases"]),
  latest: list(json["latest"]).map(version),
});

export async function models(word: string, signal?: AbortSignal): Promise<Page<Model>> {
  const filter = word ? `name ILIKE ${literal(`%${word}%`)}` : "";
  const json = await getJson<Json>(url("/api/v1/models", { filter, limit: 200 }), signal);
  return { items: list(json["models"]).map(model), next: text(json["next"]) };
}

/** Undefined if there is none of that name. */
export async function modelOf(name: string, signal?: AbortSignal): Promise<Model | undefined> {
  const json = await getJson<Json>(url("/api/v1/models", { filter: `name = ${literal(name)}` }), signal);
  return list(json["models"]).map(model)[0];
}

/** The newest first. */
export async function versionsOf(name: string, signal?: AbortSignal): Promise<ModelVersion[]> {
  const found: ModelVersion[] = [];
  let token = "";
  do {
    const json = await getJson<Json>(url("/api/v1/model-versions", { filter: `name = ${literal(name)}`, limit: 1000, page_token: token }), signal);
    found.push(...list(json["versions"]).map(version));
    token = text(json["next"]);
  } while (token && found.length < 5000);
  return found.sort((a, b) => Number(b.version) - Number(a.version));
}

export const stages = ["None", "Staging", "Production", "Archived"];

export async function transition(name: string, of: string, stage: string): Promise<void> {
  await send("POST", `${changes}/model-versions/transition-stage`, { name, version: of, stage, archive_existing_versions: false });
}

export async function setAlias(name: string, alias: string, of: string): Promise<void> {
  await send("POST", `${changes}/registered-models/alias`, { name, alias, version: of });
}

export async function deleteAlias(name: string, alias: string): Promise<void> {
  await send("DELETE", `${changes}/registered-models/alias`, { name, alias });
}

const versionKey = (one: ModelVersion) => ({ name: one.model, version: one.version });

export async function describeVersion(one: ModelVersion, description: string): Promise<void> {
  await send("PATCH", `${changes}/model-versions/update`, { ...versionKey(one), description });
}

export async function setVersionTag(one: ModelVersion, key: string, value: string): Promise<void> {
  await send("POST", `${changes}/model-versions/set-tag`, { ...versionKey(one), key, value });
}

export async function deleteVersionTag(one: ModelVersion, key: string): Promise<void> {
  await send("DELETE", `${changes}/model-versions/delete-tag`, { ...versionKey(one), key });
}

/** What lies in a folder of artefacts, by names in it. */
export async function artifactsIn(folder: string, signal?: AbortSignal): Promise<{ path: string; folder: boolean; bytes: number }[]> {
  const json = await getJson<Json>(url("/api/2.0/mlflow-artifacts/artifacts", { path: folder }), signal);
  return list(json["files"]).map((one) => ({ path: text(one["path"]), folder: one["is_dir"] === true, bytes: integer(one["file_size"]) }));
}
