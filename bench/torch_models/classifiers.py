"""MNIST, CIFAR-10, ResNet-20 and ResNet-50."""

import torch
from torch import nn
from torch.nn import functional

from torch_models.layers import BatchNorm, Classifier, MovingAverages, conv, decayed, images


def mnist(options, device):
    """The net of models/mnist.cc."""
    network = nn.Sequential(
        conv(1, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        conv(32, 64, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(7 * 7 * 64, 1024), nn.ReLU(), nn.Linear(1024, 10), nn.Linear(10, 10))
    program = Classifier(network, images(options.batch_size, 28, 1, 10, device),
                         options.channels_last)
    program.optimizer = torch.optim.SGD(network.parameters(), 0.005, momentum=0.9, nesterov=True,
                                        fused=True)
    return program


def cifar10(options, device):
    """TensorFlow's CIFAR-10 tutorial."""
    network = nn.Sequential(
        conv(3, 64, 5), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.LocalResponseNorm(9, 0.001, 0.75),
        conv(64, 64, 5), nn.ReLU(), nn.LocalResponseNorm(9, 0.001, 0.75), nn.MaxPool2d(3, 2, 1),
        nn.Flatten(), nn.Linear(6 * 6 * 64, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(),
        nn.Linear(192, 10))
    program = Classifier(network, images(options.batch_size, 24, 3, 10, device),
                         options.channels_last)
    local = ("9.weight", "11.weight")
    program.optimizer = torch.optim.SGD(decayed(network, 0.004, lambda name: name in local), 0.1,
                                        fused=True)
    program.averages = MovingAverages(network.parameters(), torch.zeros((), device=device))
    return program


class CifarBlock(nn.Module):
    """Two convolutions beside a shortcut, which is pooled and padded where the size changes."""

    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.conv1, self.norm1 = conv(inputs, filters, 3, stride, bias=False), norm20(filters)
        self.conv2, self.norm2 = conv(filters, filters, 3, bias=False), norm20(filters)
        self.stride, self.pad = stride, (filters - inputs) // 2

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.pad:
            x = functional.avg_pool2d(x, self.stride, self.stride)
            x = functional.pad(x, (0, 0, 0, 0, self.pad, self.pad))
        return functional.relu(x + y)


def norm20(channels):
    return BatchNorm(channels, 0.997, 1e-5)


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        layers, inputs = [conv(3, 16, 3, bias=False), norm20(16), nn.ReLU()], 16
        for filters, stride in ((16, 1), (32, 2), (64, 2)):
            for i in range(3):
                layers.append(CifarBlock(inputs, filters, 1 if i else stride))
                inputs = filters
        self.layers, self.dense = nn.Sequential(*layers), nn.Linear(64, 11)

    def forward(self, x):
        return self.dense(self.layers(x / 128 - 1).mean((2, 3)))


def resnet20(options, device):
    """TensorFlow's CIFAR-10 estimator."""
    network = ResNet20()
    program = Classifier(network, images(options.batch_size, 32, 3, 10, device, bound=127.0),
                         options.channels_last)
    program.optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9,
                                        weight_decay=2e-4, fused=True)
    return program


def norm50(channels):
    return BatchNorm(channels, 0.9, 1e-5)


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut; the middle one has the stride, as in version 1.5."""

    def __init__(self, inputs, filters, stride):
        super().__init__()
        outputs = 4 * filters
        self.conv1, self.norm1 = conv(inputs, filters, 1, bias=False), norm50(filters)
        self.conv2, self.norm2 = conv(filters, filters, 3, stride, bias=False), norm50(filters)
        self.conv3, self.norm3 = conv(filters, outputs, 1, bias=False), norm50(outputs)
        self.shortcut = nn.Identity()
        if inputs != outputs:
            self.shortcut = nn.Sequential(conv(inputs, outputs, 1, stride, bias=False),
                                          norm50(outputs))

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)))
        y = functional.relu(self.norm2(self.conv2(y)))
        return functional.relu(self.norm3(self.conv3(y)) + self.shortcut(x))


def resnet50(options, device):
    """ResNet-50 of ImageNet."""
    layers, inputs = [conv(3, 64, 7, 2, bias=False), norm50(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for filters, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Bottleneck(inputs, filters, 1 if i else stride))
            inputs = 4 * filters
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))
    program = Classifier(network, images(options.batch_size, 224, 3, 1000, device),
                         options.channels_last)
    program.optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9,
                                        weight_decay=1e-4, fused=True)
    return program
