"""`towerflow tune`: times the convolutions of a model and keeps their plans in a file.

$TOWERFLOW_COMMAND is the executable.
"""

import json
import os
import pathlib
import tempfile
import unittest

from support import run


def cuda_missing():
    return json.loads(run("devices", "--json").stdout.splitlines()[-1])["machine"]["cuda_missing"]


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.plans = pathlib.Path(folder.name) / "plans.json"

    def said(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return result.stdout

    def refused(self, code, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def tune(self, batch_size=2):
        return self.said("tune", "mnist", "--devices", "cuda-host:1", "--batch-size", batch_size,
                         "--plans", self.plans, "--json")

    def test_times_what_the_file_lacks(self):
        if "built without CUDA" in cuda_missing():
            return
        *lines, last = self.tune().splitlines()
        plans = json.loads(last)["plans"]
        self.assertEqual(lines[0], "Timing the convolutions of mnist, 1 tower of 2 examples")
        self.assertEqual(lines[-1], f"{len(plans)} plans added to '{self.plans}', for {plans[0]['device']}")
        self.assertEqual(len(lines), len(plans) + 3)
        self.assertTrue(plans[0]["device"].startswith("host emulation, compute capability "))
        self.assertIn("forward with bias and relu float32 NHWC 2x28x28x1, filter 5x5x1x32, stride 1x1, "
                      "dilation 1x1, padding 2,2,2,2", [plan["convolution"] for plan in plans])
        for plan in plans:
            self.assertEqual(plan["timed"], 3)
            self.assertLessEqual(0, plan["milliseconds"])
            self.assertLessEqual(plan["milliseconds"], plan["first_milliseconds"])
        written = json.loads(self.plans.read_text())
        self.assertEqual(sum(map(len, written.values())), len(plans))

        again = self.tune()
        self.assertIn(f"Nothing was timed: '{self.plans}' has a plan for each", again)
        self.assertEqual(json.loads(again.splitlines()[-1]), {"plans": []})
        self.assertEqual(json.loads(self.plans.read_text()), written)
        more = json.loads(self.tune(batch_size=3).splitlines()[-1])["plans"]
        self.assertEqual(len(more), len(plans))
        self.said("explain", "mnist", "--num-towers", 1, "--batch-size", 2, "--devices",
                     f"cuda-host:1,plans={self.plans}")

    def test_a_model_without_convolutions(self):
        if "built without CUDA" in cuda_missing():
            return
        said = self.said("tune", "char_lstm", "--devices", "cuda-host:1", "--batch-size", 1,
                         "--rnn-size", 4, "--plans", self.plans)
        self.assertIn("Nothing was timed", said)
        self.assertEqual(json.loads(self.plans.read_text()), {})

    def test_wrong_options(self):
        self.assertIn("'towerflow tune' times plans on GPUs, such as cuda:1",
                      self.refused(2, "tune", "mnist", "--devices", "sim:1"))
        self.assertIn("'towerflow tune' times plans on GPUs, such as cuda:1",
                      self.refused(2, "tune", "mnist", "--devices", "cpu:1"))
        self.assertIn("give the file as --plans FILE",
                      self.refused(2, "tune", "mnist", "--devices", "cuda:1,plans=x"))

    def test_files_that_cannot_be_used(self):
        missing = cuda_missing()
        if missing:
            self.assertIn(missing, self.refused(1, "tune", "mnist", "--plans", self.plans))
            self.assertFalse(self.plans.exists())
        if "built without CUDA" in missing:
            return
        devices = ("--devices", "cuda-host:1", "--batch-size", 2)
        nowhere = self.plans.parent / "none" / "plans.json"
        self.assertIn(str(nowhere), self.refused(1, "tune", "mnist", *devices, "--plans", nowhere))
        explain = ("explain", "mnist", "--num-towers", 1, "--batch-size", 2, "--devices",
                   f"cuda-host:1,plans={self.plans}")
        self.assertIn(f"cannot open {self.plans}", self.refused(1, *explain))
        self.plans.write_text("[1]")
        for command in (explain, ("tune", "mnist", *devices, "--plans", self.plans)):
            self.assertIn("is no table of plans", self.refused(1, *command))
        self.assertEqual(self.plans.read_text(), "[1]")
        self.plans.write_text("{}")
        self.assertIn("run 'towerflow tune' on this machine", self.refused(1, *explain))


if __name__ == "__main__":
    unittest.main()
