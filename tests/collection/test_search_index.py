import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.collection import SearchIndex
from lycosa.vocabulary.errors import CollectionError

TEXTS: dict[str, str] = {}
RELEVANCES = {"http://a.example/wolf": 0.9, "http://a.example/orb": 0.6, "http://b.example/cars": 0.1}


def opened(folder, relevances=RELEVANCES):
    return SearchIndex(folder, text_of=lambda url: TEXTS.get(url, ""), relevance_of=relevances.get)


PAGES = [
    (
        "http://a.example/wolf",
        "a.example",
        "Wolf spiders - a guide: part 1",
        "Wolf spiders hunt on the ground.",
    ),
    ("http://a.example/orb", "a.example", "Orb weavers", "Orb weavers wait in a web, and spiders rest."),
    ("http://b.example/cars", "b.example", "Cars", "Cars wait in a jam. Ünïcode “quotes” and spiders."),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    index = opened(tmp_path_factory.mktemp("t") / "search")
    for page in PAGES:
        TEXTS[page[0]] = page[3]
        index.add(*page)
    index.commit()
    yield index
    index.close()


def urls(hits):
    return [hit.url.rpartition("/")[2] for hit in hits]


def test_a_page_is_found_by_its_words_with_a_snippet(index):
    (hit, *_) = index.search("wolf")
    assert hit.url == "http://a.example/wolf"
    assert hit.snippet == "«Wolf» spiders hunt on the ground"
    assert (hit.title, hit.host, hit.relevance) == ("Wolf spiders - a guide: part 1", "a.example", 0.9)
    assert hit.score > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page[2])
def test_a_page_is_found_by_its_title(index, page):
    assert index.search(page[2])[0].url == page[0]


def test_an_error_of_a_callback_is_not_reported_as_one_of_the_index(index, tmp_path):
    def unable(_: object) -> str:
        raise ValueError("the archive has no such page")

    other = SearchIndex(index._folder, text_of=unable)
    for search in (
        lambda: index.search_page("wolf", choose=unable),
        lambda: index.search_all_words(["wolf"], limit=1, where=unable),
        lambda: other.search("wolf"),
        lambda: other.search_page("wolf"),
    ):
        with pytest.raises(ValueError, match="no such page"):
            search()


def test_filters(index):
    assert set(urls(index.search("spiders"))) == {"wolf", "orb", "cars"}
    assert urls(index.search("spiders", host="b.example")) == ["cars"]
    assert set(urls(index.search("spiders", min_relevance=0.5))) == {"wolf", "orb"}
    assert urls(index.search("spiders", min_relevance=0.5, host="b.example")) == []
    assert len(index.search("spiders", limit=1)) == 1
    assert len(index.search("")) == 3


def test_a_filter_by_relevance_looks_as_far_down_as_it_must(tmp_path):
    relevant = {f"http://a.example/{number}": float(number in (7, 150)) for number in range(200)}
    index = opened(tmp_path / "search", relevant)
    for url in relevant:
        index.add(url, "a.example", "", "spiders")
    index.commit()
    assert sorted(urls(index.search("spiders", limit=3, min_relevance=0.5))) == ["150", "7"]
    assert len(index.search("spiders", limit=1, min_relevance=0.5)) == 1
    assert index.search("spiders", limit=3, min_relevance=2.0) == []
    index.close()


def test_operators_work(index):
    assert urls(index.search('"wait in a jam"')) == ["cars"]
    assert set(urls(index.search("spiders -wolf"))) == {"orb", "cars"}
    assert urls(index.search("title:orb")) == ["orb"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("spiders host:b.example", ["cars"]),
        ("spiders +host:B.example", ["cars"]),
        ("spiders AND host:b.example", ["cars"]),
        ("wolf host:b.example", []),
        ("wait host:a.example host:b.example", ["cars", "orb"]),
        ("wait -host:a.example", ["cars"]),
        ("-wolf host:a.example", ["orb"]),
        ("host:a.example", ["orb", "wolf"]),
    ],
)
def test_a_host_in_a_query_leaves_out_the_pages_of_others(index, query, found):
    assert sorted(urls(index.search(query))) == found


def test_similar_pages_share_words_that_tell_them_apart(index):
    hits = index.similar("http://a.example/orb")
    assert urls(hits)[0] == "cars", "both wait, which wolf spiders do not"
    assert "orb" not in urls(hits)
    assert len(index.similar("http://a.example/orb", limit=1)) == 1
    assert index.similar("http://a.example/none") == []


def test_snippets_mark_words_beyond_ascii(index):
    (hit,) = index.search("ünïcode")
    assert "«Ünïcode» “quotes”" in hit.snippet


@pytest.mark.parametrize(
    "query",
    ["(" * 900, '"', "wolf AND", "nofield:wolf", "body:[a TO", "*", "body:*", "relevance:>x", "number:abc",
     "\x00\x1b[31m", "url:http://a.example/wolf", "a:b:c:d", "/.*/", "wolf~99999999999", "wolf^1e999", "IN [",
     "body: IN [a b", "\ud800", "+-+-+-", "x" * 100_000, "host:{a TO b}", "relevance:[0 TO 1]", "()()()",
     '"wolf spiders"~99999999999999999999', "\\", "\u0e48", "title:\u0e48*", "wolf\u0e48s"],
)  # fmt: skip
def test_no_query_raises(index, query):
    index.search(query)
    index.search(query, host="\ud800'\"", min_relevance=float("nan"))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("wolf ()[]{}\"'+-:*?~^\\/<>=!&|TOANDRIN0.,@\x00é"), max_size=40))
def test_no_text_raises(index, query):
    index.search(query)


def test_a_wrong_operator_falls_back_to_the_words(index):
    assert "wolf" in urls(index.search("nofield:x wolf"))
    assert "wolf" in urls(index.search("wolf ((((((((((((((((((((((("))


def test_pages_replaced_deleted_and_judged_anew(tmp_path):
    index = opened(tmp_path / "search")
    assert index.search("wolf") == []
    for page in PAGES:
        TEXTS[page[0]] = page[3]
        index.add(*page)
    index.commit()
    index.delete([PAGES[0][0]])
    TEXTS[PAGES[0][0]] = "other words \ud800\x1b[31m"
    index.add(PAGES[0][0], "a.example", "Wolf", TEXTS[PAGES[0][0]])
    index.commit()
    index.close()
    index = opened(tmp_path / "search", {PAGES[0][0]: 0.25})
    (hit,) = index.search("other")
    assert (hit.relevance, hit.snippet) == (0.25, "«other» words ? [31m")
    assert len(index.search("")) == 3
    index.clear()
    assert index.search("wolf") == []


def test_forgetting_keeps_no_deleted_document(tmp_path):
    index = opened(tmp_path / "search")
    index.forget({"http://a.example/wolf"})
    for page in PAGES:
        TEXTS[page[0]] = page[3]
        index.add(*page)
    index.commit()
    index.forget({"http://a.example/wolf"})
    assert set(urls(index.search("spiders"))) == {"orb", "cars"}
    segments = json.loads((tmp_path / "search/meta.json").read_text())["segments"]
    assert [(segment["max_doc"], segment["deletes"]) for segment in segments] == [(2, None)]
    index.add(*PAGES[0])
    index.commit()
    assert "wolf" in urls(index.search("spiders"))
    index.forget({page[0] for page in PAGES})
    assert index.search("") == []
    index.close()


def test_a_damaged_index_names_the_way_out(tmp_path):
    index = opened(tmp_path / "search")
    index.add(*PAGES[0])
    index.commit()
    index.close()
    (tmp_path / "search/meta.json").write_text("{")
    with pytest.raises(CollectionError, match=f"lycosa rebuild {tmp_path}"):
        opened(tmp_path / "search").search("wolf")


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path):
    (tmp_path / "search").write_text("")
    with pytest.raises(CollectionError) as error:
        opened(tmp_path / "search").add(*PAGES[0])
    assert "\n" not in str(error.value)


UNSPACED = {
    "http://c.example/honey": ("蜂蜜的历史", "蜜蜂在春天采集花蜜。人们很早就知道蜂蜜很甜，bees too."),
    "http://c.example/ships": ("船", "海上的船很多。蜂，蜜。 Many ships."),
    "http://c.example/thai": ("", "น้ำผึ้งหวานมาก"),
}


@pytest.fixture(scope="module")
def unspaced(tmp_path_factory):
    index = opened(tmp_path_factory.mktemp("u") / "search")
    for url, (title, text) in UNSPACED.items():
        TEXTS[url] = text
        index.add(url, "c.example", title, text)
    index.commit()
    yield index
    index.close()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("蜂蜜", ["honey"]),
        ("蜂蜜 bees", ["honey"]),
        ("蜂蜜 ships", ["honey", "ships"]),
        ("甜", ["honey"]),
        ("蜜蜂 历史", ["honey"]),
        ("น้ำผึ้ง", ["thai"]),
        ("ships", ["ships"]),
        ("很", ["honey", "ships"]),
        ("蜂蜜 \u0e48", ["honey"]),  # a tone mark alone is no word
    ],
)
def test_scripts_without_blanks_are_found_as_they_are_written(unspaced, query, found):
    assert sorted(urls(unspaced.search(query))) == found


def test_their_snippets_are_about_what_was_asked_for(unspaced):
    assert "人们很早就知道«蜂蜜»很甜" in unspaced.search("蜂蜜")[0].snippet


FORMS = {
    "volcano": ("Volcano", "A volcano erupts when magma rises.", "en"),
    "andes": ("Andes", "Mountains with volcanos, glaciers and llamas.", "en"),
    "kilauea": ("Kīlauea", "Kīlauea lies on Hawaiʻi; its eruptions are gentle.", ""),
    "decomposed": ("Etna", "Mount E\u0301tna near Ki\u0304lauea?", "en"),
    "turkey": ("İSTANBUL", "Türkiye'nin en büyük şehri: İstanbul, eskiden Konstantinopolis.", "tr"),
    "vulkan": ("Vulkane", "Die Vulkane der Eifel gelten als schlafend.", "de"),
    "wulkan": ("Wulkany", "Żółte wulkany śpią.", "pl"),
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    index = opened(tmp_path_factory.mktemp("f") / "search")
    for name, (title, text, language) in FORMS.items():
        TEXTS[f"http://d.example/{name}"] = text
        index.add(f"http://d.example/{name}", "d.example", title, text, language)
    index.commit()
    yield index
    index.close()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("volcanos", ["volcano", "andes"]),
        ("Volcanoes", ["volcano", "andes"]),
        ("kilauea", ["kilauea", "decomposed"]),
        ("KĪLAUEA", ["kilauea", "decomposed"]),
        ("etna", ["decomposed"]),
        ("istanbul", ["turkey"]),
        ("İstanbul", ["turkey"]),
        ("ISTANBUL", ["turkey"]),
        ("ıstanbul", ["turkey"]),
        ("Vulkan", ["vulkan"]),
        ("wulkany", ["wulkan"]),
        ("zolte", ["wulkan"]),
        ("spia", ["wulkan"]),
        ("volc*", ["volcano", "andes"]),
        ("ist*", ["turkey"]),
        ("title:volcanos", ["volcano"]),
        ("title:vulk*", ["vulkan"]),
        ("volcano -andes", ["volcano"]),
        ("volcano NOT glaciers", ["volcano"]),
        ("erupting AND magma", ["volcano"]),
        ("erupting AND llama", []),
        ('"volcano erupts"', ["volcano"]),
        ('"volcanos erupt"', []),
        ("+magma eruption", ["volcano"]),
        ("(magma OR llamas) AND volcano", ["volcano", "andes"]),
        ("host:d.example title:etna", ["decomposed"]),
        ("host:d.example", None),
        ("*", []),
        ("…", []),
    ],
)
def test_words_are_found_in_all_their_forms(forms, query, found):
    hits = urls(forms.search(query))
    if found is None:
        assert len(hits) == len(FORMS)
    else:
        assert hits[:1] == found[:1] and set(hits) == set(found)


def test_snippets_mark_the_forms_that_were_found(forms):
    assert "«volcanos»" in next(hit for hit in forms.search("volcano") if "andes" in hit.url).snippet
    assert "«Kīlauea»" in forms.search("kilauea")[0].snippet
    assert "«volcano»" in forms.search("volc*")[0].snippet
    assert "«volcano erupts»" in forms.search('"volcano erupts"')[0].snippet.replace("» «", " ")


def test_what_is_left_out_alone_leaves_the_rest(forms):
    assert len(forms.search("-volcano")) == len(FORMS) - 2


def test_an_index_of_an_older_version_is_told_from_one_of_this(tmp_path, forms):
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in ("url", "host", "title", "body"):
        builder.add_text_field(name, stored=True)
    (tmp_path / "search").mkdir()
    tantivy.Index(builder.build(), path=str(tmp_path / "search"))
    assert opened(tmp_path / "search").is_outdated()
    assert not forms.is_outdated()
    assert not opened(tmp_path / "none").is_outdated()
    with pytest.raises(CollectionError, match=f"older version; run: lycosa rebuild {tmp_path}"):
        opened(tmp_path / "search").search("wolf")


def test_answers_come_by_pages_and_can_be_chosen_and_sorted(index):
    everything = index.search_page("spiders", limit=2)
    rest = index.search_page("spiders", offset=2, limit=2)
    assert everything.total == rest.total == 3
    assert {hit.url for hit in (*everything.hits, *rest.hits)} == {page[0] for page in PAGES}
    assert set(everything.facet_urls) == {page[0] for page in PAGES}
    assert index.search_page("spiders", host="b.example").total == 1
    assert index.search_page("spiders", language="de").total == 0
    chosen = index.search_page("spiders", choose=lambda urls: [url for url in urls if url.endswith("orb")])
    assert [hit.url for hit in chosen.hits] == list(chosen.facet_urls) == [PAGES[1][0]]
    assert [hit.url for hit in index.search_page("spiders", choose=sorted).hits] == sorted(page[0] for page in PAGES)
    assert index.search_page("spiders", limit=0).hits == index.search_page("spiders", offset=-1).hits == ()
