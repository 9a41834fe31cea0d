#!/usr/bin/python3
"""Trains in several processes under mpirun: results, and what happens when one of them fails."""

import os
import subprocess
import sys
import unittest

from ranks import LIMIT, MPIRUN, WITHOUT_MPIRUN, run_ranks

CHECKS = os.environ["PROCESS_CHECKS"]


def sums_of_one_process(check):
    """Returns the line that a training with towers in one process prints."""
    return subprocess.run([CHECKS, check], capture_output=True, text=True, check=True).stdout.strip()


def numbers(line):
    return [float.fromhex(word) for word in line.split()[1:]]


@unittest.skipUnless(MPIRUN, WITHOUT_MPIRUN)
class Processes(unittest.TestCase):
    def succeed(self, name, ranks):
        done, _ = run_ranks(ranks, [CHECKS, name])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def fail_with(self, name, ranks, text):
        done, seconds = run_ranks(ranks, [CHECKS, name])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(text, done.stderr)
        self.assertLess(seconds, LIMIT / 2)
        return done.stderr

    def test_exchanges(self):
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                self.succeed("means", ranks)

    def test_gradients_of_all_kinds(self):
        self.succeed("gradients", 3)

    def test_gradients_that_others_read_too(self):
        self.succeed("read_gradients", 3)

    def test_different_gradients_are_an_error_in_each_process(self):
        self.succeed("mismatch", 2)

    def test_processes_with_a_tower_each_and_towers_are_equal_to_the_bit(self):
        alone = sums_of_one_process("train_four")
        self.assertEqual(self.succeed("train_one", 4).splitlines(), [alone] * 4)

    def test_towers_in_processes_differ_by_the_order_of_the_sum_alone(self):
        lines = self.succeed("train_two", 2).splitlines()
        self.assertEqual(lines[0], lines[1])
        for here, there in zip(numbers(lines[0]), numbers(sums_of_one_process("train_four")), strict=True):
            self.assertAlmostEqual(here, there, delta=1e-6 * abs(there))

    def plan_of_step(self, check):
        """Returns the plan of a training step of the first of two processes."""
        # The first process alone prints its plans.
        done, _ = run_ranks(1, ["env", "TOWERFLOW_EXPLAIN=1", CHECKS, check, ":", "-n", "1", CHECKS, check])
        steps = [plan for plan in done.stderr.split("prune: ") if "_ProcessMeanStart" in plan]
        self.assertEqual(len(steps), 1, done.stderr)
        return steps[0]

    def test_an_exchange_begins_before_the_backward_pass_ends(self):
        step = self.plan_of_step("train_two")
        start = step.index("_ProcessMeanStart [exchange] all_reduce/start:")
        self.assertLess(start, step.rindex("Conv2DBackpropFilter ["))

    def test_a_process_of_one_tower_computes_no_mean_of_its_own(self):
        self.assertNotIn("_MeanOfN [", self.plan_of_step("train_one"))
        self.assertIn("_MeanOfN [", self.plan_of_step("train_two"))

    def test_the_program_of_the_page(self):
        done, _ = run_ranks(4, [os.environ["PROCESS_BY_HAND"]])
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"rank {rank} of 4: y = 3.000 x + 1.000" for rank in range(4)], done.stderr)

    def test_all_stop_after_the_same_step(self):
        self.assertEqual(self.succeed("stop_together", 2).splitlines(), ["stopped after 3 steps"] * 2)

    def test_an_error_in_one_process_ends_all_with_its_text(self):
        self.fail_with("throws", 3, "rank 1 of 3: DataLossError: the third batch is damaged")

    def test_a_killed_process_ends_all(self):
        self.fail_with("killed", 3, "signal 9")

    def test_a_stopped_process_is_named_after_the_time_limit(self):
        error = self.fail_with("stopped", 3, "it waits for rank 1")
        self.assertIn("did not end within 2 seconds", error)
        self.assertNotIn("does not hold", error)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
