#!/usr/bin/env bash
# Installs mcpgen: the binary of a release, whose checksum is verified, or a build with cargo if there is no binary.
#
# MCPGEN_VERSION is a tag such as v0.1.0; by default, that of the version in this checkout. `latest` is the newest release,
# `source` builds this checkout, and `installed` uses the mcpgen that is on the PATH.
set -euo pipefail
# Nothing that this script starts needs a token.
unset GITHUB_TOKEN

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
own=v$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
version=${MCPGEN_VERSION:-$own}
repository=${MCPGEN_REPOSITORY:-mcpgen/mcpgen}
server=${GITHUB_SERVER_URL:-https://github.com}
folder=${RUNNER_TEMP:-$(mktemp -d)}/mcpgen-bin
mkdir -p "$folder"

if [ "$version" = installed ]; then
  mcpgen --version
  exit 0
fi

# Prints the target triple of this machine.
target() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo x86_64-unknown-linux-musl ;;
    Linux-aarch64) echo aarch64-unknown-linux-musl ;;
    Darwin-x86_64) echo x86_64-apple-darwin ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    MINGW*-x86_64 | MSYS*-x86_64) echo x86_64-pc-windows-msvc ;;
    *) return 1 ;;
  esac
}

checksum() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1
}

# Downloads and verifies the binary. Fails with 1 if there is none, and with 2 if the checksum is wrong.
download() {
  local triple archive base expected
  triple=$(target) || { echo "note: there is no binary for $(uname -s) on $(uname -m)"; return 1; }
  archive=mcpgen-$triple.tar.gz
  if [ "$version" = latest ]; then base=$server/$repository/releases/latest/download; else base=$server/$repository/releases/download/$version; fi
  local curl=(curl --fail --silent --show-error --location --retry 3 --max-time 300)
  "${curl[@]}" --output "$folder/SHA256SUMS" "$base/SHA256SUMS" || return 1
  "${curl[@]}" --output "$folder/$archive" "$base/$archive" || return 1
  expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$folder/SHA256SUMS")
  if [ -z "$expected" ] || [ "$(checksum "$folder/$archive")" != "$expected" ]; then
    echo "::error title=mcpgen::the checksum of $archive does not match SHA256SUMS of the release"
    return 2
  fi
  tar -xzf "$folder/$archive" -C "$folder"
}

# Builds mcpgen with cargo.
build() {
  local source=(--git "$server/$repository" --tag "$version" mcpgen)
  case $version in
    "$own" | source) source=(--path "$root/codegen") ;;
    latest) source=(--git "$server/$repository" mcpgen) ;;
  esac
  mkdir -p "$folder/empty"
  # In the folder of the branch, cargo would run the programs that its `.cargo/config.toml` names.
  (cd "$folder/empty" && cargo install --locked --root "$folder/cargo" "${source[@]}")
  cp "$folder"/cargo/bin/mcpgen* "$folder"
}

result=0
if [ "$version" = source ]; then result=1; else download || result=$?; fi
case $result in
  0) ;;
  1)
    echo "note: building mcpgen with cargo"
    build
    ;;
  *) exit 1 ;;
esac
"$folder/mcpgen" --version
if [ -n "${GITHUB_PATH:-}" ]; then echo "$folder" >>"$GITHUB_PATH"; fi
