"""The published programs of tests/golden/systems in PyTorch's words: MODELS maps a name to what builds
its program on a device."""

from torch_models.classifiers import cifar10, mnist, resnet20, resnet50
from torch_models.generative import three_stage_gan, vaegan
from torch_models.inception3 import inception3
from torch_models.text import char_lstm

MODELS = {model.__name__: model for model in (mnist, cifar10, resnet20, resnet50, inception3, vaegan,
                                              three_stage_gan, char_lstm)}
