"""The program of each README equals samples/towers, and its output and files are those that are shown.

$TOWERS_SAMPLE is the executable, $TOWERFLOW_COMMAND the command.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Readme(unittest.TestCase):
    def test_program_and_its_output(self):
        for page in ("README.md", "README.zh.md"):
            with self.subTest(page):
                self.check(page)

    def check(self, page):
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
        program = (ROOT / "samples/towers/towers.cc").read_text()
        at = blocks.index(("cpp", program))
        lines = [line for line in program.splitlines() if line and not line.startswith("//")]
        self.assertLessEqual(len(lines), 35)
        shown = [command_and_output(block) for _, block in blocks[at + 1:at + 3]]
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run([os.environ["TOWERS_SAMPLE"]], folder), shown[0][1])
            printed = run([os.environ["TOWERFLOW_COMMAND"], *shown[1][0].split()[1:]], folder)
            self.assertEqual(comparable(printed), comparable(shown[1][1].split("$ tensorboard")[0]))


def comparable(text):
    """Removes the time of writing and rounds values, which start randomly, to three digits."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "", text)
    return re.sub(r"\S+$", lambda word: rounded(word[0]), text, flags=re.M)


def rounded(word):
    try:
        return "%.3f" % float(word)
    except ValueError:
        return word


def run(command, folder):
    done = subprocess.run(command, cwd=folder, text=True, timeout=50, check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return done.stdout


def command_and_output(block):
    """Splits a block that begins with "$ " and a command into the command and its output."""
    command, output = block.split("\n", 1)
    assert command.startswith("$ "), command
    return command[2:], output


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
