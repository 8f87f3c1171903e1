"""Release records: the surface of each AITER release, as data, and ranges of releases."""

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
