"""The network of samples/batch_norm learns, and recognizes digits when it is restored.

$BATCH_NORM_SAMPLE is the executable.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class BatchNorm(unittest.TestCase):
    def test_it_learns_and_is_restored(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([os.environ["BATCH_NORM_SAMPLE"], folder, "61"], cwd=ROOT,
                                  text=True, timeout=200, check=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE)
            self.assertIn("model.ckpt-61.index", os.listdir(folder))
        losses = [float(loss) for loss in re.findall(r"^step \d+, loss (\S+)$", done.stdout, re.M)]
        self.assertEqual(len(losses), 4)
        self.assertLess(losses[-1], 0.5 * losses[0])
        right = re.search(r"^(\d+) of 1000 test digits right$", done.stdout, re.M)
        self.assertGreater(int(right[1]), 700)

    def test_without_the_digits(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([os.environ["BATCH_NORM_SAMPLE"], folder, "1"], cwd=folder,
                                  text=True, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=50)
        self.assertEqual(done.returncode, 1)
        self.assertIn("samples/mnist/train.tfrecords.gz", done.stderr)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
