"""Calls of tf.nn.rnn_cell and tf.nn.static_rnn for make_fixtures.py."""
import tensorflow.compat.v1 as tf

R = tf.nn.rnn_cell


def pair(t):
    return R.LSTMStateTuple(t.c, t.h)


def zeros(cell):
    return cell.zero_state(2, tf.float32)


def run(cell, inputs, **options):
    return tf.nn.static_rnn(cell, inputs, dtype=tf.float32, **options)


def xyz(t):
    return [t.x, t.y, t.z]


def scoped(name, body, **options):
    with tf.variable_scope(name, **options):
        return body()


def variables(cell, *_):
    """Lists a cell's own variables in a collection, so that their names are recorded."""
    for v in cell.trainable_variables:
        tf.add_to_collection("ends", v)


def and_variables(cell, result):
    variables(cell)
    return result


def steps(cell, t):
    first, state = cell(t.x, zeros(cell))
    second, state = cell(t.y, state)
    return [first, second, state]


def lstm(units=4, **options):
    return R.BasicLSTMCell(units, **options)


def dynamic(cell, inputs, **options):
    return tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32, **options)


def both_ways(t, **options):
    return tf.nn.bidirectional_dynamic_rnn(lstm(), R.GRUCell(3), t.s, dtype=tf.float32, **options)


def unknown(t, *sizes):
    return tf.placeholder_with_default(t.s, sizes)


def total(result):
    """Returns a sum whose shape is known, so that there are gradients."""
    return [result, tf.add_n([tf.reduce_sum(r) for r in tf.nest.flatten(result)])]


def twice(body):
    return [body(), body()]


def with_cell(cell, body):
    return body(cell)


def raw(t, cell, lengths, first_emit=None, emit=lambda output: output, count=None):
    """Reads the steps of an array; `count` is the first loop state."""
    steps = tf.TensorArray(tf.float32, size=5).unstack(tf.transpose(t.s, [1, 0, 2]))

    def loop_fn(time, output, state, seen):
        if output is None:
            state, emitted, after = cell.zero_state(2, tf.float32), first_emit, count
        else:
            emitted = emit(output)
            after = None if count is None else seen + tf.reduce_sum(output)
        finished = time >= lengths
        step = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([2, 3]), lambda: steps.read(time))
        return finished, step, state, emitted, after

    array, state, seen = tf.nn.raw_rnn(cell, loop_fn)
    return total([array.stack(), state] + ([] if count is None else [seen]))


CASES = {
    "BasicRNNCell": lambda t: R.BasicRNNCell(4)(t.x, t.h),
    "BasicRNNCell options": lambda t: R.BasicRNNCell(4, tf.nn.relu, name="cell")(t.x, t.h),
    "BasicRNNCell twice": lambda t: steps(R.BasicRNNCell(4), t),
    "BasicRNNCell float64": lambda t: R.BasicRNNCell(3)(t.d, t.d),
    "BasicRNNCell int": lambda t: R.BasicRNNCell(3)(t.i, t.i),
    "BasicRNNCell rank": lambda t: R.BasicRNNCell(4)(t.s, t.h),
    "BasicRNNCell scope": lambda t: R.BasicRNNCell(4)(t.x, t.h, scope="mine"),
    "BasicRNNCell two": lambda t: [R.BasicRNNCell(4)(t.x, t.h), R.BasicRNNCell(4)(t.y, t.h)],
    "BasicRNNCell reuse": lambda t: [R.BasicRNNCell(4)(t.x, t.h),
                                     R.BasicRNNCell(4, reuse=True)(t.y, t.h)],
    "BasicLSTMCell": lambda t: lstm()(t.x, pair(t)),
    "BasicLSTMCell options": lambda t: lstm(forget_bias=0.5, activation=tf.nn.relu)(t.x, pair(t)),
    "BasicLSTMCell concatenated": lambda t: lstm(2, state_is_tuple=False)(t.x, t.h),
    "BasicLSTMCell twice": lambda t: steps(lstm(), t),
    "BasicLSTMCell initializer": lambda t: scoped(
        "a", lambda: lstm()(t.x, pair(t)), initializer=tf.ones_initializer()),
    "LSTMCell": lambda t: R.LSTMCell(4)(t.x, pair(t)),
    "LSTMCell peepholes": lambda t: R.LSTMCell(4, use_peepholes=True)(t.x, pair(t)),
    "LSTMCell projection": lambda t: steps(
        R.LSTMCell(4, num_proj=3, proj_clip=0.2, cell_clip=0.3), t),
    "LSTMCell all": lambda t: steps(
        R.LSTMCell(4, use_peepholes=True, cell_clip=0.4, num_proj=2, forget_bias=0.5,
                   initializer=tf.random_uniform_initializer(-0.1, 0.1), activation=tf.sigmoid,
                   name="cell"), t),
    "LSTMCell concatenated": lambda t: R.LSTMCell(2, state_is_tuple=False)(t.x, t.h),
    "LSTMCell concatenated projection": lambda t: R.LSTMCell(
        3, num_proj=1, state_is_tuple=False)(t.x, t.h),
    "GRUCell": lambda t: R.GRUCell(4)(t.x, t.h),
    "GRUCell options": lambda t: R.GRUCell(
        4, tf.nn.relu, kernel_initializer=tf.ones_initializer(),
        bias_initializer=tf.constant_initializer(0.5))(t.x, t.h),
    "GRUCell twice": lambda t: steps(R.GRUCell(4), t),
    "MultiRNNCell": lambda t: steps(R.MultiRNNCell([lstm(4), R.GRUCell(3)]), t),
    "MultiRNNCell shared": lambda t: (lambda cell: steps(R.MultiRNNCell([cell, cell]), t))(
        R.GRUCell(3)),
    "MultiRNNCell concatenated": lambda t: steps(
        R.MultiRNNCell([R.GRUCell(3), lstm(2, state_is_tuple=False)], state_is_tuple=False), t),
    "MultiRNNCell mixed": lambda t: R.MultiRNNCell([lstm()], state_is_tuple=False),
    "MultiRNNCell none": lambda t: R.MultiRNNCell([]),
    "MultiRNNCell variables": lambda t: (lambda cell: and_variables(cell, steps(cell, t)))(
        R.MultiRNNCell([lstm(4), R.GRUCell(3)])),
    "MultiRNNCell state": lambda t: R.MultiRNNCell([lstm(), lstm()])(t.x, t.h),
    "zero_state": lambda t: zeros(R.GRUCell(4)),
    "zero_state lstm": lambda t: zeros(lstm()),
    "zero_state nested": lambda t: zeros(R.MultiRNNCell([lstm(), R.MultiRNNCell([R.GRUCell(2)])])),
    "zero_state tensor": lambda t: R.GRUCell(4).zero_state(tf.shape(t.u)[0], tf.float32),
    "zero_state float64": lambda t: lstm().zero_state(3, tf.float64),
    "DropoutWrapper": lambda t: steps(
        R.DropoutWrapper(lstm(), 0.5, 0.6, 0.7, seed=7), t),
    "DropoutWrapper output": lambda t: steps(
        R.DropoutWrapper(R.GRUCell(4), output_keep_prob=0.5), t),
    "DropoutWrapper none": lambda t: steps(R.DropoutWrapper(R.GRUCell(4)), t),
    "DropoutWrapper tensor": lambda t: R.DropoutWrapper(
        R.GRUCell(4), input_keep_prob=tf.placeholder_with_default(0.5, []), seed=3)(t.x, t.h),
    "DropoutWrapper range": lambda t: R.DropoutWrapper(lstm(), 1.5),
    "DropoutWrapper variational": lambda t: steps(
        R.DropoutWrapper(lstm(), 0.5, 0.6, 0.7, variational_recurrent=True, input_size=3,
                         dtype=tf.float32, seed=7), t),
    "DropoutWrapper variational dtype": lambda t: R.DropoutWrapper(
        lstm(), 0.5, variational_recurrent=True, input_size=3),
    "DropoutWrapper variational size": lambda t: R.DropoutWrapper(
        lstm(), 0.5, variational_recurrent=True, dtype=tf.float32),
    "ResidualWrapper": lambda t: steps(R.ResidualWrapper(R.GRUCell(3)), t),
    "ResidualWrapper shapes": lambda t: steps(R.ResidualWrapper(R.GRUCell(4)), t),
    "ResidualWrapper function": lambda t: steps(
        R.ResidualWrapper(R.GRUCell(4), lambda i, o: o + tf.reduce_sum(i)), t),
    "DeviceWrapper": lambda t: steps(R.DeviceWrapper(R.GRUCell(4), "/cpu:0"), t),
    "wrappers in MultiRNNCell": lambda t: run(R.MultiRNNCell(
        [R.DropoutWrapper(lstm(3), output_keep_prob=0.5, seed=1),
         R.ResidualWrapper(R.GRUCell(3))]), xyz(t)),
    "static_rnn": lambda t: run(R.BasicRNNCell(4), xyz(t)),
    "static_rnn lstm": lambda t: run(lstm(), xyz(t)),
    "static_rnn state": lambda t: tf.nn.static_rnn(lstm(), xyz(t), pair(t)),
    "static_rnn scope": lambda t: run(R.GRUCell(4), xyz(t), scope="mine"),
    "static_rnn twice": lambda t: [run(R.GRUCell(4), xyz(t), scope="a"),
                                   run(R.GRUCell(4), xyz(t), scope="b")],
    "static_rnn same cell": lambda t: (lambda cell: [run(cell, xyz(t)), run(cell, xyz(t))])(
        R.GRUCell(4)),
    "static_rnn same scope": lambda t: [run(R.GRUCell(4), xyz(t)), run(R.GRUCell(4), xyz(t))],
    "static_rnn multi": lambda t: run(R.MultiRNNCell([lstm(4), R.LSTMCell(3)]), xyz(t)),
    "static_rnn unknown batch": lambda t: run(lstm(), [t.u, t.u]),
    "static_rnn no state": lambda t: tf.nn.static_rnn(lstm(), xyz(t)),
    "static_rnn none": lambda t: run(lstm(), []),
    "static_rnn batches": lambda t: run(lstm(), [t.x, tf.zeros([4, 3])]),
    "static_rnn input unknown": lambda t: run(lstm(), [tf.placeholder(tf.float32, [2, None])]),
    "static_bidirectional_rnn": lambda t: tf.nn.static_bidirectional_rnn(
        lstm(), R.GRUCell(3), xyz(t), dtype=tf.float32),
    "static_bidirectional_rnn scope": lambda t: tf.nn.static_bidirectional_rnn(
        lstm(), lstm(), xyz(t), pair(t), pair(t), scope="both"),
    "static_rnn lengths": lambda t: run(R.GRUCell(4), xyz(t), sequence_length=t.l),
    "static_rnn lengths list": lambda t: run(lstm(), xyz(t), sequence_length=[3, 1]),
    "static_rnn lengths state": lambda t: tf.nn.static_rnn(
        lstm(), xyz(t), pair(t), sequence_length=tf.constant([2, 1])),
    "static_rnn lengths multi": lambda t: run(
        R.MultiRNNCell([lstm(4), R.GRUCell(3)]), xyz(t), sequence_length=[2, 3]),
    "static_rnn lengths unknown batch": lambda t: run(
        R.GRUCell(4), [t.u, t.u], sequence_length=t.l),
    "static_rnn lengths matrix": lambda t: run(R.GRUCell(4), xyz(t), sequence_length=t.i),
    "static_rnn lengths dtypes": lambda t: tf.nn.static_rnn(
        R.MultiRNNCell([R.GRUCell(4), R.GRUCell(3)]), xyz(t), (t.h, t.d), sequence_length=t.l),
    "static_bidirectional_rnn lengths": lambda t: tf.nn.static_bidirectional_rnn(
        lstm(), R.GRUCell(3), xyz(t), dtype=tf.float32, sequence_length=[1, 3]),
    "dynamic_rnn": lambda t: dynamic(R.BasicRNNCell(4), t.s),
    "dynamic_rnn lstm": lambda t: dynamic(lstm(), t.s),
    "dynamic_rnn state": lambda t: tf.nn.dynamic_rnn(lstm(), t.s, initial_state=pair(t)),
    "dynamic_rnn scope": lambda t: dynamic(R.GRUCell(4), t.s, scope="mine"),
    "dynamic_rnn in scopes": lambda t: scoped("a", lambda: dynamic(R.GRUCell(4), t.s)),
    "dynamic_rnn time_major": lambda t: dynamic(R.GRUCell(4), t.s, time_major=True),
    "dynamic_rnn loop options": lambda t: dynamic(
        R.GRUCell(4), t.s, parallel_iterations=3, swap_memory=True),
    "dynamic_rnn multi": lambda t: dynamic(R.MultiRNNCell([lstm(4), R.GRUCell(3)]), t.s),
    "dynamic_rnn projection": lambda t: dynamic(
        R.LSTMCell(4, num_proj=3, use_peepholes=True), t.s),
    "dynamic_rnn concatenated": lambda t: dynamic(lstm(2, state_is_tuple=False), t.s),
    "dynamic_rnn wrappers": lambda t: dynamic(R.MultiRNNCell(
        [R.DropoutWrapper(lstm(3), output_keep_prob=0.5, variational_recurrent=True,
                          dtype=tf.float32, seed=1), R.ResidualWrapper(R.GRUCell(3))]), t.s),
    "dynamic_rnn float64": lambda t: tf.nn.dynamic_rnn(
        lstm(), tf.expand_dims(t.d, 1), dtype=tf.float64),
    "dynamic_rnn unknown": lambda t: total(dynamic(lstm(), unknown(t, None, None, 3))),
    "dynamic_rnn unknown time": lambda t: total(dynamic(R.GRUCell(4), unknown(t, 2, None, 3))),
    "dynamic_rnn lengths": lambda t: dynamic(R.GRUCell(4), t.s, sequence_length=t.l),
    "dynamic_rnn lengths list": lambda t: dynamic(lstm(), t.s, sequence_length=[3, 5]),
    "dynamic_rnn lengths short": lambda t: dynamic(
        R.GRUCell(4), t.s, sequence_length=tf.constant([0, 2])),
    "dynamic_rnn lengths zero": lambda t: dynamic(
        R.GRUCell(4), t.s, sequence_length=tf.constant([0, 0])),
    "dynamic_rnn lengths state": lambda t: tf.nn.dynamic_rnn(
        lstm(), t.s, t.l, pair(t), time_major=False),
    "dynamic_rnn lengths time_major": lambda t: dynamic(
        R.GRUCell(4), t.s, sequence_length=[2, 1, 0, 2, 1], time_major=True),
    "dynamic_rnn lengths multi": lambda t: dynamic(
        R.MultiRNNCell([lstm(4), R.GRUCell(3)]), t.s, sequence_length=[5, 2]),
    "dynamic_rnn lengths unknown": lambda t: total(dynamic(
        lstm(), unknown(t, None, None, 3), sequence_length=t.l)),
    "dynamic_rnn same cell": lambda t: with_cell(
        R.GRUCell(4), lambda cell: twice(lambda: dynamic(cell, t.s))),
    "dynamic_rnn same scope": lambda t: twice(lambda: dynamic(R.GRUCell(4), t.s)),
    "dynamic_rnn reuse": lambda t: [
        dynamic(R.GRUCell(4), t.s), scoped("", lambda: dynamic(R.GRUCell(4), t.s), reuse=True)],
    "dynamic_rnn no state": lambda t: tf.nn.dynamic_rnn(lstm(), t.s),
    "dynamic_rnn rank": lambda t: dynamic(lstm(), t.x),
    "dynamic_rnn vector": lambda t: dynamic(lstm(), t.l, time_major=True),
    "dynamic_rnn unknown rank": lambda t: dynamic(lstm(), t.q),
    "dynamic_rnn unknown depth": lambda t: dynamic(lstm(), unknown(t, 2, 5, None)),
    "dynamic_rnn lengths matrix": lambda t: dynamic(lstm(), t.s, sequence_length=t.i),
    "dynamic_rnn int": lambda t: dynamic(lstm(), tf.expand_dims(t.i, 1)),
    "dynamic_rnn in cond": lambda t: tf.cond(
        t.b, lambda: dynamic(R.GRUCell(4), t.s)[1], lambda: t.h),
    "dynamic_rnn in loop": lambda t: tf.while_loop(
        lambda i, h: i < 2,
        lambda i, h: (i + 1, tf.nn.dynamic_rnn(R.GRUCell(4), t.s, initial_state=h)[1]),
        (0, t.h)),
    "bidirectional_dynamic_rnn": lambda t: both_ways(t),
    "bidirectional_dynamic_rnn lengths": lambda t: both_ways(t, sequence_length=t.l),
    "bidirectional_dynamic_rnn time_major": lambda t: both_ways(t, time_major=True, scope="both"),
    "bidirectional_dynamic_rnn joined": lambda t: tf.concat(
        both_ways(t, sequence_length=[4, 2])[0], 2),
    "raw_rnn": lambda t: raw(t, R.GRUCell(4), tf.constant([3, 5])),
    "raw_rnn lstm": lambda t: raw(t, lstm(), tf.cast(t.l, tf.int32)),
    "raw_rnn emit": lambda t: raw(t, R.GRUCell(4), tf.constant([1, 4]), tf.zeros([2]),
                                  lambda output: output[:, :2]),
    "raw_rnn loop state": lambda t: raw(t, R.GRUCell(4), tf.constant([5, 2]),
                                        count=tf.constant(0.5)),
    "raw_rnn no output": lambda t: raw(t, R.GRUCell(4), tf.constant([3, 5]),
                                       emit=lambda output: None),
}
