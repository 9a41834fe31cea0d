"""`towerflow scale`: its table, its JSON, its pictures, and its mistakes.

$TOWERFLOW_COMMAND is the executable.
"""

import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

from support import run

STRATEGIES = ("independent", "parameter_server", "gather", "shuffle", "ring", "tree",
              "hierarchical", "rotated_ring")


def lines(picture):
    """Returns the number of points of each line of a picture."""
    root = xml.etree.ElementTree.parse(picture).getroot()
    return [len(line.get("points").split())
            for line in root.iter("{http://www.w3.org/2000/svg}polyline")]


class Scale(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.picture = pathlib.Path(folder.name) / "curves.svg"

    def scale(self, *options):
        result = run("scale", "mnist", "--batch-size", 8, "--json", *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        line = json.loads(result.stdout.splitlines()[-1])
        return result.stdout, line, {curve["strategy"]: curve["points"] for curve in line["curves"]}

    def test_all_strategies(self):
        text, line, curves = self.scale("--towers", "1..8", "--host-towers", 2, "--step-ms", 20,
                                        "--bandwidth", 1, "--latency", 20, "--tower-memory", 100,
                                        "--host-memory", 100, "--svg", self.picture)
        self.assertEqual(tuple(curves), STRATEGIES)
        self.assertEqual((line["model"], line["batch_size"], line["towers_per_host"]),
                         ("mnist", 8, 2))
        self.assertAlmostEqual(line["compute_seconds"], 0.02)
        self.assertAlmostEqual(line["bandwidth"], 1e9 / 8)
        self.assertAlmostEqual(line["gradient_bytes"], 13.1e6, delta=1e5)
        self.assertIn("mnist: towers of 8 examples, 20.00 ms of computation, 13.1", text)
        for strategy, points in curves.items():
            self.assertEqual([point["towers"] for point in points], [1, 2, 4, 8])
            for point in points:
                with self.subTest(strategy=strategy, towers=point["towers"]):
                    self.assertAlmostEqual(point["examples_per_second"],
                                           8 * point["towers"] / point["seconds"])
                    self.assertGreaterEqual(point["hidden_seconds"], 0)
                    # 2 GB of messages a second and 13 MB of gradients: not hidden by 20 ms.
                    crosses = point["towers"] > 2 and strategy != "independent"
                    self.assertEqual(point["bound_by"] == "network", crosses)
                    self.assertEqual(point["efficiency"] < 0.5, crosses)
        self.assertEqual(lines(self.picture), [4] * 2 * len(STRATEGIES))

    def test_figures_replace_those_of_the_machine(self):
        fast = ("--towers", 4, "--strategy", "ring", "--tower-memory", 100, "--host-memory", 100)
        _, line, _ = self.scale(*fast, "--step-ms", 50, "--megabytes", 100)
        self.assertAlmostEqual(line["compute_seconds"], 0.05)
        self.assertAlmostEqual(line["gradient_bytes"], 1e8, delta=1)
        slow = self.scale(*fast, "--step-ms", 50, "--jitter", 10)[2]["ring"][0]
        self.assertEqual(slow["bound_by"], "stragglers")
        again = self.scale(*fast, "--step-ms", 50, "--jitter", 10)[2]["ring"][0]
        self.assertAlmostEqual(again["seconds"], slow["seconds"], delta=1e-3)  # the same seed
        self.assertLess(slow["efficiency"], 0.95)

    def test_published(self):
        result = run("scale", "published", "--json", "--svg", self.picture)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        points = json.loads(result.stdout.splitlines()[-1])
        near = sum(not point["differs"] for point in points)
        self.assertIn(f"\n{near} of {len(points)} points are within 10 %\n", result.stdout)
        for point in points:
            error = abs(point["simulated"] / point["published"] - 1)
            self.assertEqual(error > 0.1, point["differs"], point)
        self.assertEqual(len(lines(self.picture)), 12)

    def test_mistakes(self):
        for options, code, part in (
                (("--towers", "8.."), 2, "--towers: numbers of towers: wanted 8, or 8,16,24"),
                (("--towers", "0..4"), 2, "got '0..4'"),
                (("--towers", "1..2000"), 2, "each from 1 to 1024"),
                (("--bandwidth", "-1"), 2, "--bandwidth: must be a number from 0.001 to 1000000"),
                (("--bandwidth", "fast"), 2, "got 'fast'"),
                (("--latency", "-1"), 2, "--latency: must be a number from 0"),
                (("--jitter", 51), 2, "--jitter: must be a number from 0 to 50, got '51'"),
                (("--host-towers", 0), 2, "--host-towers: must be a whole number from 1 to 1024"),
                (("--strategy", "rign"), 2, "must be one of all, independent, parameter_server"),
                (("--step-ms", 1, "--compute-factor", 2), 2, "--step-ms and --compute-factor"),
                (("--svg", "no/such/folder/x.svg"), 1, "no/such/folder")):
            with self.subTest(options=options):
                result = run("scale", "mnist", *options)
                self.assertEqual((result.returncode, result.stdout), (code, ""))
                self.assertIn(part, result.stderr)


if __name__ == "__main__":
    unittest.main()
