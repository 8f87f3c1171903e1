"""Release records: the surface of each AITER release, as data, and ranges of releases.

Every module and symbol of a release is in `releases.symbol_records`, which a call never needs and nothing here imports.
"""

from aiter_compat.releases.ranges import ReleaseRange
from aiter_compat.releases.records import (
    ReleaseRecord,
    nearest_record,
    newest_record,
    record,
    recorded_releases,
)

__all__ = [
    "ReleaseRange",
    "ReleaseRecord",
    "nearest_record",
    "newest_record",
    "record",
    "recorded_releases",
]
