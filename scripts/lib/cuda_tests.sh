# shellcheck shell=bash
# Shared by the scripts that test the CUDA backend: those of common.sh, and what builds and runs
# these tests. Sourced, never run.
# shellcheck source=scripts/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Where they build: as scripts/test does.
dir=$root/build-test
cuda_options=(-Dtests=true -Dverify=true -Doptimization=1)

# What run_cuda_tests runs.
# shellcheck disable=SC2034
run_targets=(tests/test_ops_cases tests/test_cuda_{chains,training,models,strategies}
  tests/test_models_strategies)

# build_cuda_tests TARGET...: ends the script if CUDA is not installed, or if the build fails.
build_cuda_tests() {
  configure "$dir" "${cuda_options[@]}" || exit "$build_failed"
  if ! grep -q 'libtowerflow_cuda_host.so' "$dir/build.ninja"; then
    say "The CUDA toolkit or libboost-context-dev is not installed (docs/cuda.md)."
    exit 77
  fi
  build "$dir" "$@" || exit "$build_failed"
}

# run_cuda_tests DEVICES [COMMAND...]: the op table, compiled chains, training, all models and
# strategies on these devices; prints failures alone. Returns how many failed. COMMAND runs the programs.
run_cuda_tests() {
  local devices=$1 failed=0
  shift
  export TOWERFLOW_TEST_CUDA=$devices
  cd "$root" || return 1
  # run_one NAME ARGUMENT...: says how a program failed, since one that is killed prints nothing.
  run_one() {
    local name=$1 status=0
    shift
    run_quietly "${command[@]}" "$dir/tests/$name" "$@" || status=$?
    [ "$status" -eq 0 ] && return
    warn "$devices: $name ended with exit code $status"
    failed=$((failed + 1))
  }
  local command=("$@") name
  TOWERFLOW_TEST_DEVICE=/device:GPU:0 run_one test_ops_cases --test-case='every case: kernels*'
  for name in chains training models strategies; do
    run_one "test_cuda_$name"
  done
  TOWERFLOW_STRATEGIES=all run_one test_models_strategies --test-case='every strategy*'
  return "$failed"
}
