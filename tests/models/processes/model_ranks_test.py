#!/usr/bin/python3
"""The contract of the strategies in several processes: models of tests/models/contract_models.h get
the values of as many towers in one process."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "parallel/processes"))
from ranks import MPIRUN, WITHOUT_MPIRUN, run_ranks  # noqa: E402

PROGRAM = os.environ["MODEL_RANKS"]


@unittest.skipUnless(MPIRUN, WITHOUT_MPIRUN)
class ModelsInProcesses(unittest.TestCase):
    def lines(self, ranks, model, steps):
        """Returns what each of `ranks` processes prints, twice, after one process has trained."""
        with tempfile.TemporaryDirectory() as folder:
            program = [PROGRAM, model, str(steps), folder]
            subprocess.run(program, check=True, capture_output=True)
            lines = []
            for _ in range(2):
                done, _ = run_ranks(ranks, program)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                lines += done.stdout.splitlines()
        self.assertEqual(len(lines), 2 * ranks)
        return lines

    def check_a_tower_each(self, model):
        self.assertEqual(set(self.lines(4, model, steps=3)), {"equal"})

    def check_two_towers_each(self, model, steps):
        # (0 + 1) + (2 + 3) is another order of the sum.
        for line in self.lines(2, model, steps):
            self.assertLess(0 if line == "equal" else float(line), 1e-6)

    def test_mnist(self):
        self.check_a_tower_each("mnist")
        self.check_two_towers_each("mnist", steps=3)

    def test_resnet8(self):
        self.check_a_tower_each("resnet8")
        # In the second step one activation is so near to zero that relu passes it in one of the
        # trainings alone.
        self.check_two_towers_each("resnet8", steps=1)

    def test_gan_with_gradients_that_one_process_lacks(self):
        # One process adds up the gradients of a bias of one element in another order, as a row.
        for line in self.lines(4, "gan", steps=3):
            self.assertLess(0 if line == "equal" else float(line), 1e-6)
        # Of four towers, three have some of the gradients: both of one process, and one of the other.
        self.check_two_towers_each("gan", steps=3)

    def test_lstm(self):
        self.check_a_tower_each("lstm")
        self.check_two_towers_each("lstm", steps=3)

    def test_lstm_with_a_loop(self):
        self.check_a_tower_each("lstm_with_a_loop")
        self.check_two_towers_each("lstm_with_a_loop", steps=3)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
