#!/bin/sh
# Installs mcpgen, mcpgen-gateway and mcpgen-probe from a release, for the current user: programs, manual pages and completions.
#
#   curl -fsSL https://github.com/mcpgen/mcpgen/releases/latest/download/install.sh | sh
#   sh install.sh [--version v0.1.0] [--prefix DIR] [PROGRAM...]
#
# The default prefix is ~/.local. Checks the SHA-256 of each archive, and writes nothing if one is wrong.
set -eu

prefix=${HOME:-}/.local version=latest programs=
while [ $# -gt 0 ]; do
  case $1 in
    --version | --prefix)
      [ $# -gt 1 ] || { echo "install: $1 needs a value" >&2; exit 2; }
      if [ "$1" = --version ]; then version=$2; else prefix=$2; fi
      shift 2
      ;;
    mcpgen | mcpgen-gateway | mcpgen-probe) programs="$programs $1"; shift ;;
    *) echo "usage: install.sh [--version TAG] [--prefix DIR] [mcpgen] [mcpgen-gateway] [mcpgen-probe]" >&2; exit 2 ;;
  esac
done
[ -n "$programs" ] || programs="mcpgen mcpgen-gateway mcpgen-probe"
case $prefix in /.local) echo "install: HOME is not set; use --prefix" >&2; exit 2 ;; esac

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) target=x86_64-unknown-linux-musl ;;
  Linux-aarch64) target=aarch64-unknown-linux-musl ;;
  Darwin-x86_64) target=x86_64-apple-darwin ;;
  Darwin-arm64) target=aarch64-apple-darwin ;;
  *) echo "install: there is no binary for $(uname -s) on $(uname -m); use cargo install" >&2; exit 1 ;;
esac
releases=${MCPGEN_RELEASES:-https://github.com/mcpgen/mcpgen/releases}
if [ "$version" = latest ]; then base=$releases/latest/download; else base=$releases/download/$version; fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
get() { curl --fail --silent --show-error --location --retry 3 --output "$folder/$1" "$base/$1"; }
checksum() { if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1; }

get SHA256SUMS
for program in $programs; do
  archive=$program-$target.tar.gz
  get "$archive"
  expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$folder/SHA256SUMS")
  if [ -z "$expected" ] || [ "$(checksum "$folder/$archive")" != "$expected" ]; then
    echo "install: the checksum of $archive is wrong; nothing is installed" >&2
    exit 1
  fi
  mkdir "$folder/$program"
  tar -xzf "$folder/$archive" -C "$folder/$program"
done
share=$prefix/share
mkdir -p "$prefix/bin" "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
for program in $programs; do
  from=$folder/$program
  # Writes a new file, because a running program cannot be overwritten.
  cp "$from/$program" "$prefix/bin/$program.new"
  chmod 755 "$prefix/bin/$program.new"
  mv "$prefix/bin/$program.new" "$prefix/bin/$program"
  cp "$from"/man/*.1 "$share/man/man1"
  cp "$from/completions/$program.bash" "$share/bash-completion/completions/$program"
  cp "$from/completions/_$program" "$share/zsh/site-functions"
  cp "$from/completions/$program.fish" "$share/fish/vendor_completions.d"
  echo "installed $("$prefix/bin/$program" --version) in $prefix/bin"
done
case :$PATH: in *:"$prefix/bin":*) ;; *) echo "add $prefix/bin to your PATH" ;; esac
