"""Checks that the program of docs/extend.md builds and prints the output that the page shows.

$EXTEND_PROGRAM is the program built with the project. The second test builds a copy outside the
source tree with the page's commands, the compiler $CXX and the build folder $TOWERFLOW_BUILD.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/extend.md").read_text()


def ran(command, **options):
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=200, **options)
    if done.returncode != 0:
        raise AssertionError("%s ended with %d:\n%s" % (command, done.returncode, done.stdout))
    return done.stdout


class Extend(unittest.TestCase):
    def setUp(self):
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S)
        shell = [i for i, (language, _) in enumerate(blocks) if language == "sh"]
        self.commands = blocks[shell[0]][1].strip().split("\n")
        self.output = blocks[shell[0] + 1][1]

    def test_what_it_says(self):
        self.assertEqual(ran([os.environ["EXTEND_PROGRAM"]]), self.output)

    def test_built_outside_the_tree(self):
        build = pathlib.Path(os.environ["TOWERFLOW_BUILD"])
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ROOT / "tests/extend/extend.cc", folder)
            environment = {**os.environ, "TOWERFLOW": str(ROOT)}
            # The page uses build/; the test uses the actual build folder.
            commands = [line.replace("$TOWERFLOW/build", shlex.quote(str(build)))
                        for line in self.commands]
            output = ran(["bash", "-euc", "\n".join(commands)], cwd=folder, env=environment)
        self.assertEqual(output, self.output)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
