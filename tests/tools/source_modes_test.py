"""Options by which a model trains as its source text does: its faults, with what is said about them.

$TOWERFLOW_COMMAND is the executable.
"""

import sys
import unittest

sys.dont_write_bytecode = True
from support import run  # noqa: E402
from train_test import Scratch, first_records  # noqa: E402


class SourceModes(Scratch):
    def run_ok(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_mistakes_of_the_gan(self):
        train = ["train", "three_stage_gan", "--max-steps", 1]
        self.assert_error(run(*train, "--separate-scopes"), 1, "discriminator/real_discriminator")
        self.assert_error(run(*train, "--leave-reuse-on"), 1, "generator/conv1/kernel/Adam")
        self.assert_error(run(*train, "--tutorial-averager"), 1, "ValueError: None values not supported: the gradient "
                          "of 'Tower_0/gen_only_loss:0' with respect to 'discriminator/conv1/kernel:0' is absent",
                          "skip it where has_value() is false")
        self.assert_error(run(*train, "--collect-by-tower"), 1, "No variables to optimize. (var_list: collection "
                          "'trainable_variables' with scope 'Tower_0/discriminator': 0 of 22 matched; name scopes do "
                          "not apply to get_variable; nearest existing: 'discriminator'")

    def test_what_batch_norm_leaves_out(self):
        train = ["train", "batch_norm", "--num-towers", 2, "--batch-size", 4, "--max-steps", 1]
        nobody = "nobody trains: fc1/kernel, fc1/bias, fc2/kernel, fc2/bias"
        self.assertIn(nobody, self.run_ok(*train, "--forget-fc"))
        self.assertNotIn("nobody", self.run_ok(*train, "--ordered"))

    def test_towers_of_multi_gpu_model(self):
        train = ["train", "multi_gpu_model", "--max-steps", 1]
        for towers in (1, 2):
            self.assert_error(run(*train, "--num-towers", towers, "--forget-reuse"), 1,
                              "hidden/w already exists", "reuse_variables()")
        self.run_ok(*train, "--num-towers", 2, "--updates-at-once")
        self.file.write_bytes(first_records(150))
        output = self.run_ok("train", "multi_gpu_model", "--num-towers", 2, "--batch-size", 32, "--num-epochs", 1,
                             "--data-dir", self.folder)
        for tower in range(2):
            self.assertIn(f"\ntrain/tower_{tower}: 22 examples left over, too few for a batch.\n", output)

    def test_steps_of_vaegan(self):
        train = ["train", "vaegan", "--batch-size", 2, "--seed", 1]
        folder = self.folder / "vaegan"
        output = self.run_ok(*train, "--max-steps", 3, "--unordered", "--train-dir", folder)
        self.assertIn("Done training for 3 steps.\nThe graph counts several steps for each: its global_step is 9.\n"
                      f"Checkpoint: {folder}/model.ckpt-9\n", output)
        self.assertNotIn("global_step", self.run_ok(*train, "--max-steps", 1, "--mean-losses"))
        self.assert_error(run(*train, "--max-steps", 1, "--leave-reuse-on"), 1, "weights/Adam/ does not exist",
                          "set_strict_slots(false)")


if __name__ == "__main__":
    unittest.main()
