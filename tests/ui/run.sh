#!/bin/sh
# The pages in Chromium against a service (LINAC names the program): run.sh [BUILD]. Exit 77 where there is no Node.js or no
# Chromium, or BUILD has got no pages.
set -eu
[ $# -eq 0 ] || [ -f "$1/ui/ui_bundle.cpp" ] || { echo "the build has no pages: skipped"; exit 77; }
cd "$(dirname "$0")"
command -v npm >/dev/null || { echo "no Node.js with npm: skipped"; exit 77; }
[ -n "${CHROMIUM:-}" ] || command -v chromium chromium-browser google-chrome >/dev/null || { echo "no Chromium: skipped"; exit 77; }
cmp -s package-lock.json node_modules/.lock || {
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --silent --no-fund --no-audit || { echo "the packages cannot be had: skipped"; exit 77; }
  cp package-lock.json node_modules/.lock
}
exec node --test-reporter=spec all.mjs
