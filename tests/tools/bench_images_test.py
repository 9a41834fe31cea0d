"""`towerflow bench --model NAME`: the lines of tf_cnn_benchmarks, each way to share variables, mistakes; and
`bench scaling`.

$TOWERFLOW_COMMAND is the executable.
"""

import json
import math
import pathlib
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "parallel/processes"))
from ranks import MPIRUN, WITHOUT_MPIRUN, run_ranks  # noqa: E402
from support import COMMAND, run  # noqa: E402

SHORT = ("--model", "lenet5", "--batch-size", "4", "--num-warmup-batches", "1", "--num-batches", "4",
         "--display-every", "2")
LINE = r"\d+\timages/sec: \d+\.\d \+/- \d+\.\d \(jitter = \d+\.\d\)\t\d+\.\d{3}\n"


class BenchImages(unittest.TestCase):
    def bench(self, *more):
        result = run("bench", *SHORT, *more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_lines(self):
        output = self.bench("--num-gpus", 2, "--json", "--efficiency")
        self.assertTrue(output.startswith(
            "Model:       lenet5\nDataset:     synthetic\nMode:        training\n"
            "Batch size:  8 global\n             4 per device\nNum batches: 4\n"
            "Devices:     /cpu:0, /cpu:1\nVariables:   parameter_server\n"
            "Times:       of this machine's clock\n==========\nRunning warm up\nDone warm up\n"
            "Step\tImg/sec\ttotal_loss\n"), output)
        self.assertEqual([line.split("\t")[0] for line in re.findall(LINE, output)], ["1", "2", "4"])
        self.assertRegex(output, "-{64}\ntotal images/sec: \\d+\\.\\d\\d\n"
                                 "scaling efficiency: \\d+\\.\\d % of independent\n-{64}\n")
        line = json.loads(output.splitlines()[-1])
        self.assertEqual((line["model"], line["num_gpus"], line["batch_size"]), ("lenet5", 2, 4))
        self.assertGreater(line["images_per_second"], 0)
        self.assertGreater(line["efficiency"], 0)

    def test_a_batch_is_that_of_a_device(self):
        """Even of a model whose towers divide the batch in a training."""
        result = run("bench", "--model", "resnet20", "--num-gpus", 2, "--batch-size", 3,
                     "--num-warmup-batches", 1, "--num-batches", 1)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Batch size:  6 global\n             3 per device\n", result.stdout)

    def test_each_way_to_share_variables(self):
        for update in ("independent", "parameter_server", "distributed_all_reduce", "async"):
            output = self.bench("--variable-update", update, "--num-gpus", 2)
            self.assertIn(f"Variables:   {update}\n", output)
            self.assertEqual("mean staleness: " in output, update == "async")
        for update in ("independent", "parameter_server", "replicated", "async"):
            output = self.bench("--variable-update", update, "--num-gpus", 2, "--devices", "sim:2,slow=1:3",
                                "--all-reduce", "ring")
            self.assertIn("Devices:     /device:SIM:0, /device:SIM:1\n", output)
            self.assertIn("Times:       virtual\n", output)

    def test_losses_are_numbers(self):
        """The schedule of cifar10 divides by the steps of an epoch, of which batches in memory have none."""
        result = run("bench", "--model", "cifar10", "--batch-size", "16", "--num-warmup-batches", "1",
                     "--num-batches", "20", "--display-every", "5", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        losses = [float(line.split("\t")[2]) for line in result.stdout.splitlines() if "jitter = " in line]
        self.assertEqual(len(losses), 5, result.stdout)
        for loss in losses:
            self.assertTrue(math.isfinite(loss), losses)
        self.assertLess(losses[-1], losses[0])
        result = run("bench", "cifar10", "--batch-size", "16", "--warm-up", "1", "--windows", "2",
                     "--steps", "2", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIsNotNone(json.loads(result.stdout.splitlines()[-1])["loss"])  # null is NaN

    def test_delays(self):
        for update in ("parameter_server", "replicated"):
            output = self.bench("--variable-update", update, "--num-gpus", 2, "--devices", "sim:2",
                                "--variable-consistency", "relaxed", "--staged-vars", "--json")
            self.assertIn(f"Variables:   {update}\nConsistency: relaxed\nStaged vars: True\n", output)
            line = json.loads(output.splitlines()[-1])
            self.assertEqual((line["variable_consistency"], line["staged_vars"]), ("relaxed", True))
        output = self.bench("--variable-consistency", "strong", "--json")
        self.assertNotIn("Consistency", output)
        self.assertNotIn("Staged", output)
        self.assertEqual(json.loads(output.splitlines()[-1])["staged_vars"], False)
        # Independent towers, which defer nothing, are compared with.
        self.assertIn("scaling efficiency", self.bench("--variable-consistency", "relaxed", "--efficiency"))

    def test_what_cannot_be_delayed(self):
        relaxed, staged = ("--variable-consistency", "relaxed"), ("--staged-vars",)
        for option in (relaxed, staged):
            for update in ("independent", "async"):
                result = run("bench", *SHORT, *option, "--variable-update", update)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(f"{' '.join(option)} needs towers that exchange gradients in each step, not "
                              f"--variable-update {update}", result.stderr)
        for arguments, text in ((("--model", "cifar10", *staged), "'cifar10' cannot stage its variables, only trivial"),
                                ((*SHORT, "--variable-consistency", "weak"), "--variable-consistency")):
            result = run("bench", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(text, result.stderr)
        # The model differentiates without an optimizer: an error of the library, and no timings.
        result = run("bench", "--model", "resnet20", "--batch-size", "2", "--num-batches", "1", *relaxed)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("there are no gradients to keep for the next step", result.stderr)
        self.assertNotIn("images/sec", result.stdout)

    @unittest.skipUnless(MPIRUN, WITHOUT_MPIRUN)
    def test_processes(self):
        for update, examples in (("distributed_all_reduce", 8), ("independent", 8)):
            done, _ = run_ranks(2, [COMMAND, "bench", *SHORT, "--threads", "1", "--variable-update", update])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"Batch size:  {examples} global\n", done.stdout)
            self.assertIn("Devices:     /cpu:0, in each of 2 processes\n", done.stdout)
            self.assertEqual(len(re.findall("total images/sec: ", done.stdout)), 1)
        done, _ = run_ranks(2, [COMMAND, "bench", *SHORT, "--threads", "1", "--variable-consistency", "relaxed",
                                "--staged-vars", "--variable-update", "distributed_all_reduce"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Consistency: relaxed\n", done.stdout)
        done, _ = run_ranks(2, [COMMAND, "bench", *SHORT])
        self.assertIn("mpirun has started this process: --variable-update", done.stderr)

    def test_mistakes(self):
        for arguments, text in (((), "needs one of: mnist"),
                                (("--model", "lenet"), "there is no 'lenet', only trivial, lenet5"),
                                ((*SHORT, "--variable-update", "replicated"), "needs accelerators"),
                                ((*SHORT, "--num-gpus", 3, "--devices", "sim:2"), "as many devices, got 2"),
                                ((*SHORT, "--variable-update", "independent", "--efficiency"), "--efficiency"),
                                (("--model", "cifar10", "--optimizer", "rmsprop"), "'cifar10' has its own"),
                                ((*SHORT, "--num-gpus", 0), "--num-gpus")):
            result = run("bench", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(text, result.stderr)

    def test_scaling(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder) / "scaling.svg"
            result = run("bench", "scaling", "--model", "three_stage_gan", "--counts", "1,2", "--bandwidths", "16",
                         "--batch-size", 2, "--steps", 1, "--strategy", "all", "--svg", picture, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            cells = json.loads(result.stdout.splitlines()[-1])
            self.assertEqual([(cell["strategy"], cell["devices"]) for cell in cells],
                             [(strategy, devices) for strategy in ("parameter_server", "async", "gather", "shuffle",
                                                                   "ring", "tree", "hierarchical")
                              for devices in (1, 2)])
            for cell in cells:
                self.assertGreater(cell["virtual_seconds"], 0)
                if cell["strategy"] == "async":  # whose towers have no step in common
                    self.assertNotIn("hidden_share", cell)
                    continue
                self.assertGreater(cell["copy_seconds"], 0)
                self.assertTrue(0 <= cell["hidden_share"] <= 1, cell)
            self.assertIn("ring, 16 GB/s", picture.read_text(encoding="utf-8"))
        self.assertIn("must be one of", run("bench", "scaling", "--strategy", "rung").stderr)


if __name__ == "__main__":
    unittest.main()
