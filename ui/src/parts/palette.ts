// The colours that canvases need, as the style sheet has them for the theme in use.

export interface Colors {
  lines: string[]; // #rrggbb
  text: string;
  strong: string; // of titles
  ground: string; // behind a chart
  grid: string;
  font: string;
}

export const lineColors = 10;

function resolved(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  probe.hidden = true;
  document.body.append(probe);
  const rgb = getComputedStyle(probe).color.match(/\d+/g)?.slice(0, 3).map(Number) ?? [128, 128, 128];
  probe.remove();
  return `#${rgb.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

export function colors(): Colors {
  return {
    lines: Array.from({ length: lineColors }, (_, i) => resolved(`--line-${i}`)),
    text: resolved("--text-2"),
    strong: resolved("--text"),
    ground: resolved("--surface"),
    grid: resolved("--rule"),
    font: "11px system-ui, sans-serif",
  };
}
