"""Towers found through collections, built and trained for a few steps."""

from oracle.builder import Program, generate, initializer

FEATURES, HIDDEN, CLASSES = 4, 5, 3


def dense(p, name, x, inputs, outputs):
    with p.variable_scope(name):
        w = p.get_variable("w", [inputs, outputs])
        b = p.get_variable("b", [outputs], initializer=initializer("zeros"))
        return p.matmul(x, w) + b


class Model:
    def __init__(self, p, variables):
        """`variables`: whether to add gradients; the test model has none."""
        self.x = p.placeholder("float32", [None, FEATURES], name="x")
        self.y = p.placeholder("int64", [None], name="y")
        hidden = p.tanh(dense(p, "hidden", self.x, FEATURES, HIDDEN))
        logits = dense(p, "output", hidden, HIDDEN, CLASSES)
        entropy = p.sparse_softmax_cross_entropy_with_logits(self.y, logits)
        self.loss = p.reduce_mean(entropy, name="loss")
        self.predict = p.argmax(logits, 1, name="predict")
        self.merge_summary = p.summary_merge([p.summary_scalar("loss_summary", self.loss)])
        if variables:
            listed = p.trainable_variables()
            self.variables = [listed[i] for i in range(4)]
            self.grad = p.gradients([self.loss], self.variables)
        p.add_to_collection("loss", self.loss)
        p.add_to_collection("predict", self.predict)
        p.add_to_collection("merge_summary", self.merge_summary)


def multi_gpu_model(p, num_gpus, reuse, packed):
    models = []
    with p.variable_scope(p.get_variable_scope()):
        for i in range(num_gpus):
            with p.device("/gpu:%d" % i), p.name_scope("tower_%d" % i):
                model = Model(p, True)
                p.add_to_collection("train_model", p.plain_object())
                models.append(model)
                if reuse:
                    p.reuse_variables(p.get_variable_scope())
    with p.device("cpu:0"):
        averaged = []
        for v in range(4):
            grads = [model.grad[v] for model in models]
            if not packed:
                grads = p.concat([p.expand_dims(grad, 0) for grad in grads], 0)
            averaged.append(p.reduce_mean(grads, 0))
        opt = p.GradientDescentOptimizer(0.5)
        train_op = p.apply_gradients(opt, list(zip(averaged, models[0].variables)))
    return models, averaged, train_op


def build(name, about, num_gpus, packed=False):
    p = Program(name, about)
    p.set_random_seed(1)
    with p.name_scope("train") as train_scope:
        models, averaged, train_op = multi_gpu_model(p, num_gpus, True, packed)
    with p.name_scope("test") as test_scope:
        with p.variable_scope(p.get_variable_scope(), reuse=True):
            test = Model(p, False)
            p.add_to_collection("test_model", p.plain_object())
    for key in ("loss", "predict", "merge_summary"):
        for scope in (train_scope, test_scope):
            p.get_collection(key, scope)
    p.run([p.global_variables_initializer()])
    for step in range(3):
        feeds = []
        for i, model in enumerate(models):
            stream = 10 * step + 2 * i
            feeds += [[model.x, generate(stream, [6, FEATURES])],
                      [model.y, generate(stream + 1, [6], modulo=CLASSES, dtype="int64")]]
        p.run([model.loss for model in models] + averaged, feeds)
        # In a single run TensorFlow may update a variable that another gradient still reads, as
        # tf.gradients does not gate. So the update is fed with given gradients.
        given = [generate(50 + 4 * step + v, shape, exponent=-2)
                 for v, shape in enumerate(([FEATURES, HIDDEN], [HIDDEN], [HIDDEN, CLASSES],
                                            [CLASSES]))]
        p.run([train_op], [[mean, values] for mean, values in zip(averaged, given)])
        p.run(models[0].variables)
    feeds = [[test.x, generate(100, [8, FEATURES])],
             [test.y, generate(101, [8], modulo=CLASSES, dtype="int64")]]
    p.run([test.loss, test.predict, test.merge_summary], feeds)
    return p


def forgotten_reuse():
    p = Program("forgotten_reuse", "the second tower makes its variables anew: an error")
    with p.variable_scope(p.get_variable_scope()):
        for i in range(2):
            with p.device("/gpu:%d" % i), p.name_scope("tower_%d" % i):
                x = p.placeholder("float32", [None, FEATURES], name="x")
                dense(p, "hidden", x, FEATURES, HIDDEN)
    return p


def slices_packed():
    p = Program("slices_packed", "gradients that are slices cannot be packed for reduce_mean")
    w = p.get_variable("w", initializer=generate(3, [5, 2]))
    grads = []
    for i in range(2):
        with p.name_scope("tower_%d" % i):
            loss = p.reduce_sum(p.square(p.gather(w, p.constant([1, 3, 1 + i]))))
            grads.append(p.gradients([loss], [w])[0])
    p.reduce_mean(grads, 0)
    return p


def programs():
    return [build("towers_1", "one tower beside a model that is tested", 1),
            build("towers_2", "two towers", 2),
            build("towers_3_packed", "three towers, means of packed lists", 3, packed=True),
            forgotten_reuse(), slices_packed()]
