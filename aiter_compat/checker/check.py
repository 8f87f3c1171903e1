"""Check a host against a range of releases: what they lack, and which migrations it meets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.version import Version

from aiter_compat.checker.finding import Finding
from aiter_compat.checker.gaps import Gap, gaps, reached
from aiter_compat.checker.positions import reordered
from aiter_compat.checker.release_view import ReleaseView
from aiter_compat.checker.remedies import Remedies
from aiter_compat.hostscan import HostScan, Use
from aiter_compat.migration_model import BETWEEN_RELEASES, Migration
from aiter_compat.releases import ReleaseRange
from aiter_compat.releases.symbol_records import symbol_releases


def check(
    scan: HostScan, releases: Sequence[str], migrations: Sequence[Migration], *, guarded: bool = False
) -> list[Finding]:
    """Every finding, by place.

    Args:
        scan: what the host uses.
        releases: recorded releases that it is to run on, without the v.
        migrations: the known ones.
        guarded: report what the host survives as well.

    Raises:
        RecordError: one of the releases is not recorded.
    """
    views = sorted((ReleaseView.of(release) for release in dict.fromkeys(releases)), key=ReleaseView.order)
    remedies = Remedies(migrations, views)
    found = _of_gaps((gap for gap in gaps(scan, views) if guarded or not gap.guarded), remedies)
    found += _of_migrations(scan, views, [one for one in migrations if one.matches is not None])
    found += reordered(scan, views, {one.symbol for one in migrations if one.kind == "positional order"})
    return sorted(found, key=Finding.sort_key)


def _of_gaps(found: Iterable[Gap], remedies: Remedies) -> list[Finding]:
    grouped: dict[tuple[str, str, str, int], list[Gap]] = {}
    for gap in found:
        grouped.setdefault((gap.kind, gap.symbol, gap.file, gap.line), []).append(gap)
    return [_of_group(group, remedies) for group in grouped.values()]


def _of_group(group: list[Gap], remedies: Remedies) -> Finding:
    last = group[-1]
    releases = tuple(gap.release for gap in group)
    return Finding(
        code=last.kind,
        symbol=last.symbol,
        file=last.file,
        line=last.item_line,
        message=last.message,
        remedy=remedies.remedy(last, releases),
        releases=releases,
        lines=frozenset({last.line, last.item_line}),
    )


def _of_migrations(scan: HostScan, views: Sequence[ReleaseView], migrations: Sequence[Migration]) -> list[Finding]:
    found: dict[tuple[str, str, int], Finding] = {}
    for migration in migrations:
        concerned = _concerned(migration, views)
        if not concerned:
            continue
        for file in scan.files:
            for use in file.uses:
                if migration.matches is not None and migration.matches(use) and _is_reached(use, views):
                    key = migration.code, file.file, use.place.line
                    found.setdefault(key, _of_use(migration, use, file.file, concerned))
    return list(found.values())


def _of_use(migration: Migration, use: Use, file: str, releases: tuple[str, ...]) -> Finding:
    place = use.place
    return Finding(
        code=migration.code,
        symbol=use.targets[0].path,
        file=file,
        line=place.line,
        message=migration.summary.rstrip("."),
        remedy=migration.remedy,
        releases=releases,
        lines=frozenset({place.line, place.item_line}),
    )


def _concerned(migration: Migration, views: Sequence[ReleaseView]) -> tuple[str, ...]:
    """The releases that a migration is about; none when it does not matter between these."""
    inside = ReleaseRange(migration.since, migration.until)
    concerned = tuple(
        view.release for view in views if inside.contains(view.order()) and view.release not in migration.spared
    )
    if migration.kind in BETWEEN_RELEASES and len(concerned) == len(views) and not _is_lasting(migration):
        return ()
    if migration.kind == "expired workaround" and len(concerned) != len(views):
        return ()  # some release still needs it
    return concerned


def _is_lasting(migration: Migration) -> bool:
    """Whether no recorded release is from before it, so that it is no change any more but always to be minded."""
    before = ReleaseRange(None, migration.since)
    return not any(before.contains(Version(release)) for release in symbol_releases())


def _is_reached(use: Use, views: Sequence[ReleaseView]) -> bool:
    decidable = [condition for condition in use.place.conditions if condition.requirements]
    return any(reached(view, decidable) for view in views)
