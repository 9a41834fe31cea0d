"""Runs the Meson tests of a build folder and counts doctest's test cases over all binaries.

    run_tests.py BUILD_DIR [--suite NAME] [--scale N] [--targets] [FILTER...]

The last line is `N passed, N failed, N skipped`. A binary that crashed, timed out, failed without
a failed case or printed no doctest summary counts as one failure. A line `SKIPPED: why` moves its
case from passed to skipped. Tests of the suite `script` count by their exit code; 77 means skipped.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

MESON = "/usr/bin/meson"
SUMMARY = re.compile(
    r"^\[doctest\] test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed \|", re.M)
SKIPPED = re.compile(r"^SKIPPED: .*$", re.M)


def count(output, exit_code, is_script):
    """Returns (passed, failed, skipped) of one test from its output and exit code."""
    if is_script:
        return {0: (1, 0, 0), 77: (0, 0, 1)}.get(exit_code, (0, 1, 0))
    summaries = SUMMARY.findall(output)
    if not summaries:
        return 0, 1, 0
    passed, failed = map(int, summaries[-1])
    skipped = min(passed, len(SKIPPED.findall(output)))
    passed -= skipped
    if exit_code != 0 and failed == 0:
        failed = 1
    return passed, failed, skipped


def select(build_dir, suite, filters):
    """Returns Meson's records of the selected tests, by name."""
    known = json.loads((build_dir / "meson-info" / "intro-tests.json").read_text())
    in_suite = [t for t in known if suite is None or any(s.endswith(":" + suite) for s in t["suite"])]
    return {t["name"]: t for t in in_suite
            if not filters or any(f in t["name"] for f in filters)}


def run(build_dir, tests, scale):
    """Returns Meson's log record per test; a test that could not be started has none."""
    log = build_dir / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    # Meson starts the tests that are named to it in this order, whatever their priority.
    in_order = sorted(tests, key=lambda name: (-tests[name]["priority"], name))
    command = [MESON, "test", "-C", str(build_dir), "--no-rebuild", "-t", str(scale), *in_order]
    meson = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    if not log.exists():
        print(meson.stdout)
        return {}
    records = map(json.loads, log.read_text().splitlines())
    # The name is "project:suite / name" if the test has a suite.
    return {record["name"].rsplit(" / ", 1)[-1]: record for record in records}


def report(name, record, counts):
    passed, failed, skipped = counts
    if failed == 0:
        print(f"  {name}: {passed} passed" + (f", {skipped} skipped" if skipped else "")
              + f" ({record['duration']:.1f} s)")
        return
    print(f"  {name}: FAILED")
    if record is None:
        print("    it was not started: is its binary there?")
        return
    for stream in ("stdout", "stderr"):
        for line in (record.get(stream) or "").splitlines():
            print("    " + line)
    print(f"    ({record['result']}, exit code {record['returncode']},"
          f" {record['duration']:.1f} s; to repeat: {' '.join(record['command'])})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build_dir", type=pathlib.Path)
    parser.add_argument("--suite")
    parser.add_argument("--scale", default=1, type=int, help="multiplies every time limit")
    parser.add_argument("--targets", action="store_true",
                        help="run nothing, print what Ninja is to build for these tests")
    parser.add_argument("filters", nargs="*")
    arguments = parser.parse_args()

    tests = select(arguments.build_dir, arguments.suite, arguments.filters)
    if arguments.targets:
        print("\n".join(str(pathlib.Path(t["cmd"][0]).relative_to(arguments.build_dir.resolve()))
                        for t in tests.values()))
        return 0
    if not tests:
        print("no test matches " + " ".join(arguments.filters) if arguments.filters
              else "there are no tests to run")
        print("0 passed, 1 failed, 0 skipped")
        return 1
    records = run(arguments.build_dir, tests, arguments.scale)
    total = (0, 0, 0)
    reasons = []
    for name in sorted(tests):
        record = records.get(name)
        counts = (0, 1, 0)
        if record is not None:
            is_script = any(s.endswith(":script") for s in tests[name]["suite"])
            output = record.get("stdout") or ""
            counts = count(output, record["returncode"], is_script)
            reasons += [f"  {name}: {line}" for line in SKIPPED.findall(output)]
        report(name, record, counts)
        total = tuple(map(sum, zip(total, counts)))
    for reason in reasons:
        print(reason)
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
