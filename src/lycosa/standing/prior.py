"""The model that is used where nothing is known to learn from."""

import json
from functools import cache
from importlib.resources import files

from .model import StandingModel


@cache
def prior() -> StandingModel:
    """The model that comes with Lycosa; how it was made is said in prior.json beside this file.

    It goes by five features. Words and reach differ too much from one web to another: it knows no background, so that
    all pages are equally special, and no domain.
    """
    text = files(__package__).joinpath("prior.json").read_text(encoding="utf-8")
    model = StandingModel.from_plain(json.loads(text)["model"], source="the model that comes with Lycosa")
    return model.with_note("standing is estimated by the model that comes with Lycosa, which was learnt on other webs")
