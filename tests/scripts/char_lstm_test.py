"""The character LSTM of samples/char_lstm learns from its text and writes one.

$CHAR_LSTM_SAMPLE is the executable.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = ROOT / "samples/char_lstm/text.txt"


class CharLstm(unittest.TestCase):
    def test_it_learns_and_writes(self):
        printed = run(str(TEXT), "101")
        losses = [float(loss) for loss in re.findall(r"^step \d+, loss (\S+)$", printed, re.M)]
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[-1], 0.8 * losses[0])
        written = printed.split("\n", 3)[3][:-1]
        self.assertEqual(len(written), 240)
        self.assertLessEqual(set(written), set(TEXT.read_text()))

    def test_a_file_that_is_not_there(self):
        done = subprocess.run([os.environ["CHAR_LSTM_SAMPLE"], "no such file"], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=50)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such file", done.stderr)


def run(*args):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.environ["CHAR_LSTM_SAMPLE"], *args], cwd=folder, text=True,
                              timeout=200, check=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE)
    return done.stdout


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
