"""Stacks of small networks: several of the same shape, trained side by side in one pass.

Every weight has a leading axis of models, and a layer is one batched matrix product. A trade-off
curve trains all its points for little more than the price of one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from fairaudit.errors import InputError

__all__ = ["SingleModule", "StackedMLP"]


class StackedMLP(nn.Module):
    """`count` multilayer perceptrons with ReLU between their layers.

    Parameters
    ----------
    count : int
        Models in the stack.
    widths : sequence of int
        Input, hidden layers, output. Two numbers make linear models.
    generator : torch.Generator
        The stack's models start from the same weights, so that they differ by their task alone.
    """

    def __init__(self, count: int, widths: Sequence[int], generator: torch.Generator) -> None:
        super().__init__()
        self.count = count
        weights, biases = [], []
        for inner, outer in pairwise(widths):
            bound = 1 / math.sqrt(inner)
            weight = torch.empty(inner, outer).uniform_(-bound, bound, generator=generator)
            bias = torch.empty(1, outer).uniform_(-bound, bound, generator=generator)
            weights.append(nn.Parameter(weight.repeat(count, 1, 1)))
            biases.append(nn.Parameter(bias.repeat(count, 1, 1)))
        self.weights, self.biases = nn.ParameterList(weights), nn.ParameterList(biases)

    def forward(self, x: Tensor) -> Tensor:
        """`x` is models × rows × inputs, or rows × inputs for all models alike."""
        hidden = x.expand(self.count, -1, -1) if x.dim() == 2 else x
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, hidden, weight)
            if layer < last:
                hidden = torch.relu(hidden)
        return hidden

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def start_from(self, layers: Sequence[tuple[Any, Any]]) -> None:
        """Give every model these weights; layers of another shape are refused."""
        shapes = [tuple(weight.shape[1:]) for weight in self.weights]
        if shapes != [weight.shape for weight, _ in layers]:
            raise InputError(
                "With warm_start the network must keep its shape: features, 'hidden', 'predictor'.",
                argument=("warm_start", "hidden", "predictor"),
            )
        for place, (weight, bias) in enumerate(layers):
            self.weights[place].copy_(torch.as_tensor(weight))
            self.biases[place].copy_(torch.as_tensor(bias))

    def layers_of(self, model: int) -> list[tuple[Any, Any]]:
        """Weights and biases of one model as numpy arrays."""
        return [
            (
                weight[model].detach().cpu().numpy().copy(),
                bias[model, 0].detach().cpu().numpy().copy(),
            )
            for weight, bias in zip(self.weights, self.biases, strict=True)
        ]


class SingleModule(nn.Module):
    """Somebody's own module as a stack of one."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        output = self.module(x)
        return (output[:, None] if output.dim() == 1 else output)[None]
