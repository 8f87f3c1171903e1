"""Static analysis of how a host uses AITER: which modules, symbols, keywords and enum members, and how guarded."""

from aiter_compat.hostscan.model import (
    Arguments,
    Condition,
    FileScan,
    HostScan,
    Keyword,
    Place,
    Requirement,
    Target,
    Use,
)
from aiter_compat.hostscan.scan import Progress, scan

__all__ = [
    "Arguments",
    "Condition",
    "FileScan",
    "HostScan",
    "Keyword",
    "Place",
    "Progress",
    "Requirement",
    "Target",
    "Use",
    "scan",
]
