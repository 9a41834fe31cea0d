"""The programs in a page of docs/, and what the page says they print.

A ```cpp block is a program over the public API; the ```text block after it is the error that the
program ends in, or what it returns. Without a text block it runs to its end. A block that names a
file (```cpp PATH) shows a piece of it and is no program; excerpts_test.py compares those.

A ```tensorflow block holds the errors of TensorFlow's programs for the section, which are the
functions of tensorflow_errors.py named after its heading.

  blocks.py generate PAGE          the C++ tests of a page
  blocks.py fill PAGE [--said FILE] [--tensorflow]
                                   writes what the programs said into the page: FILE is what the
                                   test wrote to $TOWERFLOW_DOCS_OUTPUT; --tensorflow runs the
                                   programs over TensorFlow
"""

import argparse
import json
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Block:
    def __init__(self, language, code, line, heading):
        self.language, self.code, self.line, self.heading = language, code, line, heading
        self.said = None  # expected output: (first line, last line + 1, text)


def blocks_of(text):
    found, heading, lines = [], "", text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("#"):
            heading = line.lstrip("# ")
        fence = re.match(r"```(\w+)( \S+)?$", line)
        if fence and fence.group(2):
            at = lines.index("```", at + 1)
        elif fence:
            end = lines.index("```", at + 1)
            code = "\n".join(lines[at + 1 : end])
            if fence.group(1) == "text" and found and found[-1].said is None:
                found[-1].said = (at + 1, end, code)
            elif fence.group(1) in ("cpp", "tensorflow"):
                found.append(Block(fence.group(1), code, at + 2, heading))
                if fence.group(1) == "tensorflow":
                    found[-1].said = (at + 1, end, code)
            at = end
        at += 1
    return found


def generate(page):
    name = page.relative_to(ROOT).as_posix()
    out = ['// Made by tests/docs/blocks.py from %s.' % name, '#include "tests/docs/said.h"', "",
           '#pragma GCC diagnostic ignored "-Wunused-variable"',
           '#pragma GCC diagnostic ignored "-Wunused-but-set-variable"', ""]
    for block in blocks_of(page.read_text()):
        if block.language != "cpp":
            continue
        expected = "" if block.said is None else block.said[2]
        out += ['TEST_CASE(%s) {' % json.dumps("%s, line %d" % (block.heading, block.line)),
                '  const std::string expected = R"said(%s)said";' % expected,
                "  const auto program = [&] {",
                '#line %d "%s"' % (block.line, name),
                block.code,
                '#line 1 "generated"',
                "  };",
                "  CHECK(towerflow::output_or_error(%d, program) == expected);" % block.line,
                "}", ""]
    return "\n".join(out)


def tensorflow_errors_of(heading):
    """Returns the errors of TensorFlow's programs for a section, in the order of the file."""
    import tensorflow_errors

    name = re.sub(r"[^a-z0-9]+", "_", heading.lower()).strip("_")
    programs = [function for key, function in vars(tensorflow_errors).items()
                if key == name or key.startswith(name + "__")]
    if not programs:
        raise SystemExit("tests/docs/tensorflow_errors.py has no function %s" % name)
    return [error_of(program, tensorflow_errors.tf) for program in programs]


def error_of(program, tf):
    with tf.Graph().as_default():
        try:
            program()
        except Exception as error:
            message = getattr(error, "message", None) or str(error.args[0])
            return "%s: %s" % (type(error).__name__, first_sentence(message))
    return "no error"


def first_sentence(message):
    """Returns a message without tracebacks and addresses, which depend on the machine."""
    if message.startswith("Graph execution error"):
        # The message follows the stack of the failed node and precedes the node's name.
        message = message.split("[[{{node")[0].rstrip().split("\n")[-1]
    text = message.strip().split("\n\n")[0]
    text = re.split(r"\s+Originally defined at:|\n\s*\[\[", text)[0]
    return re.sub(r" \((graphs are|Previous registration) .*\)", "", text).rstrip()


def fill(page, said, ask_tensorflow):
    text = page.read_text()
    lines = text.split("\n")
    for block in reversed(blocks_of(text)):
        if block.said is None:
            continue
        first, end, _ = block.said
        if block.language == "cpp" and str(block.line) in said:
            lines[first:end] = said[str(block.line)].split("\n")
        elif block.language == "tensorflow" and ask_tensorflow:
            lines[first:end] = tensorflow_errors_of(block.heading)
    write(page, "\n".join(lines))


def write(path, text):
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as new:
        new.write(text)
    os.chmod(new.name, 0o644)
    os.replace(new.name, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["generate", "fill"])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--said", type=pathlib.Path, help="JSON of the C++ programs' errors")
    parser.add_argument("--tensorflow", action="store_true", help="run TensorFlow's programs")
    args = parser.parse_args()
    if args.action == "generate":
        print(generate(args.page.resolve()))
        return
    said = {}
    if args.said:
        said = dict(json.loads(line) for line in args.said.read_text().splitlines())
    fill(args.page.resolve(), said, args.tensorflow)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
