"""The asynchronous laboratory of samples/async_lab writes each step of its trainings, and the figure is
drawn from them.

$ASYNC_LAB is the executable.
"""

import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 12


class AsyncLab(unittest.TestCase):
    def test_steps_and_figure(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "lab.csv"
            done = subprocess.run([os.environ["ASYNC_LAB"], file, str(STEPS)], cwd=ROOT, text=True, timeout=200,
                                  check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self.assertRegex(done.stdout, r"asynchronous against synchronous: \d\.\d\d times as fast; "
                                          r"by arithmetic 1\.75\n$")
            with open(file, encoding="utf-8") as steps:
                rows = list(csv.DictReader(steps))
            trainings = dict.fromkeys(row["training"] for row in rows)
            self.assertEqual(len(trainings), 5)
            for training in trainings:
                updates = [int(row["update"]) for row in rows if row["training"] == training]
                self.assertEqual(sorted(updates), list(range(4 * STEPS)), training)
            stale = {row["training"] for row in rows if row["staleness"] != "0"}
            self.assertEqual(stale, set(trainings) - {"synchronous"})
            script = shutil.copy(ROOT / "docs/figures/async_lab.py", folder)
            subprocess.run([sys.executable, script, file], check=True)
            svg = (pathlib.Path(folder) / "async_lab.svg").read_text(encoding="utf-8")
            self.assertEqual(len(re.findall("<polyline", svg)), 10)

    def test_a_folder_that_is_not_there(self):
        done = subprocess.run([os.environ["ASYNC_LAB"], "no such folder/lab.csv"], cwd=ROOT, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=50)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file or directory", done.stderr)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
