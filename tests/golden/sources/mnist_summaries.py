"""The MNIST tower program with its summaries (`FLAGS.tb_logging`), and with those of averaged
gradients and variables in the multi-GPU CIFAR-10 program that it follows: built, not run."""

from . import mnist


def train(towers):
    p = mnist.train(towers, True, tb_logging=True)
    p.name = "mnist_summaries_%d" % towers
    return p


def programs():
    return [train(2)]
