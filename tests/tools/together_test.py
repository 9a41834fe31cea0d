"""Several trainings in one folder at once: one trains, the others report which process uses the
folder, and nothing in it is damaged. Also state files that name files outside the folder.

$TOWERFLOW_COMMAND is the executable, $TOWERFLOW_ROUNDS how often two, three and eight are started.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from support import COMMAND, LIMIT, SAID_AT, default_signals, first_step, run  # noqa: E402
from train_test import Scratch, first_records, warnings  # noqa: E402

ROUNDS = int(os.environ.get("TOWERFLOW_ROUNDS", 2))


class Together(Scratch):
    def setUp(self):
        super().setUp()
        self.file.write_bytes(first_records(300))
        self.runs = self.folder / "runs"

    def start(self, *more):
        return subprocess.Popen(
            [COMMAND, "train", "mnist", "--data-dir", self.folder, "--train-dir", self.runs,
             "--batch-size", "4", "--max-steps", "1000000", "--save-every", "1", "--threads", "1",
             "--reader-threads", "1", *more],
            stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=default_signals)

    def stop(self, process, how=signal.SIGTERM):
        process.send_signal(how)
        _, err = process.communicate(timeout=LIMIT)
        self.assertEqual(warnings(err), SAID_AT.get(how, []))
        self.assertEqual(process.returncode, -how if how == signal.SIGKILL else 128 + how)

    def assert_whole(self):
        """Asserts that the folder has exactly the listed checkpoints and the newest is readable."""
        result = run("inspect", self.runs, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        listed = json.loads(result.stdout.splitlines()[-1])["checkpoints"]
        names = {"checkpoint", "run.json"}
        for checkpoint in listed:
            name = os.path.basename(checkpoint["prefix"])
            names |= {name + ".index", name + ".data-00000-of-00001"}
        self.assertLessEqual(len(listed), 5)
        self.assertEqual({path.name for path in self.runs.iterdir()}, names)

    def one_round(self, count, how):
        processes = [self.start() for _ in range(count)]
        # The first line of output of the one that trains; the others print nothing to stdout.
        lines = [first_step(process) for process in processes]
        training = [process for process, line in zip(processes, lines) if line]
        if len(training) != 1:
            for process in processes:
                process.kill()
                process.communicate()
        self.assertEqual(len(training), 1)
        for process in processes:
            if process is training[0]:
                continue
            out, err = process.communicate(timeout=LIMIT)
            self.assertEqual((process.returncode, out), (1, ""))
            self.assertRegex(err, r"\Atowerflow: a training is using the folder '%s': process %d on \S+ "
                             r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(.*\)\n\Z" %
                             (re.escape(str(self.runs)), training[0].pid))
        self.stop(training[0], how)
        if how == signal.SIGKILL:  # does not block the next one, whose first save cleans up
            after = self.start()
            self.assertTrue(first_step(after))
            self.stop(after)
        self.assert_whole()

    def test_one_trains(self):
        for number in range(ROUNDS):
            for count in (2, 3, 8):
                with self.subTest(round=number, trainings=count):
                    self.one_round(count, (signal.SIGTERM, signal.SIGKILL)[number % 2])
            shutil.rmtree(self.runs)

    def test_reading_and_restarting(self):
        """Commands that only read are not refused; a training that would restart is."""
        (self.folder / "test.tfrecords").write_bytes(first_records(20, "test"))
        self.stop_after_first_save()
        training = self.start()
        self.assertTrue(first_step(training))
        for command in (("eval", "mnist", "--data-dir", self.folder, "--train-dir", self.runs),
                        ("inspect", self.runs)):
            self.assertEqual(run(*command).returncode, 0)
        self.assert_error(run("train", "mnist", "--train-dir", self.runs, "--restart"), 1,
                          "process %d on " % training.pid, "choose another folder")
        self.stop(training)
        self.assert_whole()

    def stop_after_first_save(self):
        process = self.start()
        self.assertTrue(first_step(process))
        self.stop(process)

    def test_non_file_at_lock_path(self):
        """At the lock file's path, links are not followed, pipes do not block, and the error names
        what is not a file."""
        self.runs.mkdir()
        lock, other = self.runs / "train.lock", self.folder / "other"
        other.write_text("another's")
        once = ("train", "mnist", "--data-dir", self.folder, "--train-dir", self.runs,
                "--batch-size", 4, "--max-steps", 1)
        lock.symlink_to(other)
        self.assert_error(run(*once), 1, str(lock))
        lock.unlink()
        os.mkfifo(lock)
        self.assert_error(run(*once), 1, str(lock), "not a file")
        lock.unlink()
        lock.mkdir()
        self.assert_error(run(*once), 1, str(lock))
        lock.rmdir()
        os.link(other, lock)
        self.assertEqual(run(*once).returncode, 0)
        self.assertEqual(other.read_text(), "another's")

    def test_state_file_of_others(self):
        outside = self.folder / "outside"
        for folder in (outside, self.folder / "runs_evil", self.runs):
            folder.mkdir()
        (self.runs / "link").symlink_to(outside)
        there = [folder / (name + ending) for folder in (outside, self.folder / "runs_evil")
                 for name in ("a", "b", "c") for ending in (".index", ".data-00000-of-00001", ".meta")]
        for path in there:
            path.write_text(path.name)
        paths = (outside / "a", "../outside/b", "link/c", "../runs_evil/a", "link/../runs/../outside/a")
        (self.runs / "checkpoint").write_text(
            'model_checkpoint_path: "../outside/a"\n' +
            "".join('all_model_checkpoint_paths: "%s"\n' % path for path in paths))
        # As in TensorFlow, training continues from the newest checkpoint, which is damaged here.
        train = ("train", "mnist", "--data-dir", self.folder, "--train-dir", self.runs,
                 "--batch-size", 4, "--max-steps", 8, "--save-every", 1)
        self.assert_error(run(*train), 1, "outside/a")
        result = run(*train, "--restart")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(warnings(result.stderr)), 1, result.stderr)
        self.assertIn(str(outside / "a"), warnings(result.stderr)[0])
        self.assertEqual([path.read_text() for path in there], [path.name for path in there])


if __name__ == "__main__":
    signal.alarm(LIMIT * max(1, ROUNDS // 2))
    unittest.main()
