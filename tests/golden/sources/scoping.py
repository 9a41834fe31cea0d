"""More on variable scopes: capturing, inheritance, name counts, and the state after an error."""

import itertools

from oracle.builder import Program, initializer

FLAGS = (None, False, True, "AUTO_REUSE")


def flag_text(flag):
    return {None: "none", False: "no", True: "yes", "AUTO_REUSE": "auto"}[flag]


def inherited_reuse(outer, inner):
    p = Program("reuse_%s_in_%s" % (flag_text(inner), flag_text(outer)),
                "reuse of a scope by name, by captured object and by default name in another")
    with p.variable_scope("o"):
        p.get_variable("v", [1])
        with p.variable_scope("i") as held:
            p.get_variable("v", [1])
    with p.variable_scope("o", reuse=outer) as scope:
        p.scope_reuse(scope)
        with p.variable_scope("i", reuse=inner) as again:
            p.scope_reuse(again)
            p.get_variable("v", [1]), p.get_variable("new", [1])
        with p.variable_scope(held, reuse=inner) as again:
            p.scope_reuse(again), p.scope_name(again), p.scope_original_name_scope(again)
            p.get_variable("v", [1]), p.get_variable("newer", [1])
        with p.variable_scope(None, "i", reuse=inner) as again:
            p.scope_reuse(again)
            p.get_variable("v", [1])
        p.get_variable("v", [1])
    return p


def captured_in_reuse():
    p = Program("captured_in_reuse", "a scope captured while it reused goes on reusing")
    with p.variable_scope("a"):
        p.get_variable("v", [1])
    with p.variable_scope("a", reuse=True) as a:
        p.get_variable("v", [1])
    for flag in FLAGS:
        with p.variable_scope(a, reuse=flag) as again:
            p.scope_reuse(again)
            p.get_variable("v", [1]), p.get_variable("w%s" % flag_text(flag), [1])
    return p


def current_scope_again():
    p = Program("current_scope_again", "variable_scope(get_variable_scope()) and reuse_variables")
    with p.variable_scope("a"):
        with p.variable_scope(p.get_variable_scope()) as same:
            p.get_variable("v", [1]), p.constant(1.0)
            p.reuse_variables(same)
            p.get_variable("v", [1])
        p.get_variable("v", [1]), p.get_variable("w", [1])
        p.reuse_variables(same)
        p.get_variable("x", [1])
    return p


def names_of_scopes():
    p = Program("names_of_scopes", "names of several parts, with slashes, in capitals, odd ones")
    for name in ("a/b", "a", "b", "A", "a/b/", "a//b", "/a", "_a", "1", "a b", ".", "-", "a:0", "é",
                 "a_1", "a_1/"):
        with p.variable_scope(name) as scope:
            p.scope_name(scope), p.scope_original_name_scope(scope)
            p.get_variable("v", [1]), p.constant(1.0, name="c")
            with p.variable_scope("_inner"):
                p.get_variable("v", [1]), p.constant(1.0, name="c")
    return p


def counters_of_default_names():
    p = Program("counters_of_default_names", "who restarts the counters of default names")
    with p.variable_scope(None, "d"):
        with p.variable_scope(None, "d"):
            p.get_variable("v", [1])
    with p.variable_scope("d"):
        p.get_variable("w", [1])
    with p.variable_scope(None, "d") as second:
        p.get_variable("v", [1])
    with p.variable_scope("d_1"):
        p.get_variable("w", [1])
    with p.variable_scope(second):
        with p.variable_scope(None, "e"):
            p.get_variable("v", [1])
        with p.variable_scope(None, "e"):
            p.get_variable("v", [1])
    with p.variable_scope(second):
        with p.variable_scope(None, "e"):
            p.get_variable("w", [1])
    with p.variable_scope(None, "d/x"):
        p.get_variable("v", [1])
    with p.variable_scope(None, "D"):
        p.get_variable("v", [1])
    return p


def counters_in_name_scopes():
    p = Program("counters_in_name_scopes", "name scopes count ops, not variable scopes")
    for _ in range(2):
        with p.name_scope("n"):
            with p.variable_scope("a", reuse="AUTO_REUSE"):
                p.get_variable("v", [1]), p.constant(1.0, name="c")
            with p.variable_scope("a", reuse=True):
                p.get_variable("v", [1]), p.constant(1.0, name="c")
            with p.variable_scope(None, "d"):
                p.get_variable("v", [1]), p.constant(1.0, name="c")
    return p


def no_auxiliary_scopes():
    p = Program("no_auxiliary_scopes", "auxiliary_name_scope=False, nested and captured")
    with p.name_scope("n"):
        with p.variable_scope("a", auxiliary_name_scope=False) as a:
            p.constant(1.0, name="c"), p.get_name_scope()
            with p.variable_scope("b") as b:
                p.constant(1.0, name="c"), p.get_name_scope(), p.get_variable("v", [1])
            with p.variable_scope(None, "d", auxiliary_name_scope=False):
                p.constant(1.0, name="c"), p.get_variable("v", [1])
    with p.variable_scope(a):
        p.constant(1.0, name="c"), p.get_name_scope()
    with p.variable_scope(b, auxiliary_name_scope=False) as again:
        p.constant(1.0, name="c"), p.scope_original_name_scope(again)
    with p.name_scope(p.scope_original_name_scope(b)):
        p.constant(1.0, name="c")
    return p


def after_errors():
    p = Program("after_errors", "a variable that failed leaves no entry, but names of its nodes")
    p.get_variable("v", [2], "int32", initializer("truncated_normal"))
    p.get_variable("v", [2])
    p.get_variable("w", [2], initializer=initializer("constant", value=[1.0, 2.0, 3.0]))
    p.get_variable("w", [2])
    with p.variable_scope("a b"):
        p.get_variable("w", [1])
    with p.variable_scope("a"):
        p.get_variable("x", [-1])
        p.get_variable("x", [1])
        p.get_variable("x", [1])
    p.get_variable("a/x", [1])
    with p.variable_scope("", reuse=True):
        p.get_variable("a/x", [1])
    return p


def dtypes_of_scopes():
    p = Program("dtypes_of_scopes", "the dtype of a scope, of a call, of a value, of a found one")
    with p.variable_scope("a", dtype="float64"):
        p.get_variable("v", [1])
        p.get_variable("w", [1], "float32")
        p.get_variable("x", initializer=[1.0])
        p.get_variable("y", initializer=[1])
        p.get_variable("z", [1], "int32", initializer("ones"))
        with p.variable_scope("b"):
            p.get_variable("v", [1])
            with p.variable_scope("c", dtype="int32"):
                p.get_variable("v", [1])
        p.get_local_variable("l", [1])
    with p.variable_scope("a", reuse=True):
        p.get_variable("v"), p.get_variable("v", [1]), p.get_variable("v", [1], "float64")
        p.get_variable("w", [1], "float64"), p.get_variable("x", [1])
    return p


def initializers_of_scopes():
    p = Program("initializers_of_scopes", "a scope's initializer, over and under others")
    with p.variable_scope("a", initializer=initializer("ones")):
        p.get_variable("v", [2])
        p.get_variable("w", [2], "int32")
        with p.variable_scope("b", initializer=initializer("constant", value=3.0)) as b:
            p.get_variable("v", [2])
            p.get_variable("w", [2], initializer=initializer("zeros"))
            p.get_variable("x", initializer=[5.0])
    with p.variable_scope(b):
        p.get_variable("y", [2])
    with p.variable_scope(b, initializer=initializer("zeros")):
        p.get_variable("z", [2])
    p.run([p.global_variables_initializer()])
    p.run([p.get_variable("last", [1], initializer=initializer("ones"))])
    return p


def regularizers_of_scopes():
    p = Program("regularizers_of_scopes", "who adds a regularization loss, and under which name")
    with p.variable_scope("a", regularizer="l2"):
        v = p.get_variable("v", [2])
        p.get_variable("w", [2], regularizer="none")
        p.get_variable("x", [2], trainable=False)
        p.get_local_variable("l", [2])
        with p.name_scope("n"):
            with p.variable_scope("b", regularizer="none"):
                p.get_variable("v", [2])
    with p.variable_scope("a", reuse=True, regularizer="l2"):
        p.get_variable("v", [2])
    p.get_collection("regularization_losses"), p.get_collection("regularization_losses", "a/v")
    p.reduce_sum(v)
    return p


def plain_variables_in_scopes():
    p = Program("plain_variables_in_scopes", "tf.Variable in every kind of scope")
    with p.variable_scope("a"):
        p.Variable(1.0), p.Variable(1.0, name="v"), p.Variable(1.0, name="x/y")
    with p.variable_scope("a", reuse=True):
        p.Variable(1.0, name="v"), p.get_variable("v", [])
    with p.variable_scope("a", auxiliary_name_scope=False):
        p.Variable(1.0, name="v")
    with p.name_scope("a/"):
        p.Variable(1.0, name="v")
    p.Variable(1.0, name="a/v"), p.Variable(1.0, name="v/"), p.Variable(1.0, name="v/")
    p.Variable(1.0, name="_v"), p.Variable(1.0, name="V"), p.Variable(1, name="v", dtype="float64")
    p.Variable([1.0, 2.0], name="v", dtype="int32")
    return p


def variables_and_control():
    p = Program("variables_and_control", "variables ignore control dependencies and reads do not")
    x = p.constant(1.0)
    with p.control_dependencies([x]):
        v = p.get_variable("v", [2], initializer=initializer("ones"))
        w = p.Variable([1.0, 2.0], name="w")
        y = v + w
        p.assign(v, [3.0, 4.0]), p.read_value(v), p.identity(v)
        with p.control_dependencies([y]):
            p.identity(y), p.identity(v), p.square(x)
            with p.control_dependencies(None):
                p.identity(v)
    return p


def collections_of_variables():
    p = Program("collections_of_variables", "where variables are listed")
    p.get_variable("a", [1], trainable=False)
    p.get_variable("b", [1], collections=["mine"])
    p.get_variable("c", [1], collections=[])
    p.get_variable("d", [1], trainable=False, collections=["mine", "local_variables"])
    p.get_local_variable("e", [1], collections=["mine"])
    p.get_local_variable("f", [1])
    p.Variable(1.0, trainable=False, name="g")
    p.Variable(1.0, collections=["model_variables"], name="h")
    with p.variable_scope("s", custom_getter="frozen"):
        p.get_variable("i", [1]), p.get_variable("j", [1], trainable=True)
    for key in ("mine", "variables", "trainable_variables", "local_variables", "model_variables"):
        p.get_collection(key)
    p.global_variables("a"), p.trainable_variables("s/"), p.local_variables("f")
    return p


def filters():
    p = Program("filters", "scopes that filter a collection: prefixes and regular expressions")
    for name in ("a", "a/b", "ab", "tower_1/w", "tower_10/w", "tower_2/w", "B/a"):
        p.get_variable(name, [1])
    for scope in ("a", "a/", "tower_1", "tower_1/", r"tower_\d/", ".*w", "(a|B)/", "[ab]$", "A", "",
                  "b", "tower_1|tower_2", "^tower", "x*", "w", ".", "a$"):
        p.global_variables(scope), p.trainable_variables(scope)
    return p


def programs():
    pairs = [inherited_reuse(outer, inner) for outer, inner in itertools.product(FLAGS, FLAGS)]
    return pairs + [captured_in_reuse(), current_scope_again(), names_of_scopes(),
                    counters_of_default_names(), counters_in_name_scopes(), no_auxiliary_scopes(),
                    after_errors(), dtypes_of_scopes(), initializers_of_scopes(),
                    regularizers_of_scopes(), plain_variables_in_scopes(), variables_and_control(),
                    collections_of_variables(), filters()]
