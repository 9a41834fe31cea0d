"""Tests what scripts/cuda-mutants and scripts/cuda-coverage compute, without building anything."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import cuda_coverage  # noqa: E402
import cuda_mutants  # noqa: E402


class Mutants(unittest.TestCase):
    def setUp(self):
        self.mutants = cuda_mutants.parse(cuda_mutants.tables())

    def test_each_place_is_in_the_source(self):
        self.assertGreaterEqual(len(self.mutants), 100)
        for file, _, old, new in self.mutants:
            with self.subTest(file=file, old=old):
                text = (ROOT / file).read_text()
                changed = cuda_mutants.mutated(text, old, new)
                self.assertIsNotNone(changed)
                self.assertNotEqual(changed, text)

    def test_each_test_exists(self):
        binaries = (ROOT / "tests/cuda/meson.build").read_text()
        for _, test, _, _ in self.mutants:
            kind, _, name = test.partition(":")
            if kind == "kernels":
                self.assertTrue((ROOT / f"tests/cuda/{name}.cc").exists(), test)
            elif kind != "ops":
                self.assertIn(f"'cuda_{kind}'", binaries, test)

    def test_lines_are_replaced_whatever_their_indentation(self):
        text = "a;\n  b;\n    c;\nd;\n"
        self.assertEqual(cuda_mutants.mutated(text, ["b;", "c;"], "x;"), "a;\n  x;\nd;\n")
        self.assertIsNone(cuda_mutants.mutated(text, ["c;", "b;"], "x;"))

    def test_copy_keeps_equal_files(self):
        with tempfile.TemporaryDirectory() as folder:
            root, tree = pathlib.Path(folder, "root"), pathlib.Path(folder, "tree")
            root.mkdir()
            tree.mkdir()
            subprocess.run(["git", "init", "-q", root], check=True)
            (root / "same").write_text("1")
            (root / "other").write_text("2")
            (tree / "old").write_text("3")
            cuda_mutants.copy(root, tree)
            before = (tree / "same").stat().st_mtime_ns
            (root / "other").write_text("4")
            cuda_mutants.copy(root, tree)
            self.assertEqual(sorted(path.name for path in tree.iterdir()), ["other", "same"])
            self.assertEqual((tree / "other").read_text(), "4")
            self.assertEqual((tree / "same").stat().st_mtime_ns, before)


class Coverage(unittest.TestCase):
    def test_counts_of_processes_are_added(self):
        with tempfile.TemporaryDirectory() as folder:
            counts, page = pathlib.Path(folder, "counts"), pathlib.Path(folder, "page.md")
            counts.write_text("entry cudaMalloc 2\nentry cudaFree 0\nkernel Exp_float32 0\n"
                              "kernel Exp_int32 0\nkernel of_a_test 1\n"
                              "entry cudaMalloc 0\nentry cudaFree 0\nkernel Exp_float32 1\n"
                              "kernel Exp_int32 0\n")
            found = cuda_coverage.listed(cuda_coverage.read([counts]))
            self.assertEqual(found, "Entries of the table: 1 of 2 were reached, all but\n\n"
                                    "- cudaFree\n\nKernels: 1 of 2 were reached, all but\n\n"
                                    "- Exp (int32)\n")
            marks = (cuda_coverage.MISSED, cuda_coverage.MOVED)
            page.write_text("before\n" + "".join(f"<!-- {mark}: begin -->\n<!-- {mark}: end -->\n"
                                                 for mark in marks) + "after\n")
            command = [sys.executable, ROOT / "scripts/lib/cuda_coverage.py", page]

            def run(mode):
                return subprocess.run([*command, mode, counts], capture_output=True, check=False)

            self.assertNotEqual(run("--check").returncode, 0)
            self.assertEqual(run("--write").returncode, 0)
            self.assertEqual(run("--check").returncode, 0)
            self.assertTrue(page.read_text().endswith("after\n"))


if __name__ == "__main__":
    unittest.main()
