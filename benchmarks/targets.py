"""Checks of targets against the medians of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from benchmarks.case import OURS, Quantity, Target
from benchmarks.results import CaseResult, geometric_mean

__all__ = ["Check", "check_targets"]


@dataclass(frozen=True)
class Check:
    """A target and its result.

    Args:
        what: the case, or the common part of several names.
        of: the measured quantity.
        beside: the peer, if any.
        ours: our median, in seconds or bytes; none for a target on ratios.
        peer: the peer's median.
        limit: the limit of `ours`, or of the ratio for a target on ratios.
        ratio: ours divided by the peer's.
    """

    what: str
    of: Quantity
    beside: str
    ours: float | None
    peer: float | None
    limit: float
    ratio: float | None

    @property
    def used(self) -> float:
        """The used part of the limit: above one the target is missed."""
        found = self.ratio if self.ours is None else self.ours
        assert found is not None
        return found / self.limit


def check_targets(results: Sequence[CaseResult]) -> list[Check]:
    """Return the checks of the results of one suite.

    Cases that share a target on their geometric mean give two checks: the mean and, if each has a limit
    too, the slowest case.
    """
    found = []
    shared: dict[Target, list[CaseResult]] = {}
    for result in results:
        for target in result.targets:
            if target.beside and target.beside not in result.engines:
                continue
            if target.mean is None:
                found.append(_check(result, target))
            else:
                shared.setdefault(target, []).append(result)
    for target, cases in shared.items():
        found += _check_together(cases, target)
    return found


def _check(result: CaseResult, target: Target) -> Check:
    ours = result.engines[OURS].median(target.of)
    if not target.beside:
        return Check(result.case, target.of, "", ours, None, target.plus, None)
    peer = result.engines[target.beside].median(target.of)
    return Check(result.case, target.of, target.beside, ours, peer, target.limit(peer), ours / peer)


def _check_together(results: Sequence[CaseResult], target: Target) -> list[Check]:
    assert target.mean is not None
    ratios = [result.ratio(target.beside, target.of) for result in results]
    name = f"{_common_name([result.case for result in results])}, geometric mean of {len(results)}"
    mean = Check(name, target.of, target.beside, None, None, target.mean, geometric_mean(ratios))
    if target.times is None:
        return [mean]
    return [mean, _check(results[ratios.index(max(ratios))], target)]


def _common_name(names: Sequence[str]) -> str:
    """The common beginning and end of names.

    >>> _common_name(["tpch_q01_in_duckdb", "tpch_q22_in_duckdb"])
    'tpch_q*_in_duckdb'
    """
    if len(names) == 1:
        return names[0]
    first = _common_prefix(names)
    last = _common_prefix([name[len(first) :][::-1] for name in names])[::-1]
    return f"{first}*{last}"


def _common_prefix(names: Sequence[str]) -> str:
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in same)
