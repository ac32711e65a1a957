#!/usr/bin/env bash
# pull-request.sh BRANCH TITLE BODY-FILE: commits all changes to a branch, pushes it, and opens a pull request, or updates
# the one that is open. A branch that is already equal is not pushed again.
set -euo pipefail
# shellcheck source=../action/api.sh
source "$(dirname "${BASH_SOURCE[0]}")/../action/api.sh"

branch=$1 title=$2 body=$3
base=${BASE:-main}
work=$(mktemp -d)

git switch --quiet --force-create "$branch"
git add --all
git -c user.name="${GIT_AUTHOR_NAME:-mcpgen-bot}" -c user.email="${GIT_AUTHOR_EMAIL:-bot@users.noreply.github.com}" commit --quiet --message "$title"
if git fetch --quiet origin "$branch" 2>/dev/null && git diff --quiet FETCH_HEAD HEAD; then
  echo "the branch is unchanged"
else
  git push --quiet --force origin "HEAD:refs/heads/$branch"
fi

jq -Rs --arg title "$title" '{ title: $title, body: .[0:65000] }' "$body" >"$work/update.json"
owner=${GITHUB_REPOSITORY%%/*}
api GET "/repos/$GITHUB_REPOSITORY/pulls?state=open&base=$base&head=$owner:$branch" >"$work/open.json"
number=$(jq -r '.[0].number // empty' "$work/open.json")
if [ -n "$number" ]; then
  api PATCH "/repos/$GITHUB_REPOSITORY/pulls/$number" "$work/update.json" >/dev/null
  echo "updated pull request $number"
else
  jq --arg head "$branch" --arg base "$base" '. + { head: $head, base: $base }' "$work/update.json" >"$work/create.json"
  api POST "/repos/$GITHUB_REPOSITORY/pulls" "$work/create.json" >/dev/null
  echo "opened a pull request"
fi
