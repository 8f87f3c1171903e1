"""version("aiter") asks for another project: AMD's distribution is called amd-aiter since v0.1.8.

On PyPI, aiter is an asynchronous-iterator package whose 0.13.20191203 sorts above every release of AMD's.
"""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="probing idiom",
    symbol="aiter",
    since="0.1.8",
    remedy="Ask aiter_compat.installation(), or better aiter_compat.supports().",
    source="ROCm/aiter v0.1.8 setup.py",
    matches=lambda use: use.kind == "version" and any(target.path == "aiter" for target in use.targets),
)
