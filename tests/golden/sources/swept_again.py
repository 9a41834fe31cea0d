"""More rules found by random programs (swept.py has the first ones)."""

from oracle.builder import Program, initializer


def devices_around_updates():
    p = Program("devices_around_updates", "slots take the devices that stand at apply_gradients")
    w = p.get_variable("w", [2], initializer=initializer("ones"))
    anchor = p.constant(1.0, name="anchor")
    loss = p.reduce_sum(p.square(w))
    with p.colocate_with(anchor):
        with p.device("/cpu:0"):
            p.minimize(p.AdamOptimizer(0.5), loss)
            p.minimize(p.MomentumOptimizer(0.5, 0.5), loss)
        with p.variable_scope("inside"):
            with p.device("/gpu:1"):
                p.get_variable("v", [2])
    with p.device("/cpu:1"):
        with p.colocate_with(anchor):
            with p.variable_scope("hidden"):
                p.get_variable("v", [2])
                with p.colocate_with(w):
                    p.get_variable("deeper", [2])
        with p.variable_scope("seen"):
            with p.colocate_with(anchor):
                p.get_variable("v", [2])
    return p


def products_of_bools():
    p = Program("products_of_bools", "an operator * with a bool casts, the function does not")
    flags, numbers = p.constant([True, False]), p.constant([1.5, 2.0])
    both = [flags * numbers, numbers * flags, flags * flags, flags * 2, flags * True]
    p.operator("*", True, flags), p.operator("*", 2, flags)
    p.multiply(flags, numbers), p.multiply(flags, flags)
    v = p.get_variable("v", [2], "bool")
    v * numbers, numbers * v
    p.operator("*", p.constant([[1, 2, 3]]), flags)
    p.run(both)
    return p


def variables_without_elements():
    p = Program("variables_without_elements", "they have nothing that could be uninitialized")
    v = p.get_variable("v", [0])
    w = p.get_variable("w", [2, 0], "int32")
    known = [p.is_variable_initialized(v), p.is_variable_initialized(w)]
    p.run(known)
    p.run([v, w])
    p.run(known)
    p.run([p.report_uninitialized_variables()])
    return p


def names_before_values():
    p = Program("names_before_values", "what is checked first, and what a failed call leaves")
    p.get_variable("", initializer=[1.0, 2.0])
    p.get_local_variable("", initializer=[1.0, 2.0])
    images = p.placeholder("float32", [1, 5, 5, 2])
    p.max_pool(images, [1, 1, 2, 1], [1, 1, 1], "VALID", "h"), p.identity(images, "h")
    p.max_pool(images, [1, 1, 2], [1, 1, 1, 1], "VALID", "k"), p.identity(images, "k")
    whole = p.constant([[[[1]]]])
    p.conv2d(images, whole, [1, 1, 1, 1], "same", "a"), p.identity(images, "a")
    p.conv2d(images, images, [1, 1, 1], "same", "b"), p.identity(images, "b")
    p.in_top_k(p.constant([[1.0, 2.0]]), [0.5], 2)
    p.in_top_k(p.constant([[1.0, 2.0]]), [True], 2, "top")
    p.gather(images, [0.5], "g"), p.argmax(images, 0.5, "m")
    p.reshape(images, [0.5, 1.0], "r"), p.transpose(images, [True, False], "t")
    p.tile(images, [1.5], "tile"), p.fill([1.5], 2.0, "f")
    return p


def shapes_of_grad_ys():
    p = Program("shapes_of_grad_ys", "a first gradient that no rule can use")
    x = p.get_variable("x", [], initializer=initializer("ones"))
    y = p.get_variable("y", [3], initializer=initializer("ones"))
    pair, one = p.constant([[1.0, 2.0]]), p.constant([[1.0]])
    scalar = p.operator("-", x, p.square(x))
    for grad in (pair, one, p.constant(2.0)):
        p.gradients([scalar], [x], [grad])
        p.gradients([p.reduce_mean(p.square(x))], [x], [grad])
        p.gradients([p.square(y)], [y], [grad])
        p.gradients([p.add(y, x)], [y], [grad])
        p.gradients([p.identity(pair)], [y], [grad])
    return p


def groups_that_are_run():
    p = Program("groups_that_are_run", "what a fetched group waits for is computed")
    v = p.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
    p.run([p.group([p.square(v)], name="asked")])
    p.run([p.group([p.group([p.reduce_sum(v)]), p.constant(1.0)], name="deep")])
    p.run([p.global_variables_initializer()])
    p.run([p.group([p.square(v)])])
    return p


def late_values():
    p = Program("late_values", "a value whose size a run finds out, fetched more than once")
    x = p.placeholder("float32", [None, 2], name="x")
    kept = p.boolean_mask(x, p.greater(p.reduce_sum(x, 1), 0.0))
    fed = [(x, [[1.0, 2.0], [-3.0, 1.0], [0.5, 0.5]])]
    p.run([kept, kept], fed)
    p.run([p.boolean_mask(p.constant([[True, False], [False, True]]), [True, False])] * 2)
    w = p.get_variable("w", [2, 2], initializer=initializer("ones"))
    p.run([p.matmul(x, w)] * 2)
    return p


def step_beside():
    p = Program("step_beside", "a step count in a colocation scope inside a device scope")
    anchor = p.constant(1.0, name="anchor")
    with p.device("/gpu:1"):
        with p.colocate_with(anchor):
            p.get_or_create_global_step()
            p.get_variable("beside", [2])
    return p


def failed_sums():
    p = Program("failed_sums", "a sum of different dtypes uses up its name")
    p.add_n([p.constant(1), p.constant(1.0)], "loss")
    p.square(2.0, "loss")
    return p


def tensors_of_variables():
    p = Program("tensors_of_variables", "an average of a variable's tensor is not the variable's")
    v = p.Variable(0.0, name="v")
    average = p.ExponentialMovingAverage(0.5)
    storage = p.get_tensor_by_name("v:0")
    p.ema_apply(average, [storage])
    p.ema_average_name(average, v), p.ema_average_name(average, storage)
    p.ema_average(average, v)
    return p


def folded_shapes():
    p = Program("folded_shapes", "shapes that are computed from constants")
    x = p.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    p.reshape(x, p.constant([3]) * p.constant([2]))
    p.reshape(x, p.stack([p.argmax(p.constant([0, 0, 5]), 0), p.constant(3, "int64")]))
    p.reshape(x, p.cast(p.constant([3.0, 2.0]), "int32"))
    p.fill(p.add(p.shape(x), 1), 0.5)
    p.reshape(x, p.constant([2]) * p.constant([2]))
    part = p.placeholder("float32", [None, 3], name="part")
    p.fill(p.shape(part), 0.5), p.reshape(x, p.shape(part))
    p.reshape(part, p.concat([[-1], p.shape(x)], 0))
    return p


def programs():
    return [late_values(), step_beside(), failed_sums(), tensors_of_variables(), folded_shapes(),
            devices_around_updates(), products_of_bools(), variables_without_elements(),
            names_before_values(), shapes_of_grad_ys(), groups_that_are_run()]
