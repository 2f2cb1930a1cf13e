"""What reports say of the laws of copies: in every format, and only what is true of the law."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.testing import core

QUICK = {"permutations": fa.Permutations(n=99), "power": False}
LAW = "local (blocks of 4 neighbors in the outcome)"


def audit(law="auto", *, classes=False, effect=0.0):
    rng = np.random.default_rng(3)
    age = rng.normal(size=200)
    y = age + rng.normal(size=200)
    y = (y > 0).astype(int) if classes else y
    score = y + effect * age + rng.normal(size=200)
    return fa.audit(predictions=score, outcome=y, sensitive={"age": age}, law=law, **QUICK)


def read(page: str) -> str:
    """The words of a page, on one line."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


@pytest.fixture(scope="module")
def fitted():
    return audit()


@pytest.fixture(scope="module")
def local():
    return audit("local")


def test_every_format_shows_the_second_witness(fitted):
    quality = replace(fitted.quality, witness_by=LAW, witness_p=0.31)
    shown = replace(fitted, quality=quality)
    assert f"second witness {LAW}, p = 0.310" in read(shown.render("txt"))
    assert f"- second witness: {LAW}, p = 0.310" in shown.render("md")
    assert f"Second witness {LAW}: p = 0.31 The same question" in read(shown.render("html"))


def test_an_audit_has_a_witness_where_a_density_was_fitted(fitted, local):
    quality = fitted.quality
    assert quality.law == "fitted" and quality.witness_by.startswith("local")
    assert f"{quality.witness_by}, p = {quality.witness_p:.3f}" in read(fitted.render("txt"))
    for form in ("txt", "md", "html"):
        assert "second witness" not in local.render(form).lower()
    assert fa.AuditResult.from_dict(fitted.to_dict()).quality == quality


def test_local_copies_are_described_without_a_density(local):
    page = read(local.render("html"))
    name = local.table.outcome.name
    assert f"exchanged between rows that are neighbors in {name} and nothing systematic" in page
    assert "no density was fitted; copies are as good as neighbors in the outcome are alike" in page
    assert "given the attributes behind these copies" not in page
    assert "trustworthy yes; attributes move among neighbors in the outcome only" in read(
        local.render("txt")
    )


def test_exact_and_fitted_copies_are_described_as_they_were(fitted):
    exact = read(audit(classes=True).render("html"))
    assert f"exchanged between rows with the same {fitted.table.outcome.name} and" in exact
    assert exact.count("not needed: nothing was fitted") == 2
    page = read(fitted.render("html"))
    assert "given the attributes behind these copies allows" in page
    assert "Copy check passed, p =" in page and "not needed" not in page


def test_why_no_density_was_used_is_one_sentence():
    rng = np.random.default_rng(1)
    y = rng.normal(size=120)
    people = np.repeat(np.arange(60), 2)
    result = fa.audit(
        predictions=y + rng.normal(size=120),
        outcome=y,
        sensitive={"age": rng.normal(size=60)[people]},
        ids=people,
        **QUICK,
    )
    assert result.quality.because == (
        "attributes move among neighbors in the outcome only, and no density is needed; a fitted "
        "density was not used, since a density of single rows ignores that people have several"
    )


@pytest.mark.parametrize(
    ("effect", "witness", "noted"),
    [(1.5, 0.21, True), (1.5, 0.2, False), (0.0, 0.01, True), (0.0, 0.0101, False)],
)
def test_a_strong_disagreement_of_two_laws_is_one_note(monkeypatch, effect, witness, noted):
    """One p-value is at most alpha / 5, the other larger than 0.2."""

    def ask(trust, *_):
        return replace(trust, witness_by=LAW, witness_p=witness)

    monkeypatch.setattr(core, "_ask_witness", ask)
    result = audit(effect=effect)
    p = result.p_value
    assert p == 0.01 if effect else p > 0.2
    notes = [note for note in result.notes if note.startswith("Two laws of copies disagree")]
    assert len(notes) == noted
    for note in notes:
        assert f"p = {p:.3g} by {result.quality.copies_by}, which decides" in note
        assert f"p = {witness:.3g} by {LAW}" in note
        assert note in result.to_dict()["notes"]
