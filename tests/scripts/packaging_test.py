"""The list of headers to install, the cost of including one, and parts of scripts/bench.

$TOWERFLOW_COMMAND is the executable.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, cwd=ROOT):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=120)
    return done.returncode, done.stdout, done.stderr


class PublicHeaders(unittest.TestCase):
    def listed(self, files, *start):
        """Returns the script's list for a project of these {path: text}."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            (root / "packaging").mkdir()
            script = shutil.copy(ROOT / "packaging/public_headers", root / "packaging")
            return run(script, *start, cwd=root)

    def test_all_that_is_included(self):
        code, output, _ = self.listed({
            "a/top.h": '#include "a/one.h"\n#include <vector>\n', "a/one.h": '# include "b/two.h"\n',
            "b/two.h": '#include "a/one.h"\n', "b/other.h": "", "b/unused.h": ""},
            "a/top.h", "b/other.h")
        self.assertEqual((code, output), (0, "a/one.h\na/top.h\nb/other.h\nb/two.h\n"))

    def test_a_header_that_is_not_there(self):
        code, _, errors = self.listed({"a/top.h": '#include "a/gone.h"\n'}, "a/top.h")
        self.assertEqual(code, 1)
        self.assertIn("a/gone.h: named by a/top.h", errors)

    def test_a_header_of_another_library(self):
        code, _, errors = self.listed({"a/top.h": "#include <fmt/format.h>\n"}, "a/top.h")
        self.assertEqual(code, 1)
        self.assertIn("a/top.h: a program that includes it would need <fmt/format.h>", errors)

    def test_nothing_given(self):
        self.assertEqual(self.listed({})[0], 1)

    def test_the_project(self):
        code, output, errors = run("packaging/public_headers", "towerflow/tf.h")
        self.assertEqual(code, 0, errors)
        self.assertIn("core/runtime/session.h\n", output)


class Bench(unittest.TestCase):
    def test_help(self):
        for option in ("--help", "-h"):
            code, output, _ = run("scripts/bench", option)
            self.assertEqual(code, 0)
            self.assertTrue(output.startswith("usage: scripts/bench [WHAT]"), output)
            for what in re.findall(r"compare_(\w+)\.py", "\n".join(map(str, ROOT.glob("bench/*")))):
                self.assertRegex(output, rf"(?m)^  {what} ")

    def test_towers(self):
        for whole_batch, one_batch in (((), 4), (("--whole-batch",), 12)):
            code, output, errors = run(
                sys.executable, "-B", "bench/compare_towers.py", "--command", os.environ["TOWERFLOW_COMMAND"],
                "--num-towers", "3", "--batch-size", "4", "--devices", "2", "--windows", "3", "--steps", "2",
                "--json", *whole_batch)
            self.assertEqual(code, 0, errors)
            windows = re.findall(r"(?m)^window (\d) of 3: 3 towers [\d.]+, one tower [\d.]+$", output)
            self.assertEqual(windows, ["1", "2", "3"])
            self.assertRegex(output, r"(?m)^3 towers +of +4 examples: +[\d.]+ examples/s \(middle half ")
            self.assertRegex(output, rf"(?m)^one tower +of +{one_batch} examples: +[\d.]+ examples/s ")
            self.assertRegex(output, r"(?m)^ratio to one tower: .*, mnist, 3 towers on 2 logical CPUs$")
            line = json.loads(output.splitlines()[-1])
            self.assertEqual((line["towers"], line["devices"], line["batch_size"], line["one_batch_size"]),
                             (3, 2, 4, one_batch))
            self.assertLessEqual(line["low"], line["ratio"])
            self.assertLessEqual(line["ratio"], line["high"])
            self.assertGreater(min(line["memory"], line["one_memory"]), 0)

    def test_towers_refuses(self):
        for arguments, text in ((("--windows", "0"), "--windows must be at least 1"),
                                (("--model", "mnst"), "2 towers did not start")):
            code, _, errors = run(sys.executable, "-B", "bench/compare_towers.py", "--command",
                                  os.environ["TOWERFLOW_COMMAND"], *arguments)
            self.assertNotEqual(code, 0)
            self.assertIn(text, errors)

    def test_include(self):
        code, output, _ = run("scripts/bench", "include", "--runs", "2", "--compiler", "g++", "no-c++",
                              "--header", "core/graph/shape.h")
        self.assertEqual(code, 0)
        self.assertIn("no-c++ is not installed\n", output)
        self.assertRegex(output, r"g\+\+ +-std=c\+\+20 <core/graph/shape\.h>: \d\.\d\d s \(middle half ")

    def test_include_of_what_does_not_compile(self):
        code, _, errors = run("scripts/bench", "include", "--compiler", "g++", "--header", "no/such.h")
        self.assertEqual(code, 1)
        self.assertIn("no/such.h", errors)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
