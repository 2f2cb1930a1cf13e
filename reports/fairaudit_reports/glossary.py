"""The words of the reports, each in a few plain sentences."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

__all__ = ["TERMS", "Term", "find_term", "nearest_term"]


@dataclass(frozen=True, slots=True)
class Term:
    """A word, what it means, other names for it, and the page of the docs that has more."""

    name: str
    text: str
    also: tuple[str, ...] = ()
    page: str = ""


TERMS = (
    Term(
        "equalized odds",
        "Among people with the same true outcome, the prediction does not depend on the sensitive "
        "attributes. For a loan: of those who do repay, all groups are recognized as often; of "
        "those who do not, all are trusted as often. It says nothing about how many people of "
        "each group repay.",
        ("equalised odds", "separation"),
        "audit.md",
    ),
    Term(
        "violation",
        "The verdict if the joint test rejects at the level alpha (and no tolerance covers the "
        "effect): the prediction carries information about the attributes that the outcome does "
        "not explain. Chance alone says so in at most a share alpha of fair models.",
        (),
        "audit.md",
    ),
    Term(
        "no violation found",
        "The test did not reject. That is not a proof of fairness: look at what could have been "
        "found (power) and at the intervals of the gaps. To show that a gap is small, certify it.",
        ("pass", "fair"),
        "power.md",
    ),
    Term(
        "equivalent within tolerance",
        "The verdict if every certificate that was asked for holds: the measure is shown to be at "
        "most as large as the tolerance, with the confidence of the audit.",
        ("equivalent",),
        "certify.md",
    ),
    Term(
        "inconclusive",
        "The audit cannot say: too few rows, copies that fail their own check, or a certificate "
        "that is neither shown nor refuted. Exit status 3; --strict counts it as a failure.",
        (),
        "audit.md",
    ),
    Term(
        "p-value",
        "If the model satisfied equalized odds, how often would chance alone give a statistic at "
        "least as large as the one seen? It counts copies of the table in which equalized odds "
        "holds: p = (1 + copies at least as large) / (1 + copies). With 999 copies the smallest "
        "is 0.001.",
        ("p", "p value"),
        "testing.md",
    ),
    Term(
        "adjusted p",
        "A p-value that accounts for asking several questions (Holm by default): among all of "
        "them together a false claim is made with probability alpha at most.",
        ("holm", "p_adjusted", "adjusted p-value"),
        "testing.md",
    ),
    Term(
        "alpha",
        "The level of the test: the share of fair models that a test may call unfair by chance "
        "(0.05 unless set).",
        ("level",),
        "testing.md",
    ),
    Term(
        "gate",
        "The test of all attributes together. It alone decides the verdict; the questions behind "
        "it (each attribute, each outcome) say where.",
        ("joint", "joint test"),
        "testing.md",
    ),
    Term(
        "copy",
        "The table with its attributes drawn anew among people with the same outcome, so that "
        "equalized odds holds in it. The statistic of the data is compared with that of many "
        "copies.",
        ("copies", "permutation", "permutations", "null"),
        "testing.md",
    ),
    Term(
        "law of copies",
        "How copies are drawn. For classes 'exact': attributes move among people of the same "
        "class, nothing is estimated. For numbers: among neighbors in the outcome (local), or by "
        "a fitted density (icp), whichever its own checks allow.",
        ("law", "exact", "local", "icp"),
        "testing.md",
    ),
    Term(
        "trust",
        "Whether the p-value can be believed: do copies look like the data where they must, is "
        "the fitted density calibrated, do enough rows move? A check that fails makes the audit "
        "inconclusive.",
        ("trustworthy", "quality"),
        "testing.md",
    ),
    Term(
        "KPC",
        "Kernel partial correlation: a size from 0 (none) to 1 (all) of what the attributes say "
        "about the prediction beyond the outcome, of any shape. Less its mean over copies, so it "
        "is 0 on average where there is nothing and may be slightly negative. 0.01 is small, 0.1 "
        "is large. For a size in units that people know, read the gaps.",
        ("kpc",),
        "measures.md",
    ),
    Term(
        "CODEC",
        "A size like KPC that depends on ranks only. It can be negative by chance; 0 means "
        "nothing is left beyond the outcome.",
        ("codec",),
        "measures.md",
    ),
    Term(
        "DEO",
        "Difference of equalized odds: over all groups and outcomes, the sum of how far the rate "
        "of a group lies from that of everybody. Grows with the number of groups.",
        ("deo",),
        "measures.md",
    ),
    Term(
        "gap",
        "The rate (or the mean prediction) of a group minus that of all others with the same "
        "outcome. The intervals hold for all groups at once, so the largest may be picked.",
        ("gaps", "prediction gap", "tpr_gap", "fpr_gap"),
        "certify.md",
    ),
    Term(
        "TPR",
        "True positive rate: of the people whose outcome is positive, the share that the model "
        "calls positive. Also recall, or sensitivity.",
        ("tpr", "true positive rate", "recall"),
        "measures.md",
    ),
    Term(
        "FPR",
        "False positive rate: of the people whose outcome is negative, the share that the model "
        "calls positive.",
        ("fpr", "false positive rate"),
        "measures.md",
    ),
    Term(
        "equalized odds difference",
        "The largest difference of TPR, or of FPR, between two groups.",
        ("equalized_odds_difference",),
        "measures.md",
    ),
    Term(
        "power",
        "What this audit could have found: the smallest violation, for each group, that it finds "
        "in at least 80 % of such tables. More rows find smaller ones; `fairaudit plan` says how "
        "many.",
        ("could have been found", "smallest detectable"),
        "power.md",
    ),
    Term(
        "tolerance",
        "A size up to which a significant effect is a note and not a violation "
        "(--tolerance deo=0.1).",
        (),
        "audit.md",
    ),
    Term(
        "certificate",
        "A bound: the measure is at most so large, with the confidence of the audit "
        "(--certify tpr_gap=0.1). Stronger than not finding a violation.",
        ("certify", "certificates"),
        "certify.md",
    ),
    Term(
        "localization",
        "Which attribute adds beyond the others, which subgroup and which range of a number are "
        "treated differently. Everything that is claimed there holds together, with an error of "
        "alpha at most.",
        ("where", "locate", "localisation", "claim", "claims"),
        "where.md",
    ),
    Term(
        "masked",
        "Groups of fewer than 10 people are hidden in all output, and numbers that would give "
        "them away are rounded. --suppress sets the number.",
        ("hidden", "suppress"),
        "reliability.md",
    ),
    Term(
        "omnibus",
        "The statistic of the gate: linear effects, products, smooth effects, subgroups, effects "
        "on the spread and effects that change along the outcome, combined in one number.",
        ("statistic",),
        "testing.md",
    ),
    Term(
        "remedy",
        "A model trained, or corrected, toward equalized odds, audited before and after on rows "
        "that nothing else saw.",
        (),
        "remedy.md",
    ),
    Term(
        "record",
        "The JSON of an audit. With the model and the table `fairaudit verify` repeats it to the "
        "last digit; its digest shows whether it was edited.",
        ("capsule", "audit.json"),
        "reliability.md",
    ),
    Term(
        "exit status",
        "0 no violation found (or equivalence shown), 1 violation, 2 bad input, 3 inconclusive.",
        ("exit code", "status"),
        "ci.md",
    ),
)


def _names() -> dict[str, Term]:
    return {_plain(name): term for term in TERMS for name in (term.name, *term.also)}


def _plain(name: str) -> str:
    """``fpr_gap``, ``FPR gap`` and ``p-value`` as people type them."""
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())


def find_term(word: str) -> Term | None:
    """By its name, or another one."""
    return _names().get(_plain(word))


def nearest_term(word: str) -> str | None:
    """The name that a misspelt word is nearest to."""
    near = get_close_matches(word.lower(), _names(), n=1)
    return near[0] if near else None
