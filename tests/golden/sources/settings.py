"""More options of scopes and variables: caching devices, constraints, device functions, templates,
collections by reference."""

from oracle.builder import Program, initializer


def caching_devices():
    p = Program("caching_devices", "a variable is read where its caching device says")
    p.get_variable("a", [2], caching_device="/gpu:1")
    with p.variable_scope("s", caching_device="/cpu:0") as scope:
        p.get_variable("b", [2])
        p.get_variable("c", [2], caching_device="/gpu:0")
        with p.variable_scope("t"):
            p.get_variable("b", [2])
    with p.device("/gpu:3"):
        with p.variable_scope(scope):
            p.get_variable("d", [2])
        p.get_variable("e", [2], caching_device="")
        p.Variable(1.0, caching_device="/cpu:1", name="f")
    p.get_variable("g", [2], caching_device="/what:0")
    return p


def constraints():
    p = Program("constraints", "a constraint is applied after each update, not inherited by scopes")
    with p.variable_scope("s", constraint="halved"):
        a = p.get_variable("a", [2], initializer=initializer("ones"))
        with p.variable_scope("t"):
            b = p.get_variable("b", [2], initializer=initializer("ones"))
    c = p.Variable([1.0, 2.0], constraint="halved", name="c")
    loss = p.reduce_sum(a * b * c)
    p.minimize(p.GradientDescentOptimizer(0.5), loss)
    table = p.get_variable("table", [3, 2], constraint="halved")
    rows = p.reduce_sum(p.gather(table, [0, 1]))
    p.minimize(p.GradientDescentOptimizer(0.5), rows, name="Sparse", var_list=[table])
    return p


def synchronizations():
    p = Program("synchronizations", "ON_READ makes a variable not trainable, unless it says so")
    p.get_variable("a", [2], synchronization="ON_READ")
    p.get_variable("b", [2], synchronization="ON_READ", trainable=True)
    p.get_variable("c", [2], synchronization="ON_WRITE")
    return p


def unknown_shapes():
    p = Program("unknown_shapes", "validate_shape=False takes values whose shape is not known")
    x = p.placeholder("float32", [None, 2], name="x")
    p.Variable(x, name="a")
    p.Variable(x, validate_shape=False, name="b")
    p.get_variable("c", initializer=x, validate_shape=False)
    p.get_variable("d", initializer=x)
    p.get_variable("e", [2, 3], validate_shape=False)
    p.get_variable("f", [None, 3], validate_shape=False)
    return p


def device_functions():
    p = Program("device_functions", "functions choose a device, innermost first")
    a, b = p.ones([2, 2]), p.ones([2, 2])
    with p.device_function("matmul_on_second"):
        p.matmul(a, b)
        p.relu(a)
        with p.device("/cpu:0"):
            p.matmul(a, b)
            p.relu(a)
        with p.device("/job:worker"):
            p.matmul(a, b)
    with p.device("/gpu:3"):
        with p.device_function("matmul_on_second"):
            p.matmul(a, b)
            p.relu(a)
        with p.device_function("nothing"):
            p.relu(a)
    with p.device_function("variables_on_ps"):
        w = p.get_variable("w", [2, 2])
        p.matmul(a, w)
        with p.device("/gpu:0"):
            p.get_variable("v", [2, 2])
            with p.device(None):
                p.matmul(a, w)
    with p.device_function("cpu"):
        with p.device_function("matmul_on_second"):
            p.matmul(a, b)
        with p.colocate_with(w):
            p.matmul(a, b)
    return p


def templates():
    p = Program("templates", "a template makes its variables once")
    x = p.constant(3.0)
    twice = p.make_template("twice", "scaled")
    p.template_scope(twice)
    y = p.call_template(twice, x)
    p.template_scope(twice)
    with p.name_scope("tower"):
        z = p.call_template(twice, y)
    other = p.make_template("twice", "scaled")
    with p.variable_scope("outer"):
        p.call_template(other, x)
        p.call_template(p.make_template("twice", "scaled"), x)
    p.call_template(other, x)
    p.run([p.global_variables_initializer()])
    p.run([z])
    return p


def templates_now():
    p = Program("templates_now", "a template's scope can be there before its first call")
    x = p.constant(3.0)
    with p.variable_scope("a"):
        now = p.make_template("t", "scaled", create_scope_now=True)
        p.template_scope(now)
        later = p.make_template("t", "scaled")
        also = p.make_template("t", "scaled", create_scope_now=True)
    p.call_template(now, x)
    p.call_template(now, x)
    p.call_template(later, x)
    p.call_template(also, x)
    named = p.make_template("t", "scaled", unique_name="own")
    p.call_template(named, x)
    p.call_template(p.make_template("t", "scaled", unique_name="own"), x)
    p.call_template(p.make_template("u", "scaled", custom_getter="suffixed"), x)
    p.call_template(named, x)
    return p


def template_variables():
    p = Program("template_variables", "a template that makes a variable each time is refused")
    x = p.constant(3.0)
    plain = p.make_template("plain", "plain")
    p.call_template(plain, x)
    p.call_template(plain, x)
    p.call_template(plain, x)
    with p.variable_scope("a", reuse=True):
        t = p.make_template("t", "scaled")
        p.call_template(t, x)
    p.call_template(t, x)
    with p.variable_scope("b") as b:
        p.call_template(p.make_template("t", "scaled"), x)
    with p.variable_scope(b, reuse=True):
        p.call_template(p.make_template("t", "scaled"), x)
    return p


def collection_refs():
    p = Program("collection_refs", "get_collection_ref gives the list itself")
    a = p.constant(1.0, name="a")
    p.extend_collection_ref("mine", [a, a])
    p.get_collection("mine")
    p.clear_collection_ref("mine")
    p.get_collection("mine")
    p.get_variable("w", [2])
    with p.variable_scope("s") as scope:
        p.get_variable("w", [2])
        p.get_local_variable("l", [2])
        p.get_variable("frozen", [2], trainable=False)
    with p.variable_scope("s2"):
        p.get_variable("w", [2])
    for listing in ("global_variables", "trainable_variables", "local_variables"):
        p.scope_collection(scope, listing)
        p.scope_collection(p.get_variable_scope(), listing)
    p.clear_collection_ref("trainable_variables")
    p.trainable_variables()
    p.global_variables()
    return p


def name_scope_values():
    p = Program("name_scope_values", "default names of scopes, and scopes without any")
    a = p.constant(1.0)
    with p.name_scope(None, "d", [a]):
        p.constant(1.0)
    with p.name_scope("n", "d", [a]):
        p.constant(1.0)
    with p.name_scope(None, None, [a]):
        p.constant(1.0)
    with p.name_scope(None):
        p.constant(1.0)
    with p.variable_scope(None, None):
        p.constant(1.0)
    with p.variable_scope(None, "d", [a]):
        p.get_variable("w", [1])
    with p.variable_scope(None, "d", reuse="AUTO_REUSE"):
        p.get_variable("w", [1])
    with p.variable_scope(None, "d", reuse=False):
        p.get_variable("w", [1])
    return p


def programs():
    return [caching_devices(), constraints(), synchronizations(), unknown_shapes(),
            device_functions(), templates(), templates_now(), template_variables(),
            collection_refs(), name_scope_values()]
