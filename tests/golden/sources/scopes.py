"""Variable scopes: names of variables and ops, reuse and its errors."""

from oracle.builder import Program, initializer


def variable_nodes():
    p = Program("variable_nodes", "the nodes of a variable, by initializer and dtype")
    p.get_variable("a", [2, 3], initializer=initializer("constant", value=0.5))
    p.get_variable("b", [2], initializer=initializer("zeros"))
    p.get_variable("c", [2], initializer=initializer("ones"))
    p.get_variable("d", [2], initializer=initializer("truncated_normal", stddev=0.05))
    p.get_variable("e", [2], initializer=initializer("random_normal", mean=1.0, seed=3))
    p.get_variable("f", [2], initializer=initializer("random_uniform", minval=-1.0, maxval=1.0))
    p.get_variable("g", [], "int32", initializer("zeros"))
    p.get_variable("h", [], "int64", initializer("constant", value=7), trainable=False)
    p.get_variable("i", [3])
    p.get_variable("j", initializer=[1.0, 2.0])
    p.get_variable("k", initializer=p.constant([1.0, 2.0]))
    p.get_variable("l", [2], initializer=p.constant([1.0, 2.0]))
    p.get_variable("m", [])
    return p


def plain_variables():
    p = Program("plain_variables", "tf.Variable takes name scopes and gets suffixes")
    p.Variable(1.0, name="v")
    p.Variable([1, 2], name="v")
    p.Variable(p.zeros([2, 2]))
    with p.name_scope("s"):
        p.Variable(1.0, name="v")
        p.get_variable("w", [2])
    with p.variable_scope("t"):
        p.Variable(2.0, trainable=False, name="v")
    p.Variable(1.0, dtype="float64", name="d")
    return p


def get_after_variable():
    p = Program("get_after_variable", "get_variable keeps its key where a Variable has the name")
    p.Variable(1.0, name="v")
    p.get_variable("v", [2])
    with p.variable_scope("", reuse=True):
        p.get_variable("v", [2])
    return p


def nested():
    p = Program("nested", "variable scopes nest; op scopes get suffixes, variables do not")
    with p.variable_scope("a"):
        p.get_variable("v", [1])
        p.constant(1.0, name="c")
        with p.variable_scope("b") as b:
            p.get_variable("v", [1])
            p.scope_name(b), p.scope_original_name_scope(b), p.scope_reuse(b)
    with p.variable_scope("a"):
        p.get_variable("w", [1])
        p.constant(1.0, name="c")
        p.get_variable_scope()
        p.get_name_scope()
    with p.name_scope("n"):
        with p.variable_scope("a"):
            p.get_variable("x", [1])
            p.constant(1.0, name="c")
    return p


def reuse_true():
    p = Program("reuse_true", "reuse finds, and fails on what is not there")
    with p.variable_scope("a"):
        p.get_variable("v", [1])
    with p.variable_scope("a", reuse=True):
        p.get_variable("v", [1])
        p.get_variable("v")
        p.get_variable("w", [1])
        p.get_variable("v", [2])
        p.get_variable("v", [1], "int32")
        with p.variable_scope("b"):
            p.get_variable("v", [1])
        with p.variable_scope("b", reuse=False):
            p.get_variable("v", [1])
    with p.variable_scope("a"):
        p.get_variable("v", [1])
        p.get_variable("fresh", [1])
    return p


def auto_reuse():
    p = Program("auto_reuse", "AUTO_REUSE makes or finds, inherited by inner scopes")
    for _ in range(2):
        with p.variable_scope("a", reuse="AUTO_REUSE") as a:
            p.get_variable("v", [1])
            p.scope_reuse(a)
            with p.variable_scope("b") as b:
                p.get_variable("v", [1])
                p.scope_reuse(b)
    with p.variable_scope("a", reuse="AUTO_REUSE"):
        p.get_variable("v", [3])
        with p.variable_scope("b", reuse=True):
            p.get_variable("none", [1])
        with p.variable_scope("b", reuse=False):
            p.get_variable("v", [1])
    return p


def reuse_variables():
    p = Program("reuse_variables", "reuse_variables holds to the end of its scope")
    with p.variable_scope(p.get_variable_scope()):
        p.get_variable("v", [1])
        p.reuse_variables(p.get_variable_scope())
        p.get_variable("v", [1])
        p.get_variable("w", [1])
        with p.variable_scope("a"):
            p.get_variable("v", [1])
    p.get_variable("w", [1])
    p.reuse_variables(p.get_variable_scope())
    p.get_variable("w", [1])
    p.get_variable("x", [1])
    return p


def captured():
    p = Program("captured", "a captured scope: its variables, a new op prefix, no outer reuse")
    with p.variable_scope("a") as a:
        p.get_variable("v", [1])
        p.constant(1.0, name="c")
    with p.variable_scope("b"):
        with p.variable_scope(a) as again:
            p.constant(1.0, name="c")
            p.scope_name(again), p.scope_original_name_scope(again)
            p.get_variable("v", [1])
    with p.variable_scope("b", reuse=True):
        with p.variable_scope(a) as again:
            p.scope_reuse(again)
            p.get_variable("w", [1])
        with p.variable_scope("a"):
            p.get_variable("u", [1])
    with p.variable_scope(a, reuse=True):
        p.get_variable("v", [1])
        p.constant(1.0, name="c")
    with p.variable_scope(a):
        with p.name_scope(p.scope_original_name_scope(a)):
            p.constant(1.0, name="c")
    return p


def default_names():
    p = Program("default_names", "default_name is made unique, again when its parent comes back")
    for _ in range(2):
        with p.variable_scope(None, "d"):
            p.get_variable("v", [1])
    with p.variable_scope("o"):
        with p.variable_scope(None, "d"):
            p.get_variable("v", [1])
        with p.variable_scope(None, "d"):
            p.get_variable("v", [1])
    with p.variable_scope("o"):
        with p.variable_scope(None, "d"):
            p.get_variable("v", [1])
    with p.variable_scope("named", "d"):
        p.get_variable("v", [1])
    with p.variable_scope(None):
        p.get_variable("v", [1])
    with p.variable_scope(None, "d", reuse=True):
        p.get_variable("v", [1])
    return p


def empty_names():
    p = Program("empty_names", "variable_scope('') and a name with a trailing slash")
    with p.variable_scope("a"):
        with p.variable_scope(""):
            p.get_variable("v", [1])
            p.constant(1.0, name="c")
    with p.variable_scope("a/"):
        p.get_variable("w", [1])
        p.constant(1.0, name="c")
    with p.variable_scope(""):
        p.get_variable("w", [1])
        p.constant(1.0, name="c")
    p.get_variable("", [1])
    p.get_variable("x/y", [1])
    return p


def wrong_calls():
    p = Program("wrong_calls", "what get_variable refuses")
    p.get_variable("v")
    p.get_variable("v", [None, 2])
    p.get_variable("v", [2], initializer=[1.0, 2.0])
    p.get_variable("w", [2], "int32", initializer("truncated_normal"))
    p.get_variable("w", [2], "int32")
    p.get_variable("w", [2], "bool")
    p.get_variable("x", [2])
    p.get_variable("x", [2])
    p.get_variable("y", [-1])
    p.get_variable("z w", [1])
    return p


def scope_initializer():
    p = Program("scope_initializer", "initializer and dtype of a scope, inherited")
    with p.variable_scope("a", initializer=initializer("constant", value=2.0)):
        p.get_variable("v", [1])
        with p.variable_scope("b", dtype="float64"):
            p.get_variable("v", [1])
            p.get_variable("w", [1], initializer=initializer("zeros"))
    return p


def without_auxiliary_scope():
    p = Program("without_auxiliary_scope", "auxiliary_name_scope=False opens no name scope")
    with p.variable_scope("a", auxiliary_name_scope=False) as a:
        p.get_variable("v", [1])
        p.constant(1.0, name="c")
        p.scope_original_name_scope(a)
    with p.name_scope("n"):
        with p.variable_scope(a, auxiliary_name_scope=False):
            p.constant(1.0, name="c")
    return p


def two_discriminators():
    p = Program("two_discriminators", "reuse under another scope name finds nothing")
    with p.variable_scope("discriminator"):
        with p.variable_scope("real_discriminator"):
            p.get_variable("w", [3, 1])
        with p.variable_scope("fake_discriminator", reuse=True):
            p.get_variable("w", [3, 1])
        with p.variable_scope("real_discriminator", reuse=True):
            p.get_variable("w", [3, 1])
    return p


def towers():
    p = Program("towers", "a name scope per tower never prefixes get_variable")
    x = p.placeholder("float32", [None, 3], name="x")
    with p.variable_scope(p.get_variable_scope()):
        for tower in range(3):
            with p.name_scope("tower_%d" % tower):
                with p.variable_scope("fc"):
                    w = p.get_variable("w", [3, 2])
                    b = p.get_variable("b", [2], initializer=initializer("zeros"))
                    p.matmul(x, w) + b
                p.reuse_variables(p.get_variable_scope())
    p.get_variable("after", [1])
    return p


def programs():
    return [variable_nodes(), plain_variables(), get_after_variable(), nested(), reuse_true(),
            auto_reuse(), reuse_variables(), captured(), default_names(), empty_names(),
            wrong_calls(), scope_initializer(), without_auxiliary_scope(), two_discriminators(),
            towers()]
