"""The README's program is the one in samples/towers, and prints what the README shows.

$TOWERS_SAMPLE is the executable.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Readme(unittest.TestCase):
    def test_program_and_its_output(self):
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
        program = (ROOT / "samples/towers/towers.cc").read_text()
        at = blocks.index(("cpp", program))
        lines = [line for line in program.splitlines() if line and not line.startswith("//")]
        self.assertLessEqual(len(lines), 35)
        done = subprocess.run([os.environ["TOWERS_SAMPLE"]], text=True, timeout=50, check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        shown = blocks[at + 1][1]
        command, output = shown.split("\n", 1)
        self.assertTrue(command.startswith("$ "), command)
        self.assertEqual(done.stdout, output)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
