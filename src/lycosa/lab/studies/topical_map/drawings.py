"""The paper's figures 4.6 to 4.10, 4.12 and 6.1, and the controls."""

from collections.abc import Mapping, Sequence

from lycosa.lab.findings import Picture
from lycosa.pictures import Series, histogram, line_chart
from lycosa.pictures.heat_map import heat_map

from .figures import Figures
from .kinds import (
    AGAIN,
    BASELINE,
    BASELINE_LATER,
    BOTH,
    CONTENT,
    FIRST,
    KEEN,
    MAPPED,
    MAPPED_LATER,
    RELATED,
    URLS,
    URLS_LATER,
)


def pictures(figures: Figures) -> dict[str, Picture]:
    topics = f"Means over {len(figures.topics)} topics."
    optimal = Series("optimal", [(0.0, 0.0), (float(figures.downloads), float(figures.downloads))])
    found = {
        "chances": _chances(figures),
        "same-topic": _curves(
            figures,
            "Good pages, crawling the same topic again",
            f"As figure 4.7 of the paper. {topics}",
            {kind: (kind, "good") for kind in (BASELINE, MAPPED, FIRST, AGAIN)},
            more=[optimal],
        ),
        "overlap": _curves(
            figures,
            "Pages that the first crawl had seen",
            f"As figure 4.8 of the paper. {topics}",
            {kind: (kind, "seen") for kind in (BASELINE, MAPPED, AGAIN, URLS)},
        ),
        "new-pages": _curves(
            figures,
            "Pages that the first crawl had not seen, and good ones among them",
            f"As figure 4.9 of the paper. {topics}",
            {
                f"{kind}, {said}": (kind, name)
                for kind in (BASELINE, MAPPED)
                for said, name in (("new", "new"), ("new and good", "new_good"))
            },
        ),
        "related-topic": _curves(
            figures,
            "Good pages, with a small map from a crawl of a related topic",
            f"As figure 4.10 of the paper. {topics}",
            {kind: (kind, "good") for kind in (BASELINE, RELATED, MAPPED, BOTH)},
            more=[optimal],
        ),
        "controls": _curves(
            figures,
            "Good pages, with the map and by remembering URLs or pages alone",
            f"Content cached counts copies that cost no download. {topics}",
            {kind: (kind, "good") for kind in (BASELINE, MAPPED, KEEN, URLS, CONTENT)},
        ),
        "citations": _citations(figures),
    }
    if figures.has(MAPPED_LATER):
        found["half-a-year-on"] = _curves(
            figures,
            "Good pages half a year after the first crawl, and on its day",
            f"As figure 4.12 of the paper; what is gone counts as a download. {topics}",
            {kind: (kind, "good") for kind in (BASELINE_LATER, MAPPED_LATER, URLS_LATER, BASELINE, MAPPED)},
        )
    return found


def _curves(
    figures: Figures,
    title: str,
    caption: str,
    shown: Mapping[str, tuple[str, str]],
    *,
    more: Sequence[Series] = (),
) -> Picture:
    series = [
        Series(said, [(0.0, 0.0), *figures.mean_curve(kind, name)])
        for said, (kind, name) in shown.items()
        if figures.has(kind)
    ]
    svg = line_chart([*series, *more], title=title, x_title="pages downloaded", y_title="pages")
    return Picture(title, caption, svg)


def _chances(figures: Figures) -> Picture:
    title = "Pages of the first crawls by their chance to be on the topic"
    counts = [sum(column) for column in zip(*(outcome["chances"] for outcome in figures.outcomes), strict=True)]
    svg = histogram(counts, split=0.5, split_label="good", title=title, x_title="P(topic | page)", y_title="pages")
    return Picture(title, f"As figure 4.6 of the paper: nearly all are near 0 or 1. {len(figures.topics)} crawls.", svg)


def _citations(figures: Figures) -> Picture:
    topics, counts = figures.citations()
    title = "Links among topics in the first crawls"
    svg = heat_map(
        counts,
        title=title,
        x_title="topic linked to",
        y_title="topic of the page",
        names=topics,
        width=640.0,
        height=560.0,
    )
    return Picture(title, "As figure 6.1 of the paper, which shows the matrix of Chakrabarti et al. (2002).", svg)
