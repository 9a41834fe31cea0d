"""Summaries: names, tags, collections, values; the MNIST program with its summaries."""

from oracle.builder import Program

from . import mnist


def names():
    p = Program("summary_names", "what summaries, their tags and their nodes are called")
    x = p.placeholder("float32", [3], name="x")
    total = p.reduce_sum(x)
    made = [p.summary_scalar("plain", total), p.summary_scalar("plain", total),
            p.summary_histogram("plain", x), p.summary_histogram("x", x),
            p.summary_scalar("with spaces (and) more:0", total),
            p.summary_histogram("//slashes/in/front/", x),
            p.summary_scalar("in family", total, family="the family"),
            p.summary_histogram("in family", x, family="the family"),
            p.summary_scalar("dashes-and_dots.1", total, family="/deep/er")]
    with p.name_scope("tower_0"):
        made += [p.summary_scalar("plain", total), p.summary_histogram("a/b", x),
                 p.summary_scalar("inside", total, family="fam"),
                 p.summary_histogram("inside", x, family="fam")]
    with p.name_scope("the_family"):
        made.append(p.summary_scalar("in family", total, family="the family"))
    with p.name_scope("tower_0/"):
        made.append(p.summary_scalar("plain", total))
    with p.device("/gpu:1"):
        made += [p.summary_scalar("number", 2.5), p.summary_histogram("list", [1.0, 2.0, 4.0]),
                 p.summary_histogram("integers", [[1, 2], [3, 4]]), p.summary_scalar("count", 3)]
    made.append(p.summary_merge_all())
    p.run(made, [[x, [0.25, -1.5, 3.0]]])
    return p


def collections():
    p = Program("summary_collections", "which summaries a collection holds and merge_all merges")
    p.summary_merge_all()
    x = p.placeholder("float32", [2], name="x")
    first = p.reduce_mean(x)
    p.summary_scalar("default", first)
    p.summary_histogram("nowhere", x, collections=[])
    p.summary_histogram("mine", x, collections=["mine"])
    p.summary_scalar("both", first, collections=["mine", "summaries"])
    p.summary_scalar("twice", first, collections=["twice", "twice"])
    with p.name_scope("tower_0"):
        p.summary_histogram("x", x)
    with p.name_scope("tower_1"):
        p.summary_histogram("x", x)
    for key in ("summaries", "mine", "twice"):
        p.get_collection(key)
    merged = [p.summary_merge_all(), p.summary_merge_all(key="mine"),
              p.summary_merge_all(scope="tower_1"), p.summary_merge_all(scope="tower_[0-9]"),
              p.summary_merge_all(name="last")]
    p.summary_merge_all(key="none of these")
    p.summary_merge_all(scope="tower_2")
    p.run(merged, [[x, [1.0, 2.5]]])
    # The same tag twice: an error when run.
    p.run([p.summary_merge_all(key="twice")], [[x, [1.0, 2.5]]])
    p.get_collection("summaries")
    return p


def refused():
    p = Program("summary_refused", "what no summary can be made of")
    x = p.placeholder("float32", name="x")
    histogram, number = p.summary_histogram("h", x), p.summary_scalar("s", x)
    with p.name_scope("a"):
        p.summary_histogram("text", "text")
        p.summary_histogram("truth", [True, False])
        p.summary_scalar("text", "text")
        p.summary_scalar("truth", True)
        p.summary_histogram("mixed", [[1.0], [2.0, 3.0]])
    p.summary_scalar("after", x)
    p.summary_histogram("after", x)
    w = p.get_variable("w", [2], initializer=mnist.constant(0.5))
    p.summary_histogram("w", w)
    p.summary_histogram(name="w/gradient", values=p.gradients([p.reduce_sum(w * w)], [w])[0])
    for value in ([1.0, {"float": "nan"}], {"float": "inf"}, {"float": "-inf"}):
        p.run([histogram], [[x, value]])
    for value in ([[1.0, 2.0], [3.0, 4.0]], [], 2.0):
        p.run([histogram], [[x, value]])
    for value in ({"float": "nan"}, {"float": "-inf"}, [1.0, 2.0]):
        p.run([number], [[x, value]])
    p.run([p.summary_histogram("uninitialised", w)])
    p.run([p.global_variables_initializer()])
    p.run([p.summary_merge_all(scope="w")])
    return p


def programs():
    return [names(), collections(), refused()]
