"""Random numbers with a graph seed, an op seed, both, neither."""

from oracle.builder import Program, initializer


def uniforms():
    p = Program("uniforms", "random_uniform of floats and integers, bit for bit")
    p.set_random_seed(1234)
    values = [p.random_uniform([7], seed=5), p.random_uniform([2, 3], -1.0, 1.0, seed=6),
              p.random_uniform([5], 0, 10, "int32", seed=7), p.random_uniform([4]),
              p.random_uniform([3], 0, 100, "int64", seed=8), p.random_uniform([300], seed=9),
              p.random_uniform([3], dtype="float64", seed=10)]
    p.run(values, compare="exact")
    p.run(values, compare="exact")
    p.new_session()
    p.run(values[:2], compare="exact")
    p.random_uniform([2], maxval=5, dtype="int32")
    p.random_uniform([2], dtype="int32")
    return p


def normals():
    p = Program("normals", "random_normal and truncated_normal, within 2 ulp")
    p.set_random_seed(87)
    values = [p.random_normal([9], seed=1), p.random_normal([2, 2], 3.0, 0.5),
              p.truncated_normal([300], seed=2), p.truncated_normal([4], 1.0, 0.05, seed=3)]
    p.run(values, compare="ulp2")
    p.run(values, compare="ulp2")
    return p


def seeds():
    p = Program("seeds", "op seed alone, graph seed alone, default op seeds in order")
    alone = p.random_uniform([3], seed=42)
    p.run([alone], compare="exact")
    p.set_random_seed(42)
    first, second = p.random_uniform([3]), p.random_uniform([3])
    p.run([first, second], compare="exact")
    p.set_random_seed(7)
    third = p.random_uniform([3])
    p.run([third], compare="exact")
    p.set_random_seed(0)
    p.run([p.random_uniform([3], seed=0)], compare="exact")
    return p


def unseeded():
    p = Program("unseeded", "without any seed only dtype and shape are known")
    p.run([p.random_uniform([3]), p.random_normal([2]), p.random_shuffle([1, 2, 3])],
          compare="shape")
    return p


def shuffles():
    p = Program("shuffles", "random_shuffle, bit for bit")
    p.set_random_seed(11)
    rows = p.reshape(p.constant(list(range(20))), [10, 2])
    p.run([p.random_shuffle(list(range(10)), seed=3), p.random_shuffle(rows, seed=4),
           p.random_shuffle(rows)], compare="exact")
    return p


def initial_values():
    p = Program("initial_values", "initial values of variables under a graph seed")
    p.set_random_seed(2024)
    shapes = [p.get_variable("a", [3, 2], initializer=initializer("truncated_normal", stddev=0.05)),
              p.get_variable("b", [4], initializer=initializer("random_uniform", minval=-1.0,
                                                               maxval=1.0, seed=9)),
              p.get_variable("c", [2, 2]),
              p.get_variable("d", [3], initializer=initializer("random_normal", stddev=2.0))]
    p.run([p.global_variables_initializer()])
    p.run(shapes, compare="ulp2")
    return p


def programs():
    return [uniforms(), normals(), seeds(), unseeded(), shuffles(), initial_values()]
