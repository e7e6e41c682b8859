"""The studies, one file each; `STUDIES` is the one dictionary of names."""

from collections.abc import Mapping

from lycosa.lab.study import Study

from .topic_driven import TopicDriven

STUDIES: Mapping[str, Study] = {study.name: study for study in (TopicDriven(),)}
