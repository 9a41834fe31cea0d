"""`towerflow train`, `eval` and `bench`: a run with the same seed repeats bit for bit, and training
ends after its epochs and reports left-over examples. Wrong input is in train_mistakes_test.py.

$TOWERFLOW_COMMAND is the executable.
"""

import fcntl
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.dont_write_bytecode = True
from support import COMMAND, LIMIT, SAID_AT, default_signals, first_step, run  # noqa: E402

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "samples" / "mnist"
MODELS = "mnist, cifar10, resnet20, three_stage_gan, vaegan, multi_gpu_model, batch_norm, inception3, char_lstm"
KILLS = int(os.environ.get("TOWERFLOW_KILLS", 20))  # number of kills of a saving run


def warnings(stderr):
    """Returns the lines on stderr except those about which checkpoint is read."""
    return [line for line in stderr.splitlines() if not line.startswith("Restoring parameters ")]


def first_records(count, name="train"):
    """Returns the first records of the sample as TFRecord bytes."""
    data, at = gzip.decompress((SAMPLE / f"{name}.tfrecords.gz").read_bytes()), 0
    for _ in range(count):
        at += 16 + struct.unpack_from("<Q", data, at)[0]
    return data[:at]


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "train.tfrecords"

    def train(self, *more):
        result = run("train", "mnist", *more)
        self.assertEqual((result.returncode, warnings(result.stderr)), (0, []))
        return result.stdout

    def run_ok(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def assert_error(self, result, code, *parts):
        """Asserts one error at the end of stderr."""
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertRegex(result.stderr, r"(?s)(\A|\n)towerflow: .+\n\Z")
        for part in parts:
            self.assertIn(part, result.stderr)


class Training(Scratch):
    def variables(self, name, *more):
        folder = self.folder / name
        self.train("--num-towers", 2, "--batch-size", 16, "--max-steps", 8, "--train-dir", folder,
                   *more)
        return [(folder / f"model.ckpt-8.{part}").read_bytes()
                for part in ("index", "data-00000-of-00001")]

    def test_one_seed_repeats_bit_for_bit(self):
        first = self.variables("a", "--seed", 7)
        self.assertEqual(first, self.variables("b", "--seed", 7))
        self.assertEqual(first, self.variables("c", "--seed", 7, "--reader-threads", 1))
        self.assertEqual(first, self.variables("d", "--seed", 7, "--reader-threads", 5))
        self.assertNotEqual(first[1], self.variables("e", "--seed", 8)[1])

    def test_replicated_variables_get_the_same_bits(self):
        host = self.variables("host", "--seed", 7)
        for algorithm in ("gather", "shuffle", "ring", "tree", "hierarchical"):
            self.assertEqual(host, self.variables(algorithm, "--seed", 7, "--devices", "sim:2",
                                                  "--variable-update", "replicated",
                                                  "--all-reduce", algorithm), algorithm)
        self.assert_error(run("train", "mnist", "--all-reduce", "rung"), 2, "must be one of auto, gather")

    def test_epochs_end_and_what_is_left_is_counted(self):
        self.file.write_bytes(first_records(150))
        (self.folder / "test.tfrecords").write_bytes(first_records(70, "test"))
        output = self.train("--data-dir", self.folder, "--num-towers", 2, "--num-epochs", 2,
                            "--batch-size", 32, "--devices", "cpu:2", "--json", "--train-dir",
                            self.folder)
        self.assertTrue(output.startswith("Who trains what: 10 variables, towers: 2\n"))
        self.assertRegex(output, r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: step 0, loss = \d\.\d\d "
                         r"\(\d+\.\d examples/sec; \d+\.\d{3} sec/batch\); "
                         r"mean of 2 towers \d\.\d\d, from \d\.\d\d to \d\.\d\d\n")
        for line in ("Batch: 32 digits a tower, 64 a step; 150 are an epoch, 4.69 steps; each tower reads them all.",
                     "Done training for 2 epochs, 9 steps.",
                     *(f"tower_{tower}: 12 examples left over, too few for a batch." for tower in range(2))):
            self.assertIn(line + "\n", output)
        line = json.loads(output.splitlines()[-1])
        self.assertEqual((line["model"], line["towers"], line["steps"], line["left_over"]),
                         ("mnist", 2, 9, [12, 12]))
        self.assertGreater(line["examples_per_second"], 0)
        result = run("eval", "mnist", "--train-dir", self.folder, "--data-dir", self.folder,
                     "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        line = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual((line["steps"], line["examples"]), (9, 70))
        self.assertEqual(line["precision_at_1"], line["correct"] / 70)


class Stages(Scratch):
    """The three-stage GAN through the command."""

    def test_train_evaluate_time_and_explain(self):
        folder = self.folder / "gan"
        result = run("train", "three_stage_gan", "--num-towers", 2, "--batch-size", 8, "--seed", 1,
                     "--generator-steps", 30, "--discriminator-steps", 10, "--full-steps", 10,
                     "--train-dir", folder, "--tb-logging", "--json")
        self.assertEqual((result.returncode, warnings(result.stderr)), (0, []))
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r"^Data: the sample in .+mnist; --data-dir names a folder with ")
        self.assertEqual(re.findall(r"step \d+ \(\w+\)", result.stdout),
                         ["step 0 (generator)", "step 10 (generator)", "step 20 (generator)",
                          "step 30 (discriminator)", "step 40 (both)"])
        self.assertIn("Done training for 50 steps.\n", result.stdout)
        self.assertEqual(json.loads(lines[-1])["model"], "three_stage_gan")
        self.assert_error(run("eval", "mnist", "--train-dir", folder), 1,
                          "a training of 'three_stage_gan', not of 'mnist' (choose another --train-dir")
        picture = self.folder / "samples.png"
        result = run("eval", "three_stage_gan", "--train-dir", folder, "--samples", picture, "--json")
        self.assertEqual((result.returncode, result.stderr.count("Restoring parameters from")), (0, 1))
        line = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual((line["steps"], line["examples"]), (50, 1000))
        self.assertLess(line["mean_squared_error"], 0.7 * line["mean_squared_error_of_black"])
        # Three bands of 16 digits, each three times.
        self.assertEqual(struct.unpack(">II", picture.read_bytes()[16:24]), (16 * 28, 9 * 28))
        for command in (("bench", "--windows", 2, "--steps", 2, "--json"), ("explain", "--plan")):
            result = run(command[0], "three_stage_gan", "--num-towers", 2, *command[1:])
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("three_stage_gan, 2 towers of 64 examples", result.stdout)
        tags = {tag["tag"] for path in folder.glob("events.out.tfevents.*") for tag in
                json.loads(run("inspect", path, "--json").stdout.splitlines()[-1])["tags"]}
        self.assertLessEqual({"Tower_1/gen_only_loss_1", "learning_rate_1",
                              "generator/conv1/kernel/gradients"}, tags)


class OtherModels(Scratch):
    """Models of the source texts, and their mistakes, through the command."""

    def train_and_evaluate(self, model, *options):
        folder = self.folder / "_".join([model, *options])
        self.run_ok("train", model, "--num-towers", 2, "--batch-size", 16, "--max-steps", 60,
                    "--seed", 1, "--train-dir", folder, *options)
        result = self.run_ok("eval", model, "--train-dir", folder, "--json")
        return json.loads(result.splitlines()[-1])

    def test_multi_gpu_model(self):
        for options in ((), ("--averager", "second"), ("--embedding",)):
            with self.subTest(options=options):
                line = self.train_and_evaluate("multi_gpu_model", *options)
                self.assertEqual((line["steps"], line["examples"]), (60, 1000))
                self.assertGreater(line["precision_at_1"], 0.6)
        train = ["train", "multi_gpu_model", "--num-towers", 2, "--max-steps", 1]
        self.assert_error(run(*train, "--embedding", "--averager", "second"), 1, "TypeError",
                          "'hidden/table:0' is IndexedSlices")
        self.assertIn("multi_gpu_model, 2 towers", self.run_ok("explain", "multi_gpu_model"))

    def test_batch_norm(self):
        for way in ("after", "first"):
            with self.subTest(way=way):
                line = self.train_and_evaluate("batch_norm", "--collecting", way)
                self.assertGreater(line["correct"], 700)
                self.assertGreater(line["correct_by_batch"], 700)
        text = self.run_ok("explain", "batch_norm", "--batch-size", 4)
        self.assertRegex(text, r"extended +12 +8 +0\.81 +0\.09 +0\.10\n")
        self.assertRegex(text, r"first +4 +4 +0\.90 +0\.10 +0\.00\n")

    def test_the_help_has_each_word_of_a_choice(self):
        options = 0
        for command in (("train", "resnet20"), ("train", "multi_gpu_model"), ("train", "batch_norm"),
                        ("train", "char_lstm"), ("bench", "update"), ("bench", "growth"),
                        ("convert", "mnist")):
            text = self.run_ok(*command, "--help")
            for name, about in re.findall(r"(?m)^  (--[a-z-]+) WORD(=[^\n]+\n(?: {20,}[^\n]+\n)?)", text):
                with self.subTest(command=command, name=name):
                    options += 1
                    refused = run(*command, name, "no-word").stderr
                    words = re.search(r"must be one of (.+), got 'no-word'", refused).group(1)
                    about = about.partition(" ")[2]  # without the default
                    self.assertEqual([word for word in words.split(", ") if word not in about], [])
        self.assertEqual(options, 12)

    def test_an_unknown_mistake(self):
        self.assert_error(run("mistakes", "none_such"), 1, "`towerflow mistakes` lists all")


class Continuing(Scratch):
    """A run that is stopped and restarted ends with the same files as an uninterrupted one."""

    STEPS = 75  # of two epochs of 300 examples in batches of 8

    def setUp(self):
        super().setUp()
        self.file.write_bytes(first_records(300))

    def arguments(self, name, *more, seed=("--seed", 5), towers=2, end=("--num-epochs", 2)):
        return ("--data-dir", self.folder, "--train-dir", self.folder / name,
                "--batch-size", 8, "--devices", "cpu:2", "--num-towers", towers, *seed, *end, *more)

    def files(self, name, steps=STEPS):
        return [(self.folder / name / f"model.ckpt-{steps}.{part}").read_bytes()
                for part in ("index", "data-00000-of-00001")]

    def test_a_set_that_is_made(self):
        for model, *more in (("cifar10",), ("resnet20", "--depth", "8")):
            with self.subTest(model):
                self.a_set_that_is_made(model, more)

    def a_set_that_is_made(self, model, more):
        folder, whole_folder = self.folder / model, self.folder / f"{model}_whole"
        stripes = ["train", model, "--num-towers", 2, "--batch-size", 16, "--seed", 3, *more]
        whole = run(*stripes, "--max-steps", 4, "--train-dir", whole_folder)
        self.assertEqual((whole.returncode, warnings(whole.stderr)), (0, []))
        self.assertIn("Data: 2,000 images of stripes", whole.stdout)
        first = run(*stripes, "--max-steps", 2, "--train-dir", folder)
        second = run(*stripes, "--max-steps", 4, "--train-dir", folder)
        self.assertIn("Continuing from the checkpoint of step 2.", second.stdout, first.stderr)
        self.assertEqual(warnings(second.stderr), [])
        for part in ("index", "data-00000-of-00001"):
            self.assertEqual((folder / f"model.ckpt-4.{part}").read_bytes(),
                             (whole_folder / f"model.ckpt-4.{part}").read_bytes())
        result = run("eval", model, "--train-dir", folder, "--json")
        self.assertEqual((result.returncode, warnings(result.stderr)), (0, []))
        line = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual((line["examples"], line["steps"]), (500, 4))
        alone = run("train", model, "--batch-size", 16, "--max-steps", 1, *more)
        self.assertEqual((alone.returncode, warnings(alone.stderr)), (0, []))
        self.assertFalse(list(pathlib.Path(tempfile.gettempdir()).glob("towerflow-*/data_batch_1.bin")))

    def test_noise_goes_on(self):
        """The VAE-GAN draws random numbers in each step, which a continued run draws from where the
        stopped one ended."""
        seeded = ["train", "vaegan", "--batch-size", "2", "--num-towers", "2", "--seed", "3"]
        result = run(*seeded, "--max-steps", "3", "--train-dir", self.folder / "whole")
        self.assertEqual((result.returncode, warnings(result.stderr)), (0, []))
        data = ("--data-dir", self.folder / "whole/data")
        for steps in (1, 3):
            result = run(*seeded, *data, "--max-steps", steps, "--train-dir", self.folder / "parts")
            self.assertEqual((result.returncode, warnings(result.stderr)), (0, []))
        for part in ("index", "data-00000-of-00001"):
            self.assertEqual((self.folder / "parts" / f"model.ckpt-3.{part}").read_bytes(),
                             (self.folder / "whole" / f"model.ckpt-3.{part}").read_bytes())
        picture = self.folder / "samples.png"
        result = run("eval", "vaegan", "--train-dir", self.folder / "parts", *data, "--samples",
                     picture, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        line = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual((line["examples"], line["steps"]), (500, 3))
        self.assertGreater(line["kl_divergence"], 0)

    def test_interrupted(self):
        self.interrupted("mnist")

    def test_interrupted_in_any_stage(self):
        """A model with consecutive stages is interrupted in each of them."""
        self.interrupted("three_stage_gan", slow=("--save-every", 1))
        self.assertEqual(json.loads((self.folder / "parts/run.json").read_text())["model"],
                         "three_stage_gan")
        self.assert_error(run("train", "mnist", *self.arguments("parts")), 1,
                          "a training of 'three_stage_gan', not of 'mnist'")

    def interrupted(self, model, slow=("--save-every", 10)):
        whole = run("train", model, *self.arguments("whole"))
        self.assertEqual((whole.returncode, warnings(whole.stderr)), (0, []))
        signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
        while True:
            process = subprocess.Popen(
                [COMMAND, "train", model, *map(str, self.arguments("parts", *slow))],
                stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, preexec_fn=default_signals)
            line = first_step(process)
            sent = signals.pop(0) if line and signals else None
            if sent:
                process.send_signal(sent)
            out, err = process.communicate(timeout=LIMIT)
            self.assertIn(warnings(err), [SAID_AT.get(sent, [])] + [[]] * (process.returncode == 0))
            if process.returncode == 0:
                break
            self.assertIsNotNone(sent)
            if sent == signal.SIGKILL:
                self.assertEqual(process.returncode, -sent)
                continue
            self.assertEqual(process.returncode, 128 + sent)
            if sent != signal.SIGHUP:
                self.assertRegex(out, r"Stopped after \d+ steps; the same command continues the training\.")
        self.assertEqual(self.files("parts"), self.files("whole"))
        again = run("train", model, *self.arguments("parts"))
        self.assertIn("Continuing from the checkpoint of step 75.\n", again.stdout)
        self.assertEqual(self.files("parts"), self.files("whole"))

    def test_a_terminal_is_closed(self):
        ours, terminal = os.openpty()
        process = subprocess.Popen(
            [COMMAND, "train", "mnist", *map(str, self.arguments("a", end=("--max-steps", 10**6)))],
            stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
            preexec_fn=lambda: (default_signals(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        os.close(terminal)
        seen = b""
        while b"step 0" not in seen:
            seen += os.read(ours, 1000)
        os.close(ours)
        self.assertEqual(process.wait(timeout=LIMIT), 129)
        result = run("train", "mnist", *self.arguments("a", end=("--max-steps", 1)))
        self.assertRegex(result.stdout, r"Continuing from the checkpoint of step \d+\.\n")

    def test_a_signal_that_is_to_be_ignored(self):
        """As under nohup."""
        process = subprocess.Popen(
            [COMMAND, "train", "mnist", *map(str, self.arguments("a"))], stdin=subprocess.DEVNULL,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertRegex(first_step(process), r"step 0")
        process.send_signal(signal.SIGHUP)
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, warnings(err)), (0, []))
        self.assertIn("Done training for 2 epochs, 75 steps.\n", out)

    def test_killed_while_saving(self):
        self.train(*self.arguments("whole"))
        command = [COMMAND, "train", "mnist", *map(str, self.arguments("killed", "--save-every", 1))]
        chance, kills = random.Random(6), 0
        while kills < KILLS:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            # The first line shows that the newest checkpoint and its checksums were read.
            first = first_step(process)
            time.sleep(chance.random() * 0.1)
            process.kill()
            rest, err = process.communicate(timeout=LIMIT)
            self.assertEqual(warnings(err), [])
            self.assertRegex(first, r"step \d+")
            kills += process.returncode != 0
            if "Done training" in rest:
                shutil.rmtree(self.folder / "killed")
        self.train(*self.arguments("killed"))
        self.assertEqual(self.files("killed"), self.files("whole"))
        # Partial files and complete files that the state file does not list are gone.
        listed = re.findall(r'(?m)^all_model_checkpoint_paths: ".*/(.+)"$',
                            (self.folder / "killed/checkpoint").read_text())
        self.assertEqual({path.name for path in (self.folder / "killed").iterdir()},
                         {"checkpoint", "run.json"} | {name + ending for name in listed for ending in
                                                       (".index", ".data-00000-of-00001")})

    def test_summaries(self):
        for most in (1, 120):
            self.train(*self.arguments("seen", "--tb-logging", end=("--max-steps", most)))
        points = {}
        for path in (self.folder / "seen").glob("events.out.tfevents.*"):
            result = run("inspect", path, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            seen = json.loads(result.stdout.splitlines()[-1])
            self.assertEqual((seen["kind"], seen["graphs"]), ("events", 1))
            for tag in seen["tags"]:
                points.setdefault((tag["tag"], tag["kind"]), set()).add(tag["first_step"])
        # One file per run, every 100 steps; the name without a number belongs to the fed rate.
        self.assertEqual(points["learning_rate_1", "scalar"], {0, 100})
        self.assertEqual(points["conv1/weights/gradients", "histogram"], {0, 100})
        self.assertTrue([tag for tag, kind in points if "total_loss" in tag and kind == "scalar"])
        self.assert_error(run("train", "mnist", "--tb-logging"), 2, "--train-dir")

    def test_without_a_seed(self):
        parts = self.arguments("parts", seed=())
        self.train(*parts, "--save-every", 30)
        chosen = json.loads((self.folder / "parts/run.json").read_text())["seed"]
        self.train(*self.arguments("whole", seed=("--seed", chosen)))
        self.assertEqual(self.files("parts"), self.files("whole"))
        self.assertEqual(sorted(path.name for path in (self.folder / "parts").glob("*.index")),
                         [f"model.ckpt-{steps}.index" for steps in (30, 60, 75)])

    def test_other_runs(self):
        self.train(*self.arguments("a", towers=1))
        self.assert_error(run("train", "mnist", *self.arguments("a", "--relu-logits")), 1,
                          "without --relu-logits", "--restart")
        self.assert_error(run("train", "mnist", *self.arguments("a", seed=("--seed", 6))), 1,
                          "from seed 5, not 6", "--restart")
        result = run("train", "mnist", *self.arguments("a"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("it had fewer towers", result.stderr)
        output = self.train(*self.arguments("a", "--restart", seed=("--seed", 6)))
        self.assertIn("Done training for 2 epochs, 75 steps.\n", output)
        self.assert_error(run("train", "mnist", "--save-every", 5), 2, "--train-dir")

    def test_lines_of_the_log(self):
        for end, steps in (((), [0]), (("--log-every", 30), [0, 30]),
                           (("--log-every", 20), [0, 20, 40])):
            output = self.train(*self.arguments("seen", "--restart", *end, end=("--max-steps", 50)))
            self.assertEqual([int(step) for step in re.findall(r": step (\d+), loss", output)],
                             steps)
        self.assert_error(run("train", "mnist", "--log-every", 0), 2, "--log-every")

    def test_records_of_other_versions(self):
        """A record lacks the options of later versions, which then have their defaults."""
        self.train(*self.arguments("a", end=("--max-steps", 5)))
        path = self.folder / "a" / "run.json"
        record = json.loads(path.read_text())
        self.assertIs(record.pop("relu_logits"), False)
        path.write_text(json.dumps(record))
        self.train(*self.arguments("a", end=("--max-steps", 6)))
        self.assertIs(json.loads(path.read_text())["relu_logits"], False)
        for damaged in (record | {"relu_logits": "yes"}, {"relu_logits": False}, [1]):
            path.write_text(json.dumps(damaged))
            self.assert_error(run("train", "mnist", *self.arguments("a")), 1,
                              "is not a run record", "remove it")

    def test_killed_before_it_replaced_anything(self):
        """Until a restarted run saves, the old checkpoint and its record stay together."""
        self.train(*self.arguments("a", end=("--max-steps", 5)))

        def pair():
            return [(self.folder / "a" / name).read_bytes() for name in ("checkpoint", "run.json")]

        before = pair()
        process = subprocess.Popen(
            [COMMAND, "train", "mnist",
             *map(str, self.arguments("a", "--restart", "--relu-logits", seed=("--seed", 6),
                                      end=("--max-steps", 10**6)))],
            stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertRegex(first_step(process), r"step 0")
        process.kill()
        process.communicate(timeout=LIMIT)
        self.assertEqual(pair(), before)
        self.train(*self.arguments("a", "--restart", "--relu-logits", seed=("--seed", 6),
                                   end=("--max-steps", 5)))
        record = json.loads((self.folder / "a/run.json").read_text())
        self.assertEqual((record["relu_logits"], record["seed"], record["steps"]), (True, 6, 5))
        self.assertIn("model.ckpt-5", (self.folder / "a/checkpoint").read_text())

    def test_the_position_says_which_data_it_is_of(self):
        other = self.folder / "other"
        other.mkdir()
        shutil.copy(self.file, other)
        self.train(*self.arguments("a", end=("--max-steps", 5)))
        # The state after a kill between writing a checkpoint and its record.
        path = self.folder / "a" / "run.json"
        record = json.loads(path.read_text())
        path.write_text(json.dumps(record | {"data_file": str(other / "train.tfrecords")}))
        result = run("train", "mnist", "--data-dir", other, *self.arguments("a")[2:])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("its data were different", result.stderr)

    def test_another_spelling_of_the_data_folder(self):
        self.train(*self.arguments("a", end=("--max-steps", 5)))
        (self.folder / "link").symlink_to(self.folder)
        # train() also checks that there is no warning that the input starts over.
        self.train("--data-dir", f"{self.folder}/link/a/../", *self.arguments("a")[2:])

    def test_impossible_seed(self):
        self.train(*self.arguments("a", end=("--max-steps", 5)))
        path = self.folder / "a" / "run.json"
        record = json.loads(path.read_text())
        path.write_text(json.dumps(record | {"seed": 2**64 - 1}))
        self.assert_error(run("train", "mnist", *self.arguments("a", seed=())), 1, str(2**64 - 1),
                          "run.json")

    def test_nothing_left_to_train(self):
        for steps in (5, 5):
            output = self.train(*self.arguments("a", "--json", end=("--max-steps", steps)))
        line = json.loads(output.splitlines()[-1])
        self.assertEqual((line["first_step"], line["steps"]), (5, 5))
        self.assertEqual((line["loss"], line["examples_per_second"]), (None, None))

    def test_what_was_trained_is_kept_where_nothing_can_be_said(self):
        command = [COMMAND, "train", "mnist", *map(str, self.arguments("a"))]
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=full, text=True,
                                    stderr=subprocess.PIPE, timeout=LIMIT, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write to the standard output", result.stderr)
        output = self.train(*self.arguments("a"))
        self.assertIn("Continuing from the checkpoint of step 1.\n", output)
        self.train(*self.arguments("whole"))
        self.assertEqual(self.files("a"), self.files("whole"))

    def test_a_folder_whose_name_is_no_text(self):
        folder = os.fsdecode(os.fsencode(self.folder) + b"/bad\xff")
        (self.folder / "test.tfrecords").write_bytes(first_records(20, "test"))
        arguments = list(map(str, self.arguments("a", end=("--max-steps", 2))))
        arguments[3] = folder
        for command in (["train", "mnist", *arguments],
                        ["eval", "mnist", "--train-dir", folder, "--data-dir", self.folder],
                        ["inspect", folder]):
            result = subprocess.run([COMMAND, *map(str, command), "--json"],
                                    stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT,
                                    check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            json.loads(result.stdout.splitlines()[-1].decode())

    def test_input_that_changed(self):
        self.train(*self.arguments("a", end=("--max-steps", 20)))
        self.file.write_bytes(first_records(200))
        self.assert_error(run("train", "mnist", *self.arguments("a")), 1, str(self.file), "checkpoint")


class Update(Scratch):
    def test_every_optimizer(self):
        for optimizer in ("sgd", "nesterov", "adagrad", "adam", "rmsprop"):
            result = run("bench", "update", "--optimizer", optimizer, "--parameters", 4000,
                         "--variables", 3, "--num-towers", 3, "--windows", 2, "--plan", "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.count("  _MeanApply"), 3)
            line = json.loads(result.stdout.splitlines()[-1])
            self.assertEqual(list(line), ["ms", "gb_per_second", "stream_gb_per_second",
                                          "share_of_stream"])
            self.assertGreater(min(line.values()), 0)

    def test_mistakes(self):
        self.assert_error(run("bench", "update", "--num-towers", "9"), 2, "--num-towers", "'9'")
        self.assert_error(run("bench", "update", "--optimizer", "best"), 2, "adam", "'best'")


if __name__ == "__main__":
    signal.alarm(2 * LIMIT * max(1, KILLS // 20))
    unittest.main()
