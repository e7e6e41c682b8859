"""What is said of examples from which a topic is hard to learn."""

from lycosa.reading import page_of_text
from lycosa.run.example_check import example_warnings

TEXTS = [
    "Bees gather nectar and keep honey in the combs of their hive.",
    "A swarm leaves with the old queen when the colony has grown too large.",
    "Beekeepers look after the health of colonies and fight mites in autumn.",
    "Pollen feeds the brood, and royal jelly feeds the larvae of queens.",
    "Wax is made by glands of young workers, who build new cells with it.",
]


def pages(texts, host="a.example"):
    return [page_of_text(f"http://{host}/{number}", "", text, stem=True) for number, text in enumerate(texts)]


def test_five_different_pages_raise_no_doubt():
    assert list(example_warnings(pages(TEXTS), pages(["Ships sail the seas."], "b.example"), topic="")) == []


def test_few_examples_are_told_unless_words_help():
    [line] = example_warnings(pages(TEXTS[:3]), [], topic="")
    assert line.startswith("only 3 examples: scores are rough")
    assert list(example_warnings(pages(TEXTS[:3]), [], topic="bees and honey")) == []
    assert list(example_warnings([], [], topic="bees and honey")) == []


def test_the_same_text_called_good_and_bad_is_named():
    [line] = example_warnings(pages(TEXTS), pages(TEXTS[3:4], "b.example"), topic="")
    assert "http://a.example/3" in line and "http://b.example/0" in line


def test_examples_in_two_languages_are_counted():
    german = "Die Bienen sammeln Nektar und lagern den Honig in den Waben ihres Stocks, bis der Imker ihn erntet."
    [line] = example_warnings(pages([*TEXTS, german]), [], topic="")
    assert "5 in en, 1 in de" in line


def test_pages_of_one_template_are_told():
    frame = "home products services imprint contact basket account delivery returns newsletter careers press sitemap "
    [line] = example_warnings(
        pages([frame + word for word in ("honey", "hive", "swarm", "queen", "nectar")]), [], topic=""
    )
    assert "as pages of one template do" in line and "--negatives" in line
    several = [pages([frame + "honey"], f"{letter}.example")[0] for letter in "abcde"]
    assert list(example_warnings(several, [], topic="")) == []
