#!/usr/bin/env bash
# import-draft.sh UPSTREAM: imports the draft schema from a checkout of the specification, and generates the code. Writes
# the report of `mcpgen diff` to draft-report.md in RUNNER_TEMP, and sets the outputs `changed` and `report`.
set -euo pipefail

upstream=$1
draft=schema/draft/schema.json
report=${RUNNER_TEMP:-/tmp}/draft-report.md
mcpgen=${MCPGEN:-"cargo run --locked --quiet -p mcpgen --"}
output() { echo "$1=$2" >>"${GITHUB_OUTPUT:-/dev/null}"; }

# The revision to compare with: the draft of the last import, or else the newest released revision.
if git cat-file -e "HEAD:$draft" 2>/dev/null; then
  old=git:HEAD:$draft
else
  old=$(awk -F'"' '/^name = / { name = $2 } /^status = "released"/ { newest = name } END { print newest }' schema/revisions.toml)
fi
$mcpgen import "$upstream/$draft" --revision draft --upstream "$draft" --accept
if [ -z "$(git status --porcelain -- schema)" ]; then
  echo "the draft has not changed"
  output changed false
  exit 0
fi
$mcpgen generate
{
  echo "The draft of the specification has changed. \`mcpgen import\` and \`mcpgen generate\` have written this change."
  echo
  $mcpgen diff "$old" draft --fail-on none --format markdown
  echo
  echo "Before merging: document new items (\`mcpgen docs --missing\`), and record the API listing."
  $mcpgen docs --missing | sed 's/^/    /' | head -n 100 || true
} >"$report"
output changed true
output report "$report"
