"""Settings and databases of a stranger's repository run no queries of theirs."""

from pathlib import Path

import pytest

from fairaudit.auditing.engines.duckdb_engine import DuckDBEngine
from fairaudit_cli import main as cli

duckdb = pytest.importorskip("duckdb")

PEOPLE = """(range % 2)::INT AS y, ((range * 7) % 3 > 0)::INT AS p, {sex} AS sex FROM range(400)"""
SEX = "CASE WHEN range % 5 < 2 THEN 'f' ELSE 'm' END"
ROLES = (
    "predictions = ['p']\nsensitive = ['sex']\noutcome = 'y'\npermutations = 19\npower = false\n"
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (tmp_path / "secret").write_text("the secret")
    read = f"(SELECT content FROM read_text('{tmp_path}/secret'))"
    with duckdb.connect("d.duckdb") as connection:
        connection.execute(f"CREATE TABLE people AS SELECT {PEOPLE.format(sex=SEX)}")
        connection.execute(f"CREATE VIEW told AS SELECT {PEOPLE.format(sex=f'{read} || {SEX}')}")
    return folder


def run(capsys, table, *words):
    with open("fairaudit.toml", "w") as file:
        file.write(f"data = 'd.duckdb'\n{ROLES}" + (f'table = "{table}"\n' if table else ""))
    status = cli.main(["test", *words])
    shown, errors = capsys.readouterr()
    assert "the secret" not in shown + errors
    return status, errors


@pytest.mark.parametrize(
    "table",
    [
        "people; COPY (SELECT 1) TO '{outside}/written'; SELECT * FROM people",
        "SELECT * REPLACE ((SELECT content FROM read_text('{outside}/secret')) AS sex) FROM people",
        "read_text('{outside}/secret')",
        "'{outside}/secret'",
        "people -- ",
        "people\\nWHERE true",
    ],
)
def test_a_table_in_a_file_is_a_name(project, capsys, table):
    """It was run as a query: it wrote files, and read others into the report."""
    outside = project.parent
    status, errors = run(capsys, table.format(outside=outside))
    assert status == 2 and errors.count("\n") == 1
    assert "'table' must be the name of a table here" in errors
    assert sorted(path.name for path in outside.iterdir()) == ["project", "secret"]


def test_a_table_in_a_file_is_audited(project, capsys):
    assert run(capsys, "main.people")[0] in (0, 1, 3)


@pytest.mark.parametrize("words", [["--table", "told"], ["--table", "SELECT * FROM told"], []])
def test_a_database_reads_no_other_file(project, capsys, words):
    """Its views are queries of whoever made it."""
    status, errors = run(capsys, None if words else "told", *words)
    assert status == 2 and "disabled by configuration" in errors and errors.count("\n") == 1


@pytest.mark.parametrize("name", ["x[1].csv", "x*.csv", "https://127.0.0.1:9/x.csv", "a=1/x.csv"])
def test_a_file_is_read_that_was_named_and_no_other(name, tmp_path, monkeypatch):
    """DuckDB took names for patterns, addresses and columns; the digest was of the file itself."""
    monkeypatch.chdir(tmp_path)
    Path("x1.csv").write_text("a,y\n7,7\n")
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("a,y\n5,6\n")
    with DuckDBEngine().open([name]) as source:
        assert source.query(f"SELECT * FROM {source.relation}").to_numpy().tolist() == [[5, 6]]


@pytest.mark.parametrize("name", ["sqlite:x.duckdb", "md:x.duckdb"])
def test_a_database_is_a_file_whatever_it_is_called(project, capsys, name):
    """DuckDB fetched an extension for it from the network, or would have logged in elsewhere."""
    Path("d.duckdb").rename(name)
    Path("fairaudit.toml").write_text(f"data = {name!r}\ntable = 'people'\n{ROLES}")
    assert cli.main(["test"]) in (0, 1, 3)
