"""Partitioned variables: parts, their names and values, reuse, and errors."""

from oracle.builder import Program, initializer


def parts():
    p = Program("parts", "the parts of a variable and the nodes that put them together")
    w = p.get_variable("w", [5, 2], initializer=initializer("ones"), partitioner=["fixed", 2, 0])
    p.parts(w)
    x = p.constant([[1.0, 2.0, 3.0, 4.0, 5.0]])
    y = p.matmul(x, w)
    p.as_tensor(w)
    with p.name_scope("tower"):
        p.matmul(x, w)
    columns = p.get_variable("columns", [2, 7], partitioner=["fixed", 3, 1])
    p.parts(columns)
    p.as_tensor(columns)
    one = p.get_variable("one", [3], initializer=initializer("zeros"), partitioner=["fixed", 1, 0])
    p.parts(one)
    p.as_tensor(one)
    p.get_variable("scalar", [], initializer=initializer("ones"), partitioner=["fixed", 2, 0])
    p.run([p.global_variables_initializer()])
    p.run([y])
    return p


def values():
    p = Program("values", "a value as the initializer is cut as well")
    given = p.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="given")
    a = p.get_variable("a", initializer=given, partitioner=["fixed", 2, 0])
    b = p.get_variable("b", [3, 2], initializer=given, partitioner=["fixed", 2, 1])
    c = p.get_variable("c", [4], initializer=[1.0, 2.0, 3.0, 4.0], partitioner=["fixed", 3, 0])
    p.get_variable("d", initializer=[1.0, 2.0], partitioner=["fixed", 2, 0])
    p.get_variable("e", [4, 2], initializer=given, partitioner=["fixed", 2, 0])
    p.get_variable("f", [4], "int32", [1, 2, 3, 4], partitioner=["fixed", 2, 0])
    seeded = p.get_variable("seeded", [4, 3], initializer=initializer("random_uniform", seed=3),
                            partitioner=["fixed", 2, 0])
    p.set_random_seed(7)
    glorot = p.get_variable("glorot", [40, 30], partitioner=["fixed", 2, 0])
    p.run([p.global_variables_initializer()])
    p.run([p.as_tensor(a), p.as_tensor(b), p.as_tensor(c)])
    p.run([p.as_tensor(seeded), p.as_tensor(glorot)], compare="exact")
    return p


def partitioners():
    p = Program("partitioners", "how many parts each partitioner makes")
    for i, (kind, number, axis) in enumerate((("fixed", 9, 0), ("axis_size", 16, 0),
                                              ("axis_size", 1, 0), ("axis_size", 1000, 1),
                                              ("min_max", 2, 0), ("min_max", 9, 1),
                                              ("min_max", 2, 2),
                                              ("both_axes", 0, 0), ("no_part", 0, 0),
                                              ("other_rank", 0, 0))):
        w = p.get_variable("w%d" % i, [4, 3], initializer=initializer("zeros"),
                           partitioner=[kind, number, axis])
        p.parts(w)
    p.get_variable("unknown", [None, 2], partitioner=["fixed", 2, 0])
    p.get_variable("shapeless", partitioner=["fixed", 2, 0])
    return p


def reuse():
    p = Program("reuse", "partitioned variables are found with the same partitioning, or without")
    with p.variable_scope("net", partitioner=["fixed", 2, 0]) as scope:
        p.get_variable("w", [4, 2])
        p.get_variable("w", [4, 2])
        with p.variable_scope("inner"):
            p.get_variable("w", [4, 2])
        p.get_variable("b", [], initializer=initializer("zeros"))
        p.get_variable("step", [3], "int32", initializer("zeros"))
    with p.variable_scope(scope, reuse=True):
        p.get_variable("w", [4, 2])
        p.get_variable("w")
        p.get_variable("w", [5, 2])
        p.get_variable("w", [4, 2], "float64")
        p.get_variable("w", [4, 2], partitioner=["fixed", 3, 0])
        p.get_variable("v", [4, 2])
        p.get_variable("b", [])
    with p.variable_scope("net", reuse=True):
        p.parts(p.get_variable("w"))
        p.get_variable("w/part_0")
        p.get_variable("w/part_0", [2, 2])
    with p.variable_scope("net"):
        p.get_variable("w", [4, 2])
        p.get_variable("whole", [4, 2])
        p.get_variable("whole", [4, 2], partitioner=["fixed", 2, 0])
    with p.variable_scope("net", reuse="AUTO_REUSE"):
        p.get_variable("w", [4, 2], partitioner=["fixed", 2, 0])
        p.get_variable("w", [4, 2], partitioner=["fixed", 2, 1])
        p.get_variable("z", [4, 2], partitioner=["fixed", 2, 1])
        p.get_variable("w", [4, 2])
    return p


def training():
    p = Program("training", "each part is trained, and listed, as a variable")
    x = p.constant([[1.0, 2.0, 3.0, 4.0]])
    w = p.get_variable("w", [4, 2], initializer=initializer("ones"), partitioner=["fixed", 2, 0],
                       regularizer="l2")
    loss = p.reduce_sum(p.matmul(x, w))
    p.trainable_variables()
    optimizer = p.MomentumOptimizer(0.1, 0.9)
    train = p.minimize(optimizer, loss)
    p.get_collection("regularization_losses")
    p.run([p.global_variables_initializer()])
    p.run([train])
    p.run([train])
    p.run([p.as_tensor(w)])
    return p


def programs():
    return [parts(), values(), partitioners(), reuse(), training()]
