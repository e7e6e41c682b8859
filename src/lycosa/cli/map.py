"""`lycosa map`: what crawls have learnt of where the pages of a topic are, for the next ones to use.

An atlas is a file of maps, one for each topic. A map ties the pages of a topic that earlier crawls found, beside the
links of the Web: pages with many out-links are portals, which are all tied to one another; every other page is a spoke,
tied to one portal. The reach says whether spokes are tied to portals few links away (near), to others (far) or to any
(mixed). A dead page was gone when a crawl last asked for it. A taxonomy is a classifier of pages by topic.
"""

import csv
import sys
import time
from codecs import getwriter
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from lycosa.collection.export import csv_cell, iso
from lycosa.maps import REACHES, Atlas, Reach, TopicFacts, UrlMap, merge_atlases
from lycosa.pictures.heat_map import citations_heat_map
from lycosa.pictures.wheel import wheel
from lycosa.relevance.taxonomy import Taxonomy
from lycosa.run.atlas import AUTO, MIN_PROBABILITY, NONE, AtlasPlan, build_atlas
from lycosa.run.open import has_personal_pages
from lycosa.run.taxonomies import examples_in_folders, load_taxonomy, save_taxonomy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import output_file
from lycosa.vocabulary.text import counted, printable
from lycosa.vocabulary.urls import host_of, path_of

from .export import STANDARD_OUTPUT
from .job_progress import ProgressBar, elapsed_notice
from .options import Json, Quiet, notify, print_json, shell_command
from .typer_options import TYPER_OPTIONS

app = typer.Typer(name="map", help="Maps of topics, drawn from crawls, for later crawls to use.", **TYPER_OPTIONS)
AtlasArgument = Annotated[Path, typer.Argument(metavar="ATLAS", help="The file of the maps.")]
AllowPrivate = Annotated[
    bool, typer.Option("--allow-private", help="Keep pages at private addresses; only in maps of your own.")
]
PORTALS_SHOWN = 5
MAX_PORTAL_TIES = 1_000_000  # ties between portals that `export` writes at most


@app.command("build")
def build(
    names: Annotated[list[Path], typer.Argument(metavar="NAME", help="Folders of collections.")],
    out: Annotated[Path, typer.Option("--out", metavar="ATLAS", help="The file to write, or to extend.")],
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--for", metavar="TOPIC", help="What to map: topics of the taxonomy, or a name for the one topic."
        ),
    ] = None,
    above: Annotated[
        float,
        typer.Option(
            metavar="CHANCE", min=0, max=1, help="Map pages that are on the topic with a higher probability than this."
        ),
    ] = MIN_PROBABILITY,
    related: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC", help="Related topics to map, too; auto: chosen by links; or none."),
    ] = None,
    reach: Annotated[
        str | None,
        typer.Option(metavar="REACH", help=f"Which portals pages are tied to: {', '.join(REACHES)}. [mixed]"),
    ] = None,
    similar: Annotated[
        bool | None, typer.Option("--similar/--not-similar", help="Prefer ties between pages with similar texts.")
    ] = None,
    taxonomy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="Recognises topics: a folder with a folder of examples for each, or a file made by map topics.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=2**63 - 1, help="Seed of the random choices.")
    ] = None,
    allow_private: AllowPrivate = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Draw maps from collections. An existing atlas is extended."""
    plan = AtlasPlan(
        topics=tuple(dict.fromkeys(topics or ())),
        above=above,
        related=_related(related),
        reach=_reach(reach),
        similar=similar,
        seed=seed,
        allow_private=allow_private,
    )
    silent = quiet or as_json
    with elapsed_notice("learning the topics", quiet=silent):
        classifier = load_taxonomy(taxonomy) if taxonomy is not None else None
    with ExitStack() as stack:
        bar = stack.enter_context(ProgressBar("pages read", quiet=silent))

        def show_progress(done: int, total: int) -> None:
            bar(done, total)
            if done == total:  # one progress line at a time
                stack.pop_all().close()
                stack.enter_context(elapsed_notice("drawing maps", quiet=silent))

        built = build_atlas(names, out, plan, now=time.time(), taxonomy=classifier, progress=show_progress)
    if as_json:
        print_json(
            {"atlas": str(out), "topics": [_facts_as_json(facts) for facts in built.topics], "left_out": built.left_out}
        )
        return
    if quiet:
        return
    for facts in built.topics:
        typer.echo(_summary_line(facts))
    _report_left_out(built.left_out)
    if any(map(has_personal_pages, names)):
        notify("Some pages were requested with cookies or headers of yours: look at the atlas before you pass it on.")
    if built.topics:
        topic_flag = ("--map-topic", printable(built.topics[0].name)) if len(built.mapped_topics) > 1 else ()
        typer.echo(f"Look at it:  {shell_command('map', 'show', out)}")
        typer.echo(f"Use it:      {shell_command('crawl', 'NAME', '--map', out, *topic_flag)}")


def _related(given: list[str] | None) -> tuple[str, ...]:
    related = tuple(dict.fromkeys(given or (AUTO,)))
    if len(related) > 1 and {AUTO, NONE} & set(related):
        raise UsageError("--related auto and --related none cannot be combined with another --related")
    return related


def _reach(given: str | None) -> Reach | None:
    for reach in REACHES:
        if reach == given:
            return reach
    if given is None:
        return None
    raise UsageError(f"no reach {given!r}; there are {', '.join(REACHES)}")


@app.command("show")
def show(
    atlas: AtlasArgument,
    topic: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="Topic whose map to draw. Default: the largest.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a picture of the map.")] = None,
    matrix: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a picture of which topics cite which.")
    ] = None,
    allow_private: AllowPrivate = False,
    as_json: Json = False,
) -> None:
    """Show what an atlas contains. Lists its topics with their size, portals and sources."""
    with elapsed_notice("reading the atlas", quiet=as_json), Atlas(atlas, allow_private=allow_private) as opened:
        topics = [opened.facts(name) for name in opened.topics()]
        if topic is not None and topic not in opened.topics():
            opened.portals_of(topic)  # raises an error that names the topics
        maps = {facts.name: opened.crawl_map(facts.name) for facts in topics}
        citations = opened.citations()
        left_out = opened.left_out
    if svg is not None:
        _write(svg, _picture(topic, topics, maps))
    if matrix is not None:
        _write(matrix, citations_heat_map(citations.links, topics=citations.topics))
    if as_json:
        shown = [{**_facts_as_json(facts), "portal_urls": maps[facts.name].portals[:1000]} for facts in topics]
        citation_counts = {"topics": citations.topics, "links": citations.links}
        print_json({"atlas": str(atlas), "topics": shown, "citations": citation_counts, "left_out": left_out})
        return
    if not topics:
        typer.echo(f"{atlas}: no maps yet")
    for facts in topics:
        typer.echo(_summary_line(facts))
        for portal in maps[facts.name].portals[:PORTALS_SHOWN]:
            typer.echo(f"  {printable(portal, 110)}  {len(maps[facts.name].spokes[portal])} spokes")
    _report_left_out(left_out)


def _picture(topic: str | None, topics: list[TopicFacts], maps: Mapping[str, UrlMap]) -> str:
    largest = max(topics, key=lambda facts: facts.pages).name if topics else ""
    name = topic or largest
    if not name:
        return wheel([])
    crawl_map = maps[name]
    portals = [(host_of(url) + path_of(url), len(crawl_map.spokes[url])) for url in crawl_map.portals]
    return wheel(portals, title=f"{name}: {len(crawl_map)} pages")


@app.command("merge")
def merge(
    first: Annotated[Path, typer.Argument(metavar="A", help="An atlas.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another atlas.")],
    out: Annotated[Path, typer.Option("--out", metavar="ATLAS", help="The file to write; may be A or B.")],
    allow_private: AllowPrivate = False,
    as_json: Json = False,
) -> None:
    """Merge two atlases into one. Maps of topics that both have are drawn again."""
    if out.exists() and not any(atlas.exists() and out.samefile(atlas) for atlas in (first, second)):
        raise UsageError(f"{out} is there already; give another --out")
    with elapsed_notice("merging", quiet=as_json):
        left_out = merge_atlases(first, second, out, now=time.time(), allow_private=allow_private)
        with Atlas(out, allow_private=allow_private) as merged:
            topics = [merged.facts(topic) for topic in merged.topics()]
    if as_json:
        print_json({"atlas": str(out), "topics": [_facts_as_json(facts) for facts in topics], "left_out": left_out})
        return
    for facts in topics:
        typer.echo(_summary_line(facts))
    _report_left_out(left_out)


@app.command("export")
def export(
    atlas: AtlasArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The table to write, as CSV; -: standard output.")],
    topic: Annotated[str | None, typer.Option(metavar="TOPIC", help="Only the map of this topic.")] = None,
    clique: Annotated[
        bool, typer.Option("--clique/--no-clique", help="Every tie between portals, or one row for each portal.")
    ] = True,
    allow_private: AllowPrivate = False,
    as_json: Json = False,
) -> None:
    """Export maps as a list of edges. Each tie is one row: topic, page, page, kind."""
    if as_json and out == STANDARD_OUTPUT:
        raise UsageError("--json and --out - would both write to standard output; give --out FILE")
    rows = 0
    with Atlas(atlas, allow_private=allow_private) as opened, elapsed_notice("writing", quiet=as_json):
        topics = opened.topics() if topic is None else (topic,)
        portal_counts = [len(opened.portals_of(name)) for name in topics]
        ties = sum(count * (count - 1) // 2 for count in portal_counts)
        if clique and ties > MAX_PORTAL_TIES:
            raise UsageError(
                f"{sum(portal_counts)} portals have {ties} ties to one another, more than {MAX_PORTAL_TIES};"
                " give --no-clique for one row a portal instead"
            )
        with nullcontext(sys.stdout.buffer) if out == STANDARD_OUTPUT else output_file(out) as file:
            table = csv.writer(getwriter("utf-8")(file))
            table.writerow(("topic", "from", "to", "kind"))
            for name in topics:
                for edge in opened.edges(name, clique=clique):
                    table.writerow((csv_cell(name), *edge))
                    rows += 1
        left_out = opened.left_out
    if as_json:
        print_json({"table": str(out), "topics": topics, "rows": rows, "left_out": left_out})
        return
    if out != STANDARD_OUTPUT:
        typer.echo(f"{rows} {'edges' if clique else 'portals and spokes'} in {out}")
    _report_left_out(left_out)


@app.command("topics")
def learn_topics(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder with a folder of example pages for each topic.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The taxonomy to write.")],
    as_json: Json = False,
) -> None:
    """Train a taxonomy that recognises topics. Its accuracy is that of two thirds of the examples on the rest."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; it needs a folder of example pages for each topic")
    with elapsed_notice("learning the topics", quiet=as_json):
        examples = examples_in_folders(folder)
        taxonomy = Taxonomy.train(examples)
        accuracy = Taxonomy.recall_by_topic(examples)
    save_taxonomy(taxonomy, out)
    if as_json:
        results = {topic: {"examples": len(pages), "accuracy": accuracy[topic]} for topic, pages in examples.items()}
        print_json({"taxonomy": str(out), "topics": results})
        return
    for topic, pages in examples.items():
        examples_of_topic = counted(len(pages), "example")
        typer.echo(f"{printable(topic, 40):40}{examples_of_topic:>16}, {accuracy[topic]:6.1%} recognised correctly")


def _facts_as_json(facts: TopicFacts) -> dict[str, object]:
    return {
        "topic": facts.name,
        "pages": facts.pages,
        "portals": facts.portals,
        "dead": facts.dead,
        "drawn_at": iso(facts.drawn_at),
        "reach": facts.reach,
        "similar": facts.similar,
        "related": facts.related,
        "sources": facts.sources,
    }


def _summary_line(facts: TopicFacts) -> str:
    parts = [f"{facts.name}: {counted(facts.pages, 'page')}, {counted(facts.portals, 'portal')} among them"]
    if facts.dead:
        parts.append(f"{facts.dead} dead")
    parts.append(f"drawn {datetime.fromtimestamp(facts.drawn_at):%Y-%m-%d %H:%M} ({facts.reach})")
    parts.append("from " + " and ".join(f"{name} ({pages})" for name, pages in list(facts.sources.items())[:5]))
    if facts.related:
        parts.append("related to " + ", ".join(facts.related[:8]))
    return printable("; ".join(parts), 400)


def _report_left_out(left_out: Mapping[str, int]) -> None:
    if left_out:
        notify("left out of the maps: " + ", ".join(f"{count} ({reason})" for reason, count in left_out.items()))


def _write(path: Path, picture: str) -> None:
    with output_file(path) as file:
        file.write(picture.encode())
    notify(f"wrote {path}")
