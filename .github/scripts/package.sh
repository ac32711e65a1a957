#!/usr/bin/env bash
# package.sh TARGET FOLDER OUT: writes the archives of the binaries in FOLDER, mcpgen-TARGET.tar.gz,
# mcpgen-gateway-TARGET.tar.gz and mcpgen-probe-TARGET.tar.gz. Equal binaries are equal archives.
set -euo pipefail
# `${x[@]+"${x[@]}"}` is an array that may be empty, also in bash 3.2 of macOS.

target=$1 folder=$2 out=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
case $target in *windows*) suffix=.exe ;; *) suffix="" ;; esac
for name in mcpgen mcpgen-gateway mcpgen-probe; do
  stage=$(mktemp -d)
  cp "$folder/$name$suffix" "$root/LICENSE-APACHE" "$root/LICENSE-MIT" "$stage"
  case $name in mcpgen) readme=codegen ;; *) readme=runtime/${name#mcpgen-} ;; esac
  cp "$root/$readme/README.md" "$stage"
  # The tar of macOS and Windows has no option for the order and the owner, so only GNU's is reproducible.
  options=()
  if tar --version | grep -q GNU; then options=(--sort=name --owner=0 --group=0 --numeric-owner --mtime=@0); fi
  (cd "$stage" && tar ${options[@]+"${options[@]}"} -cf - -- * | gzip -n >"$out/$name-$target.tar.gz")
done
