"""The real graphs, where they are at hand."""

from pathlib import Path

import pytest

from lycosa_lab.worlds.graphs import GraphWorld

GRAPHS = Path(__file__).parents[3] / "shared/data/graphs"


@pytest.mark.parametrize(
    ("name", "pages", "links"),
    [
        ("cnr-2000.edges.gz", 325_557, 3_216_152),
        ("california.gz", 9_664, 16_150),
        ("polblogs.gml.gz", 1_490, 19_090),
        ("../peers/p2p-Gnutella04.txt.gz", 10_876, 39_994),
        ("../peers/p2p-Gnutella08.txt.gz", 6_301, 20_777),
    ],
)
def test_graphs_have_as_many_nodes_and_links_as_is_known(name: str, pages: int, links: int) -> None:
    path = GRAPHS / name
    if not path.exists():
        pytest.skip(f"{path.name} is not at hand")
    world = GraphWorld(path=str(path))
    facts = {key: value for key, value in world.facts.items() if key != "fingerprint"}
    assert facts == {"name": "graph", "path": path.name, "pages": pages, "links": links}
    assert world.graph.offsets.nbytes + world.graph.targets.nbytes <= 4 * (pages + 1 + links)
    assert world.reachable_count(world.best_start()) > 500 or name == "california.gz"
    assert world.number(world.url(pages - 1)) == pages - 1
