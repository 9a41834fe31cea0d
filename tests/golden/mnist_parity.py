#!/usr/bin/env python3
"""Ten training steps of the MNIST net by TensorFlow, from values that both sides can compute.

    mnist_parity.py --regenerate [CASE...]  writes mnist/*.json, keeping their choice of batches
    mnist_parity.py --search [CASE...]      the same, choosing the batches anew
    mnist_parity.py --check [CASE...]       compares them with a fresh run
    mnist_parity.py --dump DIR [CASE...]    writes every tensor as DIR/CASE/step_S/*.npy
"""

import argparse
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402

STEPS, BATCH, RATE, MOMENTUM, SEED = 10, 16, 0.01, 0.9, 1
FULL_STEPS_OF_RELU = (0, 1, 9)  # other steps record only losses and averaged gradients
CASES = {  # towers, ReLU on local4
    "towers_1": (1, False), "towers_2": (2, False), "towers_3": (3, False),
    "relu_1": (1, True), "relu_2": (2, True), "relu_3": (3, True),
}
# A decision (the sign in a ReLU, the maximum of a pooling window) is close if it is within this
# many times the layer's rms rounding error. Another correct float32 program may decide differently,
# and one such element changes a gradient by far more than 1e-5.
MARGIN = 16.0
VARIANTS = 100  # batches to choose from for each tower and step


def initial_values():
    from oracle import generator, mnist_net
    return {name: generator.generate(1000000 * SEED + i, shape, exponent=exponent,
                                     kind=kind_of(name))
            for i, (name, shape, exponent, _) in enumerate(mnist_net.VARIABLES)}


def kind_of(name):
    return "positive" if name == "local4/biases" else "uniform"


def batch(step, tower, variant):
    """Returns images and labels of a tower at a step."""
    from oracle import generator
    place = 1000000 * SEED + 1000 * step + 100 * tower
    return (generator.uniform(place + 100000 + variant, [BATCH, 784], -1),
            generator.integers(place + 500000, [BATCH], 10, np.int64))


class Trainer:
    """Trains one case in one dtype. Gradients are averaged in the graph, fetched, then fed to the
    update: in one run TensorFlow may update a variable that another gradient still reads."""

    def __init__(self, case, dtype):
        import tensorflow.compat.v1 as tf
        from oracle import mnist_net
        self.towers, relu_logits = CASES[case]
        self.numpy = dtype.as_numpy_dtype
        values, self.graph = initial_values(), tf.Graph()
        with self.graph.as_default():
            v = mnist_net.make_variables(
                lambda name, shape: tf.constant_initializer(values[name].astype(self.numpy)), dtype)
            self.variables = list(v.values())
            opt = tf.train.MomentumOptimizer(RATE, MOMENTUM, use_nesterov=True)
            self.images = [tf.placeholder(dtype, [BATCH, 784]) for _ in range(self.towers)]
            self.labels = [tf.placeholder(tf.int64, [BATCH]) for _ in range(self.towers)]
            made = [mnist_net.loss(x, y, v, relu_logits) for x, y in zip(self.images, self.labels)]
            pairs = [opt.compute_gradients(loss, gate_gradients=0) for loss, _ in made]
            self.losses, self.decisions = [m[0] for m in made], [m[1] for m in made]
            self.gradients = [[g for g, _ in tower] for tower in pairs]
            self.averaged = [g for g, _ in mnist_net.average(pairs)]
            self.fed = [tf.placeholder(dtype, x.shape) for x in self.variables]
            self.train = opt.apply_gradients(list(zip(self.fed, self.variables)))
            self.slots = [opt.get_slot(x, "momentum") for x in self.variables]
            config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
            self.session = tf.Session(config=config)
            self.session.run(tf.global_variables_initializer())

    def feeds(self, step, tower, variant):
        images, labels = batch(step, tower, variant)
        return {self.images[tower]: images.astype(self.numpy), self.labels[tower]: labels}

    def decide(self, step, tower, variant):
        """Returns the inputs of ReLU and pooling decisions, by layer."""
        return self.session.run(self.decisions[tower], self.feeds(step, tower, variant))

    def step(self, number, variants):
        """Runs a step; returns losses, gradients, averages, variables and slots."""
        feeds = {}
        for tower, variant in enumerate(variants):
            feeds.update(self.feeds(number, tower, variant))
        got = self.session.run({"losses": self.losses, "gradients": self.gradients,
                                "averaged": self.averaged}, feeds)
        self.session.run(self.train, dict(zip(self.fed, got["averaged"])))
        got.update(self.session.run({"variables": self.variables, "slots": self.slots}))
        return got


def names():
    from oracle import mnist_net
    return [row[0] for row in mnist_net.VARIABLES]


def close_decisions(narrow, wide):
    """Counts ReLU and pooling decisions that MARGIN rounding errors could change."""
    count = 0
    for layer, (f32, f64) in enumerate(zip(narrow, wide)):
        near = MARGIN * np.sqrt(np.mean(np.square(f32.astype(np.float64) - f64)))
        if f64.ndim == 2:
            count += int(np.sum(np.abs(f64) < near))
            continue
        n, h, w, c = f64.shape
        windows = f64.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 5, 2, 4)
        top = np.sort(windows.reshape(-1, 4), axis=1)
        first, second = top[:, 3], top[:, 2]
        count += int(np.sum((np.abs(first) < near) | ((first > 0) & (first - second < near))))
    return count


def relative(a, b):
    b = np.asarray(b, np.float64)
    return float(np.linalg.norm(np.asarray(a, np.float64) - b) / max(np.linalg.norm(b), 1e-300))


def choose(step, tower, f32, f64):
    """Returns the first batch variant without a close decision."""
    for variant in range(VARIANTS):
        if not close_decisions(f32.decide(step, tower, variant), f64.decide(step, tower, variant)):
            return variant
    raise RuntimeError("every batch of step %d, tower %d has a close decision" % (step, tower))


def distance_to(wide, narrow):
    """Returns the largest relative distance of a gradient, variable or slot."""
    pairs = [(x, y) for part in ("averaged", "variables", "slots")
             for x, y in zip(narrow[part], wide[part])]
    pairs += [(x, y) for a, b in zip(narrow["gradients"], wide["gradients"]) for x, y in zip(a, b)]
    return max(relative(x, y) for x, y in pairs)


def summaries(part):
    from oracle import checksums
    return dict(zip(names(), map(checksums.summary, part)))


def record_step(number, variants, got, relu_logits):
    step = {"variants": variants,
            "labels": [batch(number, t, 0)[1].tolist() for t in range(len(variants))],
            "losses": [float(str(x)) for x in got["losses"]],
            "averaged": summaries(got["averaged"])}
    if not relu_logits or number in FULL_STEPS_OF_RELU:
        step["gradients"] = [summaries(tower) for tower in got["gradients"]]
        step["variables"], step["slots"] = summaries(got["variables"]), summaries(got["slots"])
    return step


def record(case, stored=None, dump=None):
    """Returns the fixture of a case, with the batches of `stored` or newly chosen ones."""
    import tensorflow.compat.v1 as tf
    from oracle import checksums, mnist_net
    towers, relu_logits = CASES[case]
    f32, f64, steps, worst, close = Trainer(case, tf.float32), Trainer(case, tf.float64), [], 0.0, 0
    for number in range(STEPS):
        variants = (stored["steps"][number]["variants"] if stored
                    else [choose(number, t, f32, f64) for t in range(towers)])
        close += sum(close_decisions(f32.decide(number, t, v), f64.decide(number, t, v))
                     for t, v in enumerate(variants))
        got, wide = f32.step(number, variants), f64.step(number, variants)
        worst = max(worst, distance_to(wide, got))
        if dump:
            write_arrays(dump / case / ("step_%d" % number), got)
        steps.append(record_step(number, variants, got, relu_logits))
    return {
        "format": 1, "tensorflow": tf.__version__, "case": case, "towers": towers,
        "relu_logits": relu_logits, "batch": BATCH, "rate": RATE, "momentum": MOMENTUM,
        "seed": SEED, "close_decisions": close, "distance_to_float64": float("%.2g" % worst),
        "variables": [{"name": name, "shape": shape, "exponent": exponent, "kind": kind_of(name)}
                      for name, shape, exponent, _ in mnist_net.VARIABLES],
        "initial": {name: checksums.summary(v) for name, v in initial_values().items()},
        "images": [checksums.summary(batch(0, t, steps[0]["variants"][t])[0])
                   for t in range(towers)],
        "steps": steps,
    }


def write_arrays(folder, got):
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "losses.npy", np.asarray(got["losses"]))
    for i, name in enumerate(names()):
        file = name.replace("/", ".") + ".npy"
        for part in ("averaged", "variables", "slots"):
            np.save(folder / (part + "." + file), got[part][i])
        for t, tower in enumerate(got["gradients"]):
            np.save(folder / ("gradients_%d.%s" % (t, file)), tower[i])


def dumps(value):
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def text_of(fixture):
    """Returns JSON with one line per tensor."""
    def block(value, depth):
        if isinstance(value, dict) and "norm" not in value and depth < 5:
            inner = ",\n".join(" " * (depth + 1) + dumps(k) + ":" + block(v, depth + 1)
                               for k, v in value.items())
            return "{\n" + inner + "}"
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[\n" + ",\n".join(" " * (depth + 1) + block(v, depth + 1) for v in value) + "]"
        return dumps(value)
    return block(fixture, 0) + "\n"


def differences(stored, fresh, path=""):
    """Returns paths whose values differ by more than the rounding of another processor explains."""
    from oracle import checksums
    if isinstance(stored, dict) and "norm" in stored:
        far = checksums.distance(fresh, stored)
        return ["%s: %.2g" % (path, far)] if far > 5e-6 else []
    if isinstance(stored, dict):
        return [d for k in stored for d in differences(stored[k], fresh[k], path + "/" + k)]
    if isinstance(stored, list):
        return [d for i, (a, b) in enumerate(zip(stored, fresh))
                for d in differences(a, b, "%s/%d" % (path, i))]
    if path in ("/distance_to_float64", "/close_decisions"):  # depend on the processor
        return []
    if isinstance(stored, float):
        return [path] if abs(stored - fresh) > 5e-6 * abs(stored) else []
    return [] if stored == fresh else [path]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regenerate", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--dump", type=pathlib.Path)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    from oracle import interpreter  # noqa: F401  switches TensorFlow to 1.x behaviour
    bad = 0
    for case in options.cases or CASES:
        path = HERE / "mnist" / (case + ".json")
        stored = json.loads(path.read_text()) if path.exists() and not options.search else None
        fixture = record(case, stored, options.dump)
        if options.regenerate or options.search:
            path.write_text(text_of(fixture))
            print("%s: %d bytes, %d close decisions, distance to float64 %.2g"
                  % (path.name, path.stat().st_size, fixture["close_decisions"],
                     fixture["distance_to_float64"]))
        if options.check:
            found = differences(stored, fixture)
            bad += len(found)
            print("%s: %s" % (path.name, found[:5] or "agrees"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
