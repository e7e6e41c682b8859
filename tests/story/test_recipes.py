"""The recipes of docs/recipes, each crawled against a small web on loopback that has what the recipe is about."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from crawling import done, lycosa, pages, rows
from fixtures.fixed_world import FixedWorld
from lycosa.recipe import load_recipe, read_seeds
from lycosa.run.topic import examples_of
from lycosa.vocabulary.urls import host_of, site_of
from lycosa_lab.worlds.server import WorldServer
from worlds import html

pytestmark = [pytest.mark.slow, pytest.mark.lab]

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
ABOUT = {
    "topic-in-words": "volcano eruption lava magma crater ash pyroclastic flow volcanologist summit vent",
    "topic-by-examples": "replication standby server primary failover synchronous asynchronous replica slot subscriber",
    "one-language": "Die Imkerei hält Bienenvölker in Beuten und die Königin legt Eier in Waben mit Honig und Pollen",
    "many-hosts": "community garden allotment compost raised beds sowing shared plots gardeners seedlings harvest",
    "own-site": "any words at all about our products and people",
}
OTHER = "football league match goal season player stadium coach transfer referee ticket supporters"


def copied(name: str, tmp_path: Path) -> Path:
    """A copy whose URLs are those of a server without TLS, and that does not wait."""
    folder = tmp_path / name
    shutil.copytree(RECIPES / name, folder)
    for path in folder.iterdir():
        text = path.read_text(encoding="utf-8").replace("https://", "http://")
        path.write_text(re.sub(r"^delay = .*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    return folder


def starts(folder: Path) -> list[str]:
    recipe = load_recipe(folder)
    return read_seeds(folder / recipe.seeds) if recipe.seeds else list(examples_of(recipe.topic, folder).urls)


def words(text: str, number: int) -> str:
    """Some of the words, in an order of their own, with a few that no other page has."""
    given = text.split()
    turned = given[number % len(given) :] + given[: number % len(given)]
    return f"{' '.join(turned)}. {' '.join(f'w{number}x{place}' for place in range(8))}."


def web_around(seeds: list[str], text: str, *, leaves: int = 8) -> dict:
    """Each seed links to pages of its host on the topic, to as many that are not, and to other hosts of both kinds."""
    made = {}
    for place, seed in enumerate(seeds):
        base = f"http://{host_of(seed)}/"
        good = [f"{base}good/{number}" for number in range(leaves)]
        bad = [f"{base}bad/{number}" for number in range(leaves)]
        away = [f"http://away{place}.example/", f"http://sport{place}.example/"]
        links = [(url, words(OTHER, number)[:20]) for number, url in enumerate([*bad, away[1]])]
        links += [(url, words(text, number)[:20]) for number, url in enumerate([*good, away[0]])]
        made[seed] = html(f"Start {place}", words(text, 97 + place), links)
        for number, url in enumerate(good):
            made[url] = html(f"Good {number}", words(text, number + 10 * place), [seed])
        for number, url in enumerate(bad):
            made[url] = html(f"Bad {number}", words(OTHER, number + 10 * place), [seed])
        made[away[0]] = html(f"Away {place}", words(text, 50 + place), [seed])
        made[away[1]] = html(f"Sport {place}", words(OTHER, 60 + place))
    return made


def crawled(folder: Path, world: FixedWorld, *said: object) -> list[str]:
    with WorldServer(world) as server:
        done("crawl", folder, "--delay", 0, "--concurrency", 1, "--resolve", server.resolve, *said)
    return pages(folder)


def test_every_recipe_is_crawled_here_and_in_the_list():
    folders = {path.name for path in RECIPES.iterdir() if path.is_dir()}
    assert folders == ABOUT.keys()
    listed = re.findall(r"\]\(([\w-]+)/lycosa\.toml\)", (RECIPES / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(folders)


@pytest.mark.parametrize("name", ["topic-in-words", "topic-by-examples"])
def test_pages_on_the_topic_come_before_the_others(tmp_path, name):
    folder = copied(name, tmp_path)
    seeds = starts(folder)
    found = crawled(folder, FixedWorld(web_around(seeds, ABOUT[name])), "--pages", 20)
    beyond = [url for url in found if url not in seeds]
    assert len(found) == 20
    assert sum("/good/" in url or "away" in url for url in beyond) > 0.7 * len(beyond)


def test_of_a_site_of_ones_own_every_page_is_kept_and_no_other(tmp_path):
    folder = copied("own-site", tmp_path)
    assert lycosa("crawl", folder).is_one_clear_line(2, f"lycosa trust {folder}")
    done("trust", folder)
    home = starts(folder)[0]
    world = web_around([home], ABOUT["own-site"])
    noindex = html("Hidden", words(ABOUT["own-site"], 3), [home + "logout", home + "a?print=1"])
    world[home + "good/0"] = noindex.replace(b"</head>", b'<meta name="robots" content="noindex"></head>')
    world[home + "unlinked"] = html("Unlinked", words(OTHER, 77))
    world[home + "logout"] = world[home + "a?print=1"] = html("No", "no")
    listed = f"<urlset><url><loc>{home}unlinked</loc></url></urlset>"
    world[home + "sitemap.xml"] = f'<?xml version="1.0"?>{listed}'.encode()
    robots = {host_of(home): f"Sitemap: {home}sitemap.xml\n"}
    found = crawled(folder, FixedWorld(world, robots=robots))
    on_site = {url for url in world if site_of(url) == site_of(home)}
    assert set(found) == on_site - {home + "logout", home + "a?print=1", home + "sitemap.xml"}
    assert len(found) == 18


def test_of_one_language_no_other_is_kept_and_seeds_are_followed_whatever_theirs(tmp_path):
    folder = copied("one-language", tmp_path)
    seeds = starts(folder)
    english = "These words of the English language are about the people who keep bees in the hives of their gardens."
    world = {}
    for url, page in web_around(seeds, ABOUT["one-language"]).items():
        world[url] = page.replace(b'lang="en"', b'lang="de"')
    world[seeds[0]] = html("Start", f"{english} {words(english, 1)}", [f"http://{host_of(seeds[0])}/good/1"])
    world[f"http://{host_of(seeds[1])}/bad/0"] = html("Other", f"{english} {words(english, 2)}")
    found = crawled(folder, FixedWorld(world), "--pages", 12)
    languages = {language for (language,) in rows(folder, "SELECT language FROM pages")}
    assert languages == {"de"}
    assert f"http://{host_of(seeds[0])}/good/1" in found


def test_of_many_hosts_none_has_more_than_its_share(tmp_path):
    folder = copied("many-hosts", tmp_path)
    seeds = starts(folder)
    world = web_around(seeds, ABOUT["many-hosts"], leaves=15)
    found = crawled(folder, FixedWorld(world))
    counts = Counter(map(host_of, found))
    assert max(counts.values()) == 20 and len(counts) == 9
