"""The text of a collection for other programs: exported, listed and read through the command line."""

import csv
import gzip
import html
import io
import json
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

import lycosa as lycosa_api
from crawling import Said, apart, collection, done, lycosa, pages
from fixtures.fixed_world import FixedWorld
from lycosa.vocabulary.errors import LycosaError
from lycosa_lab.worlds.server import WorldServer

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "exports.md"
BEES, GERMAN, HOSTILE = "http://bees.example/", "http://bienen.example/", "http://bees.example/hostile"
PROSE = (
    "Honey bees keep their hive warm in winter. They gather nectar in summer, and the queen lays eggs in the comb. "
    "A beekeeper looks at the hive every week in spring, so that the swarm does not leave."
)
DEUTSCH = (
    "Die Honigbiene sammelt im Sommer Nektar und hält den Bienenstock im Winter warm. Der Imker sieht im Frühling jede "
    "Woche nach dem Volk, damit der Schwarm nicht auszieht, und die Königin legt ihre Eier in die Waben."
)
TITLE = "=1+1 --- &lt;b&gt; [x](javascript:alert(1)) ../../etc/passwd: # !!python/object"


def page(title: str, text: str, *links: str, language: str = "en") -> bytes:
    anchors = "".join(f'<a href="{link}">on to {link}</a> ' for link in links)
    return (
        f'<!doctype html><html lang="{language}"><meta charset="utf-8"><title>{title}</title>'
        f"<body><nav>Menu</nav><main><h1>{title}</h1><p>{text}</p><p>{anchors}</p></main></body></html>"
    ).encode()


WORLD = FixedWorld(
    {
        BEES: page("Bees", PROSE, HOSTILE, GERMAN, f"{BEES}2"),
        f"{BEES}2": page("More bees", f"Second page. {PROSE} {PROSE}", BEES),
        HOSTILE: page(TITLE, f"Hostile. &lt;script&gt;alert(1)&lt;/script&gt; {PROSE}", BEES),
        GERMAN: page("Bienen", DEUTSCH, BEES, language="de"),
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = collection(tmp_path_factory.mktemp("text out") / "bees", [BEES], topic='keywords = ["hive"]')
    with WorldServer(WORLD) as served:
        done("crawl", folder, "--resolve", served.resolve)
    assert set(pages(folder)) == {BEES, f"{BEES}2", HOSTILE, GERMAN}
    return folder


def exported(folder: Path, *words: object) -> list[dict]:
    return [json.loads(line) for line in done("export", folder, *words).out.splitlines()]


def test_text_markdown_html_and_links_come_with_the_pages(folder):
    row = next(row for row in exported(folder, "--text", "--markdown", "--html", "--links") if row["url"] == BEES)
    assert PROSE in row["text"]
    assert "Menu" not in row["text"]
    assert row["markdown"].startswith(f"# Bees\n\n{PROSE}\n\n[on to {HOSTILE}]({HOSTILE})")
    assert row["html"].startswith("<!doctype html>")
    assert row["links"][1] == {"target": GERMAN, "anchor": f"on to {GERMAN}", "rel": ""}
    assert "text" not in exported(folder)[0]


def test_filters(folder):
    relevant = [row["url"] for row in exported(folder, "--min-relevance", "0.5")]
    assert set(relevant) == {BEES, f"{BEES}2", HOSTILE}
    assert done("export", folder, "--format", "urls", "--language", "de").out.split() == [GERMAN]
    assert done("export", folder, "--format", "urls", "--host", "bienen.example").out.split() == [GERMAN]
    both = done("export", folder, "--format", "urls", "--host", "bienen.example", "--host", "bees.example").out.split()
    assert both == pages(folder)
    assert len(exported(folder, "--top", "2")) == 2
    assert len(exported(folder, "--since", "1h")) == 4
    nothing = done("export", folder, "--since", "2100-01-01")
    assert (nothing.out, "No page matches" in nothing.err) == ("", True)
    assert done("export", folder, "--format", "urls").out.split() == pages(folder)


def test_quiet_says_nothing(folder, tmp_path):
    for format in ("csv", "markdown", "wacz"):
        said = done("export", folder, "--format", format, "--out", tmp_path / format, "--quiet")
        assert (said.out, said.err) == ("", "")


def test_passages(folder):
    rows = exported(folder, "--chunks", "20", "--host", "bees.example")
    assert {tuple(row)[-3:] for row in rows} == {("chunk", "chunks", "text")}
    assert all(len(row["text"].split()) <= 20 for row in rows)
    of_one = [row["text"] for row in rows if row["url"] == f"{BEES}2"]
    assert len(of_one) > 2
    assert f"Second page. {PROSE}" in " ".join(of_one)


def test_a_spreadsheet_takes_no_title_for_a_formula(folder):
    rows = list(csv.DictReader(io.StringIO(done("export", folder, "--format", "csv", "--markdown", "--links").out)))
    assert len(rows) == 4
    hostile = next(row for row in rows if row["url"] == HOSTILE)
    assert hostile["title"].startswith("'=1+1")
    assert "\n\n" in hostile["markdown"]
    assert "<script" not in hostile["markdown"].replace("\\<script", "")
    assert json.loads(hostile["links"])[0]["target"] == BEES


def test_parquet_is_a_table_with_times(folder, tmp_path):
    import pandas

    done("export", folder, "--format", "parquet", "--text", "--links", "--out", tmp_path / "bees.parquet")
    table = pandas.read_parquet(tmp_path / "bees.parquet")
    assert str(table["at"].dtype) == "datetime64[ms, UTC]"
    assert table["at"].max() - table["at"].min() < pandas.Timedelta(hours=1)
    assert table.set_index("url")["text"][BEES].count("hive") == 2
    assert {link["target"] for link in table.set_index("url")["links"][GERMAN]} == {BEES}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--chunks", "5", "--html"], ["--chunks", "--html"]),
        (["--format", "urls", "--text"], ["urls", "jsonl"]),
        (["--host", "http://bees.example/"], ["--host", "www.example.org"]),
        (["--language", "deutsch"], ["--language", "such as en"]),
        (["--label", "nice"], ["--label", "good, bad"]),
        (["--since", "tomorrow"], ["--since", "2026-11-16"]),
    ],
)
def test_what_cannot_be_meant_is_one_clear_line(folder, words, said):
    assert lycosa("export", folder, *words).is_one_clear_line(2, *said)


def test_an_output_that_cannot_be_written_is_one_clear_line(folder, tmp_path):
    missing = lycosa("export", folder, "--out", tmp_path / "none" / "x.jsonl")
    assert missing.is_one_clear_line(2, "No such file", "make its folder first, or give another --out")
    full = Path("/dev/full")
    if full.exists():
        for format in ("jsonl", "csv", "parquet"):
            said = apart("export", folder, "--format", format, "--out", full)
            assert said.is_one_clear_line(1, "/dev/full", "No space left", "make room, or give another --out")
        with full.open("wb") as device:
            for words in (["--format", "jsonl", "--text"], ["--format", "csv"]):
                program = [sys.executable, "-c", "from lycosa.cli import main; main()", "export", folder, *words]
                ran = subprocess.run(program, stdout=device, stderr=subprocess.PIPE, text=True, check=False)
                said = Said(ran.returncode, "", ran.stderr)
                assert said.is_one_clear_line(1, "standard output", "No space left", "--out")


def test_a_failed_export_leaves_what_was_there(folder, tmp_path):
    out = tmp_path / "x.jsonl"
    out.write_text("old")
    assert lycosa("export", folder, "--format", "parquet", "--out", out / "inside").code == 2
    assert lycosa("export", folder, "--label", "nice", "--out", out).code == 2
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


# ------------------------------------------------------------ folders


def test_a_folder_of_markdown_files_with_front_matter(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = done("export", folder, "--format", "markdown", "--min-relevance", "0.5").out
    assert said == "3 pages in bees-markdown\n"
    files = sorted(Path("bees-markdown").iterdir())
    assert [path.name for path in files if path.name.startswith("000001")] == ["000001-bees.md"]
    hostile = next(path for path in files if "etc-passwd" in path.name)
    head, body = hostile.read_text(encoding="utf-8").removeprefix("---\n").split("\n---\n", 1)
    facts = yaml.safe_load(head)
    assert facts["title"] == html.unescape(TITLE)
    assert (facts["url"], facts["host"], facts["relevance"], facts["found_on"]) == (HOSTILE, "bees.example", 1.0, BEES)
    assert isinstance(facts["at"], datetime)
    assert body.startswith("\n# ")
    kinds = {token.type for block in MarkdownIt().parse(body) for token in (block, *(block.children or ()))}
    assert not {"html_block", "html_inline", "image", "hr"} & kinds
    assert "<script" not in MarkdownIt().render(body)


@pytest.mark.parametrize(
    ("format", "default"), [("wacz", "bees.wacz"), ("parquet", "bees.parquet"), ("markdown", "bees-markdown")]
)
def test_an_export_from_within_the_collection_is_named_after_its_folder(folder, tmp_path, monkeypatch, format, default):
    inside = shutil.copytree(folder, tmp_path / "bees")
    monkeypatch.chdir(inside)
    assert done("export", ".", "--format", format).out.endswith(f" in {default}\n")
    assert (inside / default).exists()


def test_a_report_from_within_the_collection_has_the_name_of_its_folder(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(folder, tmp_path / "bees"))
    assert "<title>bees</title>" in done("report", ".", "--out", "-").out


def test_a_recipe_made_within_its_folder_has_the_name_of_the_folder(tmp_path, monkeypatch):
    inside = tmp_path / "bees"
    inside.mkdir()
    monkeypatch.chdir(inside)
    done("new", ".", "--topic", "honey bees in their hives")
    assert "the collection bees." in (inside / "lycosa.toml").read_text(encoding="utf-8")


def test_a_dataset_as_hugging_face_lays_it_out(folder, tmp_path):
    import pyarrow.dataset

    out = tmp_path / "dataset"
    out.mkdir()  # an empty folder will do
    done("export", folder, "--format", "huggingface", "--out", out)
    card = (out / "README.md").read_text(encoding="utf-8")
    facts = yaml.safe_load(card.split("---\n")[1])
    assert facts["language"] == ["de", "en"]
    assert facts["size_categories"] == ["n<1K"]
    [config] = facts["configs"]
    [split] = config["data_files"]
    assert (config["config_name"], split["split"]) == ("default", "train")
    files = sorted(out.glob(split["path"]))
    assert [path.name for path in files] == ["train-00000.parquet"]
    table = pyarrow.dataset.dataset(files).to_table()
    assert table.column("url").to_pylist() == pages(folder)
    assert PROSE in table.column("text").to_pylist()[0]
    assert "4 web pages" in card
    assert "| `text` | string | main text |" in card


def test_a_folder_that_is_in_use_is_left_alone(folder, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.md").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for format in ("markdown", "huggingface"):
        for name in ("notes", "file"):
            said = lycosa("export", folder, "--format", format, "--out", tmp_path / name)
            assert said.is_one_clear_line(2, name, "there already", "another --out")
        missing = lycosa("export", folder, "--format", format, "--out", tmp_path / "none" / "x")
        assert missing.is_one_clear_line(2, "No such file", "make its folder first")
        assert lycosa("export", folder, "--format", format, "--out", "-").is_one_clear_line(2, "folder", "--out")
    assert lycosa("export", folder, "--format", "markdown", "--text").is_one_clear_line(2, "Markdown", "jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "notes"]
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["mine.md"]


# ------------------------------------------------------------ pages and cat


def test_pages_lists_the_best_first(folder):
    listed = done("pages", folder, "--json").json
    assert [row["url"] for row in listed][-1] == GERMAN
    assert listed == sorted(listed, key=lambda row: (-row["relevance"], row["number"]))
    lines = done("pages", folder, "--top", "2").out.splitlines()
    assert lines[0].split()[0] == "1.00"
    assert lines[-1] == "2 of 4 pages; all with --top 4"
    assert [row["url"] for row in done("pages", folder, "--host", "bienen.example", "--json").json] == [GERMAN]
    assert done("pages", folder, "--language", "fr").out == "No page matches.\n"
    assert "--language" in lycosa("pages", folder, "--language", "français").err


def test_cat_reads_a_page(folder):
    assert PROSE in done("cat", folder, BEES).out
    assert done("cat", folder, BEES, "--markdown").out.startswith(f"# Bees\n\n{PROSE}")
    assert done("cat", folder, BEES, "--html").out.rstrip("\n").encode() == WORLD.page(BEES)
    assert done("cat", folder, BEES, "--markdown", "--json").json["markdown"].startswith("# Bees")
    assert lycosa("cat", folder, BEES, "--markdown", "--html").is_one_clear_line(2, "--markdown and --html")
    assert lycosa("cat", folder, f"{BEES}none").is_one_clear_line(2, "has no page", "lycosa explain")
    assert lycosa("cat", folder, "bees").is_one_clear_line(2, "not a URL")


# ------------------------------------------------------------ from Python


def test_the_lines_for_pandas_in_the_guide_work_as_written(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder.parent)
    [block] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(block, GUIDE.name, "exec"), {})
    said = capsys.readouterr().out
    assert "bees.example" in said
    assert "words on 3 pages since 20" in said


def test_tables_from_python(folder):
    with lycosa_api.open(folder) as bees:
        table = bees.to_arrow(text=True, min_relevance=0.5, host="bees.example")
        assert table.num_rows == 3
        assert table.column_names[-1] == "text"
        frame = bees.to_pandas(chunks=20, language=["de"])
        assert set(frame["url"]) == {GERMAN}
        assert list(frame["chunk"]) == list(range(1, len(frame) + 1))
        assert str(frame["at"].dtype) == "datetime64[ms, UTC]"
        assert bees.to_arrow(top=2).column("url").to_pylist() == [
            row["url"] for row in done("pages", folder, "--top", "2", "--json").json
        ]
        assert bees.to_arrow(since="2100-01-01").num_rows == 0
        assert bees.markdown(BEES).startswith("# Bees")
        with pytest.raises(TypeError, match="no keyword 'hosts'"):
            bees.to_arrow(hosts=["a.example"])
        with pytest.raises(LycosaError, match="--label"):
            bees.to_pandas(label="nice")


@pytest.mark.parametrize(("library", "extra"), [("pandas", "pandas"), ("pyarrow", "parquet")])
def test_a_missing_library_is_named(folder, monkeypatch, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with lycosa_api.open(folder) as bees, pytest.raises(LycosaError, match=rf"pip install 'lycosa\[{extra}\]'"):
        bees.to_pandas()


def test_a_crawl_with_cookies_is_remembered_and_its_secret_is_not(folder, tmp_path):
    requests = '[requests]\ncookies = "session=SECRET"\nheaders = { X-Api-Key = "SECRET", Accept-Language = "de" }'
    mine = collection(tmp_path / "mine", [BEES], topic='keywords = ["hive"]', rest=requests)
    with WorldServer(WORLD) as served:
        done("crawl", mine, "--resolve", served.resolve)
    stored = b"".join(gzip.decompress(path.read_bytes()) for path in (mine / "archive").glob("*.gz"))
    stored += b"".join(path.read_bytes() for path in mine.rglob("*") if path.is_file() and path.name != "lycosa.toml")
    assert b"Cookie: (left out)" in stored and b"Accept-Language: de" in stored
    assert b"SECRET" not in stored
    for format in ("jsonl", "wacz"):
        out = ("--format", format, "--out", tmp_path / "out")
        assert "cookies or headers of yours" in done("export", mine, *out).err
        assert "cookies or headers of yours" not in done("export", folder, *out).err
    done("rebuild", mine)
    assert "cookies or headers of yours" in done("export", mine, "--format", "wacz", "--out", tmp_path / "out").err
    for each in (mine, folder):
        said = done("map", "build", each, "--out", tmp_path / f"{each.name}.atlas", "--above", 0, "--allow-private").err
        assert ("cookies or headers of yours" in said) == (each == mine)
