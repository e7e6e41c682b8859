"""Plug-ins: packages of others, found by their entry points, run where they are named and nowhere else."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import lycosa
from crawling import PATIENCE, Said, apart, collection, done, end, environment_with, site
from crawling import lycosa as command
from fixtures.fixed_world import FixedWorld
from lycosa.cli import app
from lycosa.collection.export import exporter_for
from lycosa.recipe import make_strategy, recipe_of
from lycosa.refresh import policy_for
from lycosa.relevance.registry import find_trainer
from lycosa.run.trust import trust_collection
from lycosa.strategies.registry import STRATEGIES, find_strategy
from lycosa.vocabulary.errors import LycosaError, PluginError, UsageError
from lycosa.vocabulary.plugins import plugins
from lycosa_lab.studies import study_named
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer
from processes import Process

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "lycosa-plugin"
GUIDE = ROOT / "docs" / "guide"

MODULE = '''
import sys
from pathlib import Path
from lycosa import BaseStrategy

Path(__file__).with_name("was-imported").touch()

class Nowhere(BaseStrategy):
    name = "nowhere"
    exhaustive = False

    def __init__(self, *, patience: int = 3):
        self.patience = patience

    def propose(self, event):
        return ()

class FromLogs(Nowhere):
    needs = frozenset({"log"})

class Weighted(Nowhere):
    def __init__(self, *, alpha: float = 0.25, form: str = "round"):
        self.alpha, self.form = alpha, form

class Tired(Nowhere):
    def propose(self, event):
        raise RuntimeError("enough")

class Impatient(Nowhere):
    def __init__(self, *, patience: int = 3):
        raise ValueError("no patience")

class Required(Nowhere):
    def __init__(self, *, patience: int):
        self.patience = patience

class Odd(Nowhere):
    needs = frozenset({"luck"})

class Last:
    name = "last"

    def __init__(self, *, seed: int = 0):
        pass

class Failing:
    def __init__(self):
        raise RuntimeError("there is no data")

class NeedsFolder:
    def __init__(self, folder):
        pass

def upper(rows, out):
    for row in rows:
        out.write(row["url"].upper().encode())

def greet(name: str = "you"):
    """Say hello."""
    print(f"hello {name}")
'''
ENTRY_POINTS = """
[lycosa.strategies]
nowhere = stranger:Nowhere
from-logs = stranger:FromLogs
weighted = stranger:Weighted
odd = stranger:Odd
impatient = stranger:Impatient
tired = stranger:Tired
required = stranger:Required
no-class = stranger:upper
missing = stranger:Missing
no-module = stranger_that_is_not_there:Anything

[lycosa.relevance]
upper = stranger:upper

[lycosa.refresh]
last = stranger:Last
failing = stranger:Failing

[lycosa.exporters]
upper = stranger:upper

[lycosa.studies]
upper = stranger:upper
last = stranger:Last
failing = stranger:Failing
needs-folder = stranger:NeedsFolder

[lycosa.commands]
greet = stranger:greet
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package that was installed."""
    folder = tmp_path / "site"
    metadata = folder / "stranger-2.5.dist-info"
    metadata.mkdir(parents=True)
    (folder / "stranger.py").write_text(MODULE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 2.5\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(folder))
    plugins.cache_clear()
    yield folder
    plugins.cache_clear()
    sys.modules.pop("stranger", None)


def was_imported(folder: Path) -> bool:
    return (folder / "was-imported").exists()


def test_its_pieces_are_found_by_their_names(stranger: Path) -> None:
    entry = find_strategy("nowhere")
    assert entry(patience=5).patience == 5
    assert [option.type_name for option in entry.options.values()] == ["a whole number"]
    assert policy_for("last", seed=1).name == "last"
    assert exporter_for("upper").__name__ == "upper"


def test_options_named_as_those_of_utility_keep_their_own_defaults(stranger: Path) -> None:
    made = make_strategy("weighted", topic_words={}, options={"form": "square"})
    assert (made.alpha, made.form) == (0.25, "square")


def test_a_name_is_known_without_importing_its_package(stranger: Path) -> None:
    recipe_of({"strategy": "nowhere", "options": {"patience": 4}}, "lycosa.toml")
    with pytest.raises(
        UsageError,
        match=r"no strategy 'somewhere'; there are adaptive, .* utility, from-logs, impatient, missing, no-class",
    ):
        find_strategy("somewhere")
    with pytest.raises(UsageError, match=r"topic\.model: no 'guess'; there are linear, upper"):
        recipe_of({"topic": {"model": "guess"}}, "lycosa.toml")
    assert "greet" in command("--help").out
    assert not was_imported(stranger)


@pytest.mark.parametrize(
    ("find", "name", "words"),
    [
        (find_strategy, "missing", "'missing' of stranger 2.5 cannot be loaded .*Missing"),
        (find_strategy, "no-module", "'no-module' of stranger 2.5 cannot be loaded .*stranger_that_is_not_there"),
        (find_strategy, "no-class", "'no-class' of stranger 2.5 is not a strategy: it has no 'name'"),
        (find_strategy, "odd", "'odd' of stranger 2.5 needs 'luck'; there are log, map"),
        (find_strategy, "required", "'required' of stranger 2.5 has no default for its argument 'patience'"),
        (find_trainer, "upper", "'upper' of stranger 2.5 is not a relevance model that learns: it has no 'train'"),
        (study_named, "upper", "'upper' of stranger 2.5 is not a study: it has no 'name'"),
        (study_named, "last", "'last' of stranger 2.5 is not a study: it has no 'summary'"),
        (partial(make_strategy, topic_words={}), "impatient", "'impatient' of stranger 2.5 .*ValueError: no patience"),
        (policy_for, "failing", "'failing' of stranger 2.5 cannot be loaded .*RuntimeError: there is no data"),
        (study_named, "failing", "'failing' of stranger 2.5 cannot be loaded .*RuntimeError: there is no data"),
        (study_named, "needs-folder", "'needs-folder' of stranger 2.5 cannot be loaded .*TypeError.*folder"),
    ],
)
def test_one_that_is_broken_is_one_line_that_names_its_package(stranger: Path, find, name: str, words: str) -> None:
    with pytest.raises(PluginError, match=words) as broken:
        find(name)
    assert "\n" not in str(broken.value)


def test_a_broken_one_ends_a_crawl_with_one_line(stranger: Path, tmp_path: Path) -> None:
    folder = lycosa.new(tmp_path / "c", topic="bees", seeds=["http://a.example/"])
    assert command("crawl", folder, "--strategy", "missing").is_one_clear_line(1, "stranger 2.5", "cannot be loaded")
    assert command("crawl", folder, "--strategy", "impatient").is_one_clear_line(1, "stranger 2.5", "no patience")
    assert command("crawl", folder, "--strategy", "nowhere", "--option", "haste=1").is_one_clear_line(
        2, "the strategy nowhere has no option 'haste'; there are patience"
    )


@pytest.mark.slow
def test_a_collection_does_not_run_a_plug_in_that_the_recipe_does_not_name(stranger: Path, tmp_path: Path) -> None:
    world = PracticeWeb(seed=3, hosts=3, pages=30)
    folder = lycosa.new(tmp_path / "c", topic=world.topics[0], seeds=[world.front_page])

    def crawl(**how: object) -> tuple[int, list[str]]:
        lines: list[str] = []
        with WorldServer(world) as served:
            visits = list(lycosa.crawl(folder, delay=0, pages=12, resolve=[served.resolve], notify=lines.append, **how))
        return len(visits), lines

    assert crawl(strategy="nowhere")[0] == 1
    sys.modules.pop("stranger")
    (stranger / "was-imported").unlink()
    with lycosa.open(folder) as collection:
        assert collection.summary().runs[-1].strategy == "nowhere"
    assert command("export", folder).code == 0
    visits, lines = crawl()
    assert visits > 5
    assert any(line.startswith("the last run used the strategy nowhere of a plug-in") for line in lines)
    assert not was_imported(stranger)


def test_an_exception_of_a_plug_in_is_why_its_run_stopped(stranger: Path, tmp_path: Path) -> None:
    folder = lycosa.new(tmp_path / "c", topic="bees", seeds=["http://a.example/"])
    with WorldServer(FixedWorld(site("a.example", leaves=2))) as served, pytest.raises(RuntimeError, match="enough"):
        list(lycosa.crawl(folder, delay=0, pages=3, resolve=[served.resolve], strategy="tired"))
    with lycosa.open(folder) as collection:
        assert collection.summary().runs[-1].stop_reason == "an error (RuntimeError)"


MCP = """
import asyncio, sys
from pathlib import Path
from lycosa.cli.mcp import Tools
from lycosa.vocabulary.errors import UsageError
try:
    asyncio.run(Tools(Path(sys.argv[1]), allowed=5, options={"resolve": [sys.argv[2]]}).crawl_more())
except UsageError as error:
    sys.exit(f"lycosa: {error}")
"""
REFUSED = {  # what a collection of somebody else does not get
    "crawl": ("crawl", "C", "--pages", 9, "--resolve", "R"),
    "crawl by another strategy": ("crawl", "C", "--pages", 9, "--strategy", "best-first", "--resolve", "R"),
    "try": ("try", "http://a.example/1", "C", "--resolve", "R"),
    "refresh": ("refresh", "C", "--budget", 2, "--resolve", "R"),
    "label": ("label", "C", "http://a.example/1", "--good"),
    "import": ("import", "C", "W"),
}
ANSWERED = {  # what it gets all the same
    "show": ("show", "C"),
    "explain": ("explain", "C", "http://a.example/1"),
    "export": ("export", "C"),
    "rebuild": ("rebuild", "C"),
    "forget": ("forget", "C", "http://a.example/1"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A collection with pages and waiting links, and where its web is served."""
    folder = collection(tmp_path_factory.mktemp("made") / "c", ["http://a.example/"])
    with WorldServer(FixedWorld(site("a.example", leaves=6))) as served:
        done("crawl", folder, "--pages", 3, "--resolve", served.resolve)
        yield folder, served.resolve


@pytest.fixture(
    params=['strategy = "nowhere"\n[topic]\ntext = "bee"\n', '[topic]\ntext = "bee"\nmodel = "upper"\n'],
    ids=["strategy", "model"],
)
def foreign(request: pytest.FixtureRequest, crawled: tuple[Path, str], tmp_path: Path) -> Path:
    """The collection as somebody else would send it, with a recipe that names a plug-in."""
    folder = Path(shutil.copytree(crawled[0], tmp_path / "foreign"))
    (folder / "lycosa.toml").write_text(request.param)
    return folder


def run_apart(words: tuple[object, ...], foreign: Path, resolve: str, stranger: Path) -> Said:
    """Runs a command in a process that has not imported anything of the package."""
    given = {"C": foreign, "R": resolve, "W": next(foreign.rglob("*.warc.gz"))}
    env = environment_with(stranger)
    if words == ("mcp",):
        return end(Process(MCP, foreign, resolve, env=env))
    return apart(*(given.get(str(word), word) for word in words), env=env)


@pytest.mark.parametrize("words", [*REFUSED.values(), ("mcp",)], ids=[*REFUSED, "mcp"])
def test_a_collection_of_somebody_else_does_not_import_a_plug_in_before_it_is_trusted(
    stranger: Path, foreign: Path, crawled: tuple[Path, str], words: tuple[object, ...]
) -> None:
    refused = run_apart(words, foreign, crawled[1], stranger)
    assert refused.is_one_clear_line(1 if words == ("mcp",) else 2, f"lycosa trust {foreign}")
    assert not was_imported(stranger)


@pytest.mark.parametrize("words", ANSWERED.values(), ids=ANSWERED)
def test_a_collection_of_somebody_else_is_read_and_kept_up_without_a_plug_in(
    stranger: Path, foreign: Path, crawled: tuple[Path, str], words: tuple[object, ...]
) -> None:
    said = run_apart(words, foreign, crawled[1], stranger)
    assert said.code == 0, said.err
    assert not was_imported(stranger)


def test_a_trusted_collection_of_somebody_else_runs_its_plug_in(
    stranger: Path, foreign: Path, crawled: tuple[Path, str]
) -> None:
    trust_collection(foreign)
    said = run_apart(REFUSED["try"], foreign, crawled[1], stranger)
    assert "lycosa trust" not in said.err
    assert was_imported(stranger)


def test_a_command_of_a_package_is_one_of_ours(stranger: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command("greet", "--name", "bee").out == "hello bee\n"
    assert "Say hello." in command("greet", "--help").out
    assert command("greeting").code == 2


@pytest.mark.slow
def test_the_lab_compares_it_with_others(stranger: Path, tmp_path: Path) -> None:
    where = ("--pages", 30, "--topics", 2, "--workers", 1, "--out", tmp_path / "lab", "--json")
    said = command("lab", "compare", "--strategies", "best-first,nowhere", *where)
    pages = {row["strategy"]: row["mean"] for row in said.json["tables"]["means"] if row["measure"] == "pages"}
    assert pages["nowhere"] < pages["best-first"] == 30
    assert command("lab", "compare", "--strategies", "best-first,nowhere", *where).code == 0, "it goes on"
    (stranger / "stranger.py").write_text(f"{MODULE}\n# changed")
    refused = command("lab", "compare", "--strategies", "best-first,nowhere", *where)
    assert refused.is_one_clear_line(2, "another version of Lycosa or of a plug-in")
    refused = command("lab", "compare", "--strategies", "best-first,somewhere")
    assert refused.is_one_clear_line(2, "there is no strategy 'somewhere'", "breadth-first", "nowhere")
    refused = command("lab", "compare", "--strategies", "best-first,from-logs")
    assert refused.is_one_clear_line(2, "from-logs goes by an access log")


def test_the_help_of_crawl_tells_of_plug_ins() -> None:
    assert "or that of an installed plug-in." in " ".join(command("crawl", "--help").out.split())


def test_our_own_names_come_first(stranger: Path) -> None:
    assert find_strategy("adaptive") is STRATEGIES["adaptive"]
    assert app.info.name == "lycosa"


# ------------------------------------------------------------ the example


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, built and installed into a folder of its own, without network."""
    source = tmp_path_factory.mktemp("source") / "lycosa-plugin"
    shutil.copytree(EXAMPLE, source)
    target = tmp_path_factory.mktemp("site")
    how = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet")
    subprocess.run([sys.executable, "-m", "pip", "install", *how, "--target", target, source], check=True)
    return target


def environment(installed: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PYTHONPATH": str(installed), "PATH": path}


def blocks_of(language: str) -> list[str]:
    """The blocks of the guide in a language."""
    guide = (GUIDE / "plugins.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--editable",)], ids=["copied", "editable"])
@pytest.mark.parametrize("layout", ["my_plugin.py", "my_plugin/__init__.py", "src/my_plugin/__init__.py", "example"])
def test_the_package_can_be_installed(tmp_path: Path, layout: str, how: tuple[str, ...]) -> None:
    source, prefix, name = tmp_path / "source", tmp_path / "prefix", "shortest-url"
    if layout == "example":
        shutil.copytree(EXAMPLE, source)
        name = "host-harvest"
    else:
        (source / layout).parent.mkdir(parents=True)
        (source / layout).write_text(blocks_of("python")[0], encoding="utf-8")
        folder = "src" if layout.startswith("src/") else "."
        project = blocks_of("toml")[0].replace('dev-mode-dirs = ["."]', f'dev-mode-dirs = ["{folder}"]')
        (source / "pyproject.toml").write_text(project, encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-index")
    into = ("--ignore-installed", "--prefix", prefix)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", *into, *how, source], check=True)
    [site] = prefix.rglob("site-packages")
    code = f"""
import site
site.addsitedir({str(site)!r})
from lycosa.strategies import find_strategy
from lycosa.testing import check_strategy
check_strategy(find_strategy({name!r}).make)
"""
    ended = end(Process(code))
    assert ended.code == 0, ended.err


@pytest.mark.slow
def test_the_example_keeps_the_laws_by_its_own_tests(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, EXAMPLE / "tests"],
        env=environment(installed),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_guide_works_as_written(installed: Path, tmp_path: Path) -> None:
    guide = (GUIDE / "plugins.md").read_text(encoding="utf-8")
    commands = [line.removeprefix("$ ") for block in blocks_of("console") for line in block.splitlines()]
    assert commands[0].startswith("pip install ")  # as `installed` has done
    assert ROOT / commands[0].split()[-1] == EXAMPLE
    assert "\n```\nlycosa world practice\n```\n" in guide
    _, in_recipe = (tomllib.loads(block) for block in blocks_of("toml"))
    server = subprocess.Popen(
        [str(Path(sys.executable).with_name("lycosa")), "world", "practice", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(line: str) -> str:
        done = subprocess.run(
            line.replace("127.0.0.1:8090", f"127.0.0.1:{port}"),
            shell=True,
            cwd=tmp_path,
            env=environment(installed),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip().rpartition(":")[2]
        server.stdout.readline()  # the files are written
        for line in commands[1:]:
            run(line)
        lines = (tmp_path / "hives.md").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 60 and all(line.startswith("- [") for line in lines)
        recipe = tmp_path / "hives" / "lycosa.toml"
        text = recipe.read_text().replace('strategy = "hunter"', 'strategy = "host-harvest"')
        text = text.replace("[topic]\n", f'[topic]\nmodel = "{in_recipe["topic"]["model"]}"\n')
        recipe.write_text(text.replace("[options]\n", f"[options]\nprior = {in_recipe['options']['prior']}\n"))
        run("lycosa crawl hives --pages 120 --delay 0 --quiet --resolve '*=127.0.0.1:8090'")
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    with lycosa.open(tmp_path / "hives") as hives:  # here the package is not installed, and nothing of it is needed
        assert len(hives) == 120
        assert any("host_harvest" in page.because for page in hives)
        assert hives.search("honey")
    assert "naive-bayes" in (tmp_path / "hives" / "model.json").read_text()
    with pytest.raises(LycosaError, match="no 'naive-bayes'; there are linear"):  # a missing strategy is no obstacle
        lycosa.crawl(tmp_path / "hives")
