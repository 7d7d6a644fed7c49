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

const inlineMark = /(`+)([^]*?[^`])\1(?!`)|(!?)\[((?:[^\[\]\\]|\\.)*)\]\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s+"[^"]*")?\s*\)|(\*\*|__|~~)(?=\S)([^]*?\S)\6|([*_])(?=\S)([^]*?\S)\8(?![\w*])|\\([\\`*_{}[\]()#+\-.!~>|])|(https?:\/\/[^\s<>()]*[^\s<>().,;:!?'"])/;

/** Emphasis, code and links of one paragraph. */
export function inline(text: string, depth = 0): Inline[] {
  const parts: Inline[] = [];
  const plain = (more: string) => {
    const last = parts[parts.length - 1];
    if (last?.kind === "text") last.text += more;
    else if (more) parts.push({ kind: "text", text: more });
  };
  let rest = text;
  while (rest) {
    const found = depth < depthMax ? inlineMark.exec(rest) : null;
    if (!found) {
      plain(rest);
      break;
    }
    const [whole, ticks, code, picture, words, address, twice, strong, once, em, escaped, url] = found;
    const before = rest[found.index - 1] ?? "";
    plain(rest.slice(0, found.index));
    rest = rest.slice(found.index + whole.length);
    if (ticks !== undefined) parts.push({ kind: "code", text: code!.replace(/^ (.+) $/, "$1") });
    else if (words !== undefined) {
      const href = safeHref(address!);
      if (href === null) plain(whole);
      else parts.push({ kind: "link", href, parts: inline(words || href, depth + 1) });
      void picture;
    } else if (twice !== undefined) parts.push({ kind: twice === "~~" ? "del" : "strong", parts: inline(strong!, depth + 1) });
    else if (once !== undefined) {
      if (once === "_" && /\w/.test(before)) plain(whole); // snake_case_name
      else parts.push({ kind: "em", parts: inline(em!, depth + 1) });
    } else if (escaped !== undefined) plain(escaped);
    else if (url !== undefined) {
      const href = safeHref(url);
      if (href === null) plain(url);
      else parts.push({ kind: "link", href, parts: [{ kind: "text", text: url }] });
    }
  }
  return parts;
}

const fence = /^ {0,3}(```+|~~~+)/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])\s+(.*)$/;
const tableRule = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

const cells = (line: string) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replace(/\\\|/g, "|")));

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
      blocks.push({ kind: "heading", level: titled[1]!.length, parts: inline(titled[2]!) });
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
    } else if (line.includes("|") && tableRule.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("-")) {
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
