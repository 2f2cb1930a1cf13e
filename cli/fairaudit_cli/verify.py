"""`fairaudit verify`: repeat a saved audit from its own record and compare every number."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet
from fairaudit.errors import InputError
from fairaudit.records.canonical import DIGEST, has_digest, is_unchanged, without_seals
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import predictor_from
from fairaudit_cli.options import MODEL, add_options
from fairaudit_cli.vouching import command_differences, list_unchecked, records_may_lie

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.data.facts import Source
    from fairaudit.data.roles import Roles

__all__ = ["OPTIONS", "add_arguments", "differences", "run"]

OPTIONS = (*MODEL, "data", "table", "jobs")

#: What says when, where and how long, and differs from run to run.
_CIRCUMSTANCES = re.compile(
    r"(.+\.)?seconds|(capsule\.)?(created|python|platform|packages\..*|version|command|verify)"
    r"|capsule\.(model|data\[\d+\])\.path"
)
#: What is said around the numbers: another version may say it in other words.
_WORDS = ("notes", "note", "because")
#: Measures that depend on what else is installed.
_ELSEWHERE = ("kpc_r",)
#: Of records of 0.1: intervals of gaps have wider limits since, for groups of a few people, and
#: what an audit could have found comes from a curve through all planted tables. Planted shifts are
#: measured on the scale of ranks, those of a calibration too. The range of predictions is rounded.
_CHANGED = re.compile(
    r"table\.prediction|gaps\.gaps\[\d+\]\.(low|high)|power\.detectable\[\d+\]\.(shift|tpr_gap|fpr_gap|kpc)"
    r"|calibration\.(shift|found)"
)
_SAME = 1e-9  # relative
_ABSENT = "(absent)"
_OTHERWISE = ("correlation", "features")
_LAW_OF_0_1 = "icp"  # of records that name none
_HOMES = {
    "statistic": "fairaudit.testing.",
    "density": "fairaudit.density.",
    "law": "fairaudit.permute.",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Exit status: 0 every number is the same, 1 something differs, 2 bad input."
    parser.add_argument("record", metavar="AUDIT.JSON", help="written by fairaudit test --report")
    parser.add_argument(
        "--key", metavar="FILE", help="the public key (PEM) by which the record must be signed"
    )
    add_options(parser, "verify", OPTIONS)


def run(args: argparse.Namespace) -> int:
    with records_may_lie(args.record):
        return _verify(args)


def _verify(args: argparse.Namespace) -> int:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.records.signing import check_signature
    from fairaudit.results import read_record

    then = read_record(args.record, changed=True)
    if args.key is not None and not str(then.get("schema")).startswith("fairaudit/audit/"):
        key = check_signature(then, args.key)
        print(f"signed: by the key {key}; only audits are repeated")
        return ExitCode.OK
    record = AuditResult.from_dict(then)
    changed_since = has_digest(then) and not is_unchanged(then)
    if args.key is not None:
        print(f"signed: by the key {check_signature(then, args.key)}")
    if _is_of_0_1(then):
        _refuse_other_numbers(record)
    roles, plan, fewest = _settings(record, args.jobs)
    if not args.data:
        raise InputError("No data. Pass the audited table as --data FILE.")
    if (record.capsule.model is None) != (args.model is None):
        raise InputError(
            "The record is of a model. Pass it as --model FILE."
            if args.model is None
            else "The record is of predictions in the table. Leave --model out."
        )
    again, other = _repeat_audit(args, record, roles, plan)
    if again is None:
        print("not reproduced: " + "; ".join(other))
        return ExitCode.VIOLATION
    masked = again.suppressed(fewest)
    if _is_of_0_1(then):
        masked = _carry_over(masked, record)
    counted, changed = differences(then, masked.to_dict(), unmasked=again.to_dict())
    changed += command_differences(record, add_arguments)
    notes = [f"note: {line}" for line in _circumstances(record, again)]
    notes += list_unchecked(record, again, signed=args.key is not None)
    if changed or changed_since:
        print(_say_difference(len(changed), counted, changed_since=changed_since))
        print("\n".join(quiet(f"  {line}") for line in (*changed[:20], *notes)))
        return ExitCode.VIOLATION
    print(f"reproduced: all {counted} values are the same; verdict: {again.verdict}")
    print("\n".join(quiet(f"  {line}") for line in notes))
    if not has_digest(then):
        print("  note: the record has no digest")
    if _is_of_0_1(then):
        print(
            quiet(
                f"  note: the record is of fairaudit {record.capsule.version}: its words, numbers "
                "that masks change, intervals of gaps, which are wider since, and the KPC that "
                "could have been found, which is centered since, are not compared"
            )
        )
    return ExitCode.OK


def _say_difference(changed: int, counted: int, *, changed_since: bool) -> str:
    if not changed_since:
        return f"not reproduced: {changed} of {counted} values differ"
    first = "not reproduced: the record was changed after it was made (its digest does not fit)"
    if not changed:
        return f"{first}; what can be repeated is the same, what cannot was changed"
    return f"{first}; {changed} of {counted} values differ"


def _is_of_0_1(record: Mapping[str, Any]) -> bool:
    """What a record says of its version loosens the comparison: 0.1 wrote neither of these."""
    version = str(record.get("capsule", record).get("version"))
    return version.startswith("0.1.") and not {DIGEST, "statements", "portrait"} & set(record)


def _refuse_other_numbers(record: AuditResult) -> None:
    """A record of 0.1 whose p-values this version computes otherwise can only seem wrong."""
    reason = None
    if record.quality.law == "fitted":
        reason = "copies of a fitted density are drawn"
    elif record.joint.statistic in _OTHERWISE:
        reason = f"the statistic {record.joint.statistic} is computed"
    if reason is not None:
        raise InputError(
            f"The record is of fairaudit {record.capsule.version}; since then {reason} otherwise, "
            "so that its p-values are not repeated to the digit. Verify it with that version, or "
            "audit again."
        )


def _repeat_audit(
    args: argparse.Namespace, record: AuditResult, roles: Roles, plan: Plan
) -> tuple[AuditResult | None, list[str]]:
    """The audit of the same files; None, and which of them are others."""
    from fairaudit.auditing.doors import audit_frame
    from fairaudit.auditing.engines.counted_audit import audit_counted
    from fairaudit.auditing.engines.entry import audit_files, hash_files
    from fairaudit.data.reading.files import read_tables
    from fairaudit_cli.progress import ProgressBar

    shards = record.capsule.options.get("shards")
    counted = bool(record.capsule.options.get("counted"))
    predictor = predictor_from(args)
    frame = None
    if shards is None and not counted:
        frame, sources = read_tables(args.data)
    else:
        sources = hash_files(args.data)
    other = list(_other_files(record, sources, predictor))
    if other:
        return None, other
    given: dict[str, Any] = {"predictor": predictor}
    with ProgressBar() as bar:
        if counted:
            given |= {"engine": record.capsule.options.get("engine"), "table": args.table}
            again = audit_counted(args.data, roles, plan, sources=sources, progress=bar, **given)
            return again, [] if again is not None else ["the outcome has no classes any more"]
        if shards is None:
            given |= {"data": sources, "progress": bar}
            return audit_frame(frame, roles, plan, **given), []
        given |= {"shards": int(shards), "trust": tuple(args.trust or ()), "progress": bar}
        return audit_files(args.data, roles, plan, **given), []


def _settings(record: AuditResult, jobs: int) -> tuple[Roles, Plan, int]:
    """What was asked then."""
    from dataclasses import fields

    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.data.roles import Roles
    from fairaudit.testing.permutations import Permutations

    options = dict(record.capsule.options)
    if "sensitive" not in options:
        raise InputError("The record was made in Python, not from files: it cannot be repeated.")
    fewest = int(options.get("suppress", 0))
    names = {field.name for field in fields(Roles)}
    roles: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in options.items() if k in names
    }
    levels = record.table.outcome.levels
    if "positive" not in options and len(levels) == 2:  # records of 0.1 took the larger class
        roles["positive"] = levels[-1]
    capsule = record.capsule
    permutations = Permutations(
        n=capsule.copies,
        steps=capsule.steps,
        seed=capsule.seed,
        n_jobs=jobs,
        stop_after=options.get("stop_after"),
        settle_at=options.get("settle_at"),
    )
    settings: dict[str, Any] = {"power": False}  # of records that do not say
    settings |= {field.name: options[field.name] for field in fields(Plan) if field.name in options}
    settings |= {
        "statistic": _make_again("statistic", options["statistic"]),
        "density": _make_again("density", options["density"]),
        "law": _make_again("law", options.get("law", _LAW_OF_0_1)),
        "permutations": permutations,
        "pairs": tuple((a, b) for a, b in options["pairs"]),
        "with_r": any(measure.key in _ELSEWHERE for measure in record.measures),
    }
    return Roles(**roles), Plan(**settings), fewest


def _make_again(what: str, description: Any) -> Any:
    """A statistic or density of the record: a name, or an object of our own with its parameters."""
    from importlib import import_module

    if isinstance(description, list):
        return [_make_again(what, entry) for entry in description]
    if not isinstance(description, dict):
        return description
    if "package" in description:
        return _added_name(what, description)
    module, _, name = str(description.get("class")).rpartition(".")
    home = _HOMES[what]
    given = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in description.get("parameters", {}).items()
    }
    simple = not any(isinstance(value, dict) for value in given.values())
    if not module.startswith(home) or not simple:
        raise InputError(
            f"The record's {what} is an object ({description.get('class')}) that cannot be made "
            "again from the record. Repeat the audit in Python."
        )
    try:
        kind = getattr(import_module(module), name)
        if not isinstance(kind, type):
            raise TypeError
        return kind(**given)
    except (ImportError, AttributeError, TypeError):
        raise InputError(f"There is no {what} {module}.{name} in this version.") from None


def _added_name(what: str, description: dict[str, Any]) -> str:
    """A name that a package added, if it stands for what it stood for in the record."""
    from fairaudit.auditing.descriptions import recorded
    from fairaudit.density import CONTINUOUS
    from fairaudit.permute.laws import LAWS
    from fairaudit.testing.statistic import STATISTICS

    registry = {"statistic": STATISTICS, "density": CONTINUOUS, "law": LAWS}[what]
    name, package = str(description["name"]), description["package"]
    if registry.package_of(name) is None:
        raise InputError(f"The record's {what} {name!r} is of {package}. Install that first.")
    if recorded(registry, name) != description:
        raise InputError(
            f"The record's {what} {name!r} is of {package}, and not what is installed under that "
            "name now: its class or its parameters differ. Install the version of the record."
        )
    return name


def _other_files(record: AuditResult, sources: tuple[Source, ...], predictor: Any) -> Iterator[str]:
    then = [source.sha256 for source in record.capsule.data]
    now = [source.sha256 for source in sources]
    if then != now:
        yield "the data are not the files of the record (their SHA-256 differs)"
    model = record.capsule.model
    if model is not None and predictor is not None and model.sha256 != predictor.sha256:
        yield "the model is not the file of the record (its SHA-256 differs)"


def _carry_over(again: AuditResult, record: AuditResult) -> AuditResult:
    """The new result with the record's own settings that do not enter the numbers."""
    from dataclasses import replace

    return replace(again, capsule=replace(again.capsule, options=record.capsule.options))


def differences(
    then: Mapping[str, Any], now: Mapping[str, Any], unmasked: Mapping[str, Any] | None = None
) -> tuple[int, list[str]]:
    """How many values were compared, and those that differ, as ``path: then, now``.

    Of a record of 0.1 those are compared that both versions have and that masks leave
    alone (`unmasked` is the result without): versions differ in their words, in what they add, in
    how they mask, in the limits of gaps and in centered sizes.
    """
    same_version = not _is_of_0_1(then)
    passed_over = () if same_version else _WORDS
    then, now = _with_measures_of(now, then), _with_measures_of(then, now)
    first, second = dict(_leaves(then, passed_over)), dict(_leaves(now, passed_over))
    paths = [*first, *(path for path in second if path not in first)]
    if not same_version:
        open_ = second if unmasked is None else dict(_leaves(unmasked, passed_over))
        if not any(path.endswith(".kpc_raw") for path in first):  # sizes were not centered
            second, open_ = _take_raw_sizes(second), _take_raw_sizes(open_)
        paths = [
            path
            for path in first
            if path not in second
            or (_same(open_.get(path, _ABSENT), second[path]) and not _CHANGED.fullmatch(path))
        ]
    changed = [
        f"{path}: {first.get(path, _ABSENT)!r}, now {second.get(path, _ABSENT)!r}"
        for path in paths
        if not _same(first.get(path), second.get(path))
    ]
    return len(paths) if not same_version else len(first), changed


def _with_measures_of(other: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """The record without measures that only one of the two machines could compute."""
    known = {measure["key"] for measure in other.get("measures", ())} | {
        measure["key"] for measure in record.get("measures", ())
    } - set(_ELSEWHERE)
    plain = without_seals(record)
    if "measures" in plain:
        plain["measures"] = [m for m in plain["measures"] if m["key"] in known]
    return plain


def _take_raw_sizes(values: Mapping[str, Any]) -> dict[str, Any]:
    """KPC in the place of the centered size."""
    taken = dict(values)
    for path, raw in values.items():
        if raw is not None and path.endswith(".kpc_raw"):
            taken[path.removesuffix("_raw")] = raw
        elif raw is not None and path.endswith(".raw"):
            taken[path.removesuffix("raw") + "value"] = raw
    return taken


def _leaves(value: Any, passed_over: tuple[str, ...], path: str = "") -> Iterator[tuple[str, Any]]:
    if path == "capsule.options":  # whatever a setting is called, it is compared
        passed_over = ()
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            if key not in passed_over and not _CIRCUMSTANCES.fullmatch(inner):
                yield from _leaves(item, passed_over, inner)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, passed_over, f"{path}[{number}]")
    else:
        yield path, value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, (int, float)) and not isinstance(b, bool):
        return math.isclose(a, b, rel_tol=_SAME, abs_tol=1e-12)
    return type(a) is type(b) and bool(a == b)


def _circumstances(record: AuditResult, again: AuditResult) -> Iterator[str]:
    then, now = record.capsule, again.capsule
    if then.version != now.version:
        yield f"fairaudit {then.version} then, {now.version} now"
    for name, version in then.packages.items():
        if now.packages.get(name) != version:
            yield f"{name} {version} then, {now.packages.get(name, 'absent')} now"
