"""Initializers that scale with the shape of the weights."""

from oracle.builder import Program, initializer

SHAPES = ([6, 4], [3, 2, 4, 5], [7], [])
SEEDED = ("glorot_uniform", "glorot_normal", "he_normal", "he_uniform", "lecun_normal",
          "lecun_uniform", "uniform_unit_scaling")


def made(p, prefix, **scaling):
    return [p.get_variable("%s%d" % (prefix, i), shape,
                           initializer=initializer("variance_scaling", seed=i + 3, **scaling))
            for i, shape in enumerate(SHAPES)]


def variance_scaling():
    p = Program("variance_scaling", "every mode and distribution, for every rank")
    made(p, "plain")
    for mode in ("fan_in", "fan_out", "fan_avg"):
        made(p, mode, mode=mode, distribution="uniform", scale=2.5)
    for distribution in ("truncated_normal", "untruncated_normal", "normal", "Uniform"):
        made(p, distribution, distribution=distribution, mode="fan_avg")
    p.get_variable("double", [3, 4], "float64", initializer("variance_scaling", seed=1))
    p.run([p.global_variables_initializer()])
    return p


def values():
    p = Program("values", "the numbers that are drawn")
    uniform = (made(p, "uniform", distribution="uniform", mode="fan_out", scale=3.0)
               + made(p, "average", distribution="uniform", mode="fan_avg", scale=0.1))
    normal = (made(p, "normal") + made(p, "average_normal", mode="fan_avg", scale=2.0)
              + made(p, "untruncated", distribution="untruncated_normal"))
    with p.variable_scope("seeded"):
        for kind in SEEDED:
            v = p.get_variable(kind, [4, 3, 2], initializer=initializer(kind, seed=9))
            (uniform if "uniform" in kind else normal).append(v)
    uniform.append(p.get_variable("factor", [5, 3], initializer=initializer(
        "uniform_unit_scaling", factor=1.43, seed=2)))
    p.set_random_seed(11)
    uniform.append(p.get_variable("default", [5, 3]))
    normal.append(p.get_variable("by_graph_seed", [5, 3], initializer=initializer("he_normal")))
    uniform.append(p.get_variable("double", [5, 3], "float64", initializer("he_uniform", seed=4)))
    p.run([p.global_variables_initializer()])
    p.run(uniform, compare="exact")
    p.run(normal, compare="ulp2")
    return p


def partitioned():
    p = Program("partitioned", "a part is scaled as the whole variable")
    whole = []
    for kind in SEEDED + ("variance_scaling",):
        w = p.get_variable(kind, [6, 4], initializer=initializer(kind, seed=5),
                           partitioner=["fixed", 3, 0])
        whole.append(p.as_tensor(w))
    columns = p.get_variable("columns", [4, 6], initializer=initializer(
        "variance_scaling", mode="fan_out", seed=8), partitioner=["fixed", 2, 1])
    whole.append(p.as_tensor(columns))
    p.run([p.global_variables_initializer()])
    p.run(whole)
    return p


def refused():
    p = Program("refused", "dtypes that no such initializer takes")
    p.get_variable("i", [2, 2], "int32", initializer("he_normal"))
    p.get_variable("w", [2, 2], initializer=initializer("variance_scaling"))
    return p


def programs():
    return [variance_scaling(), values(), partitioned(), refused()]
