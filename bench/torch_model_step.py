#!/usr/bin/env python3
"""Rate of PyTorch's training step of a model, the peer of `towerflow bench MODEL`.

    torch_model_step.py --model MODEL [--batch-size B] [--mode eager|graphs|compile|compiled-graphs]
                        [--device cpu|cuda] [--threads T] [--channels-last] [--tf32] [--dtype bf16]
                        [--full-size] [--seq-length L]

The step is that of the published program, written for PyTorch in bench/torch_models: forward,
backward, weight decay (by the optimizer: the loss printed is without it), clipping, update and moving
averages. Initial values are PyTorch's. Batches lie on the device.

    eager             operation by operation, with fused optimizers
    graphs            the whole step captured as a CUDA graph and replayed
    compile           torch.compile of forward and backward
    compiled-graphs   both

Products and convolutions of float32 are full float32 unless --tf32 is given; --dtype bf16 is autocast.
cuDNN's algorithms are chosen by their times, so that gradients of weights may differ between runs.

Prints {"ready": true} once, then for each line of standard input, the number of steps, runs a window
and prints {"examples_per_second": R, "seconds": S, "steps": K, "loss": L}. Ends at end of input or
on the line "quit".
"""

import argparse
import json
import sys
import time

import torch

from torch_models import MODELS


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, choices=sorted(MODELS))
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--mode", default="eager",
                        choices=["eager", "graphs", "compile", "compiled-graphs"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu",
                        choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int, help="of the CPU")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--full-size", action="store_true", help="the published VAE-GAN")
    parser.add_argument("--seq-length", type=int, default=50, help="of the character LSTM")
    options = parser.parse_args()
    if "graphs" in options.mode and options.device == "cpu":
        parser.error("--mode %s needs --device cuda" % options.mode)
    return options


def compiled(program):
    """Compiles the program's loss. A backward keeps what it reads, for a VAE-GAN has three of them."""
    torch._functorch.config.donated_buffer = False
    for part in program.parts:
        setattr(program, part, torch.compile(getattr(program, part)))


def captured(step):
    """Returns a function that replays the step and its result."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss
    return replay


def main():
    options = arguments()
    device = torch.device(options.device)
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.tf32
    torch.backends.cudnn.benchmark = True
    program = MODELS[options.model](options, device)
    if options.dtype == "bf16":
        program.autocast = lambda: torch.autocast(options.device, torch.bfloat16)
    if options.mode.startswith("compile"):
        compiled(program)
    step = captured(program.step) if "graphs" in options.mode else program.step
    for _ in range(3):
        loss = step()
    described = {"model": options.model, "mode": options.mode, "device": options.device}
    if options.device == "cuda":
        torch.cuda.synchronize()
        described["device"] = torch.cuda.get_device_name()
    print(json.dumps({"ready": True, **described, "parameters": program.parameters(),
                      "version": torch.__version__}), flush=True)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        steps = int(line)
        start = time.perf_counter()
        for _ in range(steps):
            loss = step()
        value = float(loss)  # waits for the device
        seconds = time.perf_counter() - start
        rate = steps * options.batch_size / seconds
        print(json.dumps({"examples_per_second": round(rate, 2), "seconds": round(seconds, 6),
                          "steps": steps, "loss": value, **described}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
