#!/usr/bin/python3
"""Trainings in several processes that are stopped or killed, and continued."""

import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "parallel/processes"))
from ranks import MPIRUN, WITHOUT_MPIRUN, run_ranks  # noqa: E402

PROGRAM = os.environ["CONTINUE_RANKS"]
DIGITS = pathlib.Path(__file__).resolve().parents[3] / "samples/mnist"
STARTS_OVER = "(it had another number of processes): the variables are restored, but the input starts over"


@unittest.skipUnless(MPIRUN, WITHOUT_MPIRUN)
class Continued(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def train(self, ranks, name, steps, *end, code=0, model="small", data=DIGITS):
        """Trains up to `steps`, or until `end`. Returns what is written to the standard error."""
        done, _ = run_ranks(ranks, [PROGRAM, model, str(data), name, str(steps), *map(str, end)],
                            options=["--wdir", str(self.folder)])
        self.assertEqual(done.returncode == 0, code == 0, done.stdout + done.stderr)
        return done.stderr

    def assert_same_bits(self, name, other, step):
        """Compares the files of a checkpoint in two folders."""
        for part in ("index", "data-00000-of-00001"):
            one, two = ((self.folder / folder / f"model.ckpt-{step}.{part}").read_bytes()
                        for folder in (name, other))
            self.assertTrue(one == two, f"{part} of {name} and {other}")

    def copy(self, name, to):
        shutil.copytree(self.folder / name, self.folder / to)

    def test_stopped_and_continued_as_one_without_a_stop(self):
        self.train(2, "whole", 14)
        self.train(2, "parts", 14, "stop", 3)
        self.train(2, "parts", 14, "stop", 9)
        self.assertNotIn("starts over", self.train(2, "parts", 14))
        self.assert_same_bits("parts", "whole", 14)

    def test_a_model_whose_learning_rates_follow_its_discriminator(self):
        data = self.folder / "images"
        data.mkdir()
        pixels = random.Random(1)
        for part in range(1, 6):
            records = [bytes([label % 10]) + pixels.randbytes(3072) for label in range(32)]
            (data / f"data_batch_{part}.bin").write_bytes(b"".join(records))
        self.train(2, "whole", 4, model="vaegan", data=data)
        self.train(2, "parts", 4, "stop", 2, model="vaegan", data=data)
        self.train(2, "parts", 4, model="vaegan", data=data)
        self.assert_same_bits("parts", "whole", 4)

    def test_killed_and_continued_from_the_last_checkpoint(self):
        self.train(2, "whole", 10)
        self.train(2, "killed", 10, "kill", 7, code=137)
        self.assertFalse((self.folder / "killed/model.ckpt-7.index").exists())
        self.train(2, "killed", 10)
        self.assert_same_bits("killed", "whole", 10)

    def test_another_number_of_processes_begins_an_epoch(self):
        self.train(2, "two", 6)
        for ranks in (3, 1):
            with self.subTest(ranks=ranks):
                whole, parts = f"whole{ranks}", f"parts{ranks}"
                self.copy("two", whole)
                self.copy("two", parts)
                self.assertIn(STARTS_OVER, self.train(ranks, whole, 14))
                # From here on their number is the same.
                self.train(ranks, parts, 14, "stop", 9)
                self.assertNotIn("starts over", self.train(ranks, parts, 14))
                self.assert_same_bits(parts, whole, 14)
        self.assertIn(STARTS_OVER, self.train(2, "whole1", 16))

    def test_other_data_starts_over(self):
        self.train(2, "other", 3)
        copy = self.folder / "digits"
        shutil.copytree(DIGITS, copy)
        done, _ = run_ranks(2, [PROGRAM, "small", str(copy), str(self.folder / "other"), "6"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("(its data were different)"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
