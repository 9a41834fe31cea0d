"""A network trained in three stages on towers."""

from oracle.builder import Program, generate, initializer

SIZE = 8


def conv(p, name, x, inputs, outputs, stride):
    with p.variable_scope(name):
        weights = p.get_variable("weights", [3, 3, inputs, outputs])
        biases = p.get_variable("biases", [outputs], initializer=initializer("zeros"))
        return p.bias_add(p.conv2d(x, weights, [1, stride, stride, 1], "SAME"), biases)


def build_generator(p, images):
    features = p.relu(conv(p, "conv1", images, 1, 4, 1))
    return p.sigmoid(conv(p, "conv2", features, 4, 1, 1))


def build_discriminator(p, images):
    features = p.relu(conv(p, "conv1", images, 1, 4, 2))
    with p.variable_scope("fc"):
        weights = p.get_variable("weights", [64, 1])
        biases = p.get_variable("biases", [1], initializer=initializer("zeros"))
        return p.matmul(p.reshape(features, [-1, 64]), weights) + biases


def entropy(p, label, logits):
    return p.reduce_mean(p.sigmoid_cross_entropy_with_logits(label, logits))


def build_loss(p, images, generated, real_logits, fake_logits):
    gen_only = p.reduce_mean(p.square(generated - images), name="gen_only_loss")
    real = entropy(p, p.ones_like(real_logits), real_logits)
    fake = entropy(p, p.zeros_like(fake_logits), fake_logits)
    discm_only = p.add(real, fake, name="discm_only_loss")
    fooling = entropy(p, p.ones_like(fake_logits), fake_logits)
    return gen_only, discm_only, p.add(gen_only, 0.25 * fooling, name="full_loss")


def tower(p, separate):
    images = p.placeholder("float32", [None, SIZE, SIZE, 1], name="images")
    mask = p.placeholder("float32", [None, SIZE, SIZE, 1], name="mask")
    masked = images * mask
    with p.variable_scope("generator"):
        generated = build_generator(p, masked)
    if separate:
        with p.variable_scope("discriminator"):
            with p.variable_scope("real_discriminator"):
                real = build_discriminator(p, images)
            with p.variable_scope("fake_discriminator", reuse=True):
                fake = build_discriminator(p, generated)
    else:
        with p.variable_scope("discriminator"):
            real = build_discriminator(p, images)
        with p.variable_scope("discriminator", reuse=True):
            fake = build_discriminator(p, generated)
    return images, mask, build_loss(p, images, generated, real, fake)


GENERATOR, DISCRIMINATOR = range(4), range(4, 8)


def averaged(p, towers, present):
    """Returns the means of the existing gradients; None where no tower has one."""
    means = []
    for v in range(len(present)):
        mean = None
        if present[v]:
            mean = p.reduce_mean(p.concat([p.expand_dims(t[v][0], 0) for t in towers], 0), 0)
        means.append([mean, towers[0][v][1]])
    return means


def build(name, about, num_gpus=2, leave_reuse_on=False):
    p = Program(name, about)
    p.set_random_seed(1)
    step = p.get_or_create_global_step()
    opts = [p.AdamOptimizer(0.01) for _ in range(3)]
    towers, grads = [], ([], [], [])

    def loop():
        for i in range(num_gpus):
            with p.device("/gpu:%d" % i), p.name_scope("Tower_%d" % i):
                towers.append(tower(p, False))
                gen_only, discm_only, full = towers[-1][2]
                p.reuse_variables(p.get_variable_scope())
                grads[0].append(p.compute_gradients(opts[0], gen_only))
                found = p.get_collection("trainable_variables", "discriminator")
                p.get_collection("trainable_resource_variables", "discriminator")
                p.get_collection("trainable_variables", "Tower_%d/discriminator" % i)
                grads[1].append(p.compute_gradients(opts[1], discm_only,
                                                    [found[v] for v in range(4)]))
                grads[2].append(p.compute_gradients(opts[2], full))

    if leave_reuse_on:
        loop()
    else:
        with p.variable_scope(p.get_variable_scope()):
            loop()
    if leave_reuse_on:
        p.apply_gradients(opts[0], averaged(p, grads[0], [True] * 4 + [False] * 4), step)
        return p
    trains = [p.apply_gradients(opts[0], averaged(p, grads[0], [True] * 4 + [False] * 4), step),
              p.apply_gradients(opts[1], averaged(p, grads[1], [True] * 4), step),
              p.apply_gradients(opts[2], averaged(p, grads[2], [True] * 8), step)]
    p.run([p.global_variables_initializer()])
    for number in range(6):
        feeds = []
        for i, (images, mask, _) in enumerate(towers):
            stream = 10 * number + 2 * i
            feeds += [[images, generate(stream, [3, SIZE, SIZE, 1], kind="positive")],
                      [mask, generate(stream + 1, [3, SIZE, SIZE, 1], modulo=2, dtype="float32")]]
        stage = number // 2
        p.run([t[2][stage] for t in towers] + [trains[stage]], feeds)
        p.run([grads[2][0][v][1] for v in range(8)] + [step])
    return p


def separate_scopes():
    p = Program("separate_scopes", "reuse under another scope name finds nothing: an error")
    tower(p, True)
    return p


def none_averaged():
    p = Program("none_averaged", "an absent gradient cannot be expanded")
    w = p.get_variable("w", [2])
    v = p.get_variable("v", [2])
    pairs = p.compute_gradients(p.AdamOptimizer(0.1), p.reduce_sum(p.square(w)), [w, v])
    p.expand_dims(pairs[0][0], 0)
    p.expand_dims(pairs[1][0], 0)
    return p


def programs():
    return [build("stages_2", "three stages on two towers"),
            build("root_in_reuse", "the loop leaves the root in reuse: no slots can be made",
                  leave_reuse_on=True),
            separate_scopes(), none_averaged()]
