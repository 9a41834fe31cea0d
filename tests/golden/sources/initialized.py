"""Initialized variables: reports, tests, initial values of other variables, lists."""

from oracle.builder import Program, generate, initializer

ONES = initializer("ones")


def reports():
    p = Program("reports", "the names of variables without a value, as they get them")
    p.report_uninitialized_variables()
    hidden = p.get_variable("hidden", [2], initializer=ONES, collections=["mine"])
    p.report_uninitialized_variables()
    p.assert_variables_initialized()
    w = p.get_variable("w", [2], initializer=ONES)
    with p.variable_scope("net"), p.device("/gpu:0"):
        v = p.get_variable("v", initializer=generate(3, [2, 3]))
    local = p.get_local_variable("local", [], initializer=initializer("zeros"))
    everything = p.report_uninitialized_variables()
    some = p.report_uninitialized_variables([v, hidden], name="some")
    none = p.report_uninitialized_variables([])
    with p.name_scope("inner"), p.device("/gpu:1"):
        one = p.report_uninitialized_variables([w])
    tests = [p.is_variable_initialized(x) for x in (w, v, hidden)]
    every = [everything, some, none, one] + tests
    p.run(every)
    p.run([p.variables_initializer([v])])
    p.run(every)
    p.run([p.initialize_variables([w, hidden], name="older")])
    p.run(every)
    p.run([p.initialize_local_variables()])
    p.run(every)
    p.new_session()
    p.run(every)
    p.run([p.assign(w, [2.0, 3.0])])
    p.run(every)
    return p


def asserts():
    p = Program("asserts", "a tensor that cannot be computed before all variables have values")
    w = p.get_variable("w", [2], initializer=ONES)
    single = p.assert_variables_initialized()
    with p.device("/gpu:0"):
        v = p.get_variable("v", initializer=generate(3, [2, 3]))
    both = p.assert_variables_initialized()
    one = p.assert_variables_initialized([v])
    p.assert_variables_initialized([])
    p.run([single])
    p.run([p.variables_initializer([w])])
    p.run([single])
    p.run([both])
    p.run([p.initialize_all_variables()])
    p.run([single, both, one])
    return p


def initializers():
    p = Program("initializers", "the calls that give initialisers, old and new")
    p.initialize_all_variables(), p.initialize_local_variables(), p.variables_initializer([])
    w = p.get_variable("w", [2], initializer=ONES)
    with p.device("/gpu:0"):
        v = p.get_variable("v", [2], initializer=ONES)
    p.get_local_variable("local", [2], initializer=ONES)
    p.initialize_all_variables(), p.initialize_local_variables()
    p.global_variables_initializer(), p.local_variables_initializer()
    with p.name_scope("a"):
        p.variables_initializer([w], name="some")
        p.variables_initializer([w, v, w])
        p.initialize_variables([w, v])
    return p


def listings():
    p = Program("listings", "every listing, with and without a scope")
    for key in ("metric_variables", "model_variables", "moving_average_variables"):
        with p.variable_scope(key[:3]):
            p.get_variable("w", [2], collections=["variables", key])
            p.get_variable("x", [2], trainable=False, collections=[key])
    p.get_local_variable("local", [2])
    for scope in (None, "mod", "met/x", "nothing"):
        for listing in ("global_variables", "local_variables", "trainable_variables",
                        "model_variables", "moving_average_variables"):
            getattr(p, listing)(scope)
    p.all_variables(), p.get_collection("metric_variables")
    return p


def dependent():
    p = Program("dependent", "initial values that depend on other variables")
    with p.device("/gpu:1"):
        w = p.get_variable("w", initializer=generate(3, [2]))
    with p.device("/gpu:0"):
        v = p.Variable(w * 2.0 + 1.0, name="v")
        u = p.get_variable("u", initializer=p.initialized_value(w))
        p.get_variable("z", initializer=p.initialized_value(v))
    with p.variable_scope("net"):
        t = p.get_variable("t", initializer=p.concat([w, u, w], 0))
        p.get_variable("second", initializer=p.concat([w, u, w], 0))
    hidden = p.get_variable("hidden", [2], initializer=ONES, collections=["mine"])
    h = p.Variable(p.square(hidden), name="h")
    p.initialized_value(w)
    with p.name_scope("a"):
        value = p.initialized_value(v)
        p.Variable(p.stop_gradient(value), name="q")
    p.run([value])
    p.run([h])
    p.run([p.variables_initializer([t])])
    p.run([t])
    p.run([p.global_variables_initializer()])
    p.run([p.variables_initializer([hidden])])
    p.run([p.global_variables_initializer()])
    p.run([w, v, u, t, h, value])
    p.run([p.assign(w, [7.0, 8.0])])
    p.run([value])
    p.run([p.variables_initializer([v])])
    p.run([v, value])
    return p


def masks():
    p = Program("masks", "boolean_mask of values, rows and columns")
    x = p.constant(generate(1, [3, 2]), name="x")
    row = p.placeholder("bool", [3], name="row")
    open_mask = p.placeholder("bool", [None], name="open")
    both = p.placeholder("bool", [3, 2], name="both")
    results = [p.boolean_mask(x, row), p.boolean_mask(x, both), p.boolean_mask(x, open_mask),
               p.boolean_mask(x, p.constant([True, False]), axis=1, name="columns"),
               p.boolean_mask([1, 2, 3], row)]
    p.boolean_mask(x, p.constant(True))
    p.boolean_mask(x, p.placeholder("bool"))
    p.boolean_mask(x, p.constant([True, False]))
    p.boolean_mask(x, p.constant([1, 0, 1]))
    rows, cells = [True, False, True], [[True, True], [False, False], [False, True]]
    feeds = [[row, rows], [open_mask, rows], [both, cells]]
    p.run(results, feeds)
    none = [[row, [False] * 3], [open_mask, [False] * 3], [both, [[False] * 2] * 3]]
    p.run(results, none)
    w = p.get_variable("w", initializer=generate(2, [3, 2]))
    grads = p.gradients([p.reduce_sum(p.square(p.boolean_mask(w, both)))], [w])
    p.run([p.global_variables_initializer()])
    p.run([grads[0]], feeds)
    return p


def programs():
    return [reports(), asserts(), initializers(), listings(), dependent(), masks()]
