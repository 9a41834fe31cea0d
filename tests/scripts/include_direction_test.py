"""The include check accepts the arrows in section 3 of the architecture and refuses the reverse."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader(
    "include_direction", str(ROOT / "scripts/checks/include_direction"))
include_direction = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("include_direction", LOADER))
LOADER.exec_module(include_direction)

HEADERS = [
    "core/graph/node.h", "core/device/backend.h", "core/runtime/plan.h", "core/runtime/session.h",
    "ops/conv.h", "ops/conv_attributes.h", "ops/reference/conv.h", "ops/variables/variable.h",
    "autodiff/gradients.h", "cuda/table.h", "train/saver.h", "data/queue.h", "parallel/towers.h",
    "models/mnist.h", "tools/command.h", "towerflow/tf.h", "tests/support/skip.h",
]


def check(files):
    """Runs the check over a tree of these {path: text}; returns (exit code, output)."""
    with tempfile.TemporaryDirectory() as folder:
        for path in HEADERS:
            files.setdefault(path, "#pragma once\n")
        for path, text in files.items():
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = include_direction.main(pathlib.Path(folder))
        return code, output.getvalue()


class Arrows(unittest.TestCase):
    def allowed(self, path, target):
        code, output = check({path: f'#include "{target}"\n'})
        self.assertEqual(code, 0, f"{path} -> {target}: {output}")

    def refused(self, path, target):
        code, output = check({path: f'#pragma once\n#include "{target}"\n'})
        self.assertEqual(code, 1, f"{path} -> {target}: {output}")
        self.assertIn(f"{path}:2: ", output)

    def test_arrows_forward(self):
        for path, target in [
                ("core/device/cpu.cc", "core/graph/node.h"), ("ops/x.cc", "core/device/backend.h"),
                ("ops/variables/x.cc", "ops/conv.h"), ("ops/x.cc", "ops/reference/conv.h"),
                ("ops/register_all.cc", "core/device/backend.h"),
                ("autodiff/x.cc", "ops/variables/variable.h"),
                ("core/runtime/x.cc", "core/runtime/session.h"),
                ("core/runtime/session.h", "core/runtime/plan.h"),
                ("cuda/x.cu", "ops/conv_attributes.h"), ("cuda/x.cu", "core/device/backend.h"),
                ("train/x.cc", "core/runtime/session.h"), ("train/x.cc", "data/queue.h"),
                ("data/x.cc", "ops/conv.h"),
                ("parallel/x.cc", "train/saver.h"), ("models/x.cc", "towerflow/tf.h"),
                ("tools/x.cc", "models/mnist.h"), ("tests/ops/x.cc", "core/runtime/plan.h")]:
            self.allowed(path, target)

    def test_arrows_back(self):
        for path, target in [
                ("core/graph/x.h", "core/device/backend.h"), ("core/graph/x.h", "ops/conv.h"),
                ("core/device/x.h", "core/runtime/plan.h"), ("core/runtime/x.h", "ops/conv.h"),
                ("core/device/x.h", "core/runtime/session.h"),
                ("ops/x.h", "ops/variables/variable.h"), ("ops/x.h", "autodiff/gradients.h"),
                ("ops/register_all.cc", "train/saver.h"), ("ops/x.cc", "train/saver.h"),
                ("ops/x.cc", "data/queue.h"), ("ops/register_all.cc", "core/runtime/session.h"),
                ("ops/reference/x.h", "core/runtime/session.h"),
                ("ops/variables/x.h", "autodiff/gradients.h"),
                ("autodiff/x.h", "core/runtime/session.h"), ("autodiff/x.h", "train/saver.h"),
                ("cuda/x.h", "ops/conv.h"), ("cuda/x.h", "core/runtime/session.h"),
                ("train/x.h", "core/runtime/plan.h"), ("train/x.h", "parallel/towers.h"),
                ("data/x.cc", "train/saver.h"), ("data/x.cc", "ops/variables/variable.h"),
                ("data/x.cc", "core/runtime/session.h"),
                ("models/x.h", "core/runtime/plan.h"), ("models/x.h", "tools/command.h"),
                ("towerflow/x.h", "models/mnist.h"), ("ops/x.h", "cuda/table.h"),
                ("ops/x.h", "tests/support/skip.h"), ("tools/x.h", "core/runtime/plan.h")]:
            self.refused(path, target)

    def test_no_way_back(self):
        def seen_from(layer, found):
            for target in include_direction.MAY_SEE.get(layer, ()):
                if target not in found:
                    found.add(target)
                    seen_from(target, found)
            return found
        for layer in include_direction.MAY_SEE:
            self.assertNotIn(layer, seen_from(layer, set()))

    def test_public_header_in_either_place(self):
        for header in ("towerflow/tf.h", "include/towerflow/tf.h"):
            code, output = check({header: "", "models/x.cc": "#include <towerflow/tf.h>\n"})
            self.assertEqual(code, 0, output)
            code, output = check({header: "", "ops/x.cc": "#include <towerflow/tf.h>\n"})
            self.assertEqual(code, 1, output)


class Rest(unittest.TestCase):
    def test_paths_are_from_the_root(self):
        code, output = check({"core/graph/x.cc": '#include "node.h"\n'})
        self.assertEqual(code, 1)
        self.assertIn("no file of the project", output)

    def test_generated_header_stands_for_its_proto(self):
        files = {"data/x.cc": '#include "data/example.pb.h"\n'}
        self.assertEqual(check(dict(files))[0], 1)
        self.assertEqual(check({**files, "data/example.proto": ""})[0], 0)

    def test_unknown_folder_is_refused(self):
        code, output = check({"util/x.cc": ""})
        self.assertEqual(code, 1)
        self.assertIn("no rule for this folder", output)

    def test_device_headers_have_one_place(self):
        self.assertEqual(check({"core/graph/x.cc": "#include <dnnl.hpp>\n"})[0], 1)
        self.assertEqual(check({"ops/x.cc": "#include <dnnl.hpp>\n"})[0], 0)
        self.assertEqual(check({"ops/x.cc": "#include <cuda_runtime.h>\n"})[0], 1)
        self.assertEqual(check({"cuda/x.cu": "#include <cuda_runtime.h>\n"})[0], 0)

    def test_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(include_direction.main(pathlib.Path(folder)), 1)


if __name__ == "__main__":
    unittest.main()
