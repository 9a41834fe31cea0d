"""The compiler's error for a misspelt option: the first error is at the call and shows the option,
instead of pointing into the library's headers."""

import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# {call: names of which the messages contain one: the options' type, or in clang the option}
CALLS = {
    'tf::matmul(x, x, {.nme = "a"})': ("MatMulOptions", "'nme'"),
    'tf::nn::relu(x, {.nme = "a"})': ("ReluOptions", "'nme'"),
    'tf::cumsum(x, {.exclusve = true})': ("CumsumOptions",),
    'tf::cumsum(x, 1, {.exclusve = true})': ("CumsumOptions",),
    'tf::argmax(x, {.axes = 1})': ("ArgMaxOptions",),
    'tf::reduce_mean(x, {.keepdim = true})': ("ReduceOptions", "Axis"),
    'tf::transpose(x, {.nme = "a"})': ("TransposeOptions", "Operand"),
    'tf::get_variable("w", {1}, {.initialiser = x})': ("GetVariableOptions",),
    'tf::get_variable("w", {.initialiser = x})': ("GetVariableOptions",),
    'tf::train::AdamOptimizer({.epslon = 1.0})': ("AdamOptions",),
    'tf::Session({.soft_placement = true})': ("ConfigProto",),
}


def messages_by_line():
    """Returns {line: the compiler's messages about the call in it}."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.cc")
        source.write_text("#include <towerflow/tf.h>\nvoid f(tf::Tensor x) {\n" +
                          "".join(f"  {call};\n" for call in CALLS) + "}\n")
        done = subprocess.run([*shlex.split(os.environ["CXX"]), "-std=c++20", f"-I{ROOT}",
                               "-fsyntax-only", "-fno-diagnostics-color", source],
                              capture_output=True, text=True, check=False)
    said, line = {}, None
    for text in done.stderr.splitlines():
        if ": error: " in text or "fatal error: " in text:
            at = text.removeprefix(f"{source}:").split(":")[0]
            line = int(at) if at.isdigit() else text
        if line is not None:
            said.setdefault(line, []).append(text)
    return said


class MisspeltOption(unittest.TestCase):
    def test_error_is_at_the_call_and_shows_it(self):
        said = messages_by_line()
        self.assertEqual(list(said), [3 + i for i in range(len(CALLS))])
        for lines, (call, names) in zip(said.values(), CALLS.items()):
            with self.subTest(call):
                option = call[call.rindex("{.") + 1:].split()[0]
                self.assertIn(option, "\n".join(lines[:3]))
                self.assertTrue(any(name in "\n".join(lines) for name in names), "\n".join(lines))


if __name__ == "__main__":
    unittest.main()
