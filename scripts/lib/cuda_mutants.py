"""Makes mistakes in a copy of the source, one at a time, and runs the tests that should find them.

    cuda_mutants.py copy ROOT TREE
    cuda_mutants.py run TREE BUILD [WORD...]

TREE is the copy, BUILD its build folder; words choose the mutants of cuda_mutants_*.txt whose file or
test contains one of them. Exit code 1 if more than one in twenty is not found.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

BUILD = "build-test"  # in the copy
LEAST_LIMIT = 60  # seconds of a test, which a mutant may make wait for ever


def copy(root, tree):
    """Makes the copy equal to the project. Files that are equal keep their times, so that little is
    built again."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root,
                            capture_output=True, text=True, check=True).stdout
    wanted = [name for name in listed.split("\0") if name and (root / name).is_file()]
    for name in wanted:
        to = tree / name
        if to.is_file() and to.read_bytes() == (root / name).read_bytes():
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, to)
    known = set(wanted)
    for folder in tree.iterdir():
        paths = [folder] if folder.is_file() else folder.rglob("*") if folder.name != BUILD else []
        for path in paths:
            if path.is_file() and str(path.relative_to(tree)) not in known:
                path.unlink()


def tables():
    """Returns the text of all tables of mutants."""
    folder = pathlib.Path(__file__).resolve().parent
    return "\n\n".join(path.read_text() for path in sorted(folder.glob("cuda_mutants_*.txt")))


def parse(table):
    """Returns (file, test, lines to find, replacement) of each mutant."""
    mutants = []
    for block in re.split(r"\n\s*\n", table):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        file, test = lines[0].split()
        old = [line[1:].strip() for line in lines[1:] if line.startswith("-")]
        new = [line[1:].strip() for line in lines[1:] if line.startswith("+")]
        mutants.append((file, test, old, "\n".join(new)))
    return mutants


def mutated(text, old, new):
    """Returns the text with a mistake, None if the place is not there."""
    pattern = r"\n[ \t]*".join(map(re.escape, old))
    found = re.search(pattern, text)
    return None if found is None else text[:found.start()] + new + text[found.end():]


def targets(test):
    kind = test.split(":")[0]
    if kind == "kernels":
        return ["tests/cuda/test_cuda_kernels"]
    binary = "tests/test_ops_cases" if kind == "ops" else "tests/test_cuda_" + kind
    return [binary, "cuda/libtowerflow_cuda_host.so"]


def command(test):
    """Returns the arguments and variables of a test."""
    kind, _, name = test.partition(":")
    if kind == "kernels":
        return ["tests/cuda/test_cuda_kernels", f"-sf=*{name}.cc"], {}
    if kind == "ops":
        return (["tests/test_ops_cases", "--test-case=every case: kernels*,every case in float16*"],
                {"TOWERFLOW_TEST_DEVICE": "/device:GPU:0", "TOWERFLOW_TEST_CASE": name})
    return ["tests/test_cuda_" + kind], {}


def build(folder, names):
    done = subprocess.run(["/usr/bin/ninja", "-C", folder, "-j2", *names], capture_output=True,
                          text=True, check=False)
    return done.returncode == 0


def run(folder, tree, test, limit=None):
    """Returns how a test ended: "passed", "failed", "hangs"."""
    arguments, variables = command(test)
    try:
        done = subprocess.run([folder / arguments[0], "--abort-after=1", *arguments[1:]], cwd=tree,
                              timeout=limit, env=os.environ | variables, capture_output=True,
                              check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    return "passed" if done.returncode == 0 else "failed"


def main():
    first, second = (pathlib.Path(path).resolve() for path in sys.argv[2:4])
    if sys.argv[1] == "copy":
        copy(first, second)
        return
    tree, folder, words = first, second, sys.argv[4:]
    # By file, so that no other has to be built again in between.
    mutants = sorted((mutant for mutant in parse(tables())
                      if not words or any(word in mutant[0] or word in mutant[1] for word in words)),
                     key=lambda mutant: mutant[0])
    tests = sorted({mutant[1] for mutant in mutants})
    if not build(folder, sorted({name for test in tests for name in targets(test)})):
        sys.exit("the source does not build without a mutant")
    limits = {}
    for test in tests:
        start = time.monotonic()
        if run(folder, tree, test) != "passed":
            sys.exit(f"the test {test} fails without a mutant")
        limits[test] = max(LEAST_LIMIT, 10 * (time.monotonic() - start))
    counts = {}
    for file, test, old, new in mutants:
        path = tree / file
        text = path.read_text()
        changed = mutated(text, old, new)
        start = time.monotonic()
        if changed is None:
            how = "not in the source"
        else:
            path.write_text(changed)
            try:
                builds = build(folder, targets(test))
                how = run(folder, tree, test, limits[test]) if builds else "does not build"
            finally:
                path.write_text(text)
        counts[how] = counts.get(how, 0) + 1
        print(f"{how:14} {time.monotonic() - start:5.0f} s  {file}  {test}  {old[-1]}", flush=True)
    found = counts.get("failed", 0) + counts.get("hangs", 0)
    print(f"{len(mutants)} mutants, {found} found; " +
          ", ".join(f"{count} {how}" for how, count in sorted(counts.items())))
    sys.exit(0 if 20 * (len(mutants) - found) <= len(mutants) else 1)


if __name__ == "__main__":
    main()
