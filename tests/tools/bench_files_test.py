"""`towerflow bench records` and `bench save`: results for small files, and no files left behind.

$TOWERFLOW_COMMAND is the executable.
"""

import json
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from support import COMMAND, LIMIT, run  # noqa: E402
from train_test import Scratch, first_records  # noqa: E402


class BenchFiles(Scratch):
    def test_records(self):
        self.file.write_bytes(first_records(50))
        result = run("bench", "records", "--data-dir", self.folder, "--batch-size", 16,
                     "--windows", 2, "--batches", 5, "--reader-threads", 2, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(json.loads(result.stdout.splitlines()[-1])["examples_per_second"], 0)
        self.file.unlink()
        self.assert_error(run("bench", "records", "--data-dir", self.folder), 1, str(self.folder))

    def test_save(self):
        folder = self.folder / "new"
        result = run("bench", "save", "--dir", folder, "--megabytes", 3, "--windows", 2, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        line = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual(list(line), ["mb_per_second", "extra_mib"])
        self.assertGreater(line["mb_per_second"], 0)
        self.assertEqual(list(folder.iterdir()), [])

    def test_serve(self):
        result = subprocess.run([COMMAND, "bench", "save", "--dir", self.folder, "--megabytes", "1",
                                 "--serve"], input="1\nmany\n", text=True, capture_output=True,
                                timeout=LIMIT, check=False)
        ready, line = result.stdout.splitlines()
        self.assertEqual(ready, "ready")
        self.assertGreater(json.loads(line)["mb_per_second"], 0)
        self.assert_error(result, 2, "numbers of saves", "'many'")
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
