// Dark, light, or as the system has it; kept in the browser.

export type Theme = "system" | "light" | "dark";
const key = "linac.theme";

export function theme(): Theme {
  try {
    const kept = localStorage.getItem(key);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system"; // a browser that keeps nothing
  }
}

export function applyTheme(wanted: Theme): void {
  document.documentElement.dataset["theme"] = wanted;
  try {
    localStorage.setItem(key, wanted);
  } catch {
    // it holds for this page then
  }
  dispatchEvent(new Event("themechange"));
}
