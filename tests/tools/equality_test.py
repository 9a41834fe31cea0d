"""`towerflow compare` and `towerflow equivalence`.

$TOWERFLOW_COMMAND is the executable.
"""

import sys
import unittest

from support import run

SMALL = ("--batch-size", 8)


class Compare(unittest.TestCase):
    def compare(self, a, b, *more):
        result = run("compare", "mnist", "--a", a, "--b", b, *SMALL, *more)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return result.stdout

    def test_devices_are_equal(self):
        text = self.compare("--num-towers 4 --kernel 3 --devices cpu:1",
                            "--num-towers 4 --kernel 3 --devices sim:2", "--steps", 2)
        self.assertIn("A: mnist, 4 towers of 2 examples; --num-towers 4", text)
        self.assertRegex(text, r"All equal, bit for bit, over 2 steps: \d+ variables and 4 fetched")

    def test_one_tower_against_two(self):
        text = self.compare("--num-towers 1 --kernel 3", "--num-towers 2 --kernel 3", "--steps", 1)
        self.assertIn("B: mnist, 2 towers of 4 examples", text)
        self.assertRegex(text, r"The first value that differs, in step 1, is\n  \S+")
        self.assertRegex(text, r"by at most \d+ ulp")

    def test_networks_of_other_shapes(self):
        text = self.compare("--kernel 3", "--kernel 3 --relu-logits", "--steps", 1)
        self.assertRegex(text, r"The first value that differs|All equal")

    def test_mistakes(self):
        for b, said in (("--num-towers x", "--num-towers"), ("--what 1", "--what"),
                        ("--skip nothing", "must be one of unread"),):
            result = run("compare", "mnist", "--b", b)
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertIn(said, result.stderr)
            self.assertIn("towerflow: --b", result.stderr)
        result = run("compare", "mnist", "--b", "--num-towers 4", "--batch-size", 3)
        self.assertEqual(result.returncode, 1)
        self.assertIn("a batch of 3 examples for 4 towers", result.stderr)


class Equivalence(unittest.TestCase):
    def test_mnist_is_one_big_batch(self):
        result = run("equivalence", "mnist", "--kernel", 3, *SMALL)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertIn("mnist: one tower of 8 examples against 2 towers of 4 examples",
                      result.stdout)
        self.assertIn("The towers train as one big batch does", result.stdout)

    def test_uneven_batches(self):
        result = run("equivalence", "mnist", "--kernel", 3, "--num-towers", 3, *SMALL)
        self.assertIn("3 towers of 3, 3, 2 examples", result.stdout)
        self.assertIn("uneven batches: a mean of means", result.stdout)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
