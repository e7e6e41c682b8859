"""Metrics of the collections in the text format of Prometheus."""

from collections.abc import Callable, Iterable

from .overviews import CollectionCard

_GAUGES: dict[str, tuple[str, Callable[[CollectionCard], float]]] = {
    "lycosa_pages": ("Pages stored.", lambda card: card.pages),
    "lycosa_relevant_pages": ("Pages that the model or the rule calls relevant.", lambda card: card.relevant),
    "lycosa_harvest_rate": ("Share of relevant pages, measured or estimated.", lambda card: card.harvest_rate),
    "lycosa_waiting_urls": ("URLs that wait to be fetched.", lambda card: card.waiting),
    "lycosa_hosts": ("Hosts with pages.", lambda card: card.hosts),
    "lycosa_received_bytes": ("Bytes of the pages.", lambda card: card.bytes),
    "lycosa_changed_pages": ("Pages found changed at least once.", lambda card: card.changed),
    "lycosa_vanished_pages": ("Pages that are there no longer.", lambda card: card.vanished),
    "lycosa_crawl_running": ("1 while a crawl runs, paused or not.", lambda card: card.crawl.phase != "none"),
    "lycosa_unreadable": ("1 for a collection that cannot be read.", lambda card: bool(card.problem)),
}


def metrics_text(cards: Iterable[CollectionCard]) -> str:
    """One metric family per figure, one sample per collection."""
    cards = list(cards)
    lines = []
    for name, (help_text, value_of) in _GAUGES.items():
        lines += [f"# HELP {name} {help_text}", f"# TYPE {name} gauge"]
        lines += [f'{name}{{collection="{_escaped(card.name)}"}} {float(value_of(card)):g}' for card in cards]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
