#!/usr/bin/env bash
# package.sh TARGET FOLDER OUT: writes an archive NAME-TARGET.tar.gz for each of the programs in FOLDER, which must run on this
# machine: with its manual pages, completions for shells, licenses and README. Beside it, writes the SBOM NAME-TARGET.cdx.json.
# Equal programs produce identical archives.
set -euo pipefail
# `${x[@]+"${x[@]}"}` expands an array that may be empty. With `set -u`, plain `${x[@]}` fails in macOS's bash 3.2.

target=$1 folder=$(cd "$2" && pwd) out=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
case $target in *windows*) suffix=.exe ;; *) suffix="" ;; esac

# documents PROGRAM NAME: writes completions and manual pages of a program and its commands.
documents() {
  local command page
  mkdir completions man
  "$1" completions bash >"completions/$2.bash"
  "$1" completions zsh >"completions/_$2"
  "$1" completions fish >"completions/$2.fish"
  "$1" completions powershell >"completions/$2.ps1"
  "$1" man >"man/$2.1"
  # The program's own page only lists its commands, so each command gets a page.
  for command in $("$1" help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | grep -vx help); do
    page=man/$2-$command.1
    "$1" man "$command" >"$page"
  done
}

for name in mcpgen mcpgen-gateway mcpgen-probe; do
  stage=$(mktemp -d)
  cp "$folder/$name$suffix" "$root/LICENSE-APACHE" "$root/LICENSE-MIT" "$stage"
  case $name in mcpgen) readme=codegen ;; *) readme=runtime/${name#mcpgen-} ;; esac
  cp "$root/$readme/README.md" "$stage"
  (cd "$stage" && documents "$folder/$name$suffix" "$name")
  # The tar of macOS and Windows has no options for the order and the owner, so only archives by GNU tar are reproducible.
  options=()
  if tar --version | grep -q GNU; then options=(--sort=name --owner=0 --group=0 --numeric-owner --mtime=@0); fi
  (cd "$stage" && tar ${options[@]+"${options[@]}"} -cf - -- * | gzip -n >"$out/$name-$target.tar.gz")
  rm -r "$stage"
  "$root/.github/scripts/sbom.sh" "$name" "$target" >"$out/$name-$target.cdx.json"
done
