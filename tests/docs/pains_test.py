"""Checks docs/pains.md: its sections are numbered, and each test case that it names is in the file to
which it links."""

import pathlib
import re
import sys
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/pains.md"
SECTION = re.compile(r"^## (\d+)\. .*\n", re.M)
ITEM = re.compile(r"^- \[([^\]]+)\]\(([^)]+)\):((?:.|\n(?!- |\n))*)", re.M)


def sections(text):
    """Returns the numbers of the sections, and the text of each."""
    parts = SECTION.split(text)
    return [int(number) for number in parts[1::2]], parts[2::2]


def cases_named(section):
    """Returns (name of the link, its target, name of the case) of the tests of a section."""
    tests = section.partition("\nTests:\n")[2]
    return [(label, target, re.sub(r"\s+", " ", case))
            for label, target, cases in ITEM.findall(tests)
            for case in re.findall(r'"([^"]+)"', cases)]


def has_case(source, case):
    """Returns whether a test case of this name is defined in the source of a test in C++ or Python."""
    return re.search(r'^TEST_CASE\(\s*"%s"|^    def %s\(' % ((re.escape(case),) * 2), source, re.M) is not None


class Pains(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(sections(PAGE.read_text())[0], list(range(1, 29)))

    def test_cases(self):
        text = PAGE.read_text()
        for number, section in zip(*sections(text)):
            named = cases_named(section)
            with self.subTest(section=number):
                self.assertTrue(named)
                self.assertEqual(len({target for _, target, _ in named}), section.count("](../tests/"))
            for label, target, case in named:
                with self.subTest(section=number, case=case):
                    file = PAGE.parent / target
                    self.assertEqual(label, file.name)
                    self.assertTrue(has_case(file.read_text(), case))

    def test_what_is_wrong_is_seen(self):
        item = '\nTests:\n\n- [a_test.cc](../tests/a_test.cc): "one\n  case", "another"\n- [b.py](../b.py): "test_b"\n'
        self.assertEqual(cases_named(item), [("a_test.cc", "../tests/a_test.cc", "one case"),
                                             ("a_test.cc", "../tests/a_test.cc", "another"),
                                             ("b.py", "../b.py", "test_b")])
        self.assertEqual(cases_named('A "quoted" word.\n'), [])
        source = 'TEST_CASE("one case") {\nTEST_CASE(\n    "another, long") {\n    def test_b(self):\n'
        for case in ("one case", "another, long", "test_b"):
            self.assertTrue(has_case(source, case), case)
        for case in ("one", "case", "one case.", "another", "test_", "test_bb"):
            self.assertFalse(has_case(source, case), case)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
