"""Requested devices: spellings, merging, nesting, colocation, control dependencies."""

from oracle.builder import Program, initializer


def spellings():
    p = Program("spellings", "every way to write a device, and some that are none")
    for name in ("/cpu:0", "cpu:0", "/device:CPU:0", "/gpu:1", "/device:GPU:1", "/GPU:2", "gpu:*",
                 "/job:worker/task:1/cpu:0", "/job:ps", "/job:ps/replica:0/task:0/device:GPU:0",
                 "", "/cpu", "/device:CPU:*", "/gpu:01", "/job:a/job:b"):
        with p.device(name):
            p.constant(1.0)
    for name in ("/cpu:x", "nonsense", "/gpu:0/cpu:0", "/task:a", "/bad:0:1:2"):
        with p.device(name):
            p.constant(1.0)
    return p


def merging():
    p = Program("merging", "an inner device fills in and overrides parts of the outer one")
    with p.device("/job:worker/task:1"):
        p.constant(1.0)
        with p.device("/gpu:0"):
            p.constant(1.0)
            with p.device("/task:2"):
                p.constant(1.0)
            with p.device("/cpu:0"):
                p.constant(1.0)
            with p.device(None):
                p.constant(1.0)
                with p.device("/gpu:1"):
                    p.constant(1.0)
            with p.device(""):
                p.constant(1.0)
        with p.device("/job:ps"):
            p.constant(1.0)
    p.constant(1.0)
    return p


def variables_on_cpu():
    p = Program("variables_on_cpu", "variables inside a tower stay on the CPU, ops do not")
    x = p.placeholder("float32", [None, 3], name="x")
    with p.device("/cpu:0"):
        p.get_variable("global_step", [], "int64", initializer("zeros"), trainable=False)
        with p.variable_scope(p.get_variable_scope()):
            for tower in range(2):
                with p.device("/gpu:%d" % tower):
                    with p.name_scope("tower_%d" % tower):
                        with p.device("/cpu:0"):
                            w = p.get_variable("w", [3, 2])
                        p.matmul(x, w)
                        p.reuse_variables(p.get_variable_scope())
        p.reduce_mean(x)
    return p


def colocation():
    p = Program("colocation", "colocate_with takes the device of its op")
    with p.device("/gpu:0"):
        a = p.constant(1.0, name="a")
        v = p.Variable(1.0, name="v")
    with p.colocate_with(a):
        p.constant(1.0, name="b")
        with p.device("/gpu:1"):
            p.constant(1.0, name="c")
        with p.colocate_with(v):
            p.constant(1.0, name="d")
        with p.colocate_with(v, ignore_existing=True):
            p.constant(1.0, name="e")
        with p.colocate_with(None, ignore_existing=True):
            p.constant(1.0, name="f")
    with p.device("/cpu:0"):
        with p.colocate_with(v):
            p.constant(1.0, name="g")
    p.assign_add(v, 1.0)
    return p


def control():
    p = Program("control", "control inputs, their pruning, and clearing by None")
    a, b = p.constant(1.0, name="a"), p.constant(2.0, name="b")
    n = p.no_op(name="n")
    with p.control_dependencies([a]):
        p.constant(1.0, name="c")
        p.identity(a, name="d")
        e = p.identity(b, name="e")
        p.identity(e, name="f")
        with p.control_dependencies([n, b]):
            p.constant(1.0, name="g")
            p.add(e, b, name="h")
            with p.control_dependencies(None):
                p.constant(1.0, name="i")
                with p.control_dependencies([b]):
                    p.constant(1.0, name="j")
            p.no_op(name="k")
        p.Variable(1.0, name="v")
        p.get_variable("w", [1])
    with p.control_dependencies([]):
        p.constant(1.0, name="l")
    p.constant(1.0, name="m")
    with p.control_dependencies([1.0]):
        p.constant(1.0, name="o")
    return p


def groups():
    p = Program("groups", "group over one and over two devices")
    with p.device("/cpu:0"):
        a, b = p.no_op(name="a"), p.constant(1.0, name="b")
    with p.device("/gpu:0"):
        c = p.no_op(name="c")
    p.group([a, b])
    p.group([a, b, c])
    p.group([a, b, c], name="g")
    p.group([])
    p.group([a], name="one")
    with p.device("/gpu:1"):
        p.group([a, c], name="h")
    return p


def order_of_reads():
    p = Program("order_of_reads", "a read after an assignment sees it")
    v = p.get_variable("v", [], initializer=initializer("constant", value=1.0))
    up = p.assign_add(v, 2.0)
    with p.control_dependencies([up]):
        after = v + 0.0
        p.identity(v, name="same")
    twice = p.assign(v, after * 3.0)
    p.run([p.global_variables_initializer()])
    p.run([after])
    p.run([v])
    p.run([twice])
    p.run([v])
    p.run([p.read_value(v), v * 2.0])
    return p


def programs():
    return [spellings(), merging(), variables_on_cpu(), colocation(), control(), groups(),
            order_of_reads()]
