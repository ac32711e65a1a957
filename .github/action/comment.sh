#!/usr/bin/env bash
# comment.sh NUMBER KEY REPORT OUTCOME: keeps one comment on a pull request up to date.
#
# A comment belongs to this script if the token's user wrote it and it begins with a marker that contains KEY. It is
# created when there is something to report (OUTCOME is `findings`), and updated in later runs, even if nothing is left
# (`clean`). Copies are deleted. Comments of others are never changed, whatever they begin with.
set -euo pipefail
# shellcheck source=api.sh
source "$(dirname "${BASH_SOURCE[0]}")/api.sh"

number=$1 key=$2 report=$3 outcome=$4
marker="<!-- mcpgen diff: ${key//--/-} -->"
place=/repos/$GITHUB_REPOSITORY/issues
work=$(mktemp -d)

# GitHub limits a comment to 65,536 characters.
jq -Rs --arg marker "$marker" '{ body: ($marker + "\n" + .)[0:65000] }' "$report" >"$work/body.json"

# The tokens of workflows and apps cannot read `/user`, but every token can read its user with GraphQL.
echo '{"query": "{ viewer { login } }"}' >"$work/query.json"
user=$(api POST "${GITHUB_GRAPHQL_URL:-https://api.github.com/graphql}" "$work/query.json" | jq -er .data.viewer.login)

: >"$work/ours"
page=1
while :; do
  api GET "$place/$number/comments?per_page=100&page=$page" >"$work/page.json" || exit 1
  jq -r --arg marker "$marker" --arg user "$user" \
    '.[] | select(.user.login == $user and (.body | startswith($marker))) | .id' "$work/page.json" >>"$work/ours"
  if [ "$(jq length "$work/page.json")" -lt 100 ] || [ "$page" -ge 50 ]; then break; fi
  page=$((page + 1))
done

first=$(head -n 1 "$work/ours")
if [ -n "$first" ]; then
  api PATCH "$place/comments/$first" "$work/body.json" >/dev/null
  echo "updated the comment $first"
elif [ "$outcome" = findings ]; then
  api POST "$place/$number/comments" "$work/body.json" >/dev/null
  echo "created a comment"
else
  echo "nothing to comment on"
fi
# Two concurrent runs may each have created a comment.
tail -n +2 "$work/ours" | while read -r copy; do
  api DELETE "$place/comments/$copy" >/dev/null
done
