"""The MNIST tower program with its summaries (`FLAGS.tb_logging`), and those that the program which it
follows, CIFAR-10 on many GPUs, makes of the average gradients and of the variables: built, not run."""

from . import mnist


def train(towers):
    p = mnist.train(towers, True, tb_logging=True)
    p.name = "mnist_summaries_%d" % towers
    return p


def programs():
    return [train(2)]
