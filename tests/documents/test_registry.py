from pathlib import Path

import pytest

from documents.small_webs import GARDEN, tar_of
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.worlds.archives import TAR_SUFFIXES
from lycosa_lab.worlds.registry import make_world, open_world

PACKED_AS = {".tgz": "gz", ".txz": "xz", ".tbz2": "bz2"}


@pytest.mark.parametrize("ending", TAR_SUFFIXES)
def test_a_file_with_the_ending_of_a_tar_is_a_web_of_documents(tmp_path: Path, ending: str) -> None:
    suffix = PACKED_AS.get(ending, ending.rpartition(".")[2])
    packed = tar_of(tmp_path / ("web.tar" if suffix == "tar" else f"web.tar.{suffix}"), GARDEN)
    assert open_world(str(packed.rename(tmp_path / f"named{ending}"))).name == "documents"


@pytest.mark.parametrize("name", ["link.targets.txt", "web.tar.edges", "target", "star.tsv"])
def test_any_other_file_is_a_graph(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("0 1\n1 0\n")
    assert open_world(str(tmp_path / name)).name == "graph"


def test_no_name_is_no_world_even_in_the_folder_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "world.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="there is no world ''"):
        open_world("")


@pytest.mark.parametrize("text", ["synthetic:pages=1000,pages=2000", "synthetic:site-words=0,site_words=1"])
def test_an_option_is_given_once(text: str) -> None:
    with pytest.raises(UsageError, match="twice; say it once"):
        open_world(text)


def test_a_seed_below_0_is_refused() -> None:
    with pytest.raises(UsageError, match="seed of a synthetic world is 0 or more, not -1"):
        open_world("synthetic:seed=-1")
    with pytest.raises(UsageError, match="seed of a synthetic world is 0 or more, not -7"):
        make_world("synthetic", {"seed": "-7"})


def test_an_option_may_be_a_list_with_commas() -> None:
    with pytest.raises(UsageError, match="does not know what 'b' documents"):
        open_world("debian-docs:packages=git-doc,b,folder=.")
    with pytest.raises(UsageError, match="'pages' is not key=value"):
        open_world("synthetic:pages,seed=5")


def test_a_text_longer_than_the_name_of_a_file_may_name_a_world() -> None:
    packages = ",".join(f"package{number}-doc" for number in range(30))
    with pytest.raises(UsageError, match="does not know what"):
        open_world(f"debian-docs:packages={packages},folder=.")
