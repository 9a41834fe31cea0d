"""The VAE-GAN of tests/golden/systems/vaegan.py, and the last stage of three_stage_gan.py."""

import collections

import torch
from torch import nn
from torch.nn import functional

from torch_models.layers import BatchNorm, Program, adam, conv, deconv

Sizes = collections.namedtuple(
    "Sizes", "image_size hidden_size encoder generator discriminator features")
SMALL = Sizes(32, 64, (16, 32, 64), (64, 32, 8), (8, 32, 64, 64), 128)
FULL = Sizes(64, 2048, (64, 128, 256), (256, 128, 32), (32, 128, 256, 256), 1024)


class Layer(nn.Module):
    """A convolution, batch normalization with averages for each pass, and an activation."""

    def __init__(self, convolution, passes, activation=functional.elu):
        super().__init__()
        self.convolution, self.activation = convolution, activation
        self.norm = BatchNorm(convolution.out_channels, 0.9, 0.001, passes=passes)

    def forward(self, x, number):
        return self.activation(self.norm(self.convolution(x), number))


class Encoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        depths = (3, *sizes.encoder)
        self.layers = nn.ModuleList(Layer(conv(n, m, 5, 2), 1) for n, m in zip(depths, depths[1:]))
        units = (sizes.image_size >> len(sizes.encoder)) ** 2 * depths[-1]
        self.mean = nn.Linear(units, sizes.hidden_size)
        self.log_sigma_sq = nn.Linear(units, sizes.hidden_size)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, 0)
        x = x.flatten(1)
        return self.mean(x), self.log_sigma_sq(x)


class Generator(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.side, self.depth = sizes.image_size >> len(sizes.generator), sizes.encoder[-1]
        self.dense = nn.Linear(sizes.hidden_size, self.side ** 2 * self.depth)
        depths = (self.depth, *sizes.generator)
        self.layers = nn.ModuleList(Layer(deconv(n, m, 5, 2), 2)
                                    for n, m in zip(depths, depths[1:]))
        self.layers.append(Layer(deconv(depths[-1], 3, 1, 1), 2, torch.sigmoid))

    def forward(self, z, number):
        x = functional.elu(self.dense(z)).view(-1, self.depth, self.side, self.side)
        for layer in self.layers:
            x = layer(x, number)
        return x


class Discriminator(nn.Module):
    """Returns the probability that an image is real, and the features that it is judged by."""

    def __init__(self, sizes):
        super().__init__()
        depths = (3, *sizes.discriminator)
        self.layers = nn.ModuleList(Layer(conv(n, m, 5, 2 if i else 1), 3)
                                    for i, (n, m) in enumerate(zip(depths, depths[1:])))
        units = (sizes.image_size >> (len(sizes.discriminator) - 1)) ** 2 * depths[-1]
        self.features, self.judge = nn.Linear(units, sizes.features), nn.Linear(sizes.features, 1)

    def forward(self, x, number):
        for layer in self.layers:
            x = layer(x, number)
        features = functional.elu(self.features(x.flatten(1)))
        return torch.sigmoid(self.judge(features)), features


class VaeGan(Program):
    parts = ("losses",)
    learning_rate = 1e-3

    def __init__(self, sizes, batch, channels_last):
        networks = nn.ModuleList([Encoder(sizes), Generator(sizes), Discriminator(sizes)])
        super().__init__(networks, batch, channels_last)
        self.sizes = sizes
        self.rates = [torch.full((), self.learning_rate, device=self.device) for _ in networks]
        self.optimizers = [adam(network, rate, eps=1.0)
                           for network, rate in zip(networks, self.rates)]

    def losses(self):
        encoder, generator, discriminator = self.network
        x, dim = self.batch[0], self.sizes.image_size
        mean, log_sigma_sq = encoder(x)
        z_p, noise = torch.randn_like(mean), torch.randn_like(mean)
        x_tilde = generator(mean + torch.sqrt(torch.exp(log_sigma_sq)) * noise, 0)
        _, l_x_tilde = discriminator(x_tilde, 0)
        x_p = generator(z_p, 1)
        d_x, l_x = discriminator(x, 1)
        d_x_p, _ = discriminator(x_p, 2)
        mean, log_sigma_sq = mean.clamp(-10, 10), log_sigma_sq.clamp(-10, 10)
        kl = torch.sum(-0.5 * torch.sum(1 + log_sigma_sq - mean ** 2 - torch.exp(log_sigma_sq), 1))
        kl = kl / dim / dim / 3
        d_loss = -torch.mean(d_x.clamp(1e-5, 1).log() + (1 - d_x_p).clamp(1e-5, 1).log())
        g_loss = -torch.mean(d_x_p.clamp(1e-5, 1).log())
        ll = torch.sum((l_x - l_x_tilde) ** 2) / dim / dim / 3
        return ((kl + ll).clamp(-100, 100), (ll + g_loss).clamp(-100, 100),
                d_loss.clamp(-100, 100), d_x.mean(), d_x_p.mean())

    def step(self):
        with self.autocast():
            *losses, d_real, d_fake = self.losses()
        for i, (network, loss) in enumerate(zip(self.network, losses)):
            parameters = list(network.parameters())
            grads = torch.autograd.grad(loss, parameters, retain_graph=i < 2)
            for parameter, grad in zip(parameters, grads):
                parameter.grad = grad
        for optimizer in self.optimizers:
            optimizer.step()
        with torch.no_grad():
            for rate, mean in zip(self.rates, (d_real, d_real, d_fake)):
                rate.copy_(self.learning_rate * torch.sigmoid((mean - 0.5) * 15))
        return losses[2].detach()


def vaegan(options, device):
    sizes = FULL if options.full_size else SMALL
    batch = [torch.rand(options.batch_size, 3, sizes.image_size, sizes.image_size, device=device)]
    return VaeGan(sizes, batch, options.channels_last)


class Completion(nn.Module):
    """A network that fills a hole, and one that tells its pictures from real ones."""

    def __init__(self):
        super().__init__()
        elu = nn.ELU()
        self.generator = nn.Sequential(
            conv(2, 32, 5), elu, conv(32, 64, 3, 2), elu, conv(64, 128, 3, 2), elu,
            conv(128, 128, 3), elu, deconv(128, 64, 4, 2), elu, deconv(64, 32, 4, 2), elu,
            conv(32, 1, 3), nn.Sigmoid())
        self.discriminator = nn.Sequential(
            conv(1, 32, 5, 2), elu, conv(32, 64, 5, 2), elu, conv(64, 128, 3, 2), elu,
            nn.Flatten(), nn.Linear(4 * 4 * 128, 1))


class ThreeStageGan(Program):
    side, hole, share = 28, 12, 0.01

    def loss(self):
        images, mask = self.batch
        masked = images * mask
        generated = self.network.generator(torch.cat([masked, mask.expand_as(images)], 1))
        completed = masked + generated * (1 - mask)
        real = self.network.discriminator(images)
        turned = ((1 + self.share) * completed).detach() - self.share * completed
        fake = self.network.discriminator(turned)
        errors = torch.sum((completed - images) ** 2, (1, 2, 3)) / (self.hole * self.hole)
        entropy = functional.binary_cross_entropy_with_logits
        return (errors.mean() + entropy(real, torch.ones_like(real))
                + entropy(fake, torch.zeros_like(fake)))


def three_stage_gan(options, device):
    side, start = ThreeStageGan.side, (ThreeStageGan.side - ThreeStageGan.hole) // 2
    mask = torch.ones(1, 1, side, side, device=device)
    mask[:, :, start:-start, start:-start] = 0
    program = ThreeStageGan(
        Completion(), [torch.rand(options.batch_size, 1, side, side, device=device), mask],
        options.channels_last)
    program.optimizer = adam(program.network, 0.001)
    return program
