"""The code that is specific to one model stays small; the rest is shared."""

import pathlib
import re
import unittest

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
LIMIT = 250  # lines of code of a model that is one file
FOLDER_LIMIT = 420  # and of one that is a folder, with its input, but without its data set
# Networks with layers of their own; options to train without what is wrong in their source; several
# optimizers, placements of variables, distorted JPEGs, the lines of an estimator's log.
LARGER = {"batch_norm": 800, "inception3": 850, "resnet20": 560, "vaegan": 640}
DATA_SETS = {"images.cc", "text.cc"}


def code_lines(path):
    return sum(1 for line in path.read_text().splitlines()
               if line.strip() and not line.strip().startswith("//"))


class Sizes(unittest.TestCase):
    def test_each_model_of_the_list(self):
        names = re.findall(r"&(\w+)::kModel", (MODELS / "models.cc").read_text())
        self.assertGreaterEqual(len(names), 2)
        for name in names:
            with self.subTest(model=name):
                own = sorted(MODELS.glob(name + "*"))
                limit = LIMIT
                if (MODELS / name).is_dir():
                    self.assertEqual([path.name for path in own], [name])
                    own = [path for path in (MODELS / name).iterdir() if path.name not in DATA_SETS]
                    limit = LARGER.get(name, FOLDER_LIMIT)
                else:
                    self.assertEqual([path.name for path in own], [name + ".cc", name + ".h"])
                self.assertLess(sum(map(code_lines, own)), limit)

    def test_what_is_shared_names_no_model(self):
        names = re.findall(r"&(\w+)::kModel", (MODELS / "models.cc").read_text())
        for path in ("training.cc", "evaluation.cc", "step_bench.cc", "run_record.cc", "model.h"):
            code = re.sub(r"//.*", "", (MODELS / path).read_text())
            for name in names:
                self.assertNotIn(name + "::", code, path)


if __name__ == "__main__":
    unittest.main()
