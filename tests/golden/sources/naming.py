"""Names of nodes: suffixes, case, reentered scopes, names used by failed calls."""

from oracle.builder import Program


def suffixes():
    p = Program("suffixes", "equal names get _1, _2; an explicit suffix takes its place")
    for _ in range(3):
        p.constant(1.0, name="c")
    p.constant(1.0, name="c_1")
    p.constant(1.0)
    p.constant(2)
    p.constant(1.0, name="c_1_1")
    p.constant(1.0, name="c_2")
    return p


def ignores_case():
    p = Program("ignores_case", "names that differ in case only are made different")
    for name in ("A", "a", "A", "a_1", "aB", "Ab"):
        p.constant(0.0, name=name)
    return p


def operators_and_functions():
    p = Program("operators_and_functions", "x + y is add, tf.add is Add, one counter for both")
    x, y = p.placeholder("float32", [2], name="x"), p.placeholder("float32", [2], name="y")
    p.add(x, y)
    x + y
    p.add(x, y)
    x - y, p.subtract(x, y), x * y, p.multiply(x, y), x / y, p.divide(x, y), -x, p.negative(x)
    x + 1.0, 1.0 + x, 2.0 * x, x / 2.0, 1.0 - x
    p.add(x, 1.0, name="named")
    return p


def nested_scopes():
    p = Program("nested_scopes", "name scopes nest, get suffixes, and give their full prefix")
    with p.name_scope("a"):
        p.constant(1.0, name="x")
        with p.name_scope("b"):
            p.constant(1.0, name="x")
        with p.name_scope("b"):
            p.constant(1.0, name="x")
            p.get_name_scope()
    with p.name_scope("a"):
        p.constant(1.0, name="x")
    p.constant(1.0, name="a")
    return p


def reentry():
    p = Program("reentry", "a trailing slash enters a scope again; None and '' leave all scopes")
    with p.name_scope("a") as scope:
        p.constant(1.0, name="x")
    with p.name_scope("b"):
        with p.name_scope(scope):
            p.constant(1.0, name="x")
            p.constant(1.0, name="y")
        with p.name_scope("a/"):
            p.constant(1.0, name="y")
        with p.name_scope(None):
            p.constant(1.0, name="y")
        with p.name_scope(""):
            p.constant(1.0, name="y")
        with p.name_scope("c/d"):
            p.constant(1.0, name="y")
    return p


def absolute_names():
    p = Program("absolute_names", "an op name that ends in a slash is absolute, and fails twice")
    with p.name_scope("s"):
        p.constant(1.0, name="t/c/")
        p.constant(1.0, name="t/c/")
        p.constant(1.0, name="c")
    p.constant(1.0, name="t/c")
    return p


def failed_calls():
    p = Program("failed_calls", "a failed call uses its name up")
    a, b = p.placeholder("float32", [2, 3]), p.placeholder("float32", [2, 3])
    p.matmul(a, b)
    p.matmul(a, b)
    p.matmul(a, b, transpose_b=True)
    p.reshape(a, [4, 4])
    p.reshape(a, [3, 2])
    p.concat([a, p.placeholder("float32", [5])], 0)
    p.concat([a, b], 0)
    return p


def bad_names():
    p = Program("bad_names", "characters that no name may have")
    p.constant(1.0, name="a b")
    p.constant(1.0, name="_a")
    p.constant(1.0, name="a:0")
    p.constant(1.0, name=".a")
    p.constant(1.0, name="a.b-c")
    with p.name_scope("_s"):
        p.constant(1.0)
    with p.name_scope("s"):
        p.constant(1.0, name="_a")
        with p.name_scope("_t"):
            p.constant(1.0)
    with p.name_scope("s t"):
        p.constant(1.0)
    return p


def helper_nodes():
    p = Program("helper_nodes", "constants that an op makes of its arguments occupy names")
    x = p.placeholder("float32", [2, 3], name="x")
    p.reduce_sum(x)
    p.reduce_sum(x, 1)
    p.reduce_mean(x, [0, 1], True)
    p.reduce_max(x, 0, name="m")
    p.reshape(x, [-1])
    p.expand_dims(x, 0)
    p.argmax(x, 1)
    p.concat([x, x], 1)
    p.concat([x], 1)
    p.constant(0.0)
    p.reduce_mean([x, x], 0)
    p.gather(x, [1, 0])
    p.zeros([2]), p.ones([2, 2]), p.fill([2], 3.0), p.zeros_like(x)
    return p


def calls_without_node():
    p = Program("calls_without_node", "cast to the same dtype and add_n of one make no node")
    x = p.placeholder("float32", [2], name="x")
    p.cast(x, "float32")
    p.cast(x, "int32")
    p.cast(x, "float32", name="c")
    p.add_n([x])
    p.add_n([x], name="one")
    p.add_n([x, x])
    p.add_n([])
    p.identity(x), p.stop_gradient(x), p.no_op(), p.no_op(name="n")
    p.stack([x, x]), p.stack([1.0, 2.0])
    return p


def found_by_name():
    p = Program("found_by_name", "tensors and operations by name, and names that are not there")
    p.constant(1.0, name="c")
    p.get_tensor_by_name("c:0")
    p.get_tensor_by_name("c:1")
    p.get_tensor_by_name("c")
    p.get_tensor_by_name("d:0")
    p.get_operation_by_name("c")
    p.get_operation_by_name("d")
    p.get_operation_by_name("c:0")
    p.unique_name("c")
    p.constant(1.0, name="c")
    return p


def programs():
    return [suffixes(), ignores_case(), operators_and_functions(), nested_scopes(), reentry(),
            absolute_names(), failed_calls(), bad_names(), helper_nodes(), calls_without_node(),
            found_by_name()]
