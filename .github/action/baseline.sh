#!/usr/bin/env bash
# baseline.sh BASELINE FILE OUT: writes the old version of FILE to OUT. Exits with 3 if the baseline has no such file.
#
# BASELINE is `base`, `git:REF`, `crate:NAME`, `crate:NAME@VERSION`, a URL, or a file.
set -euo pipefail
# Nothing that this script starts needs the token.
unset GITHUB_TOKEN

baseline=$1 file=$2 out=$3

fail() {
  echo "::error title=mcpgen diff::$1" >&2
  exit 2
}

from_git() {
  local ref=$1
  # git would read it as an option.
  case $ref in -*) fail "\`$ref\` begins with a dash, so it is no commit; correct the input \`baseline\`" ;; esac
  if ! git rev-parse --quiet --verify "$ref^{commit}" >/dev/null; then
    # The checkout may be shallow.
    git fetch --quiet --depth=1 origin "$ref" 2>/dev/null || fail "there is no commit \`$ref\`; set \`fetch-depth: 0\` in actions/checkout, or correct the input \`baseline\`"
    ref=FETCH_HEAD
  fi
  # Paths are relative to the current folder.
  git cat-file -e "$ref:./$file" 2>/dev/null || exit 3
  git show "$ref:./$file" >"$out"
}

# Prints the base of a pull request, or the commit before a push.
base() {
  if [ -n "${GITHUB_BASE_REF:-}" ]; then
    git fetch --quiet --depth=1 origin "refs/heads/$GITHUB_BASE_REF" 2>/dev/null || true
    if git rev-parse --quiet --verify "origin/$GITHUB_BASE_REF^{commit}" >/dev/null; then
      echo "origin/$GITHUB_BASE_REF"
    else
      echo "$GITHUB_BASE_REF"
    fi
    return
  fi
  local before=""
  if [ -f "${GITHUB_EVENT_PATH:-}" ]; then before=$(jq -r '.before // empty' "$GITHUB_EVENT_PATH"); fi
  # The first push of a branch has no commit before it.
  if [ -z "$before" ] || [ -z "${before//0/}" ]; then before=HEAD^; fi
  echo "$before"
}

# Cargo downloads the crate, so that the registries, mirrors and credentials of this machine apply.
from_crate() {
  local name=${1%@*} version="*" folder manifest
  if [ "$1" != "$name" ]; then version="=${1#*@}"; fi
  folder=$(mktemp -d)
  mkdir "$folder/src"
  printf '[package]\nname = "baseline"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n"%s" = "%s"\n' "$name" "$version" >"$folder/Cargo.toml"
  : >"$folder/src/lib.rs"
  # In the folder of the branch, cargo would run the programs that its `.cargo/config.toml` names.
  (cd "$folder" && cargo metadata --quiet --format-version 1 >metadata.json) ||
    fail "cargo cannot download the crate \`$1\`"
  manifest=$(jq -r --arg name "$name" '.packages[] | select(.name == $name) | .manifest_path' "$folder/metadata.json" | head -n 1)
  local path
  path=$(dirname "$manifest")/$file
  # FILE may begin with the folder of the crate, which is not in the package.
  while [ ! -f "$path" ] && [[ "${rest:=$file}" == */* ]]; do
    rest=${rest#*/}
    path=$(dirname "$manifest")/$rest
  done
  [ -f "$path" ] || exit 3
  cp -- "$path" "$out"
}

case $baseline in
  base) from_git "$(base)" ;;
  git:*) from_git "${baseline#git:}" ;;
  crate:*) from_crate "${baseline#crate:}" ;;
  http://* | https://*)
    curl --fail --silent --show-error --location --retry 3 --max-time 300 --max-filesize 33554432 --output "$out" "$baseline" ||
      fail "cannot download $baseline"
    ;;
  *)
    [ -f "$baseline" ] || fail "there is no file \`$baseline\`; the input \`baseline\` is \`base\`, \`git:REF\`, \`crate:NAME@VERSION\`, a URL, or a file"
    cp -- "$baseline" "$out"
    ;;
esac
