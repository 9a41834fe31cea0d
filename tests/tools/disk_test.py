"""`towerflow train`, `eval`, `convert` and `inspect` with a full disk, a read-only folder or files
that change while they are read: one error names the file and the cause, existing files stay, and no
partially written file is left.

$TOWERFLOW_COMMAND is the executable. Small file systems are mounted in a separate namespace; where
that is not permitted those tests are skipped with the reason.
"""

import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
from support import COMMAND, LIMIT, first_step, run  # noqa: E402
from train_test import Scratch, first_records, warnings  # noqa: E402

MB = 10**6
CHECKPOINT = 27 * MB  # bytes, for the variables and their momentums


class SmallDisk:
    """An in-memory file system, accessed through the process in whose namespace it is mounted."""

    def __init__(self, test, megabytes):
        point = tempfile.mkdtemp()
        test.addCleanup(os.rmdir, point)
        self.point = point
        self.shell = subprocess.Popen(["unshare", "--user", "--map-root-user", "--mount", "sh"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
        test.addCleanup(self.close)
        said = self.do("mount -t tmpfs -o size=%d,mode=777 none %s" % (megabytes * MB, point))
        self.folder = pathlib.Path("/proc/%d/root%s" % (self.shell.pid, point))
        if said or not os.access(self.folder, os.W_OK):
            test.skipTest("no file system can be mounted in a namespace here: " + said)

    def do(self, command):
        """Runs a command in the namespace; returns its output, or why it failed."""
        try:
            self.shell.stdin.write(command + " 2>&1 || echo failed\necho done\n")
            self.shell.stdin.flush()
        except BrokenPipeError:
            return self.shell.stdout.read()
        said = []
        for line in self.shell.stdout:
            if line == "done\n":
                return "".join(said)
            said.append(line)
        return "".join(said) or "unshare ended"

    def set_read_only(self, wanted):
        return self.do("mount -o remount,%s %s" % ("ro" if wanted else "rw", self.point))

    def close(self):
        try:
            self.shell.stdin.close()
        except BrokenPipeError:
            pass  # unshare was not permitted and ended before it read all input
        self.shell.wait()
        self.shell.stdout.close()


class Disk(Scratch):
    def setUp(self):
        super().setUp()
        self.file.write_bytes(first_records(300))
        (self.folder / "test.tfrecords").write_bytes(first_records(40, "test"))

    def arguments(self, folder, *more, end=("--num-epochs", 1)):
        return ("--data-dir", self.folder, "--train-dir", folder, "--seed", 5, "--batch-size", 8,
                *end, *more)

    def run_train(self, *arguments, **options):
        return run("train", "mnist", *arguments, **options)

    def evaluate(self, folder):
        return run("eval", "mnist", "--data-dir", self.folder, "--train-dir", folder)

    def assert_readable(self, folder, steps):
        result = self.evaluate(folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("model.ckpt-%d: " % steps, result.stdout)

    def assert_tidy(self, folder):
        self.assertEqual([path for path in folder.iterdir() if path.name.endswith(".tmp")], [])

    def test_full_while_saving(self):
        disk = SmallDisk(self, 2 * CHECKPOINT // MB + 10)
        ballast = disk.folder / "ballast"
        ballast.write_bytes(bytes(CHECKPOINT))  # leaves room for one checkpoint
        runs = disk.folder / "runs"
        command = self.arguments(runs, "--save-every", 10)
        # The second run finds a checkpoint, but no room for its own first one.
        for _ in range(2):
            self.assert_error(self.run_train(*command), 1, "cannot write to", str(runs / "model.ckpt-20.data"),
                              "No space left on device")
            self.assert_readable(runs, 10)
            self.assert_tidy(runs)
        ballast.unlink()
        output = self.train(*self.arguments(runs))
        self.assertIn("Continuing from the checkpoint of step 10.\n", output)
        self.assertIn("Done training for 1 epochs, 37 steps.\n", output)
        whole = self.folder / "whole"
        self.train(*self.arguments(whole))
        for ending in ("index", "data-00000-of-00001"):
            name = "model.ckpt-37." + ending
            self.assertEqual((runs / name).read_bytes(), (whole / name).read_bytes())

    def test_limit_of_file_size(self):
        """A limit as by `ulimit -f`, smaller than a checkpoint."""
        runs = self.folder / "runs"
        self.train(*self.arguments(runs, end=("--max-steps", 3)))
        limit = (CHECKPOINT // 2, CHECKPOINT // 2)
        result = self.run_train(*self.arguments(runs, end=("--max-steps", 5)),
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
        self.assert_error(result, 1, "cannot write to", "model.ckpt-5.data", "File too large")
        self.assert_readable(runs, 3)
        self.assert_tidy(runs)

    def test_read_only_while_saving(self):
        disk = SmallDisk(self, 2 * CHECKPOINT // MB + 10)
        runs = disk.folder / "runs"
        self.train(*self.arguments(runs, end=("--max-steps", 3)))
        before = {path.name: path.read_bytes() for path in runs.iterdir()}
        further = self.arguments(runs, end=("--max-steps", 5))
        self.assertEqual(disk.set_read_only(True), "")
        for more in ((), ("--restart",)):
            self.assert_error(self.run_train(*further, *more), 1, str(runs),
                              "Read-only file system")
        self.assert_error(self.run_train(*self.arguments(disk.folder / "new" / "runs")), 1,
                          str(disk.folder / "new"), "Read-only file system")
        self.assert_readable(runs, 3)
        self.assertEqual({path.name: path.read_bytes() for path in runs.iterdir()}, before)
        self.assertEqual(disk.set_read_only(False), "")
        self.train(*further)
        self.assert_readable(runs, 5)

    def idx_files(self, training):
        source = self.folder / "idx"
        source.mkdir()
        for name, count in (("train", training), ("t10k", 100)):
            (source / (name + "-images-idx3-ubyte")).write_bytes(
                struct.pack(">4i", 0x803, count, 28, 28) + bytes(range(196)) * 4 * count)
            (source / (name + "-labels-idx1-ubyte")).write_bytes(
                struct.pack(">2i", 0x801, count) + bytes(i % 10 for i in range(count)))
        return source

    def test_convert_is_killed(self):
        out = self.folder / "out"
        out.mkdir()
        convert = ("convert", "mnist", "--from", self.idx_files(20000), "--validation-size", 100,
                   "--to", out)
        (out / ".mine.tmp").write_text("a file of somebody else's")
        process = subprocess.Popen([COMMAND, *map(str, convert), "--compression", "gzip"])
        while not list(out.glob(".train.tfrecords.gz.*.tmp")) and process.poll() is None:
            pass
        process.kill()
        self.assertEqual(process.wait(), -signal.SIGKILL)
        self.assertEqual(len(list(out.glob(".train.tfrecords.gz.*.tmp"))), 1)
        self.assertEqual(run(*convert).returncode, 0)
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         [".mine.tmp", "test.tfrecords", "train.tfrecords", "validation.tfrecords"])

    def test_convert(self):
        source = self.idx_files(600)
        convert = ("convert", "mnist", "--from", source, "--validation-size", 100, "--to")
        disk = SmallDisk(self, 1)
        out = disk.folder / "out"
        self.assertEqual(run(*convert, out, "--max-train", 50).returncode, 0)
        before = {path.name: path.read_bytes() for path in out.iterdir()}
        (disk.folder / "ballast").write_bytes(bytes(600000))
        self.assert_error(run(*convert, out), 1, "cannot write to", str(out / "train.tfrecords"),
                          "No space left on device")
        self.assertEqual({path.name: path.read_bytes() for path in out.iterdir()}, before)
        (disk.folder / "ballast").unlink()
        self.assertEqual(disk.set_read_only(True), "")
        self.assert_error(run(*convert, out), 1, str(out / "train.tfrecords"),
                          "Read-only file system")
        self.assertEqual(run("inspect", out / "train.tfrecords").returncode, 0)


class ChangingFiles(Scratch):
    """A file that changes after the first step, when more records are unread than the input's
    queue holds."""

    def setUp(self):
        super().setUp()
        self.whole = first_records(4000)
        self.each = []
        at = 0
        while at < len(self.whole):
            self.each.append(at)
            at += 16 + struct.unpack_from("<Q", self.whole, at)[0]

    def train_while(self, change):
        self.file.write_bytes(self.whole)
        process = subprocess.Popen([COMMAND, "train", "mnist", "--data-dir", self.folder,
                                    "--num-epochs", "1", "--seed", "3"], stdin=subprocess.DEVNULL,
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = first_step(process)
        change()
        rest, errors = process.communicate(timeout=LIMIT)
        return subprocess.CompletedProcess(process.args, process.returncode, first + rest, errors)

    def place(self, kind, number):
        return "%s record %d at byte %d of %s" % (kind, number, self.each[number], self.file)

    def test_truncated(self):
        result = self.train_while(lambda: os.truncate(self.file, self.each[3000] + 100))
        self.assert_error(result, 1, self.place("truncated", 3000))
        # Truncated between two records, it is a valid file with fewer records.
        result = self.train_while(lambda: os.truncate(self.file, self.each[3000]))
        self.assertEqual((result.returncode, warnings(result.stderr)), (0, []))
        self.assertIn("Done training for 1 epochs, 46 steps.", result.stdout)

    def test_overwritten(self):
        def write_zeros():
            with open(self.file, "r+b") as file:
                file.seek(self.each[3000])
                file.write(bytes(2000))

        self.assert_error(self.train_while(write_zeros), 1, self.place("corrupted", 3000))

    def test_replaced(self):
        other = self.folder / "other"
        other.write_bytes(b"no record at all" * 1000)
        result = self.train_while(lambda: other.rename(self.file))
        # The opened file is read to its end.
        self.assertEqual((result.returncode, warnings(result.stderr)), (0, []))
        self.assertIn("Done training for 1 epochs, 62 steps.", result.stdout)


class ChangingCheckpoint(Scratch):
    def answer(self, result):
        """Returns the number of correct digits; the step only shows the file's name."""
        return json.loads(result.stdout.splitlines()[-1])["correct"]

    def test_replaced(self):
        """Either file may be replaced between reading the two: the result is that of one of the two
        networks, or an error that names the checkpoint."""
        self.file.write_bytes(first_records(200))
        (self.folder / "test.tfrecords").write_bytes(first_records(40, "test"))
        evaluate = ("eval", "mnist", "--data-dir", self.folder, "--train-dir")
        answers, saved = set(), []
        for steps in (4, 20):
            folder = self.folder / ("runs-%d" % steps)
            self.train("--data-dir", self.folder, "--train-dir", folder, "--seed", 1,
                       "--batch-size", 8, "--max-steps", steps)
            result = run(*evaluate, folder, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            answers.add(self.answer(result))
            saved.append(folder / ("model.ckpt-%d" % steps))
        self.assertEqual(len(answers), 2)
        read = self.folder / "read"
        shutil.copytree(saved[0].parent, read)
        (read / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-4"\n')
        over = threading.Event()

        def replace():
            while not over.is_set():
                for prefix in saved:
                    for ending in (".data-00000-of-00001", ".index"):
                        shutil.copy(str(prefix) + ending, self.folder / "new")
                        (self.folder / "new").rename(read / ("model.ckpt-4" + ending))

        thread = threading.Thread(target=replace)
        thread.start()
        try:
            for _ in range(12):
                result = run(*evaluate, read, "--json")
                if result.returncode == 0:
                    self.assertIn(self.answer(result), answers)
                else:
                    self.assert_error(result, 1, "model.ckpt-4")
        finally:
            over.set()
            thread.join()


if __name__ == "__main__":
    signal.alarm(LIMIT)
    unittest.main()
