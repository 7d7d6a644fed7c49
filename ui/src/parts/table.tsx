// A plain table that scrolls in a box of its own, by the keyboard too.

import type { ComponentChildren } from "preact";

export interface TableProps {
  label: string;
  head: readonly (string | { numeric: string })[]; // "": a column that needs no title
  card?: boolean;
  children: ComponentChildren; // the rows
}

export function Table({ label, head, card = false, children }: TableProps) {
  return (
    <div class={`scroll ${card ? "card" : ""}`} tabIndex={0} role="region" aria-label={label}>
      <table class="plain">
        <thead>
          <tr>
            {head.map((one, i) =>
              one === "" ? (
                <td key={i} />
              ) : typeof one === "string" ? (
                <th key={i} scope="col">
                  {one}
                </th>
              ) : (
                <th key={i} scope="col" class="numeric">
                  {one.numeric}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
