// The caller's own secrets; the service tells no value.

import { getJson, send } from "./client.ts";
import { integer, list, text, type Json } from "./json.ts";
import type { Secret, SecretKind } from "./types.ts";

const base = "/api/v1/secrets";
const one = (name: string) => `${base}/${encodeURIComponent(name)}`;

const secret = (json: Json): Secret => ({
  name: text(json["name"]),
  as: json["as"] === "file" ? "file" : "env",
  changed: integer(json["changed_ms"]),
  used: integer(json["used_ms"]),
  readable: json["readable"] !== false,
});

export async function secrets(signal?: AbortSignal): Promise<Secret[]> {
  return list((await getJson<Json>(base, signal))["secrets"]).map(secret);
}

/** Without `as` the name says what it is. */
export async function setSecret(name: string, value: string, as?: SecretKind): Promise<void> {
  await send("PUT", one(name), as ? { value, as } : { value });
}

export async function removeSecret(name: string): Promise<void> {
  await send("DELETE", one(name), null);
}
