#!/usr/bin/env bash
# Compares a schema or a snapshot with its baseline: annotations in the log, a job summary, and a comment on the pull
# request. The inputs are those of action.yml, in INPUT_* variables.
set -euo pipefail
# `${x[@]+"${x[@]}"}` expands an array that may be empty. With `set -u`, plain `${x[@]}` fails in macOS's bash 3.2.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=api.sh
source "$here/api.sh"

work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/mcpgen-diff.XXXXXX")
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
output() { echo "$1=$2" >>"${GITHUB_OUTPUT:-/dev/null}"; }

case "${INPUT_SCHEMA:+schema}${INPUT_TOOLS:+tools}" in
  schema) file=$INPUT_SCHEMA kind=() ;;
  tools) file=$INPUT_TOOLS kind=(--tools) ;;
  *)
    echo "::error title=mcpgen diff::set one of the inputs \`schema\` and \`tools\`"
    exit 2
    ;;
esac
file=${file#./}
if [ ! -f "$file" ]; then
  echo "::error title=mcpgen diff::there is no file \`$file\`; write its path relative to the root of the repository"
  exit 2
fi

# Annotations show the name of the file, so the old version gets the same name, in another folder.
old=$work/old/$(basename "$file")
mkdir -p "$work/old"
found=0
"$here/baseline.sh" "${INPUT_BASELINE:-base}" "$file" "$old" || found=$?
if [ "$found" -eq 3 ]; then
  echo "::notice title=mcpgen diff::the baseline has no \`$file\`, so there is nothing to compare"
  output exit-code 0
  exit 0
elif [ "$found" -ne 0 ]; then
  exit 2
fi

read -r -a more <<<"${INPUT_ARGS:-}" || true
code=0
mcpgen diff ${kind[@]+"${kind[@]}"} "$old" "$file" --format github --output "markdown=$work/report.md" --output "json=$work/report.json" \
  --fail-on "${INPUT_FAIL_ON:-unknown}" ${more[@]+"${more[@]}"} || code=$?
if [ "$code" -ge 2 ]; then
  exit "$code"
fi
# The report names the baseline, not the temporary file.
name=${INPUT_BASELINE:-base}
OLD=$old NAME=$name jq -Rrs 'gsub(env.OLD; env.NAME)' "$work/report.md" >"$work/named.md"
mv "$work/named.md" "$work/report.md"

event=${GITHUB_EVENT_PATH:-/dev/null}
number=$(jq -r '.pull_request.number // empty' "$event" 2>/dev/null || true)
label=${INPUT_SKIP_LABEL:-}
if [ "$code" -eq 1 ] && [ -n "$number" ] && [ -n "$label" ]; then
  # The event still has the labels of the first run, so this asks for the current ones.
  labels=$(api GET "/repos/$GITHUB_REPOSITORY/issues/$number/labels?per_page=100" || jq '.pull_request.labels // []' "$event")
  if jq -e --arg wanted "$label" 'any(.[]; .name == $wanted)' <<<"$labels" >/dev/null; then
    echo "::notice title=mcpgen diff::the label \`$label\` accepts the findings"
    printf '\nThe label `%s` accepts the findings.\n' "$label" >>"$work/report.md"
    code=0
  fi
fi

cat "$work/report.md" >>"$summary"
output exit-code "$code"
output report "$work/report.md"
output json "$work/report.json"
if [ "${INPUT_COMMENT:-true}" = true ] && [ -n "$number" ] && [ -n "${GITHUB_TOKEN:-}" ]; then
  outcome=clean
  if jq -e '.findings | length > 0' "$work/report.json" >/dev/null; then outcome=findings; fi
  # Pull requests from forks have a token that cannot write. The summary has the report.
  GITHUB_TOKEN=$GITHUB_TOKEN "$here/comment.sh" "$number" "$file" "$work/report.md" "$outcome" ||
    echo "::warning title=mcpgen diff::the comment was not written; the report is in the summary of this job"
fi
exit "$code"
