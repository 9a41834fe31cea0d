"""The checks of names, includes, sizes, wording and links accept a clean tree and find errors."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(name, files):
    """Runs one check in a git checkout of these {path: text}; returns (exit code, output)."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
        arguments = {"links": [folder], "unity_names": [folder], "includes": ["build"]}.get(name, [])
        done = subprocess.run([str(ROOT / "scripts/checks" / name), *arguments], cwd=folder,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class FileSizes(unittest.TestCase):
    def test_limit(self):
        self.assertEqual(check("file_sizes", {"a.cc": "x\n" * 600})[0], 0)
        code, output = check("file_sizes", {"a.cc": "x\n" * 601, "b.h": "x\n"})
        self.assertEqual(code, 1)
        self.assertIn("601 a.cc", output)

    def test_fixtures_are_not_counted(self):
        files = {"a.cc": "x\n", "tests/x.json": "x\n" * 900}
        self.assertEqual(check("file_sizes", files)[0], 0)

    def test_nothing_tracked(self):
        self.assertEqual(check("file_sizes", {})[0], 1)


class Includes(unittest.TestCase):
    HEADER = ("#pragma once\n#include <vector>\nnamespace n {\nint sum(const std::vector<int>& of);\n"
              "struct Total {};\n}  // namespace n\n")

    def alone(self, text):
        """Checks core/b.cc with this text, next to a file that includes everything."""
        compiler = os.environ.get("CXX", "c++").split()
        groups = [{"language": "cpp", "compiler": compiler, "parameters": ["-std=c++20", "-I..", "-O9"]}]
        targets = [{"name": "towerflow", "target_sources": groups}]
        everything = '#include "core/a.h"\n#include <algorithm>\nint a = n::sum({1, 2});\n'
        return check("includes", {"core/a.h": self.HEADER, "core/a.cc": everything, "core/b.cc": text,
                                  "build/meson-info/intro-targets.json": json.dumps(targets)})

    def test_a_file_that_leans_on_its_neighbour(self):
        self.assertEqual(self.alone('#include "core/a.h"\nint b = n::sum({3});\n')[0], 0)
        for text in ["int b = n::sum({3});\n", "namespace n {\nint b = sum({3});\n}  // namespace n\n",
                     "namespace n {\nstruct Total;\nTotal* b = new Total;\n}  // namespace n\n"]:
            code, output = self.alone(text)
            self.assertEqual(code, 1, output)
            self.assertIn("core/b.cc:", output)
            self.assertIn("2 files read, 1 compiled alone, 1 failed", output)

    def test_a_name_of_its_own(self):
        code, output = self.alone("int f(int sum) { return sum; }\n// As n::sum does.\n")
        self.assertEqual(code, 0, output)
        self.assertIn("2 files read, 0 compiled alone, 0 failed", output)


class OwnNames(unittest.TestCase):
    def refused(self, a, b, name):
        code, output = check("unity_names", {"ops/a.cc": a, "core/b.cc": b})
        self.assertEqual(code, 1, output)
        self.assertIn(f"'{name}' is a name of ", output)

    def unnamed(self, text, inside="x"):
        closed = "}  // namespace\n}  // namespace x\n"
        return f"namespace {inside} {{\nnamespace {{\n\n{text}\n\n{closed}"

    def test_repeated(self):
        for name, text in [
                ("sum", "int sum(int a) { return a; }"), ("kMost", "constexpr int kMost[] = {1};"),
                ("kB", "constexpr int kA = 1, kB = 2;"), ("Part", "struct Part {\n  int a;\n};"),
                ("Kind", "enum class Kind { a };"), ("Map", "using Map = int;"),
                ("held", "std::atomic<int> held{0};"),
                ("least", "template <class T, class F = void (*)(int),\n          bool kB = true>\n"
                          "std::vector<T> least(T a) {\n  return {a};\n}"),
                ("Row", "template <class T>\nclass Row final : public A<T> {\n};")]:
            other = "int other() { return 0; }\n"
            self.refused(self.unnamed(text), self.unnamed(other + text), name)
        self.refused("namespace x {\nstatic int f(int a) {\n  return a;\n}\n}  // namespace x\n",
                     self.unnamed("int f() { return 0; }"), "f")

    def test_of_a_header(self):
        for header in ["namespace x {\nint sum(int a, int b);\n}  // namespace x\n",
                       "namespace x::types {\nstruct sum {\n};\n}  // namespace x::types\n"]:
            code, output = check("unity_names", {
                "ops/a.h": header, "core/b.cc": self.unnamed("int sum(int a) { return a; }")})
            self.assertEqual(code, 1, output)
            self.assertIn("core/b.cc:4: 'sum' is a name of ops/a.h:2 too", output)

    def test_others(self):
        a = self.unnamed("int sum(int a) { return a; }\nnamespace fs = std::filesystem;")
        for b in [self.unnamed("int sums() { return sum(1); }\nnamespace fs = std::filesystem;"),
                  self.unnamed("class A {\n public:\n  int sum();\n};\nint A::sum() { return 1; }"),
                  self.unnamed("int sum(int a) { return a; }", inside="y"),
                  "namespace x {\nint sum(int a) { return a; }\n}  // namespace x\n"]:
            code, output = check("unity_names", {"ops/a.cc": a, "core/b.cc": b})
            self.assertEqual(code, 0, output)
        # Different libraries are compiled separately.
        self.assertEqual(check("unity_names", {"ops/a.cc": a, "tools/b.cc": a})[0], 0)

    def test_nothing_there(self):
        self.assertEqual(check("unity_names", {})[0], 1)


class Wording(unittest.TestCase):
    def refused(self, text):
        code, output = check("wording", {"a.cc": "clean\n", "b.md": text + "\n"})
        self.assertEqual(code, 1, text)
        self.assertIn("b.md:1:", output)

    def test_clean(self):
        # Parts of URLs and of relative paths are not folders of a machine.
        text = "see https://host.example/{}/page, ../{}/x and information; mktemp x.XXXXXX\n"
        text = text.format("home", "work")
        code, output = check("wording", {"a.cc": text})
        self.assertEqual(code, 0, output)

    def test_machine_paths(self):
        for folder in ("root", "work", "home"):
            self.refused(f"it lies in /{folder}/somewhere")
            self.refused(f'path = "/{folder}/x"')

    def test_announced_work(self):
        for words in ("// TO" + "DO: later", "FIX" + "ME", "This is not " + "implemented",
                      "For " + "now it is so"):
            self.refused(words)


class Links(unittest.TestCase):
    def test_good_links(self):
        readme = ("# Top\n[a](docs/a.md) [b](docs/a.md#the-b-part) [c](#top) [d](docs) "
                  "[e](https://host.example/x)\n```\n[not a link](nowhere.md)\n```\n")
        code, output = check("links", {"README.md": readme, "docs/a.md": "## The `b` part\n"})
        self.assertEqual(code, 0, output)

    def test_broken_links(self):
        for link in ("nowhere.md", "docs/a.md#nothing", "../outside.md"):
            code, output = check("links", {"README.md": f"[x]({link})\n", "docs/a.md": "# A\n"})
            self.assertEqual(code, 1, link)
            self.assertIn(link, output)

    def test_a_project_has_a_readme(self):
        self.assertEqual(check("links", {"a.md": "# A\n"})[0], 1)


if __name__ == "__main__":
    unittest.main()
