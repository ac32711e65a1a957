#!/usr/bin/env bash
# pre-commit.sh [--tools] FILE..: compares each file with the last commit. A hook for pre-commit. Needs mcpgen.
set -euo pipefail
# `${x[@]+"${x[@]}"}` expands an array that may be empty. With `set -u`, plain `${x[@]}` fails in macOS's bash 3.2.

options=()
if [ "${1:-}" = --tools ]; then
  options=(--tools)
  shift
fi
command -v mcpgen >/dev/null || { echo "install mcpgen: cargo install --locked --git https://github.com/mcpgen/mcpgen mcpgen" >&2; exit 2; }
worst=0
for file in "$@"; do
  # A new file breaks nobody.
  git cat-file -e "HEAD:./$file" 2>/dev/null || continue
  code=0
  mcpgen diff ${options[@]+"${options[@]}"} "git:HEAD:./$file" "$file" || code=$?
  if [ "$code" -gt "$worst" ]; then worst=$code; fi
done
exit "$worst"
