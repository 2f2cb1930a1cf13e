"""Model files and models in memory, turned into predictions."""

from fairaudit.models.loading import load_model, opened_here, predictor_of
from fairaudit.models.predictor import Predictor

__all__ = ["Predictor", "load_model", "opened_here", "predictor_of"]
