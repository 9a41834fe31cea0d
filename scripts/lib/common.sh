# shellcheck shell=bash
# Shared by all scripts: the project's root, output functions, building. Sourced, never run. Works
# from any current folder, and with other tools of the same name in PATH.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# The distribution's own Meson and Ninja; a newer one from pip or a version manager may precede them
# in PATH.
meson=/usr/bin/meson
ninja=/usr/bin/ninja
jobs=$(nproc 2>/dev/null || echo 2)
# Exit code of scripts/test if the build failed.
# shellcheck disable=SC2034
build_failed=2
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$root}"
# For precompiled headers, ccache must be told to ignore time stamps.
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"
# ccache also reuses a precompiled header from before a change of a comment or a macro, since the
# preprocessed text is the same. '#pragma once' then does not recognize the changed header, whose
# content is defined twice. A ccache namespace per state of the headers prevents that.
if command -v ccache >/dev/null; then
  headers=$(cd "$root" && find . -type d \( -name 'build*' -o -name '.?*' \) -prune -o -name '*.h' -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16)
  export CCACHE_NAMESPACE="${CCACHE_NAMESPACE:-towerflow-$headers}"
fi

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' yellow=$'\e[33m' plain=$'\e[0m'
else
  bold='' red='' green='' yellow='' plain=''
fi

say() { printf '%s\n' "$*"; }
headline() { printf '%s\n' "$bold==> $*$plain"; }
good() { printf '%s\n' "$green$*$plain"; }
warn() { printf '%s\n' "$yellow$*$plain" >&2; }
fail() {
  printf '%s\n' "$red$*$plain" >&2
  exit 1
}

# run_quietly COMMAND...: prints the output only if the command fails; returns its exit status.
run_quietly() {
  local output status
  output=$("$@" 2>&1 </dev/null)
  status=$?
  [ "$status" -eq 0 ] || printf '%s\n' "$output"
  return "$status"
}

# configure DIR OPTION...: configures a Meson build folder with exactly these options (and $CXX);
# recreates it only if they changed.
configure() {
  local dir=$1 stamp="$1/.options"
  shift
  local wanted="${CXX:-c++} $*"
  if [ -f "$dir/build.ninja" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return 0; fi
  say "Configuring $(basename "$dir")/ ..."
  rm -rf "$dir"
  run_quietly "$meson" setup "$dir" "$root" "$@" || return 1
  printf '%s\n' "$wanted" >"$stamp"
}

# build DIR [TARGET...]: continues after a failure, so that one run shows every broken file. Shows
# the progress on a terminal, otherwise only failures.
build() {
  local dir=$1
  shift
  say "Building $(basename "$dir")/ ..."
  if [ -t 1 ]; then
    "$ninja" -C "$dir" -j "$jobs" -k 0 "$@" </dev/null
  else
    run_quietly "$ninja" -C "$dir" -j "$jobs" -k 0 --quiet "$@"
  fi
}

# run_tests DIR [--suite NAME] [FILTER...]: runs the tests built there, prints the output of failed
# ones, and ends with the line N passed, N failed, N skipped.
run_tests() {
  /usr/bin/python3 "$root/scripts/lib/run_tests.py" "$@" </dev/null
}
