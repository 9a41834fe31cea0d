"""Which results scripts/lib/run_tests.py counts as passed, failed and skipped."""

import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("run_tests", ROOT / "scripts/lib/run_tests.py")
run_tests = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run_tests)

FIVE = "[doctest] test cases:  5 |  5 passed | 0 failed | 0 skipped\n"
TWO_FAILED = "[doctest] test cases: 15 | 13 passed | 2 failed | 1 skipped\n"


class Count(unittest.TestCase):
    def test_doctest_summary(self):
        self.assertEqual(run_tests.count(FIVE, 0, False), (5, 0, 0))
        # A case that a filter leaves out does not count.
        self.assertEqual(run_tests.count(TWO_FAILED, 1, False), (13, 2, 0))

    def test_without_summary_it_failed(self):
        self.assertEqual(run_tests.count("", 0, False), (0, 1, 0))
        self.assertEqual(run_tests.count("terminate called", -6, False), (0, 1, 0))

    def test_bad_exit_code_is_a_failure_whatever_the_summary(self):
        self.assertEqual(run_tests.count(FIVE, 1, False), (5, 1, 0))
        self.assertEqual(run_tests.count(FIVE, -11, False), (5, 1, 0))

    def test_skipped_cases_do_not_count_as_passed(self):
        output = "SKIPPED: needs the real data\n" + FIVE
        self.assertEqual(run_tests.count(output, 0, False), (4, 0, 1))
        self.assertEqual(run_tests.count("not SKIPPED: quoted\n" + FIVE, 0, False), (5, 0, 0))

    def test_scripts_count_by_exit_code(self):
        self.assertEqual(run_tests.count("", 0, True), (1, 0, 0))
        self.assertEqual(run_tests.count("", 77, True), (0, 0, 1))
        self.assertEqual(run_tests.count(FIVE, 1, True), (0, 1, 0))


if __name__ == "__main__":
    unittest.main()
