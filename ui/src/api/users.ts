// Users and their tokens, for admins.

import { getJson, send, url } from "./client.ts";
import { integer, list, text, type Json } from "./json.ts";
import type { AuditEntry, Quota, Role, Token, User } from "./types.ts";

const base = "/api/v1/users";
const one = (name: string) => `${base}/${encodeURIComponent(name)}`;

const user = (json: Json): User => ({
  name: text(json["name"]),
  role: text(json["role"]) as Role,
  account: text(json["account"]),
  disabled: json["disabled"] === true,
  quota: { jobs: integer(json["jobs_max"]), cores: integer(json["cores_max"]), coreHours: integer(json["core_hours_max"]) },
  created: integer(json["created_ms"]),
});

const token = (json: Json): Token => ({
  id: text(json["id"]),
  user: text(json["user"]),
  note: text(json["note"]),
  scope: text(json["scope"]) as Role,
  created: integer(json["created_ms"]),
  expires: integer(json["expires_ms"]),
  used: integer(json["used_ms"]),
});

export async function users(signal?: AbortSignal): Promise<User[]> {
  return list((await getJson<Json>(base, signal))["users"]).map(user);
}

export async function createUser(name: string, role: Role, account: string): Promise<void> {
  await send("POST", base, { name, role, account });
}

export async function changeUser(name: string, change: { role?: Role; disabled?: boolean; account?: string }): Promise<void> {
  await send("PATCH", one(name), change);
}

export async function setQuota(name: string, { jobs, cores, coreHours }: Quota): Promise<void> {
  await send("PATCH", one(name), { jobs_max: jobs, cores_max: cores, core_hours_max: coreHours });
}

export async function tokens(name: string, signal?: AbortSignal): Promise<Token[]> {
  return list((await getJson<Json>(`${one(name)}/tokens`, signal))["tokens"]).map(token);
}

/** The new token, whole: the service shows it once. `days` 0: for ever. */
export async function createToken(name: string, scope: Role, days: number, note: string): Promise<string> {
  const json = await send<Json>("POST", `${one(name)}/tokens`, { scope, days, note });
  return text(json["secret"]);
}

export const auditMost = 10_000;

/** What was changed by whom, the newest first. */
export async function audit(limit: number, signal?: AbortSignal): Promise<AuditEntry[]> {
  const json = await getJson<Json>(url("/api/v1/audit", { limit }), signal);
  return list(json["entries"]).map((one) => ({ time: integer(one["time_ms"]), user: text(one["user"]), action: text(one["action"]), object: text(one["object"]), from: text(one["from"]) }));
}

export async function revokeToken(name: string, id: string): Promise<void> {
  await send("DELETE", `${one(name)}/tokens/${encodeURIComponent(id)}`, null);
}
