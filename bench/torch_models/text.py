"""The character LSTM of tests/golden/systems/char_lstm.py. torch.nn.LSTM has two biases a layer where
TensorFlow's cell has one."""

import torch
from torch import nn
from torch.nn import functional

from torch_models.layers import Program, adam


class CharLstm(nn.Module):
    def __init__(self, classes=66, size=128, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(classes, size)
        self.lstm = nn.LSTM(size, size, layers, batch_first=True)
        self.softmax = nn.Linear(size, classes)

    def forward(self, ids):
        outputs, _ = self.lstm(self.embedding(ids))
        return self.softmax(outputs.flatten(0, 1))


class Text(Program):
    def loss(self):
        ids, targets = self.batch
        return functional.cross_entropy(self.network(ids), targets.flatten())


def char_lstm(options, device):
    shape = (options.batch_size, options.seq_length)
    program = Text(CharLstm(), [torch.randint(66, shape, device=device) for _ in range(2)])
    program.clip = 5.0
    program.optimizer = adam(program.network, 0.002)
    return program
