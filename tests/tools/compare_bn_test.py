"""`towerflow compare-bn`: its table, its JSON, what the ways do, and its mistakes.

$TOWERFLOW_COMMAND is the executable.
"""

import json
import math
import unittest

from support import run

POLICIES = ("first", "last", "all", "in_order", "merged", "synchronised")
TEXT = ("extended", "after", "replaced", "first")


class CompareBn(unittest.TestCase):
    def compare(self, *options):
        result = run("compare-bn", "--batch-size", 8, "--json", *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        line = json.loads(result.stdout.splitlines()[-1])
        return result.stdout, line, {way["way"]: way for way in line["ways"]}

    def test_two_towers(self):
        text, line, ways = self.compare("--steps", 4, "--seed", 3)
        self.assertEqual(set(ways), set(POLICIES) | set(TEXT))
        self.assertEqual((line["num_towers"], line["steps"], line["layer"]), (2, 4, "conv1/bn"))
        rows = {name: [(way["collected"], way["distinct"]), round(way["keeps"], 2),
                       [round(share, 2) for share in way["receives"]]]
                for name, way in ways.items()}
        after = [(8, 8), 0.81, [0.09, 0.1]]
        self.assertEqual(rows, {
            "extended": [(12, 8), 0.81, [0.09, 0.1]], "after": after, "replaced": after,
            "in_order": after, "first": [(4, 4), 0.9, [0.1, 0]], "last": [(4, 4), 0.9, [0, 0.1]],
            "all": [(8, 8), 0.8, [0.1, 0.1]], "merged": [(4, 4), 0.9, [0.05, 0.05]],
            "synchronised": [(4, 4), 0.9, [0.05, 0.05]]})
        self.assertIn("2 towers of 8 examples, 4 steps, digits dealt in turn; moments of conv1/bn; "
                      "1000 test digits\n", text)
        self.assertRegex(text, r"merged +4 +4 +0\.90 +0\.05 +0\.05 ")
        for name, way in ways.items():
            with self.subTest(way=name):
                self.assertEqual(way["examples"], 1000)
                self.assertTrue(all(math.isfinite(way[key]) for key in (
                    "moving_mean", "moving_variance", "mean_off", "variance_off", "loss")))
                self.assertGreater(way["seconds"], 0)
                # Towers that do not normalize together train alike, whatever moves the averages.
                drift, loss = way["mean_drift"], way["loss"]
                if name == "synchronised":
                    self.assertEqual(drift, 0)
                    self.assertNotEqual(loss, ways["first"]["loss"])
                else:
                    self.assertGreater(drift, 0)
                    self.assertEqual((drift, loss), (ways["first"]["mean_drift"],
                                                     ways["first"]["loss"]))
        self.assertEqual(ways["in_order"]["moving_variance"], ways["after"]["moving_variance"])

    def test_towers_with_other_digits(self):
        """The variance of one tower's digits is not that of all; the merged one is, after some steps."""
        _, _, ways = self.compare("--by-ink", "--steps", 45)
        self.assertGreater(ways["first"]["mean_drift"], 0.05)
        for way in ("first", "last"):
            self.assertLess(ways["merged"]["variance_off"], ways[way]["variance_off"])

    def test_mistakes(self):
        for options, code, part in ((("--layer", "fc1"), 2, "--layer"),
                                    (("--num-towers", 0), 2, "--num-towers"),
                                    (("--batch-size", 6000), 1, "needs 12000 digits"),
                                    (("--data-dir", "no/such"), 1, "no/such")):
            with self.subTest(options=options):
                result = run("compare-bn", *options)
                self.assertEqual((result.returncode, result.stdout), (code, ""))
                self.assertIn(part, result.stderr)


if __name__ == "__main__":
    unittest.main()
