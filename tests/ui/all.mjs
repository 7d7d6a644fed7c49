// All tests of the pages in one process, one after another, with one Chromium.
import "./job.test.mjs";
import "./pages.test.mjs";
import "./plan.test.mjs";
import "./study.test.mjs";
