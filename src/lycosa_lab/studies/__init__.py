"""The studies, one file or folder each; `STUDIES` lists them by name."""

from collections.abc import Mapping
from typing import Any

from lycosa.vocabulary.plugins import find_by_name, instantiate, require_members
from lycosa_lab.study import CONTRACT, Study

from .adaptive_utility import AdaptiveUtility
from .authority_static import AuthorityStatic
from .authority_tracking import AuthorityTracking
from .buddynet import BuddyNet
from .collaborative import CollaborativeCrawling
from .freshness import FreshnessStudy
from .inlinks_benchmark import InlinksBenchmark
from .interest_locality import InterestLocality
from .league import League
from .one_budget import OneBudget
from .peer_search import PeerSearch
from .relevance_target import RelevanceTargetStudy
from .status_locality import StatusLocality
from .topic_driven import TopicDriven
from .topical_map import TopicalMapStudy
from .utility_tradeoff import UtilityTradeoff

STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        League(),
        RelevanceTargetStudy(),
        TopicDriven(),
        StatusLocality(),
        UtilityTradeoff(),
        AdaptiveUtility(),
        InlinksBenchmark(),
        AuthorityStatic(),
        AuthorityTracking(),
        FreshnessStudy(),
        OneBudget(),
        TopicalMapStudy(),
        CollaborativeCrawling(),
        InterestLocality(),
        BuddyNet(),
        PeerSearch(),
    )
}


def study_named(name: str) -> Study:
    """The study of this name, built-in or of a plug-in, which may be an object or a class."""
    found: Any = find_by_name(STUDIES, "lycosa.studies", name, what="study")
    study: Study = instantiate(found, "lycosa.studies", name) if isinstance(found, type) else found
    require_members(study, "lycosa.studies", name, attributes=CONTRACT, what="a study")
    return study
