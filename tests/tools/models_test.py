"""Models through the command: options that train as their sources do, batch sizes, logs and samples.

$TOWERFLOW_COMMAND is the executable.
"""

import json
import pathlib
import re
import signal
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench"), str(ROOT / "tests/parallel/processes")]
import turns  # noqa: E402
from ranks import MPIRUN, WITHOUT_MPIRUN, run_ranks  # noqa: E402
from support import COMMAND, LIMIT, run  # noqa: E402
from train_test import MODELS, Scratch  # noqa: E402


class Models(Scratch):
    def test_what_the_sources_do(self):
        """The options that train as a source does, or as it does not."""
        for model, *options in (("mnist", "--by-hand", "--constant-rate"),
                                ("cifar10", "--published-schedule"),
                                ("cifar10", "--ordered-averages", "--plain-tags"),
                                ("resnet20", "--depth", 8, "--decay-kernels-only")):
            with self.subTest(model=model, options=options):
                self.run_ok("train", model, "--num-towers", 2, "--batch-size", 4, "--max-steps", 1, *options)
                self.run_ok("explain", model, "--num-towers", 2, "--batch-size", 4, *options)

    def test_the_program_for_one_device_goes_on(self):
        train = ["train", "cifar10", "--one-device", "--batch-size", 8, "--seed", 3]
        self.run_ok(*train, "--max-steps", 3, "--train-dir", self.folder / "whole")
        train += ["--data-dir", self.folder / "whole/data", "--train-dir", self.folder / "parts"]
        for steps in (1, 3):
            output = self.run_ok(*train, "--max-steps", steps)
        self.assertIn("Continuing from the checkpoint of step 1.", output)
        for part in ("index", "data-00000-of-00001"):
            self.assertEqual((self.folder / "parts" / f"model.ckpt-3.{part}").read_bytes(),
                             (self.folder / "whole" / f"model.ckpt-3.{part}").read_bytes())

    def test_the_towers_of_resnet20_divide_a_batch(self):
        train = ["train", "resnet20", "--depth", 8, "--num-towers", 2, "--max-steps", 1, "--batch-size"]
        self.assertIn("Batch: 3 images a tower, 6 a step;", self.run_ok(*train, 6))
        self.assert_error(run(*train, 7), 1, "must be divisible by the number of towers, got 7 and 2")

    @unittest.skipUnless(MPIRUN, WITHOUT_MPIRUN)
    def test_the_log_of_resnet20_counts_all_processes(self):
        done, _ = run_ranks(2, [COMMAND, "train", "resnet20", "--depth", "8", "--batch-size", "16", "--max-steps",
                                "31", "--threads", "1", "--strategy", "mpi", "--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        average = float(re.search(r"Average examples/sec: ([\d.]+) \([\d.]+\), step = 30\n", done.stdout)[1])
        rate = json.loads(done.stdout.splitlines()[-1])["examples_per_second"]
        self.assertGreater(average, 0.7 * rate)  # it has the time between two steps too

    def test_timings_know_the_models_whose_towers_divide_a_batch(self):
        divide = [model for model in MODELS.split(", ") if "examples a step, which the towers divide"
                  in " ".join(self.run_ok("bench", model, "--help").split())]
        self.assertEqual(divide, list(turns.DIVIDED))
        self.assertEqual([turns.given_batch(model, 8, 2) for model in ("mnist", *divide)], [8, 16, 16])

    def test_the_log_of_char_lstm(self):
        output = self.run_ok("train", "char_lstm", "--rnn-size", 8, "--batch-size", 4, "--num-towers", 2,
                             "--max-steps", 1)
        self.assertRegex(output, r"(?m)^0/1 \(epoch 0\), train_loss = \d\.\d{3}, time/batch = \d+\.\d{3}; "
                                 r"mean of 2 towers \d\.\d{3}, from \d\.\d{3} to \d\.\d{3}$")

    def test_char_lstm_writes_a_text(self):
        folder, written = self.folder / "lstm", self.folder / "written.txt"
        self.run_ok("train", "char_lstm", "--rnn-size", 8, "--batch-size", 4, "--max-steps", 2,
                    "--seed", 1, "--train-dir", folder)
        evaluate = ["eval", "char_lstm", "--train-dir", folder, "--samples"]
        result = run(*evaluate, written, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("Restoring parameters from"), 1)
        self.assertIn(f"{written}: 1,000 characters", result.stdout)
        self.assertRegex(written.read_text(encoding="latin-1"), r"(?s)\AThe .{996}\n\Z")
        alone = json.loads(self.run_ok(*evaluate[:-1], "--json").splitlines()[-1])
        self.assertEqual(json.loads(result.stdout.splitlines()[-1]), alone)
        self.assert_error(run(*evaluate, self.folder / "written.png"), 2,
                          "must end in .txt", "written.png'")


if __name__ == "__main__":
    signal.alarm(2 * LIMIT)
    unittest.main()
