"""The laws of copies by name: how attributes move given the outcome."""

from __future__ import annotations

from fairaudit._registry import Named, Registry

__all__ = ["AUTO", "LAWS"]

AUTO = "auto"

LAWS = Registry(
    kind="law",
    method="prepare",
    group="fairaudit.laws",
    chosen=AUTO,
    built_in={
        "exact": Named("fairaudit.permute.icp:ICP", {"density": "exact"}),
        "icp": Named("fairaudit.permute.icp:ICP"),
        "local": Named("fairaudit.permute.local:Local"),
        "monotone": Named("fairaudit.permute.monotone:Monotone"),
        "prediction": Named("fairaudit.permute.prediction_side:PredictionSide"),
        "cp": Named("fairaudit.permute.cp:CP"),
        "randomization": Named("fairaudit.permute.randomize:ConditionalRandomization"),
    },
)
