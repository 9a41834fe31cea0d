"""Global steps: that of the graph, and those passed to an optimizer."""

from oracle.builder import Program, initializer


def counted(dtype):
    p = Program("counted_" + dtype, "an optimizer counts in a variable of any number type")
    w = p.get_variable("w", [2], initializer=initializer("ones"))
    loss = p.reduce_sum(p.square(w))
    with p.device("/gpu:0"):
        step = p.get_variable("step", [], dtype, initializer("zeros"), trainable=False)
    p.assert_global_step(step)
    p.add_to_collection("global_step", step)
    p.get_global_step()
    p.get_or_create_global_step()
    p.create_global_step()
    train = p.minimize(p.MomentumOptimizer(0.25, 0.5), loss, step)
    named = p.minimize(p.GradientDescentOptimizer(0.25), loss, step, name="train")
    p.run([p.global_variables_initializer()])
    for op in (train, named, train):
        p.run([op])
        p.run([w, step])
        p.global_step(step)
    return p


def vectors():
    p = Program("vectors", "a count that is no scalar")
    w = p.get_variable("w", [2], initializer=initializer("ones"))
    loss = p.reduce_sum(p.square(w))
    step = p.get_variable("step", [2], "int64", initializer("zeros"), trainable=False)
    p.assert_global_step(step)
    p.add_to_collection("global_step", step)
    p.get_global_step()
    train = p.minimize(p.GradientDescentOptimizer(0.25), loss, step)
    p.run([p.global_variables_initializer()])
    p.run([train])
    p.run([step])
    text = p.get_variable("text", [], "string", trainable=False)
    p.minimize(p.GradientDescentOptimizer(0.25), loss, text)
    flag = p.get_variable("flag", [], "bool", trainable=False)
    p.minimize(p.GradientDescentOptimizer(0.25), loss, flag)
    return p


def created():
    p = Program("created", "one count a graph, wherever it was made")
    p.get_global_step()
    with p.variable_scope("a"), p.name_scope("b"), p.device("/gpu:0"):
        p.create_global_step()
    p.get_global_step()
    p.create_global_step()
    p.get_or_create_global_step()
    p.add_to_collection("global_step", p.get_variable("other", [], "int64"))
    p.get_global_step()
    p.get_or_create_global_step()
    return p


def under_reuse():
    p = Program("created_reuse", "no count can be made where the scope reuses")
    with p.variable_scope("a"):
        p.reuse_variables(p.get_variable_scope())
        p.get_or_create_global_step()
    p.get_or_create_global_step()
    with p.variable_scope("a", reuse=True):
        p.get_or_create_global_step()
    return p


def programs():
    return [counted(dtype) for dtype in ("int32", "int64", "float32", "float64")] + [
        vectors(), created(), under_reuse()]
