"""Checks the excerpts in the pages: a block that starts with ```cpp PATH must be consecutive whole
lines of PATH."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.M | re.S)


def excerpts(page):
    """Returns (path, text, line) of the blocks that name a file."""
    text = page.read_text()
    return [(found.group(1), found.group(2), text.count("\n", 0, found.start()) + 1)
            for found in BLOCK.finditer(text)]


def contains_lines(piece, text):
    """Returns whether `piece` is consecutive whole lines of `text`."""
    return ("\n" + piece) in ("\n" + text)


class Excerpts(unittest.TestCase):
    def test_pages(self):
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            for path, piece, line in excerpts(page):
                with self.subTest(page=page.name, line=line):
                    self.assertTrue(contains_lines(piece, (ROOT / path).read_text()),
                                    "%s:%d is not in %s" % (page.name, line, path))

    def test_pages_that_show_files(self):
        for name, files in {"extend": 1, "add-an-op": 6}.items():
            shown = {path for path, _, _ in excerpts(ROOT / "docs" / (name + ".md"))}
            self.assertGreaterEqual(len(shown), files, name)

    def test_files_and_types_that_pages_name(self):
        named, typed = 0, 0
        for page in sorted((ROOT / "docs").glob("*.md")):
            text = page.read_text()
            for path in re.findall(r"`((?:[a-z0-9_]+/)+[a-z0-9_]+\.(?:h|cc|py|json|md))`", text):
                named += 1
                self.assertTrue((ROOT / path).is_file(), "%s names %s" % (page.name, path))
            for name, path in re.findall(r"^\| `(\w+)` \| `([a-z0-9_/]+\.h)` \|", text, re.M):
                typed += 1
                self.assertRegex((ROOT / path).read_text(), r"\b(class|struct|enum class) %s\b" % name)
        self.assertGreater(named, 40)
        self.assertGreater(typed, 12)

    def test_figures_are_what_their_scripts_draw(self):
        for script in (ROOT / "docs/figures").glob("*.py"):
            done = subprocess.run([sys.executable, str(script), "--check"], text=True, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_piece_that_differs_is_seen(self):
        self.assertTrue(contains_lines("b\nc\n", "a\nb\nc\nd\n"))
        for wrong in ["b\nd\n", "b \nc\n", "\nb\n", "bb\n", "c\nb\n"]:
            self.assertFalse(contains_lines(wrong, "a\nb\nc\nd\n"), wrong)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
