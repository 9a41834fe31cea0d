"""Rules found by random programs: calls where Towerflow once differed from TensorFlow."""

from oracle.builder import Program, generate, initializer


def scalar_reductions():
    p = Program("scalar_reductions", "the axes of a scalar are computed, those of others constant")
    p.reduce_sum(p.constant(2.0))
    p.reduce_mean(p.get_variable("w", [], initializer=initializer("ones")))
    p.reduce_max(p.placeholder("float32"))
    p.reduce_sum(p.constant([1.0, 2.0]))
    p.reduce_mean(3.0)
    return p


def variables_beside():
    p = Program("variables_beside", "a variable in a colocation scope keeps the devices around it")
    anchor = p.get_variable("anchor", [2])
    with p.device("/cpu:1"):
        with p.colocate_with(anchor):
            p.Variable([1.0, 2.0], name="plain")
            p.get_variable("w", [2])
            p.constant(1.0, name="no_device")
            with p.device("/gpu:0"):
                p.Variable(1.0, name="inner")
                p.constant(1.0, name="inner_constant")
        with p.device("/job:a"):
            with p.colocate_with(anchor):
                with p.colocate_with(anchor):
                    p.get_variable("deep", [2])
    with p.device("/cpu:0"):
        placed = p.get_variable("placed", [2])
    with p.device("/gpu:1"):
        with p.colocate_with(placed):
            p.get_variable("beside_placed", [2])
    with p.colocate_with(anchor):
        p.get_variable("nothing_around", [2])
    return p


def slots_on_devices():
    p = Program("slots_on_devices", "slots take the devices around apply_gradients")
    w = p.get_variable("w", [2], initializer=initializer("ones"))
    with p.device("/gpu:1"):
        loss = p.reduce_sum(p.square(w))
        p.minimize(p.AdamOptimizer(0.5), loss)
        p.minimize(p.RMSPropOptimizer(0.5), loss)
        p.minimize(p.MomentumOptimizer(0.5, 0.5), loss)
        p.minimize(p.AdagradOptimizer(0.5), loss)
    return p


def colocation_reset():
    p = Program("colocation_reset", "colocate_with(None) needs ignore_existing")
    x = p.constant(1.0)
    with p.colocate_with(x):
        with p.colocate_with(None):
            p.constant(2.0)
        with p.colocate_with(None, ignore_existing=True):
            p.constant(2.0)
        p.constant(3.0)
    return p


def collections_named_twice():
    p = Program("collections_named_twice", "a variable is listed once in a collection named twice")
    p.get_variable("a", [1], collections=["mine", "mine", "variables"])
    p.Variable(1.0, collections=["variables", "variables"], name="b")
    p.get_local_variable("c", [1], collections=["local_variables"])
    p.add_to_collection("texts", "no name")
    p.get_collection("texts"), p.get_collection("texts", ""), p.get_collection("mine", "")
    return p


def initial_shapes():
    p = Program("initial_shapes", "a variable's initial value has a known shape")
    open_ = p.placeholder("float32", [None, 2], name="open")
    p.Variable(open_, name="v")
    p.get_variable("w", initializer=open_)
    p.Variable(1.0, name="v")
    p.get_variable("w", [2])
    p.get_variable("none", [0], initializer=initializer("constant", value=0.25))
    p.constant([1.0, 2.0], shape=[0])
    return p


def default_scopes_and_reuse():
    p = Program("default_scopes_and_reuse", "reuse, AUTO_REUSE too, needs a scope's name")
    with p.variable_scope(None, "d", reuse="AUTO_REUSE"):
        p.get_variable("v", [1])
    with p.variable_scope(None, "d", reuse=False):
        p.get_variable("v", [1])
    with p.variable_scope("a", reuse="AUTO_REUSE"):
        with p.variable_scope(None, "d"):
            p.get_variable("v", [1])
    return p


def updates_of_bools():
    p = Program("updates_of_bools", "what has no sum cannot be added to")
    flag = p.Variable(True, name="flag")
    p.assign(flag, False)
    p.assign_add(flag, True)
    p.assign_sub(flag, True)
    text = p.Variable("a", name="text")
    p.assign_add(text, "b")
    return p


def device_spellings():
    p = Program("device_spellings", "more of what a device may be called")
    for name in ("/device:gpu:0", "/device:cpu:1", "/device:Gpu:0", "/Cpu:0", "/cpu:-1", "/task:+2",
                 "/TPU:0", "/device:anything:3", "/:0", "/cpu:0/gpu:1", "/cpu:0/device:GPU:1",
                 "/job:a/job:b", "/task:", "/cpu:", "/device:cpu", "/EPU:1"):
        with p.device(name):
            p.constant(1.0)
    return p


def other_processes():
    p = Program("other_processes", "a session places its whole graph; no device elsewhere is here")
    x = p.constant(1.0)
    p.run([x])
    with p.device("/job:localhost/replica:0/task:0/gpu:3"):
        here = p.constant(2.0)
    p.run([here])
    with p.device("/job:ps/task:1"):
        p.constant(3.0)
    p.run([x])
    return p


def shapes_when_run():
    p = Program("shapes_when_run", "shapes that turn out wrong in a run are InvalidArgumentError")
    x = p.placeholder("float32", [None], name="x")
    y = x + p.constant([1.0, 2.0, 3.0])
    z = p.matmul(p.placeholder("float32", [2, None], name="a"), p.constant([[1.0], [2.0]]))
    p.run([y], [[x, [1.0, 2.0, 3.0]]])
    p.run([y], [[x, [1.0, 2.0]]])
    p.run([z], [[p.get_tensor_by_name("a:0"), [[1.0], [2.0]]]])
    p.run([y], [[x, [1.0]]])
    return p


def quotients():
    p = Program("quotients", "tf.divide of a value: named or not, which dtype, which constants")
    wide = p.placeholder("float64", [2], name="wide")
    whole = p.placeholder("int32", [2], name="whole")
    w = p.get_variable("w", [2])
    p.divide(2.0, wide), p.divide(2.0, wide, name="q"), p.divide(1, whole), p.divide(0.5, w)
    p.divide(0.5, w, name="named"), p.divide(1.5, whole), p.divide(whole, 1.5)
    p.divide(whole, 1.5, name="q"), p.truediv(whole, 2.5), p.truediv(2.0, wide)
    p.divide([1.0, 2.0], [2.0, 4.0])
    return p


def leftovers():
    p = Program("leftovers", "a value of the wrong dtype leaves a constant behind in sums, quotients")
    whole = p.placeholder("int32", [2], name="whole")
    whole * 1.5, whole + 1.5, whole - 1.5, whole / 1.5
    p.operator("**", whole, 1.5), p.operator("//", whole, 1.5), p.operator("%", whole, 1.5)
    p.operator("<", whole, 1.5)
    p.multiply(whole, 1.5), p.add(whole, 1.5), p.subtract(whole, 1.5), p.maximum(whole, 1.5)
    p.multiply(1.5, whole), p.add(1.5, whole), p.pow(whole, -0.5, name="x")
    p.add(whole, generate(1, [2])), p.multiply(whole, generate(1, [2]))
    w = p.get_variable("w", [2], "int32", initializer("ones"))
    p.assign(w, [1.5, 2.0]), p.assign_add(w, 1.5)
    whole + 2, whole * 2
    return p


def argmax_of_vectors():
    p = Program("argmax_of_vectors", "of a vector or a scalar the axis is looked at in a run")
    x = p.constant([1.0, 3.0, 2.0])
    a, b = p.argmax(x, 3), p.argmax(p.constant(1.0))
    c = p.argmax(p.constant([False, True, False]), 0)
    p.argmax(p.constant([[1.0]]), 2)
    p.run([c]), p.run([a]), p.run([b]), p.run([p.argmax(x, -1)])
    return p


def stacks():
    p = Program("stacks", "an axis that is not there takes up no name")
    x, y = p.placeholder("float32", [2], name="x"), p.placeholder("float32", [], name="y")
    p.stack([x, x], 2), p.stack([y, y], -2), p.stack([x, x], 1), p.stack([x, [1.0, 2.0]], 1)
    p.stack([x, y]), p.stack([x, x]), p.stack([x, y], 1), p.stack([x, x], -1)
    return p


def optimizers_without_name():
    p = Program("optimizers_without_name", "an optimizer has a name, and a value for each argument")
    for make in (p.GradientDescentOptimizer, p.AdamOptimizer, p.AdagradOptimizer,
                 p.RMSPropOptimizer):
        make(0.5, name="")
    p.MomentumOptimizer(0.5, 0.5, name="")
    return p


def stopped_variables():
    p = Program("stopped_variables", "stop_gradients at a variable is its storage, not its value")
    w = p.get_variable("w", [2], initializer=initializer("ones"))
    y = p.reduce_sum(p.square(w))
    p.gradients([y], [w], stop_gradients=[w])
    p.gradients([y], [w], stop_gradients=[p.read_value(w)])
    return p


def powers():
    p = Program("powers", "the operators are called pow and floordiv, the function Pow")
    x = p.placeholder("float32", [2], name="x")
    p.operator("**", x, 2.0), p.operator("**", x, x), p.pow(x, 2.0), p.operator("//", x, 2.0)
    w = p.get_variable("w", [2], "float64")
    p.operator("**", w, -1.25), p.operator("//", w, w), p.operator("%", w, 2.0)
    return p


def biases():
    p = Program("biases", "a bias of another dtype; a value that is a reference")
    x = p.placeholder("float32", [1, 2], name="x")
    p.bias_add(x, p.placeholder("int64", [2])), p.bias_add(x, [1, 2]), p.bias_add(x, [1.0, 2.0])
    w = p.get_variable("w", [1, 2])
    p.bias_add(p.assign(w, [[1.0, 2.0]]), p.constant([1.0, 2.0]))
    p.bias_add(w, p.get_variable("b", [2]))
    return p


def casts():
    p = Program("casts", "tf.cast to the same dtype: of a tensor, a variable, a reference, a value")
    w = p.get_variable("w", [2])
    p.cast(p.constant(1.0), "float32"), p.cast(w, "float32"), p.cast(w, "int32")
    p.cast(p.assign(w, [1.0, 2.0]), "float32"), p.cast(p.read_value(w), "float32")
    p.cast(1.0, "float32"), p.cast(1.5, "int32"), p.cast(generate(1, [2]), "float32")
    return p


def devices_of_scopes():
    p = Program("devices_of_scopes", "a variable scope inside a colocation scope hides the devices")
    anchor = p.get_variable("anchor", [2])
    with p.device("/gpu:1"):
        with p.colocate_with(anchor):
            p.Variable(1.0, name="before")
            with p.variable_scope("a"):
                p.get_variable("inside", [2]), p.Variable(1.0, name="plain")
                with p.device("/cpu:0"):
                    p.get_variable("placed", [2])
                    with p.colocate_with(anchor):
                        p.get_variable("deeper", [2])
            with p.variable_scope("a b"):
                pass
            p.Variable(1.0, name="after")
    return p


def fed_and_fetched():
    p = Program("fed_and_fetched", "what is fed alone needs no device")
    with p.device("/job:ps"):
        x = p.placeholder("float32", [2], name="x")
    p.run([x], [[x, [1.0, 2.0]]])
    p.run([x * 2.0], [[x, [1.0, 2.0]]])
    return p


def blocks_again():
    p = Program("blocks_again", "what an outer block waits for is no input of an inner one")
    x, y = p.constant(1.0, name="x"), p.constant(2.0, name="y")
    with p.control_dependencies([x]):
        made = p.placeholder("float32", name="made")
        with p.control_dependencies([x, y]):
            p.square(made), p.square(x), p.no_op()
            with p.control_dependencies([y]):
                p.square(made), p.no_op()
            with p.control_dependencies(None):
                with p.control_dependencies([x]):
                    p.square(made), p.no_op()
    return p


def reductions_of_bools():
    p = Program("reductions_of_bools", "bools have no sum: no constant of the axes is left")
    flags = p.less(p.placeholder("float32", [2, 2]), 1.0)
    p.reduce_sum(flags, [], True), p.reduce_mean(flags, 0), p.reduce_max(flags)
    p.reduce_sum(p.constant([1, 2]), 0)
    return p


def programs():
    return [scalar_reductions(), variables_beside(), slots_on_devices(), colocation_reset(),
            collections_named_twice(), initial_shapes(), default_scopes_and_reuse(),
            updates_of_bools(), device_spellings(), other_processes(), shapes_when_run(),
            quotients(), leftovers(), argmax_of_vectors(), stacks(), optimizers_without_name(),
            stopped_variables(), powers(), biases(), casts(), devices_of_scopes(),
            fed_and_fetched(), blocks_again(), reductions_of_bools()]
