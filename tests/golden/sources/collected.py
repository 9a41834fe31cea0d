"""Collections, scope filters and listings."""

from oracle.builder import Program, initializer


def filters():
    p = Program("filters", "a scope filter is a match at the start of the name")
    for tower in (0, 1, 10):
        with p.name_scope("tower_%d" % tower):
            p.add_to_collection("losses", p.constant(1.0, name="loss"))
    p.add_to_collection("losses", p.constant(1.0, name="loss"))
    for scope in ("tower_1", "tower_1/", "tower_0", "", "ower", "none", "tower_1/loss"):
        p.get_collection("losses", scope)
    p.get_collection("losses")
    p.get_collection("absent")
    p.get_all_collection_keys()
    return p


def filter_patterns():
    p = Program("filter_patterns", "a scope filter is a regular expression, anchored at the start")
    for tower in (0, 1, 10):
        with p.name_scope("tower_%d" % tower):
            p.add_to_collection("losses", p.constant(1.0, name="loss"))
    for scope in ("tower_[01]/", ".*loss", "tower_1$", "tower_.", "(?:a|tower_1)/", "tower_\\d+/"):
        p.get_collection("losses", scope)
    return p


def members():
    p = Program("members", "duplicates, order, several keys, variables, operations")
    a, v = p.constant(1.0, name="a"), p.Variable(1.0, name="v")
    p.add_to_collection("k", v)
    p.add_to_collection("k", a)
    p.add_to_collection("k", v)
    p.add_to_collections(["k", "l", "k"], p.no_op(name="n"))
    p.get_collection("k")
    p.get_collection("l", "n")
    p.get_collection("k", "v")
    p.add_n(p.get_collection("k", "a"), name="sum")
    return p


def losses():
    p = Program("losses", "the losses of each tower, as the tutorials gather them")
    for tower in range(2):
        with p.name_scope("tower_%d" % tower) as scope:
            x = p.placeholder("float32", [4], name="x")
            p.add_to_collection("losses", p.reduce_mean(x, name="cross_entropy"))
            p.add_to_collection("losses", p.reduce_sum(p.square(x), name="weight_loss"))
            p.add_n(p.get_collection("losses", scope), name="total_loss")
            p.add_n(p.get_collection("losses"), name="all")
    return p


def variable_collections():
    p = Program("variable_collections", "which collections a variable enters")
    p.get_variable("a", [1])
    p.get_variable("b", [1], trainable=False)
    p.get_variable("c", [1], collections=["mine"])
    p.get_variable("d", [1], collections=["mine", "variables"])
    p.get_variable("e", [1], collections=[])
    p.get_local_variable("f", [1])
    p.Variable(1.0, name="g", collections=["local_variables"])
    p.Variable(1.0, name="h", trainable=False, collections=["local_variables"])
    with p.variable_scope("s"):
        p.get_variable("a", [1])
        p.get_local_variable("l", [1], initializer=initializer("zeros"))
    p.global_variables()
    p.global_variables("s")
    p.global_variables("s/")
    p.trainable_variables("a")
    p.local_variables()
    p.global_variables_initializer()
    p.local_variables_initializer()
    p.variables_initializer([])
    return p


def initializers_of_empty_graphs():
    p = Program("initializers_of_empty_graphs", "without variables the initializers are no_ops")
    p.global_variables_initializer()
    p.local_variables_initializer()
    p.group([p.global_variables_initializer(), p.local_variables_initializer()])
    return p


def uninitialized():
    p = Program("uninitialized", "reading before initialization fails and harms nothing")
    v = p.get_variable("v", [2], initializer=initializer("constant", value=3.0))
    w = p.get_variable("w", [2], initializer=initializer("ones"))
    p.run([v])
    p.run([p.assign_add(v, [1.0, 1.0])])
    p.run([p.initializer_of(v)])
    p.run([v])
    p.run([w])
    p.run([p.global_variables_initializer()])
    p.run([v, w])
    p.new_session()
    p.run([v])
    return p


def programs():
    return [filters(), filter_patterns(), members(), losses(), variable_collections(),
            initializers_of_empty_graphs(), uninitialized()]
