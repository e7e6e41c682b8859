"""Learning a session's topic from what its collection holds."""

from bisect import bisect_right

from lycosa.collection.events import Scores
from lycosa.relevance.svm import RETRAIN_AT, LinearModel
from lycosa.vocabulary.contracts import Relevance

from .session import Session


class Training:
    """Makes the judge of a session's crawl, and makes it anew as the collection grows."""

    def __init__(self, session: Session):
        self._session = session

    def judge_at_hand(self) -> Relevance | None:
        """The judge that needs neither a fetch nor the user's code; None where there is none yet."""
        topic = self._session.topic
        if not topic.learns:
            return topic.untrained(may_run_code=False)
        model = topic.load()
        return topic.judge(model) if model is not None and not topic.runs_code else None

    def train_again(self, reason: str) -> None:
        """Trains on the examples at hand and judges every page of the collection anew."""
        model = self._train()
        self.judge_anew(reason)
        self._session.topic.save(model)  # last: after a kill before here, the next run trains and judges again

    def train_if_due(self) -> None:
        """Where no negatives were given, trains again once there are pages enough to take some from."""
        topic, pages = self._session.topic, self._session.crawl.pages
        if topic.wants_negatives and topic.rounds < len(RETRAIN_AT) and pages >= RETRAIN_AT[topic.rounds]:
            self.train_again(f"{pages} pages are there to learn from")

    def _train(self) -> LinearModel:
        session = self._session
        rounds = bisect_right(RETRAIN_AT, session.crawl.pages) if session.topic.wants_negatives else 0
        crawled = session.sample_of_terms() if rounds else []
        model = session.topic.train(session.page, crawled, rounds)
        session.crawl.judge = session.topic.judge(model)
        return model

    def learn(self) -> None:
        """Trains a first time; where there are pages already, they are judged anew."""
        model = self._train()
        if self._session.crawl.pages:
            self.judge_anew("the examples have changed")
        self._session.topic.save(model)

    def judge_anew(self, reason: str) -> None:
        session, judge = self._session, self._session.crawl.judge
        if judge is None:
            return
        session.tell(f"{reason}: judging {session.crawl.pages} pages anew")
        relevance, _ = session.relive(judge)
        session.record(Scores(session.clock.now(), reason, relevance))
        session.checkpoint()
