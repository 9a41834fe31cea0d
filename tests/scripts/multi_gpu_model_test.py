"""The towers of samples/multi_gpu_model learn, and their test model has the variables that they train.

$MULTI_GPU_MODEL_SAMPLE is the executable.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class MultiGpuModel(unittest.TestCase):
    def test_they_learn_and_are_tested(self):
        for gpus, steps in ((1, 157), (2, 78)):
            with self.subTest(gpus=gpus), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([os.environ["MULTI_GPU_MODEL_SAMPLE"], folder, "2", str(gpus)], cwd=ROOT,
                                      text=True, timeout=200, check=True, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE)
                epochs = re.findall(r"^epoch (\d), step (\d+): loss (\S+) in train/, (\S+) in test/$", done.stdout,
                                    re.M)
                self.assertEqual([(epoch, step) for epoch, step, *_ in epochs],
                                 [("0", str(steps)), ("1", str(2 * steps))])
                trained, tested = ([float(loss) for loss in losses] for losses in list(zip(*epochs))[2:])
                self.assertLess(trained[1], 0.8 * trained[0])
                self.assertLess(tested[1], tested[0])
                self.assertLess(tested[1], 0.8)
                self.assertIn(f"model.ckpt-{2 * steps}.index", os.listdir(folder))
                self.assertTrue(any(name.startswith("events.") for name in os.listdir(folder)))


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
