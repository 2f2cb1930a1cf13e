"""What is shown: masked in every format, and names of the table are never markup or orders."""

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.integrations.opentelemetry_gauges import record_monitor

FORMS = ("txt", "md", "html", "json", "xml", "sarif", "svg", "github")
FRAMES = ["findings", "measures", "groups", "gaps", "claims", "curves", "scores", "null"]
ROWS = 600
LEVELS = (
    '#read("/etc/passwd") #panic("typst")',
    "$x$ *b* _i_ `raw` <label> @ref \\ #7",
    "</script><script>alert(1)</script>",
    "'\" onload=alert(1) x='",
    '=HYPERLINK("http://127.0.0.1","y")',
    "]]><![CDATA[ --> <!ENTITY x SYSTEM 'file:///etc/passwd'> &x;",
    "[a](javascript:alert(1)) ![i](http://127.0.0.1/x.png)",
    "\x1b]0;title\x07\x1b[2J::add-mask::x",
    "\u202egnp.exe\x00\x85\u2028##[error]",
)
PLAIN = tuple(f"level {sorted(LEVELS).index(level)}" for level in LEVELS)  # in the same order


def audited(levels, name, outcomes, **options):
    rng = np.random.default_rng(5)
    group = rng.integers(0, len(levels), ROWS)
    y = rng.integers(0, 2, ROWS)
    return fa.audit(
        predictions=(y + 1.5 * (group == 0) + rng.normal(size=ROWS) > 0.7).astype(int),
        outcome=np.where(y, outcomes[1], outcomes[0]),
        positive=outcomes[1],
        sensitive={name: np.array(levels, dtype=object)[group]},
        permutations=fa.Permutations(n=39),
        **options,
    )


@pytest.fixture(scope="module")
def hostile():
    return audited(LEVELS, "<b>#panic()</b>", ("no<i>", "</title>yes"))


@pytest.fixture(scope="module")
def plain():
    return audited(PLAIN, "group", ("no", "aye"))


class Skeleton(HTMLParser):
    """Elements and attributes of a page, without its text."""

    def __init__(self, page):
        super().__init__()
        self.found = Counter()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found[tag] += 1
        for name, value in attributes:
            self.found[name] += 1
            if name in ("href", "src") and not value.startswith("#"):
                self.found[value] += 1

    def handle_comment(self, text):
        self.found["comment"] += 1

    unknown_decl = handle_decl = handle_pi = handle_comment


def test_a_page_has_the_elements_that_it_has_with_plain_names(hostile, plain):
    assert Skeleton(hostile.render("html")).found == Skeleton(plain.render("html")).found


@pytest.mark.parametrize("form", ["xml", "svg"])
def test_xml_has_the_elements_that_it_has_with_plain_names(hostile, plain, form):
    trees = [ElementTree.fromstring(result.render(form)) for result in (hostile, plain)]
    tags = [[(node.tag, sorted(node.attrib)) for node in tree.iter()] for tree in trees]
    assert tags[0] == tags[1]


@pytest.mark.parametrize("form", FORMS)
def test_no_format_has_characters_that_hide_or_order(hostile, form):
    """Terminals, logs of CI and editors obey them; in JSON they are escapes."""
    text = hostile.render(form)
    assert not {letter for letter in text if ord(letter) < 32} - {"\n", "\t"}
    assert not set("\x7f\x85\u202e\u2028") & set(text)
    own = re.compile(r"::(error|warning|notice) title=[^:]*::")  # of the format github
    assert not [x for x in text.splitlines() if x.lstrip().startswith("::") and not own.match(x)]


@pytest.fixture(scope="module")
def pdf(hostile, tmp_path_factory):
    pytest.importorskip("typst")
    if shutil.which("pdftotext") is None:
        pytest.skip("there is no pdftotext")
    return tmp_path_factory.mktemp("pdf"), hostile


def text_of(folder, result):
    (folder / "r.pdf").write_bytes(result.render("pdf"))
    done = subprocess.run(["pdftotext", "-layout", folder / "r.pdf", "-"], capture_output=True)
    return done.stdout.decode()


def test_a_pdf_shows_markup_of_its_typesetter_as_text(pdf):
    text = text_of(*pdf)
    assert '#read("/etc/passwd")' in text and "$x$ *b* _i_ `raw`" in text
    assert "root:" not in text
    template = files("fairaudit_reports.pdf").joinpath("report.typ").read_text("utf-8")
    assert not re.search(r"\b(eval|read|plugin)\(|#(include|import)\b", template)


@pytest.mark.parametrize("what", ["groups", "gaps", "scores"])
def test_figures_show_names_as_they_are(what):
    """A formula that is none ended in a traceback; a level such as _hidden was in no legend."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    levels = ("_hidden", "$0-$50", "$\\unknown{")
    shown = audited(levels, "$g_{", ("no$\\x$", "yes")).plot(what)
    axes = np.atleast_1d(shown).ravel()
    axes[0].figure.canvas.draw()
    legend = axes[0].get_legend()
    texts = axes[0].get_yticklabels() if legend is None else legend.get_texts()
    told = " ".join(text.get_text().replace("\\$", "$") for text in texts)
    assert all(level in told for level in levels)
    pyplot.close("all")


@pytest.fixture(scope="module")
def masked():
    few = (*PLAIN[:2], "few", "fewer")
    rng = np.random.default_rng(2)
    group = np.repeat([0, 1, 2, 3], [300, 288, 7, 5])
    y = rng.integers(0, 2, ROWS)
    result = fa.audit(
        predictions=1 / (1 + np.exp(-(y + 1.5 * (group == 0) + rng.normal(size=ROWS) - 1))),
        outcome=y,
        sensitive={"g": np.array(few, dtype=object)[group], "age": rng.integers(20, 60, ROWS)},
        permutations=fa.Permutations(n=39),
    )
    return result.suppressed(10)


@pytest.fixture(scope="module")
def record(masked):
    """What `test_recovery.py` shows that no masked count can be computed from."""
    assert masked.masked
    return fa.AuditResult.from_dict(json.loads(json.dumps(masked.to_dict())))


@pytest.mark.parametrize("form", FORMS)
def test_no_format_knows_more_than_the_masked_record(masked, record, form):
    assert masked.render(form) == record.render(form)


def test_no_pdf_knows_more_than_the_masked_record(masked, record):
    pytest.importorskip("typst")
    assert masked.render("pdf") == record.render("pdf")


@pytest.mark.parametrize("what", FRAMES)
def test_no_frame_knows_more_than_the_masked_record(masked, record, what):
    assert masked.to_frame(what).to_csv() == record.to_frame(what).to_csv()


@pytest.mark.parametrize("what", ["null", "groups", "scores"])
def test_no_figure_knows_more_than_the_masked_record(masked, record, what):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    drawn = []
    for result in (masked, record):
        axes = np.atleast_1d(result.plot(what))
        drawn.append(
            [
                (axis.get_title(), *(line.get_xydata().tolist() for line in axis.get_lines()))
                for axis in axes.ravel()
            ]
        )
        pyplot.close("all")
    assert drawn[0] == drawn[1] and any(len(found) > 1 for found in drawn[0])


class Meter:
    """As that of OpenTelemetry; keeps what it is given."""

    def __init__(self):
        self.values = {}

    def create_gauge(self, name, **_):
        return type("Gauge", (), {"set": lambda _, value, attributes: self.keep(name, value)})()

    def keep(self, name, value):
        self.values[name.replace(".", "_", 1)] = value


def test_gauges_tell_no_more_than_files(tmp_path):
    """They had all digits of evidence and gaps, of all people."""
    rng = np.random.default_rng(0)
    monitor = fa.Monitor(tmp_path / "s.state", sensitive="sex", outcome="y", predictions="score")
    sex, y = rng.integers(0, 2, (2, 300))
    frame = pd.DataFrame({"score": y + sex + rng.normal(size=300), "sex": sex, "y": y})
    result = monitor.add(frame, label="first")
    result.save(tmp_path / "m.prom")
    lines = (tmp_path / "m.prom").read_text().splitlines()
    shown = dict(line.split() for line in lines if line[0] != "#")
    meter = Meter()
    record_monitor(result, meter=meter)
    assert meter.values == {name: float(value) for name, value in shown.items()}
    assert meter.values["fairaudit_evidence_log10"] != result.batches[-1].log10_evidence
