"""`load()`: import a symbol of the installed AITER from the place where it is, and only from there."""

from __future__ import annotations

from aiter_compat.detect import installation
from aiter_compat.errors import AiterImportError, ContractChanged, InvalidArgument
from aiter_compat.native import attempt, import_symbol
from aiter_compat.probe.model import Symbol
from aiter_compat.probe.module_names import signature_text
from aiter_compat.probe.signatures import incompatibilities
from aiter_compat.releases.symbol_records import symbol_record
from aiter_compat.symbols.contracts import contract_change
from aiter_compat.symbols.finding import check_path, installed_symbol, recorded_symbol


def load(symbol: str, contract: str | None = None) -> object:
    """Import a symbol of the installed AITER, under whatever path any release has it.

    The module that defines it is imported, never an old name of it: AITER's own finder for old module names executes a
    module a second time under the old name, which doubles its classes and its compiled kernels.

    Args:
        symbol: dotted path of a module, function, class, enum or variable of AITER, in any release; see `ac.locate`.
        contract: a recorded release, such as "0.1.14", for whose signature the caller's calls are written. The symbol
            is then given only when each of those calls works, and binds the same, on the installed signature. None
            makes no claim, which a few symbols refuse: those that kept their name and changed what must be passed.

    Returns:
        The object, as AITER has it now.

    Raises:
        InvalidArgument: `symbol` is no dotted path that starts with aiter, or `contract` is a release without it.
        RecordError: `contract` is not recorded.
        AiterImportError: no AITER is installed, it does not have the symbol, or its import fails (then its own error
            is the cause).
        ContractChanged: the signature is not that of `contract`; or the symbol is a listed one and `contract` is None.
    """
    check_path(symbol)
    found = installed_symbol(symbol)
    if found is None:
        examined = installation()
        missing = "cannot be imported" if examined.kind != "present" else "is in none of its known places"
        raise AiterImportError([f"{symbol} {missing}: {examined}"], "ac.locate(symbol, release) tells who has it.")
    if contract is None:
        _refuse_listed(symbol, found)
    else:
        _check(symbol, found, contract)
    if found.kind != "module":
        return import_symbol(found.path)
    outcome = attempt(found.path)
    if outcome.module is None:
        raise AiterImportError([f"{found.path} is not available: {outcome.reason}"]) from outcome.error
    return outcome.module


def _refuse_listed(symbol: str, found: Symbol) -> None:
    change = contract_change(symbol, found.path)
    if change is None:
        return
    releases = " and ".join(f"v{release}" for release in change.since)
    raise ContractChanged(
        f"{symbol} changed its signature under the same name with {releases} ({change.what}; {change.source}). "
        f"{_installed(found)} Pass contract=, the release whose signature the call is written for."
    )


def _check(symbol: str, found: Symbol, contract: str) -> None:
    expected = recorded_symbol(symbol, contract)
    release = symbol_record(contract).release
    if expected is None:
        raise InvalidArgument("contract", contract, f"a recorded release that has {symbol}")
    if expected.parameters is None or found.parameters is None:  # no signature to go by
        return
    problems = incompatibilities(expected.parameters, found.parameters)
    if problems:
        raise ContractChanged(
            f"{symbol} is not what it is in v{release}, {signature_text(expected.parameters)}: {'; '.join(problems)}. "
            f"{_installed(found)}"
        )


def _installed(found: Symbol) -> str:
    signature = "" if found.parameters is None else signature_text(found.parameters)
    return f"Installed is {installation()}, with {found.path}{signature}."
