import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme, theme } from "./theme.ts";
import "uplot/dist/uPlot.min.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/pages.css";

applyTheme(theme());
render(<App />, document.getElementById("app")!);
