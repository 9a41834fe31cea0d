"""Layers as TensorFlow 1.x has them, in PyTorch's words, and what the models' steps share.

Where SAME pads one row more below than above, these pad both sides alike: the sizes and the number of
operations are the same, the borders are not."""

import torch
from torch import nn
from torch.nn import functional


def conv(inputs, filters, kernel, stride=1, bias=True, valid=False):
    padding = 0 if valid else tuple((k - 1) // 2 for k in pair(kernel))
    return nn.Conv2d(inputs, filters, kernel, stride, padding, bias=bias)


def deconv(inputs, filters, kernel, stride):
    """A transposed convolution whose output is `stride` times as high and wide."""
    padding = (kernel - stride + 1) // 2
    return nn.ConvTranspose2d(inputs, filters, kernel, stride, padding,
                              output_padding=stride + 2 * padding - kernel)


def pair(size):
    return size if isinstance(size, tuple) else (size, size)


class BatchNorm(nn.Module):
    """Batch normalization with moving averages for each pass that goes through the network. Without
    `scale` there is no gamma."""

    def __init__(self, channels, decay, epsilon, scale=True, passes=1):
        super().__init__()
        self.momentum, self.epsilon = 1 - decay, epsilon
        self.bias = nn.Parameter(torch.zeros(channels))
        if scale:
            self.weight = nn.Parameter(torch.ones(channels))
        else:
            self.register_buffer("weight", torch.ones(channels))
        for i in range(passes):
            self.register_buffer("mean_%d" % i, torch.zeros(channels))
            self.register_buffer("variance_%d" % i, torch.ones(channels))

    def forward(self, x, number=0):
        return functional.batch_norm(x, getattr(self, "mean_%d" % number),
                                     getattr(self, "variance_%d" % number), self.weight, self.bias,
                                     True, self.momentum, self.epsilon)


class MovingAverages:
    """tf.train.ExponentialMovingAverage(0.9999, global_step), on the device as the variables are."""

    def __init__(self, variables, global_step):
        self.variables, self.global_step = [v.detach() for v in variables], global_step
        self.averages = [v.clone() for v in self.variables]

    @torch.no_grad()
    def update(self):
        decay = torch.clamp((1 + self.global_step) / (10 + self.global_step), max=0.9999)
        away = torch._foreach_sub(self.averages, self.variables)
        torch._foreach_mul_(away, 1 - decay)
        torch._foreach_sub_(self.averages, away)
        self.global_step += 1


class Program:
    """A model with its batch. `loss` is what a compiler may compile; `step` trains once."""

    parts = ("loss",)  # methods that torch.compile takes

    def __init__(self, network, batch, channels_last=False):
        self.device = batch[0].device
        layout = torch.channels_last if channels_last else torch.contiguous_format
        self.network = network.to(self.device, memory_format=layout)
        self.batch = [x.contiguous(memory_format=layout) if x.dim() == 4 else x for x in batch]
        self.autocast = lambda: torch.autocast(self.device.type, torch.bfloat16, enabled=False)
        self.averages = None
        self.clip = None

    def loss(self):
        raise NotImplementedError

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            loss = self.loss()
        loss.backward()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.clip)
        self.optimizer.step()
        if self.averages is not None:
            self.averages.update()
        return loss.detach()

    def parameters(self):
        return sum(p.numel() for p in self.network.parameters())


class Classifier(Program):
    """A network that maps images to scores."""

    def loss(self):
        images, labels = self.batch
        return functional.cross_entropy(self.network(images), labels)


def decayed(network, decay, is_decayed):
    """Returns groups of parameters, of which those that `is_decayed` finds by name have L2 losses."""
    named = list(network.named_parameters())
    return [{"params": [p for name, p in named if is_decayed(name)], "weight_decay": decay},
            {"params": [p for name, p in named if not is_decayed(name)]}]


def adam(network, rate, **options):
    """Adam in one launch; on a GPU it counts its steps there, so that it can be captured."""
    parameters = list(network.parameters())
    return torch.optim.Adam(parameters, rate, fused=True, capturable=parameters[0].is_cuda,
                            **options)


def images(size, side, channels, classes, device, bound=1.0):
    return [torch.empty(size, channels, side, side, device=device).uniform_(-bound, bound),
            torch.randint(classes, (size,), device=device)]
