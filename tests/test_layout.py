"""The shape of the source: which way imports point, where each library lives, what a module may be called."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import lycosa

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
UNTELLING = {"utils", "util", "core", "common", "helpers", "helper", "manager", "managers", "misc"}
HOMES = {  # each heavy library can be replaced by changing the files named here
    "ada_url": ["lycosa/vocabulary/urls.py"],
    "brotli": ["lycosa/web/encodings.py"],
    "certifi": ["lycosa/web/transfers.py"],
    "cryptography": ["lycosa_peers/identity.py"],
    "filelock": ["lycosa/vocabulary/locks.py"],
    "fastwarc": ["lycosa/collection/foreign.py"],
    "isal": ["lycosa/collection/warc.py"],
    "jinja2": ["lycosa/screens/app.py"],
    "mcp": ["lycosa/cli/mcp.py"],
    "numba": ["lycosa_lab/peers/kernel.py"],
    "OpenSSL": ["lycosa_peers/channel.py", "lycosa_peers/identity.py", "lycosa_peers/wire.py"],
    "protego": ["lycosa/web/robots.py"],
    "publicsuffixlist": ["lycosa/vocabulary/urls.py"],
    "pandas": ["lycosa/collection/arrow_tables.py"],
    "pyarrow": ["lycosa/collection/arrow_tables.py"],
    "py3langid": ["lycosa/reading/language.py"],
    "pycld2": ["lycosa/reading/language.py"],
    "pycurl": ["lycosa/web/transfers.py"],
    "resiliparse": ["lycosa/reading/"],
    "rich": ["lycosa/cli/", "lycosa_lab/cli/", "lycosa_peers/cli/"],
    "scipy": ["lycosa_lab/statistics.py"],
    "selectolax": ["lycosa/reading/"],
    "starlette": ["lycosa/screens/"],
    "sqlite3": [
        "lycosa/collection/",
        "lycosa/frontier/",
        "lycosa/logs/",
        "lycosa/maps/",
        "lycosa/vocabulary/databases.py",
    ],
    "Stemmer": ["lycosa/reading/terms.py"],
    "tantivy": ["lycosa/collection/search_index.py"],
    "threadpoolctl": ["lycosa/run/session.py"],
    "typer": ["lycosa/cli/", "lycosa_lab/cli/", "lycosa_peers/cli/"],
    "uvicorn": ["lycosa/screens/server.py", "lycosa/screens/connections.py"],
    "zstandard": ["lycosa/web/encodings.py"],
}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """The packages a module imports by name, at its top or within its functions."""
    names: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.fixture(scope="module")
def imports_of() -> dict[str, set[str]]:
    return {path.relative_to(SOURCE).as_posix(): imported(path) for path in MODULES}


def test_no_two_classes_share_a_name():
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path.relative_to(SOURCE).as_posix())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_imports_point_down():
    program = Path(sys.executable).with_name("lint-imports")  # apart, because it rearranges the loggers of its process
    lint = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout


def test_character_references_are_read_by_one_function():
    """`html.unescape` fails for a reference of thousands of digits."""
    users = [
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.Attribute) and node.attr == "unescape")
        or (isinstance(node, ast.ImportFrom) and "unescape" in {alias.name for alias in node.names})
    ]
    assert users == ["lycosa/vocabulary/text.py"]


@pytest.mark.parametrize("library", HOMES)
def test_a_heavy_library_has_one_home(imports_of, library):
    homes = tuple(HOMES[library])
    at = [name for name, imports in imports_of.items() if library in imports]
    assert at, f"nobody uses {library}"
    assert [name for name in at if not name.startswith(homes)] == []


def test_nothing_is_unpickled(imports_of):
    careless = {"pickle", "shelve", "marshal", "joblib", "dill", "cloudpickle"}
    assert {name: imports & careless for name, imports in imports_of.items() if imports & careless} == {}


def test_every_database_is_opened_in_one_place():
    """Where it is checked what lies beside it; those in memory have nothing beside them."""
    opening = {path for path in MODULES if "sqlite3.connect(" in path.read_text().replace('connect(":memory:")', "")}
    assert opening == {SOURCE / "lycosa" / "vocabulary" / "databases.py"}


IN_NEW_FOLDERS = {  # files of a folder that is renamed, or completed by its last file, when all are written
    "lycosa/collection/export_folders.py",
    "lycosa_lab/worlds/documents.py",
    "lycosa_lab/worlds/graphs.py",
}


def test_whole_files_are_written_atomically():
    """By `vocabulary/files.py`, so that no reader and no kill ever meets half a file."""
    plainly = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("write_text", "write_bytes") or (node.func.attr == "open" and _is_opened_to_replace(node))
    }
    scratch = {"lycosa/vocabulary/files.py", "lycosa_lab/peers/processes.py"}  # devices; a temporary folder
    packed = {"lycosa/collection/wacz.py", "lycosa/relevance/embedding.py"}  # members of ZIP files
    assert plainly == IN_NEW_FOLDERS | scratch | packed


def _is_opened_to_replace(call: ast.Call) -> bool:
    modes = [each.value for each in call.args if isinstance(each, ast.Constant)]
    return any(mode in ("w", "wb", "wt") for mode in modes)


def test_every_module_is_called_after_what_it_holds():
    names = {path.stem.strip("_") for path in [*MODULES, *(path.parent for path in MODULES)]}
    assert names & UNTELLING == set()


def test_every_module_of_a_run_has_tests_of_its_own():
    modules = {path.stem for path in (SOURCE / "lycosa" / "run").glob("[!_]*.py")}
    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "run").glob("test_*.py")}
    assert modules - tested == set()


def test_the_package_of_runs_lists_every_module_once():
    modules = {path.stem for path in (SOURCE / "lycosa" / "run").glob("[!_]*.py")}
    lines = (ast.get_docstring(ast.parse((SOURCE / "lycosa" / "run" / "__init__.py").read_text())) or "").splitlines()
    listed = [line.split()[0] for line in lines if "  " in line]
    assert sorted(listed) == sorted(modules)


def test_a_name_is_imported_as_it_is_called():
    """Two names for one thing have to be looked up. numpy has its customary ones, and `struct.Struct` stands beside
    that of msgspec."""
    customary = {("numpy", "np"), ("numpy.typing", "npt"), ("Struct", "BinaryFormat")}
    renamed = {
        f"{path.relative_to(SOURCE).as_posix()}: {alias.name} as {alias.asname}"
        for path in (SOURCE / "lycosa").rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if alias.asname and (alias.name, alias.asname) not in customary
    }
    assert renamed == set()


def test_what_explains_a_candidate_decides_nothing():
    """`because` is written, handed on and shown (`vocabulary/explanations.py`, `run/reasons.py`), never asked."""
    read = {
        f"{path.relative_to(SOURCE).as_posix()}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_because(node.value))
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and _is_because(node.func.value)
        )
        or (
            isinstance(node, ast.Compare)
            and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops)
            and any(map(_is_because, node.comparators))
        )
    }
    assert read == set()


def _is_because(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "because"


def test_importing_lycosa_loads_nothing_heavy():
    code = f"import lycosa, sys; lycosa.__version__; sys.exit(bool({ {*HOMES, 'numpy'}!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_crawl_loads_no_library_that_it_does_not_use():
    """Those of the search index, of imports and of refreshes take 9 MB."""
    code = "import lycosa.cli.crawl, sys; sys.exit(bool({'fastwarc', 'numpy.random', 'tantivy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_all_is_the_public_surface():
    assert set(lycosa.__all__) == {*lycosa._MODULES, "__version__"}
    public = {name for name in dir(lycosa) if not name.startswith("_")} - {"Any", "TYPE_CHECKING"}
    assert public - {path.stem for path in (SOURCE / "lycosa").iterdir()} == set(lycosa.__all__) - {"__version__"}
    for name in lycosa.__all__:
        assert getattr(lycosa, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'spin'"):
        lycosa.spin  # noqa: B018
