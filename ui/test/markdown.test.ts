import assert from "node:assert/strict";
import { test } from "node:test";
import { inline, markdown, safeHref, type Block, type Inline } from "../src/markdown.ts";

const links = (tree: unknown): string[] => (Array.isArray(tree) ? tree.flatMap(links) : typeof tree === "object" && tree !== null ? [...("href" in tree ? [String(tree.href)] : []), ...Object.values(tree).flatMap(links)] : []);
const textOf = (parts: Inline[]): string => parts.map((part) => ("parts" in part ? textOf(part.parts) : part.text)).join("");

test("addresses that may be followed are listed, all others are not", () => {
  for (const good of ["https://a.example/x?y=1#z", "http://a", "HTTPS://A", "mailto:a@b.example", "#/runs/abc?tab=log"]) assert.equal(safeHref(good), good);
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "java\tscript:x", "\u0001javascript:x", "data:text/html,<script>alert(1)</script>", "data:image/svg+xml;base64,AAAA", "vbscript:x", "file:///etc/passwd", "//evil.example", "/api/v1/logout", "https:evil", "blob:https://x", "https://a\\@b", "", "#", "&#106;avascript:x", "javascript&colon;x"])
    assert.equal(safeHref(bad), null, bad);
});

test("hostile notes are text", () => {
  const hostile = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "[x](<javascript:alert(1)>)", "![x](data:image/svg+xml,<svg onload=alert(1)>)", "[x](\u0001javascript:alert(1))",
    "[x](https://a\" onmouseover=\"alert(1))", "<a href='javascript:alert(1)'>x</a>", "[x]( java\nscript:alert(1) )", "<https://a><svg/onload=alert(1)>", "[[x](javascript:a)](javascript:b)", "`<script>`", "[x][1]\n\n[1]: javascript:alert(1)",
  ];
  for (const text of hostile) for (const href of links(markdown(text))) assert.match(href, /^https:\/\//, text);
  assert.deepEqual(links(markdown(hostile.slice(0, 6).join("\n\n"))), []);
  assert.deepEqual(markdown("<b>x</b>"), [{ kind: "paragraph", parts: [{ kind: "text", text: "<b>x</b>" }] }]);
});

test("what people write", () => {
  const text = "# Title\n\nA *first* and **second** `code` [link](https://a.example/b_(c)) and snake_case_name,\nhttps://x.example/y.\n\n- one\n- two\n  - inner\n\n1. a\n2. b\n\n> said\n> twice\n\n```\n<raw> **no**\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n---\nend ~~gone~~ \\*not\\*";
  const blocks = markdown(text);
  assert.deepEqual(blocks.map((block) => block.kind), ["heading", "paragraph", "list", "list", "quote", "code", "table", "rule", "paragraph"]);
  const paragraph = blocks[1] as Extract<Block, { kind: "paragraph" }>;
  assert.deepEqual(paragraph.parts.map((part) => part.kind), ["text", "em", "text", "strong", "text", "code", "text", "link", "text", "link", "text"]);
  assert.deepEqual(links(paragraph), ["https://a.example/b_(c)", "https://x.example/y"]);
  const list = blocks[2] as Extract<Block, { kind: "list" }>;
  assert.deepEqual(list.items[1]!.map((block) => block.kind), ["paragraph", "list"]);
  assert.equal((blocks[3] as Extract<Block, { kind: "list" }>).ordered, true);
  assert.equal((blocks[5] as Extract<Block, { kind: "code" }>).text, "<raw> **no**");
  assert.equal(textOf((blocks[8] as Extract<Block, { kind: "paragraph" }>).parts), "end gone *not*");
  assert.deepEqual(inline("a ** b"), [{ kind: "text", text: "a ** b" }]);
});

test("no text takes long, however it is nested", () => {
  const begin = performance.now();
  for (const text of [">".repeat(50_000), "- ".repeat(30_000), "[".repeat(50_000), "*a ".repeat(20_000), "**".repeat(30_000), "`".repeat(40_001), "_".repeat(50_000), "[x](".repeat(20_000), "|".repeat(50_000) + "\n|-", "\\".repeat(50_000), "![".repeat(30_000), "a_".repeat(40_000), "#".repeat(60_000), "- - - ".repeat(9000) + "x", "https://" .repeat(12_000), "(".repeat(50_000),
    // Marks that nobody closes, and spaces that several parts of a pattern would share.
    "**a".repeat(5300), "~~a ".repeat(4000), "[x](a".repeat(3200), "[x](" + " ".repeat(15_900), "`a``".repeat(4000), "# a" + " ".repeat(15_900) + "b", "# a" + "#".repeat(15_900) + "b", "|\n" + " ".repeat(15_900) + "x", "|\n-" + " ".repeat(15_900) + "x", "- " + " ".repeat(8000) + "a".repeat(7900) + "\u2028", Array.from({ length: 170 }, (_, i) => "`".repeat(i + 1)).join("a"), "\\".repeat(15_900) + "[x]"]) {
    const since = performance.now();
    markdown(text);
    assert.ok(performance.now() - since < 300, `${text.slice(0, 12)}… took ${performance.now() - since} ms`);
  }
  assert.ok(performance.now() - begin < 6000);
});
