// Tables as CSV (RFC 4180), and what the browser is given to keep. A text that a spreadsheet would take for a formula gets a quote in
// front, since names and parameters are other people's.

export type Cell = string | number | null | undefined;

function written(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  const number = typeof cell === "number" || (cell.trim() !== "" && Number.isFinite(Number(cell)));
  const text = number ? String(cell) : /^[=+\-@\t\r]/.test(cell as string) ? `'${cell}` : String(cell);
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(written).join(",") + "\r\n").join("");
}

/** A name for a file, of letters that every system takes. */
export function fileName(title: string, ending: string): string {
  return `${title.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[._]+|_+$/g, "").slice(0, 80) || "linac"}.${ending}`;
}

export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function saveCsv(title: string, rows: readonly (readonly Cell[])[]): void {
  save(fileName(title, "csv"), new Blob([csv(rows)], { type: "text/csv" }));
}
