"""Losses."""

from .writer import FLOATS, INTEGERS

REDUCTIONS = ("none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size",
              "weighted_sum_by_nonzero_weights")


def ranked(make):
    """Returns the same call, nearly always with known ranks, without which there are no losses."""
    def with_ranks(w):
        w.ranked = w.chance(0.97)
        return make(w)
    return with_ranks


def options(w, sizes, dtype="float32"):
    """Returns weights, a scope, a reduction, or none of them."""
    args = {}
    if w.chance(0.5):
        kind = w.pick(("scalar", "rows", "all", "mixed"))
        rows = [size if kind == "all" or kind == "mixed" and w.chance(0.5) else 1
                for size in sizes]
        if kind == "rows" and sizes:
            rows[0] = sizes[0]
        args["weights"] = w.operand(dtype, [] if kind == "scalar" else rows,
                                    w.pick(("quarters", "positive", (0, 0))))
    args.update(w.maybe(0.4, reduction=w.pick(REDUCTIONS)))
    args.update(w.maybe(0.1, scope=w.pick(("loss", "a", "x/y"))))
    return args


def pair(w, kinds=("quarters", "fine"), least=1):
    sizes = w.shape(least=least, most=3)
    dtype = w.pick(FLOATS)
    return w.operand(dtype, sizes, kinds[0]), w.operand(dtype, sizes, kinds[1])


def simple(labels, predictions, kinds=("quarters", "fine"), **more):
    def make(w):
        first, second = pair(w, kinds)
        args = {labels: first, predictions: second, **options(w, first.sizes)}
        for name, numbers in more.items():
            args.update(w.maybe(0.4, **{name: w.pick(numbers)}))
        return args
    return make


def softmax_loss(w):
    sizes = [w.pick((1, 2, 3)), w.pick((1, 2, 4))]
    dtype = w.pick(FLOATS)
    return {"onehot_labels": w.operand(dtype, sizes, "probability"),
            "logits": w.operand(dtype, sizes, "fine"), **options(w, sizes[:1]),
            **w.maybe(0.3, label_smoothing=0.25)}


def sparse_loss(w):
    sizes, classes = w.shape(least=1, most=2), w.pick((1, 2, 4))
    return {"labels": w.operand(INTEGERS, sizes, (0, classes - 1)),
            "logits": w.operand(FLOATS, sizes + [classes], "fine"), **options(w, sizes)}


def sparse_entropy(w):
    sizes, classes = w.shape(most=2), w.pick((1, 2, 4))
    return {"labels": w.operand(INTEGERS, sizes, (0, classes - 1)),
            "logits": w.operand(FLOATS, sizes + [classes], "fine")}


def entropy(axis):
    def make(w):
        labels, logits = pair(w, ("probability", "fine"))
        return {"labels": labels, "logits": logits,
                **(w.maybe(0.4, **{axis: w.axis(logits.rank)}) if axis else {})}
    return make


def cosine(w):
    labels, predictions = pair(w, ("fine", "fine"))
    axis = w.rng.randrange(-labels.rank, labels.rank)
    sizes = list(labels.sizes)
    sizes[axis] = 1
    return {"labels": labels, "predictions": predictions, "axis": axis, **options(w, sizes)}


def weighted(w):
    x = w.tensor(FLOATS)
    return {"losses": x, **options(w, x.sizes)}


def pairwise(w):
    labels, predictions = pair(w)
    return {"labels": labels, "predictions": predictions,
            **w.maybe(weights=w.operand("float32", w.pick(([], labels.sizes[:1])), "positive"))}


def weighted_entropy(w):
    labels, logits = pair(w, ("probability", "fine"))
    return {"labels": labels, "logits": logits,
            "pos_weight": w.operand(labels.dtype, w.broadcast(labels.sizes), "positive",
                                    tensor=True)}


def poisson(w):
    targets, log_input = pair(w, ("positive", "fine"))
    return {"targets": targets, "log_input": log_input,
            **w.maybe(compute_full_loss=True)}


CALLS = [("absolute_difference", simple("labels", "predictions")),
         ("mean_squared_error", simple("labels", "predictions")),
         ("huber_loss", simple("labels", "predictions", delta=(0.5, 2.0))),
         ("hinge_loss", simple("labels", "logits", ("probability", "fine"))),
         ("log_loss", simple("labels", "predictions", ("probability", "probability"),
                             epsilon=(0.25,))),
         ("sigmoid_cross_entropy", simple("multi_class_labels", "logits", ("probability", "fine"),
                                          label_smoothing=(0.25, 0.5))),
         ("softmax_cross_entropy", softmax_loss), ("sparse_softmax_cross_entropy", sparse_loss),
         ("sparse_softmax_cross_entropy_with_logits", sparse_entropy),
         ("softmax_cross_entropy_with_logits_v2", entropy("axis")),
         ("softmax_cross_entropy_with_logits", entropy("dim")),
         ("sigmoid_cross_entropy_with_logits", entropy("")), ("cosine_distance", cosine),
         ("compute_weighted_loss", weighted), ("mean_pairwise_squared_error", pairwise),
         ("weighted_cross_entropy_with_logits", weighted_entropy), ("log_poisson_loss", poisson)]
CALLS = [(name, ranked(make)) for name, make in CALLS]
