// A note as it is read. The tree of markdown.ts becomes elements, never HTML: nothing that is written in a note can be more than text.

import type { ComponentChildren } from "preact";
import { markdown, type Block, type Inline } from "../markdown.ts";

function Parts({ parts }: { parts: readonly Inline[] }) {
  return (
    <>
      {parts.map((part, i): ComponentChildren => {
        switch (part.kind) {
          case "text":
            return part.text;
          case "code":
            return <code key={i}>{part.text}</code>;
          case "strong":
            return <strong key={i}><Parts parts={part.parts} /></strong>;
          case "em":
            return <em key={i}><Parts parts={part.parts} /></em>;
          case "del":
            return <del key={i}><Parts parts={part.parts} /></del>;
          case "link":
            return part.href.startsWith("#") ? (
              <a key={i} href={part.href}><Parts parts={part.parts} /></a>
            ) : (
              <a key={i} href={part.href} target="_blank" rel="noreferrer noopener nofollow"><Parts parts={part.parts} /></a>
            );
        }
      })}
    </>
  );
}

function One({ block }: { block: Block }) {
  switch (block.kind) {
    case "heading": {
      const Level = `h${Math.min(block.level + 2, 6)}` as "h3"; // below the page's own
      return <Level><Parts parts={block.parts} /></Level>;
    }
    case "paragraph":
      return <p><Parts parts={block.parts} /></p>;
    case "code":
      return <pre class="code" tabIndex={0}>{block.text}</pre>;
    case "rule":
      return <hr />;
    case "quote":
      return <blockquote><Blocks blocks={block.blocks} /></blockquote>;
    case "list": {
      const List = block.ordered ? "ol" : "ul";
      return <List>{block.items.map((item, i) => <li key={i}>{item.length === 1 && item[0]!.kind === "paragraph" ? <Parts parts={item[0]!.parts} /> : <Blocks blocks={item} />}</li>)}</List>;
    }
    case "table":
      return (
        <div class="scroll" tabIndex={0} role="region" aria-label="Table">
          <table class="plain">
            <thead><tr>{block.head.map((cell, i) => <th key={i} scope="col"><Parts parts={cell} /></th>)}</tr></thead>
            <tbody>{block.rows.map((row, i) => <tr key={i}>{row.map((cell, k) => <td key={k}><Parts parts={cell} /></td>)}</tr>)}</tbody>
          </table>
        </div>
      );
  }
}

function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return <>{blocks.map((block, i) => <One key={i} block={block} />)}</>;
}

export function Markdown({ text }: { text: string }) {
  return <div class="markdown"><Blocks blocks={markdown(text)} /></div>;
}
