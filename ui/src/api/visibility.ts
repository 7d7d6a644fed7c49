// Who may read an experiment or a model, and who says so.

import { send } from "./client.ts";
import { text, type Json } from "./json.ts";
import type { Me, Visibility } from "./types.ts";

export const visibilityOf = (json: Json): Visibility => (text(json["visibility"]) === "shared" ? "shared" : "private");

/** Whether the service will let this user change what is `owner`'s. */
export const mayChangeOf = (me: Me, owner: string): boolean => me.role === "admin" || (me.role === "member" && me.user === owner);

export async function setVisibility(what: "experiments" | "models", id: string, visibility: Visibility): Promise<void> {
  await send("PATCH", `/api/v1/${what}/${encodeURIComponent(id)}`, { visibility });
}
