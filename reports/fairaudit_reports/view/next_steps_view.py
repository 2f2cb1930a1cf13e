"""What can be done next: what the facts of an audit allow, with commands that run as printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairaudit._words import as_words, quiet
from fairaudit.evidence.power.power_result import FEWEST_PILOT_ROWS
from fairaudit_reports.view.cover import name_label
from fairaudit_reports.view.curves_view import rates_over_thresholds
from fairaudit_reports.view.numerals import fixed, number
from fairaudit_reports.view.repeat import SHELL_WORD, wrap_command
from fairaudit_reports.view.sections import Section
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.portrait.binned import ScoreBins

__all__ = ["NextStep", "build_next_section", "list_next_steps"]

#: Options of the test that say what is audited, as other commands take them too.
_ABOUT_DATA = [
    "--model",
    "--trust",
    "--isolate",
    "--no-sandbox",
    "--data",
    "--sensitive",
    "--outcome",
    "--predictions",
    "--weights",
    "--id",
    "--where",
    "--missing",
    "--positive",
    "--classes",
]
_OF_REMEDY = [name for name in _ABOUT_DATA if name != "--predictions"]
#: Options about what is written.
_OF_OUTPUT = {
    "--report",
    "--json",
    "--sign",
    "--resume",
    "--title",
    "--auditor",
    "--model-name",
    "--model-version",
    "--purpose",
    "--next-review",
}
_RARE = 0.05  # a threshold above or below so few people decides nothing
_WORTH = 0.02  # of a gap: less is no reason to move a threshold
_FEWEST = 30  # people of a class in a group whose rates decide about a threshold


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do: its title, why, and a command if there is one."""

    title: str
    text: str
    command: str | None = None


def list_next_steps(result: AuditResult) -> list[NextStep]:
    """The most useful first."""
    if result.joint.significant and result.verdict.value != "inconclusive":
        steps = [
            _move_threshold(result),
            _correct_groups(result),
            _search_model(result),
            _locate(result),
            _look_at_features(result),
        ]
    else:
        steps = [_repair_audit(result), _collect_more(result), _certify(result)]
    return [step for step in steps if step is not None]


def build_next_section(result: AuditResult, width: int) -> Section | None:
    """For text: numbered steps, their commands in lines of this width that a shell joins."""
    rows = []
    for place, step in enumerate(list_next_steps(result), 1):
        rows.append([f"{place}", clean(f"{step.title}. {step.text}", LONGEST_NOTE)])
        rows += [["", line] for line in wrap_command(step.command or "", width)]
    return Section(title="What to do next", rows=rows) if rows else None


def _words_of(result: AuditResult) -> list[str] | None:
    """The words of the command that was run, without what it wrote; None: no such command."""
    command = result.capsule.command
    words = SHELL_WORD.findall(quiet(command or ""))
    if words[:2] != ["fairaudit", "test"] or any(
        source.path == "-" for source in result.capsule.data
    ):
        return None
    return words[2:]


def _options_of(words: list[str]) -> list[list[str]]:
    """Options with their values."""
    options: list[list[str]] = []
    for word in words:
        if word.startswith("--") or not options:
            options.append([word])
        else:
            options[-1].append(word)
    return options


def _rerun(result: AuditResult, *more: str) -> str | None:
    """The same audit with further options, and nothing written."""
    words = _words_of(result)
    if words is None:
        return None
    names = {word for word in more if word.startswith("--")}
    dropped = names | _OF_OUTPUT
    kept = [o for o in _options_of(words) if o[0].partition("=")[0] not in dropped]
    return " ".join(["fairaudit test", *(word for option in kept for word in option), *more])


def _other_command(result: AuditResult, name: str, allowed: list[str], *more: str) -> str | None:
    """Another command about the same model and data."""
    words = _words_of(result)
    if words is None:
        return None
    options = _options_of(words)
    if any(o[0].partition("=")[0] in ("--counts", "--table") for o in options):
        return None  # other commands need rows
    kept = [o for o in options if o[0].partition("=")[0] in allowed]
    return " ".join([f"fairaudit {name}", *(word for option in kept for word in option), *more])


def _remedy_command(result: AuditResult, *more: str) -> str | None:
    return _other_command(result, "remedy", _OF_REMEDY, *more)


def _move_threshold(result: AuditResult) -> NextStep | None:
    """A threshold at which the rates of the groups lie closer together, and its price."""
    portrait = result.portrait
    known = [] if portrait is None else [bins for bins in portrait.scores if _is_binary(bins)]
    told = {name for statement in result.statements for name in statement.attributes}
    of_told = [own for own in known if own.attribute in told and own.threshold is not None]
    if not of_told:
        return None
    bins = max(of_told, key=lambda own: _largest_gap(own, _current_edge(own)))
    gaps = [_largest_gap(bins, k) for k in range(len(bins.edges))]
    rights = [_share_right(bins, k) for k in range(len(bins.edges))]
    edges = list(bins.edges)
    now = _current_edge(bins)
    useful = [
        k
        for k in range(1, len(edges) - 1)
        if rights[k] >= rights[now] - 0.05 and _RARE <= _share_positive(bins, k) <= 1 - _RARE
    ]
    if not useful:
        return None
    best = min(useful, key=lambda k: gaps[k])
    if gaps[best] > gaps[now] - _WORTH:
        return NextStep(
            "Another threshold does not help",
            "No threshold that costs less than 5 points of accuracy brings the rates by "
            f"{name_label(bins.attribute)} closer together than {number(edges[now])} does "
            f"(largest gap {100 * gaps[now]:.0f} points).",
        )
    cost = 100 * (rights[now] - rights[best])
    price = f"at a cost of {cost:.1f} points of accuracy" if cost > 0 else "at no cost of accuracy"
    return NextStep(
        "Another threshold",
        f"With a threshold of {number(edges[best])} instead of {number(edges[now])} the largest "
        f"gap of a rate by {name_label(bins.attribute)} is {100 * gaps[best]:.0f} instead of "
        f"{100 * gaps[now]:.0f} points, {price} on these rows. The scores stay as they are; audit "
        "the labels on fresh rows.",
        _rerun(result, "--on", "labels", "--threshold", f"{edges[best]:g}"),
    )


def _current_edge(bins: ScoreBins) -> int:
    wanted = bins.threshold or 0.0
    return min(range(len(bins.edges)), key=lambda k: abs(bins.edges[k] - wanted))


def _is_binary(bins: ScoreBins) -> bool:
    return len(bins.outcomes) == 2 and bins.positive in bins.outcomes and len(bins.levels) > 1


def _largest_gap(bins: ScoreBins, edge: int) -> float:
    gaps = [0.0]
    for outcome in (0, 1):
        rates = [
            rates_over_thresholds(bins, level, outcome)[edge]
            for level in range(len(bins.levels))
            if sum(bins.counts[level][outcome]) >= _FEWEST
        ]
        gaps.append(max(rates, default=0.0) - min(rates, default=0.0))
    return max(gaps)


def _share_positive(bins: ScoreBins, edge: int) -> float:
    above = sum(sum(row[edge:]) for rows in bins.counts for row in rows)
    return above / max(1, sum(sum(row) for rows in bins.counts for row in rows))


def _share_right(bins: ScoreBins, edge: int) -> float:
    positive = bins.outcomes.index(bins.positive or "")
    right = total = 0
    for rows in bins.counts:
        right += sum(rows[positive][edge:]) + sum(rows[1 - positive][:edge])
        total += sum(map(sum, rows))
    return right / total if total else 0.0


def _has_model_file(result: AuditResult) -> bool:
    return result.capsule.model is not None and bool(result.capsule.model.path)


def _correct_groups(result: AuditResult) -> NextStep | None:
    """Corrections that need no training: thresholds of groups, or drawn answers with numbers."""
    if not _has_model_file(result) or len(result.table.outcome.levels) != 2:
        return None
    by_groups = all(column.levels for column in result.table.attributes)
    method = ("thresholds", "--use-sensitive") if by_groups else ("derived",)
    needs = (
        "The corrected model has to be told the attributes of every person, which the law may "
        "forbid."
        if by_groups
        else "The corrected model needs no attributes."
    )
    what = (
        "Thresholds of their own for groups bring the rates together"
        if by_groups
        else "Answers that are partly drawn at random, the same for the same person, depend less "
        "on the attributes"
    )
    return NextStep(
        "Correct the answers of the model",
        f"{what}, without training. {needs}",
        _remedy_command(result, "--method", *method, "--out", "corrected.pkl"),
    )


def _search_model(result: AuditResult) -> NextStep | None:
    command = None
    if _has_model_file(result):
        command = _remedy_command(result, "--out", "fairer.pkl", "--report", "remedy.html")
    return NextStep(
        "Train a fairer model",
        "The search trains models toward equalized odds, says what each costs in accuracy, and "
        "audits the chosen one on rows that nothing else saw. Pass rows to train on as data.",
        command,
    )


def _locate(result: AuditResult) -> NextStep | None:
    if result.localisation is not None:
        return None
    return NextStep(
        "See where it sits",
        "A search for subgroups, and a test of what each attribute adds beyond the others.",
        _rerun(result, "--locate"),
    )


def _look_at_features(result: AuditResult) -> NextStep | None:
    features = result.table.features
    if not features:
        return None
    names = as_words([name_label(column.name) for column in result.table.attributes])
    used = [column.name for column in result.table.attributes if column.name in features]
    first = (
        f"The model uses {as_words([name_label(name) for name in used])} itself. " if used else ""
    )
    return NextStep(
        "Look at the features",
        f"{first}Any of the {len(features)} features may stand in for {names}: see which of them "
        "can be predicted from these attributes among people with the same outcome.",
    )


def _repair_audit(result: AuditResult) -> NextStep | None:
    if result.verdict.value != "inconclusive":
        return None
    law = result.quality.law
    if result.table.outcome.levels or law == "local" or result.quality.trustworthy:
        return None
    return NextStep(
        "Draw copies by another law",
        "The fitted density is doubtful; copies among neighbors in the outcome need none.",
        _rerun(result, "--law", "local"),
    )


def _collect_more(result: AuditResult) -> NextStep:
    if result.table.rows < FEWEST_PILOT_ROWS:
        return NextStep(
            "Collect more rows",
            f"From {FEWEST_PILOT_ROWS} rows on, fairaudit plan says how many it takes.",
        )
    seen = None if result.power is None else next(iter(result.power.detectable), None)
    about = ""
    if seen is not None and seen.shift is not None:
        size = f", a gap of {fixed(seen.tpr_gap, 2)} in TPR" if seen.tpr_gap is not None else ""
        about = (
            f"These {result.table.rows:,} rows would have shown a shift of scores of "
            f"{fixed(seen.shift, 2)} standard deviations for {seen.group}{size} in at "
            f"least {100 * result.power.power:g} % of such audits, and smaller ones less often. "
            if result.power is not None
            else ""
        )
    gaps = result.gaps
    rates = gaps is not None and not gaps.of_predictions and not gaps.of_classes
    effect = "tpr_gap=0.05" if rates else "score_shift=0.1"
    command = _other_command(result, "plan", _ABOUT_DATA, "--effect", effect)
    return NextStep(
        "Collect more rows",
        f"{about}The plan says how many it takes to find a smaller one.",
        command,
    )


def _certify(result: AuditResult) -> NextStep | None:
    numbers = [c for c in result.table.attributes if not c.levels]
    if (
        result.certificates
        or numbers
        or result.cells is None
        or result.verdict.value == "inconclusive"
    ):
        return None
    measure = "equalized_odds_difference=0.1"
    if not result.table.outcome.levels:
        span = (result.table.outcome.high or 1.0) - (result.table.outcome.low or 0.0)
        measure = f"prediction_gap={span / 20:.2g}"
    elif len(result.table.outcome.levels) > 2:
        measure = "confusion_gap=0.1"
    return NextStep(
        "Show that it is small",
        "No violation found is not evidence of none. Declare a size that you would tolerate, and "
        "have it certified.",
        _rerun(result, "--certify", measure),
    )
