# Every job sources this file: `source .ci/step.sh BUDGET`, where BUDGET is the number of seconds that the job may take on
# two idle cores after the jobs before it. Runs the job in the root of the repository.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
# The tests use larger samples than by default.
export MCPGEN_THOROUGH=1
# The folder of the programs that `build` builds.
programs=$(realpath -m "${CARGO_TARGET_DIR:-target}")/debug
# The tests start this program instead of building it again with other features.
export MCPGEN=$programs/mcpgen

# step COMMAND...: prints a command, runs it, and prints how long it took.
step() {
  local TIMEFORMAT='-- %0Rs, of the processors %0Us + %0Ss'
  printf '\n== %s\n' "$*"
  time "$@"
}

# Builds all tests, programs and examples. Cargo unifies the features of the packages that a command names, so commands for
# other sets of packages would compile most crates again. A job that needs a program or a test calls this first.
build() {
  step cargo build --locked --quiet --workspace --all-features --bins --examples --tests
}

# lint PACKAGE FEATURES [OPTION...]: clippy with these features only, where warnings are errors. Unlike RUSTFLAGS, this does
# not compile the dependencies again.
lint() {
  step cargo clippy --locked --quiet -p "$1" --no-default-features --features "$2" "${@:3}" -- -D warnings
}

# without CRATES COMMAND...: fails if a command, such as `cargo tree`, lists a crate that matches a regular expression.
without() {
  local listed
  listed=$("${@:2}")
  if grep -E "$1" <<<"$listed"; then return 1; fi
}

note() { printf '\nNOTE: %s\n' "$*"; }

finish() {
  local status=$?
  [ "$status" = 0 ] || printf '\n'
  printf '\n## %s: %s after %ss (budget: %ss%s)\n' "$job" "$([ "$status" = 0 ] && echo passed || echo FAILED)" "$SECONDS" "$budget" \
    "$([ "$SECONDS" -le "$budget" ] || echo ", EXCEEDED")"
}
job=$(basename "$0") budget=$1
printf '\n## %s\n' "$job"
trap finish EXIT
