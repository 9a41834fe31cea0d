"""Inception v3, as in tests/golden/systems/inception3.py."""

import torch
from torch import nn
from torch.nn import functional

from torch_models.layers import BatchNorm, MovingAverages, Program, conv, decayed, images

CLASSES = 1001


class Conv(nn.Sequential):
    def __init__(self, inputs, filters, kernel, stride=1, valid=False):
        super().__init__(conv(inputs, filters, kernel, stride, bias=False, valid=valid),
                         BatchNorm(filters, 0.9997, 0.001, scale=False), nn.ReLU())


def chain(inputs, *layers):
    """Convolutions: filters, kernel and, of one that halves the side, a stride of 2."""
    result = []
    for filters, kernel, *stride in layers:
        result.append(Conv(inputs, filters, kernel, *stride, valid=bool(stride)))
        inputs = filters
    return nn.Sequential(*result)


def pooled(inputs, filters):
    return nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), Conv(inputs, filters, 1))


class Mixed(nn.Module):
    """Branches, whose results are concatenated."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def split(inputs, *layers):
    """Ends in two convolutions side by side."""
    return nn.Sequential(*chain(inputs, *layers),
                         Mixed(Conv(384, 384, (1, 3)), Conv(384, 384, (3, 1))))


class Inception3(nn.Module):
    def __init__(self):
        super().__init__()
        wide, high = (1, 7), (7, 1)
        layers = [Conv(3, 32, 3, 2, valid=True), Conv(32, 32, 3, valid=True), Conv(32, 64, 3),
                  nn.MaxPool2d(3, 2), Conv(64, 80, 1), Conv(80, 192, 3, valid=True),
                  nn.MaxPool2d(3, 2)]
        for n, to in ((192, 32), (256, 64), (288, 64)):
            layers.append(Mixed(chain(n, (64, 1)), chain(n, (48, 1), (64, 5)),
                                chain(n, (64, 1), (96, 3), (96, 3)), pooled(n, to)))
        layers.append(Mixed(chain(288, (384, 3, 2)), chain(288, (64, 1), (96, 3), (96, 3, 2)),
                            nn.MaxPool2d(3, 2)))
        for k in (128, 160, 160, 192):
            layers.append(Mixed(
                chain(768, (192, 1)), chain(768, (k, 1), (k, wide), (192, high)),
                chain(768, (k, 1), (k, high), (k, wide), (k, high), (192, wide)),
                pooled(768, 192)))
        self.body = nn.Sequential(*layers)
        self.auxiliary = nn.Sequential(nn.AvgPool2d(5, 3), Conv(768, 128, 1),
                                       Conv(128, 768, 5, valid=True), nn.Flatten(),
                                       nn.Linear(768, CLASSES))
        top = [Mixed(chain(768, (192, 1), (320, 3, 2)),
                     chain(768, (192, 1), (192, wide), (192, high), (192, 3, 2)),
                     nn.MaxPool2d(3, 2))]
        for n in (1280, 2048):
            top.append(Mixed(chain(n, (320, 1)), split(n, (384, 1)), split(n, (448, 1), (384, 3)),
                             pooled(n, 192)))
        self.top = nn.Sequential(*top, nn.AvgPool2d(8), nn.Dropout(0.2), nn.Flatten(),
                                 nn.Linear(2048, CLASSES))

    def forward(self, x):
        x = self.body(x)
        return self.top(x), self.auxiliary(x)


class Inception(Program):
    def loss(self):
        images_, labels = self.batch
        logits, auxiliary = self.network(images_)
        smoothed = [functional.cross_entropy(x, labels, label_smoothing=0.1)
                    for x in (logits, auxiliary)]
        return smoothed[0] + 0.4 * smoothed[1]


def inception3(options, device):
    network = Inception3()
    program = Inception(network, images(options.batch_size, 299, 3, CLASSES, device),
                        options.channels_last)
    program.optimizer = torch.optim.RMSprop(
        decayed(network, 0.00004, lambda name: name.endswith("weight")), 0.1, alpha=0.9, eps=1.0,
        momentum=0.9, foreach=True, capturable=device.type == "cuda")
    moving = [b for name, b in network.named_buffers() if not name.endswith("weight")]
    program.averages = MovingAverages([*network.parameters(), *moving],
                                      torch.zeros((), device=device))
    return program
