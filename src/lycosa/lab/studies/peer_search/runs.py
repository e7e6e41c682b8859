"""One stream of questions, asked in every way there is."""

from collections.abc import Iterator, Sequence

import numpy as np

from lycosa.peers.messages import Contact
from lycosa.peers.search import Answer, Stage
from lycosa.vocabulary.records import Plain

from .figures import BUDDYNET, EVERYBODY, FLOOD, LISTED, STAGES, WALK, WINDOWS
from .ground import Ground, Opened, Question, Remembering, best_of
from .simulated import Told, ask_all, network_of, options_of, overlay_of, recall

WALKERS = (2, 4, 8, 16, 32)
FEW = 10  # hits that are enough, unless the user says otherwise


def searched(ground: Ground, seed: int) -> Plain:
    """Every algorithm on the same collections, overlay and questions; measured over the second half of these."""
    size = ground.size
    with Opened(ground, size["peers"]) as opened:
        questions = opened.questions(size["queries"], seed)
        overlay = overlay_of(size["peers"], seed)
        ways = [(BUDDYNET, 8, limit) for limit in (size["limit"], FEW)]
        ways += [(WALK, walkers, size["limit"]) for walkers in WALKERS]
        ways += [(LISTED, 8, size["limit"]), (FLOOD, 1, size["limit"])]
        peers, windows = [], []
        for algorithm, walkers, limit in ways:
            network = network_of(opened.contents, overlay, options_of(algorithm, walkers=walkers), seed=seed)
            told = ask_all(network, questions, limit=limit)
            way = {"algorithm": algorithm, "walkers": walkers, "limit": limit}
            peers += list(_by_peer(way, questions, told))
            windows += _in_windows(way, told)
        everybody = [_of_everybody(opened.contents, question, size["limit"]) for question in questions]
        way = {"algorithm": EVERYBODY, "walkers": 0, "limit": size["limit"]}
        peers += list(_by_peer(way, questions, everybody))
    return {"peers": peers, "windows": windows, "collections": _about(ground)}


def _by_peer(way: Plain, questions: Sequence[Question], told: Sequence[Told]) -> Iterator[Plain]:
    """Means over what each peer asked in the second half."""
    half = len(told) // 2
    for peer in sorted({question.asker for question in questions[half:]}):
        own = [told[place] for place in range(half, len(told)) if questions[place].asker == peer]
        yield {**way, "peer": peer, **_measured(own)}


def _in_windows(way: Plain, told: Sequence[Told]) -> list[Plain]:
    """Means over stretches of questions."""
    return [
        {**way, "until": int(places[-1]) + 1, **_measured([told[place] for place in places])}
        for places in np.array_split(np.arange(len(told)), min(WINDOWS, len(told)))
    ]


def _measured(told: Sequence[Told]) -> dict[str, Plain]:
    heard = {stage: sum(each.stages.get(stage, 0) for each in told) for stage in STAGES}
    hits = sum(heard.values())
    return {
        "queries": len(told),
        "recall": _mean([each.recall for each in told]),
        "messages": _mean([each.messages for each in told]),
        "seconds": _mean([each.seconds for each in told]),
        **{stage: round(count / hits, 5) if hits else None for stage, count in heard.items()},
    }


def _of_everybody(contents: Sequence[Remembering], question: Question, limit: int) -> Told:
    """What there is to be had by a query to everybody and nobody passed over: what merging alone loses."""
    answers = []
    for peer, content in enumerate(contents):
        found = content.find(question.words, limit)
        if found.hits:
            stage = Stage.HOME if peer == question.asker else Stage.BUDDIES
            answers.append(Answer(Contact(f"{peer:02d}"), f"{peer:02d}", stage, found.hits, found.statistics))
    urls = best_of(question.words, answers, f"{question.asker:02d}")
    return Told(urls, recall(urls, question.best), 2 * (len(contents) - 1), 0.0, {})


def _about(ground: Ground) -> list[Plain]:
    """Whose collection is about what, and how much of it others have, too."""
    rows: list[Plain] = []
    for number, collector in enumerate(ground.collectors):
        others = {url for peer, other in enumerate(ground.collectors) if peer != number for url in other.pages}
        rows.append(
            {
                "peer": number,
                "topics": ", ".join(map(str, collector.topics)),
                "pages": len(collector.pages),
                "elsewhere_too": round(len(others & collector.pages.keys()) / max(1, len(collector.pages)), 4),
            }
        )
    return rows


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 5)
