// Notes in Markdown, as a tree: headings, paragraphs, lists, quotes, code, tables; emphasis, code and links in them. HTML in a note is
// text, and a link leads to a page of the web, a mail address or a page here: whatever else somebody writes is shown as it stands.
// Pictures are links, since a page loads nothing from elsewhere. Pure.

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "em" | "del"; parts: Inline[] }
  | { kind: "link"; href: string; parts: Inline[] };

export type Block =
  | { kind: "heading"; level: number; parts: Inline[] }
  | { kind: "paragraph"; parts: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "rule" }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; ordered: boolean; items: Block[][] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] };

const depthMax = 8; // of quotes, lists and emphasis in each other
const lettersMax = 16_000; // twice what the service keeps

/** The address if it may be followed, else null. Nothing but what is listed: no javascript:, data: or unknown scheme. */
export function safeHref(written: string): string | null {
  const href = written.trim();
  if (/[\u0000-\u0020\u007f-\u00a0\u2028\u2029\ufeff\\]/.test(href)) return null;
  return /^(https?:\/\/[^/]|mailto:[^/]|#\/)/i.test(href) ? href : null;
}

const address = /\(\s{0,8}<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s{1,8}"[^"]*")?\s{0,8}\)/y;
const webAddress = /https?:\/\/[^\s<>()]*[^\s<>().,;:!?'"]/y;
const escapable = "\\`*_{}[]()#+-.!~>|";
const isSpace = (letter: string | undefined) => letter === undefined || /\s/.test(letter);

/** Of each place the next one, itself or behind it, that `is`; -1 behind the last. */
function nextPlaces(text: string, is: (at: number) => boolean): Int32Array {
  const next = new Int32Array(text.length + 1).fill(-1);
  for (let at = text.length - 1; at >= 0; at--) next[at] = is(at) ? at : next[at + 1]!;
  return next;
}

/** What ends where: looked for once in a text, so that no mark that nobody closes is looked for again and again. */
class Ends {
  private readonly found = new Map<string, Int32Array>();
  constructor(private readonly text: string) {}

  private next(name: string, from: number, is: (at: number) => boolean): number {
    let places = this.found.get(name);
    if (!places) this.found.set(name, (places = nextPlaces(this.text, is)));
    return places[Math.min(from, this.text.length)]!;
  }
  private escaped(at: number): boolean {
    let slashes = 0;
    while (this.text[at - 1 - slashes] === "\\" && slashes < 64) slashes++;
    return slashes % 2 === 1;
  }
  ticks(at: number): number {
    let end = at;
    while (this.text[end] === "`") end++;
    return end - at;
  }
  code(from: number, length: number): number {
    return this.next(`code ${length}`, from, (at) => this.text[at] === "`" && this.text[at - 1] !== "`" && this.text[at + length] !== "`" && this.text.startsWith("`".repeat(length), at));
  }
  bracket(from: number): number {
    return this.next("bracket", from, (at) => (this.text[at] === "[" || this.text[at] === "]") && !this.escaped(at));
  }
  twice(mark: string, from: number): number {
    return this.next(mark, from, (at) => this.text.startsWith(mark, at) && !isSpace(this.text[at - 1]));
  }
  once(mark: string, from: number): number {
    return this.next(mark, from, (at) => this.text[at] === mark && !isSpace(this.text[at - 1]) && !/[\w*]/.test(this.text[at + 1] ?? ""));
  }
}

/** Emphasis, code and links of one paragraph, in a time that grows as its length. */
export function inline(text: string, depth = 0): Inline[] {
  const parts: Inline[] = [];
  const plain = (more: string) => {
    const last = parts[parts.length - 1];
    if (last?.kind === "text") last.text += more;
    else if (more) parts.push({ kind: "text", text: more });
  };
  if (depth >= depthMax) {
    plain(text);
    return parts;
  }
  const ends = new Ends(text);

  /** Of a mark at `at`: takes what it begins and says where that ends; `at` if it begins nothing. */
  const link = (at: number): number => {
    const open = text[at] === "!" ? at + 1 : at;
    const close = ends.bracket(open + 1);
    if (close < 0 || text[close] !== "]" || text[close + 1] !== "(") return at;
    address.lastIndex = close + 1;
    const found = address.exec(text);
    if (!found) return at;
    const href = safeHref(found[1]!);
    if (href === null) plain(text.slice(at, address.lastIndex));
    else {
      const end = address.lastIndex; // of a pattern that the parts use, too
      parts.push({ kind: "link", href, parts: inline(text.slice(open + 1, close) || href, depth + 1) });
      return end;
    }
    return address.lastIndex;
  };
  const code = (at: number): number => {
    const length = ends.ticks(at);
    const close = ends.code(at + length, length);
    if (close < 0) plain(text.slice(at, at + length));
    else parts.push({ kind: "code", text: text.slice(at + length, close).replace(/^ (.+) $/, "$1") });
    return close < 0 ? at + length : close + length;
  };
  const emphasis = (at: number): number => {
    const mark = text.slice(at, at + 2);
    if (mark === "**" || mark === "__" || mark === "~~") {
      const close = isSpace(text[at + 2]) ? -1 : ends.twice(mark, at + 3);
      if (close >= 0) {
        parts.push({ kind: mark === "~~" ? "del" : "strong", parts: inline(text.slice(at + 2, close), depth + 1) });
        return close + 2;
      }
    }
    const one = text[at]!;
    if (one === "~" || isSpace(text[at + 1]) || (one === "_" && /\w/.test(text[at - 1] ?? ""))) return at; // snake_case_name
    const close = ends.once(one, at + 2);
    if (close < 0) return at;
    parts.push({ kind: "em", parts: inline(text.slice(at + 1, close), depth + 1) });
    return close + 1;
  };
  const web = (at: number): number => {
    webAddress.lastIndex = at;
    const found = webAddress.exec(text);
    if (!found) return at;
    const href = safeHref(found[0]);
    if (href === null) plain(found[0]);
    else parts.push({ kind: "link", href, parts: [{ kind: "text", text: found[0] }] });
    return at + found[0].length;
  };

  for (let at = 0; at < text.length; ) {
    const letter = text[at]!;
    let end = at;
    if (letter === "`") end = code(at);
    else if (letter === "[" || (letter === "!" && text[at + 1] === "[")) end = link(at);
    else if (letter === "*" || letter === "_" || letter === "~") end = emphasis(at);
    else if (letter === "\\" && at + 1 < text.length && escapable.includes(text[at + 1]!)) {
      plain(text[at + 1]!);
      end = at + 2;
    } else if (letter === "h") end = web(at);
    if (end === at) plain(text[end++]!);
    at = end;
  }
  return parts;
}

const fence = /^ {0,3}(```+|~~~+)/;
const heading = /^ {0,3}(#{1,6})\s([^]*)$/;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])\s+([^]*)$/;

/** "Title" of "Title ##" */
function titleOf(text: string): string {
  let end = text.trimEnd().length;
  while (text[end - 1] === "#") end--;
  return text.slice(0, end).trim();
}

const cellsOf = (line: string) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/);
const isTableRule = (line: string) => cellsOf(line).every((cell) => /^:?-+:?$/.test(cell.trim()));
const cells = (line: string) => cellsOf(line).map((cell) => inline(cell.trim().replace(/\\\|/g, "|")));

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  const until = (stop: (line: string) => boolean) => {
    const from = at;
    while (at < lines.length && !stop(lines[at]!)) at++;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at]!;
    const opened = fence.exec(line);
    const titled = heading.exec(line);
    const listed = item.exec(line);
    if (line.trim() === "") at++;
    else if (opened) {
      at++;
      const text = until((one) => one.trim().startsWith(opened[1]!)).join("\n");
      at++;
      blocks.push({ kind: "code", text });
    } else if (titled) {
      at++;
      blocks.push({ kind: "heading", level: titled[1]!.length, parts: inline(titleOf(titled[2]!)) });
    } else if (rule.test(line)) {
      at++;
      blocks.push({ kind: "rule" });
    } else if (/^ {0,3}>/.test(line) && depth < depthMax) {
      const inside = until((one) => !/^ {0,3}>/.test(one)).map((one) => one.replace(/^ {0,3}> ?/, ""));
      blocks.push({ kind: "quote", blocks: blocksOf(inside, depth + 1) });
    } else if (listed && depth < depthMax) {
      const ordered = /\d/.test(listed[2]!);
      const items: Block[][] = [];
      for (let one = item.exec(lines[at] ?? ""); one && /\d/.test(one[2]!) === ordered; one = item.exec(lines[at] ?? "")) {
        const indent = one[0].length - one[3]!.length;
        at++;
        const more = until((next) => next.trim() !== "" && next.search(/\S/) < Math.min(indent, 2)).map((next) => next.slice(Math.min(indent, Math.max(next.search(/\S/), 0))));
        items.push(blocksOf([one[3]!, ...more], depth + 1));
      }
      blocks.push({ kind: "list", ordered, items });
    } else if (line.includes("|") && isTableRule(lines[at + 1] ?? "")) {
      at += 2;
      const rows = until((one) => !one.includes("|")).map(cells);
      blocks.push({ kind: "table", head: cells(line), rows });
    } else {
      at++;
      const more = until((one) => one.trim() === "" || fence.test(one) || heading.test(one) || item.test(one) || /^ {0,3}>/.test(one) || rule.test(one));
      blocks.push({ kind: "paragraph", parts: inline([line, ...more].map((one) => one.trim()).join("\n")) });
    }
  }
  return blocks;
}

/** Of the first 16,000 letters. */
export function markdown(text: string): Block[] {
  return blocksOf(text.slice(0, lettersMax).replace(/\r\n?/g, "\n").split("\n"), 0);
}
