"""What training a remedy needs beside the data: the networks, the settings, a bar."""

from __future__ import annotations

import copy
from typing import Any

from fairaudit.errors import InputError, MissingDependencyError

__all__ = ["Bar", "Networks", "check_device", "torch_parts"]


class Networks:
    """Makes the predictor that was asked for."""

    def __init__(self, remedy: Any, *, again: bool) -> None:
        self.remedy, self.again = remedy, again
        self.custom = not isinstance(remedy.predictor, str)

    def make(self, count: int, inputs: int, outputs: int) -> Any:
        import torch

        from fairaudit.remedy.networks import SingleModule, StackedMLP

        if self.custom:
            module = self.remedy.network_ if self.again else self.remedy.predictor
            return SingleModule(copy.deepcopy(module)).to(self.remedy.device)
        known = {"mlp": (inputs, self.remedy.hidden, outputs), "linear": (inputs, outputs)}
        if self.remedy.predictor not in known:
            raise InputError(
                "'predictor' must be 'mlp', 'linear' or a torch module. "
                f"Got {self.remedy.predictor!r}.",
                argument="predictor",
            )
        generator = torch.Generator().manual_seed(self.remedy.seed_)
        network = StackedMLP(count, known[self.remedy.predictor], generator)
        if self.again:
            network.start_from(self.remedy.layers_)
        return network.to(self.remedy.device)

    def trained(self, network: Any, place: int) -> tuple[Any, Any]:
        """Layers as arrays, or the module of the user."""
        if hasattr(network, "layers_of"):
            return network.layers_of(place), None
        return None, network.module.cpu().eval()


def check_device(device: str) -> None:
    """Refuse a device that torch does not have here."""
    import torch

    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise InputError(
            f"'device' must be one of torch, such as 'cpu' or 'cuda'. Got {device!r}.",
            argument="device",
        ) from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"'device' is {device!r}, but torch finds no CUDA on this machine. Use 'cpu'.",
            argument="device",
        )


def torch_parts(remedy: Any, *, again: bool) -> tuple[Any, Networks, Any]:
    """The trainer, if torch is installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingDependencyError("Training needs torch: pip install torch nflows") from None
    from fairaudit.remedy.training import Settings, train

    if remedy.objective not in ("kernel", "adversarial"):
        raise InputError(
            f"'objective' must be 'kernel' or 'adversarial'. Got {remedy.objective!r}.",
            argument="objective",
        )
    if remedy.loss not in ("cross_entropy", "error"):
        raise InputError(f"'loss' must be 'error' or 'cross_entropy'. Got {remedy.loss!r}.")
    check_device(remedy.device)
    settings = Settings(
        objective=remedy.objective,
        loss=remedy.loss,
        epochs=remedy.epochs,
        steps=remedy.steps,
        batch_size=remedy.batch_size,
        learning_rate=remedy.learning_rate,
        discriminator_learning_rate=remedy.discriminator_learning_rate,
        weight_decay=remedy.weight_decay,
        device=remedy.device,
        seed=remedy.seed_,
    )
    return train, Networks(remedy, again=again), settings


class Bar:
    """A bar on stderr, if wanted."""

    def __init__(self, on: bool) -> None:
        self.bar: Any = None
        self.on = on

    def __call__(self, done: int, total: int) -> None:
        if not self.on:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task("training", total=total)
        self.bar.update(self.task, completed=done)
        if done == total:
            self.bar.stop()
            self.bar = None
