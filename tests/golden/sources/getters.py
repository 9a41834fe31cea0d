"""get_variable: initial values and dtypes, regularizers, custom getters, captured scopes."""

from oracle.builder import Program, generate, initializer


def values():
    p = Program("values", "the dtype of an initial value, asked for and not")
    p.get_variable("a", initializer=3)
    p.get_variable("b", initializer=[1, 2])
    p.get_variable("c", initializer=[1.5, 2])
    p.get_variable("d", initializer=True)
    p.get_variable("e", initializer=generate(1, [2], dtype="float64"))
    p.get_variable("f", dtype="float64", initializer=generate(1, [2], dtype="float64"))
    p.get_variable("g", dtype="float32", initializer=generate(1, [2], dtype="float64"))
    p.get_variable("h", dtype="int32", initializer=4)
    p.get_variable("i", dtype="float32", initializer=4)
    p.get_variable("j", [2], initializer=[1.0, 2.0])
    p.get_variable("k", initializer=p.constant([1, 2], name="given"))
    p.get_variable("l", dtype="float32", initializer=p.constant([1, 2]))
    p.get_variable("m", dtype="int32", initializer=p.constant([1, 2]))
    with p.variable_scope("half", dtype="float64"):
        p.get_variable("a", [2])
        p.get_variable("b", initializer=3)
        p.get_variable("c", [2], "int32")
    p.get_variable("n", [2], "string")
    p.get_variable("o", [2], "bool")
    p.get_variable("p")
    return p


def values_again():
    p = Program("values_again", "finding a variable that a value made: the dtype asked for counts")
    p.get_variable("a", initializer=3)
    p.get_variable("b", initializer=[1.0, 2.0])
    with p.variable_scope("", reuse=True):
        p.get_variable("a", initializer=3)
        p.get_variable("a", dtype="int32", initializer=3)
        p.get_variable("a", dtype="int32")
        p.get_variable("a")
        p.get_variable("b", initializer=[1.0, 2.0])
        p.get_variable("b", [2])
        p.get_variable("b", [3])
        p.get_variable("b", dtype="float64")
    with p.variable_scope("s", initializer=[5, 6]):
        p.get_variable("a")
        p.get_variable("b", [2])
        p.get_variable("c", dtype="float32")
        p.get_variable("d", [2], initializer=initializer("ones"))
    return p


def regularizers():
    p = Program("regularizers", "a loss a variable, listed when it is made; none listed again")
    p.get_variable("a", initializer=[1.0, 2.0], regularizer="l2")
    p.get_variable("b", initializer=[3.0], regularizer="none")
    with p.variable_scope("net", regularizer="l2") as scope:
        w = p.get_variable("w", initializer=[4.0])
        p.get_variable("free", initializer=[1.0], regularizer="none")
        with p.variable_scope("inner"):
            p.get_variable("w", initializer=[2.0])
        with p.variable_scope("other", regularizer="none"):
            p.get_variable("w", initializer=[2.0])
    with p.variable_scope(scope, reuse=True):
        p.get_variable("w", regularizer="l2")
    losses = p.get_collection("regularization_losses")
    total = p.add_n(losses, name="total")
    again = losses[1] * 2.0
    p.get_collection("regularization_losses", "net/")
    p.gradients([total], [w])
    p.run([p.global_variables_initializer()])
    p.run([total, again, losses[0]])
    return p


def custom_getters():
    p = Program("custom_getters", "names, trainability and reuse changed on the way, inner first")
    p.get_variable("w", [2], custom_getter="suffixed")
    p.get_variable("w", [2])
    with p.variable_scope("a", custom_getter="suffixed") as scope:
        p.get_variable("w", [2])
        with p.variable_scope("b", custom_getter="frozen"):
            p.get_variable("w", [2])
            p.get_variable("w", [2])
            p.get_variable("v", [2], custom_getter="found_or_made")
            p.get_variable("v", [2], custom_getter="found_or_made")
        with p.variable_scope("c", custom_getter="suffixed"):
            p.get_variable("w", [2])
            p.get_variable("u", [2], custom_getter="frozen")
    with p.variable_scope(scope, custom_getter="suffixed", reuse=True):
        p.get_variable("w", [2])
    with p.variable_scope("a", reuse=True):
        p.get_variable("w_x")
        p.get_variable("b/w_x")
    with p.variable_scope("d", custom_getter="found_or_made", regularizer="l2"):
        p.get_variable("w", [2])
        p.get_variable("w", [2])
    return p


def captured():
    p = Program("captured", "unique default names inside a scope that is entered again")
    with p.variable_scope("a") as scope:
        with p.variable_scope(None, "b"):
            p.get_variable("w", [1])
        with p.variable_scope(scope):
            with p.variable_scope(None, "b"):
                p.get_variable("w", [1])
        with p.variable_scope(None, "b"):
            p.get_variable("w", [1])
    with p.variable_scope(scope):
        with p.variable_scope(None, "b"):
            p.get_variable("v", [1])
        with p.variable_scope(None, "b"):
            p.get_variable("v", [1])
    with p.variable_scope(None, "b"):
        with p.variable_scope(p.get_variable_scope()):
            with p.variable_scope(None, "c"):
                p.get_variable("w", [1])
        with p.variable_scope(None, "c"):
            p.get_variable("u", [1])
    with p.variable_scope(p.get_variable_scope()):
        with p.variable_scope(None, "b"):
            p.get_variable("w", [1])
    with p.variable_scope(None, "b"):
        p.get_variable("w", [1])
    return p


def programs():
    return [values(), values_again(), regularizers(), custom_getters(), captured()]
