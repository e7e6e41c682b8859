"""Collects the passages that the table is trained on: one text file a source, one passage a line.

python passages.py --debs DIRECTORY --out DIRECTORY

DIRECTORY holds the Debian packages of `sources.tsv` (`apt-get download PACKAGE ...`). Passages are

- the synsets of WordNet: "lemma, lemma: gloss; examples", in one file a part of speech;
- what belongs together in WordNet: "lemma: hyponyms, instances, parts and members, or words of that field";
- sentences of documentation, neighbours joined up to 45 words;
- the descriptions of Debian's packages, as `apt-cache dumpavail` prints them.

The order is random, and the same in every run.
"""

import argparse
import csv
import gzip
import html
import random
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCES = Path(__file__).with_name("sources.tsv")
FEWEST_WORDS, MOST_WORDS = 8, 45
MOST_DESCRIPTIONS = 4_096
PARTS = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
TOGETHER = {"~", "~i", "%m", "%p", "-c"}  # hyponyms, instances, members, parts, words of a field
FEWEST_TOGETHER, MOST_TOGETHER = 4, 12

_tag = re.compile(r"<(script|style|pre|table|h\d)\b.*?</\1>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_block = re.compile(r"</?(?:p|div|li|dd|dt|para|td|tr|ul|ol|blockquote)\b[^>]*>", re.IGNORECASE)
_markup = re.compile(r"<[^>]*>")
_sentence = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_word = re.compile(r"[A-Za-z][a-z]+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with SOURCES.open(encoding="utf-8") as file:
        sources = list(csv.DictReader(file, delimiter="\t"))
    documentation: list[str] = []
    with tempfile.TemporaryDirectory() as unpacked:
        for source in sources:
            (deb,) = options.debs.glob(f"{source['package']}_*.deb")
            folder = Path(unpacked) / source["package"]
            subprocess.run(["dpkg-deb", "-x", deb, folder], check=True)
            files = sorted(folder.glob(source["files"]))
            if not files:
                raise SystemExit(f"{deb.name} has no {source['files']}")
            if source["package"] == "wordnet-base":
                for name, passages in wordnet(files).items():
                    write(options.out / f"{name}.txt", passages)
            else:
                documentation += some(sentences(files), int(source["most"]))
    write(options.out / "documentation.txt", documentation)
    write(options.out / "descriptions.txt", some(descriptions(), MOST_DESCRIPTIONS))


def write(path: Path, passages: list[str]) -> None:
    random.Random(1).shuffle(passages)
    path.write_text("".join(f"{passage}\n" for passage in passages), encoding="utf-8")
    print(f"{len(passages):7,} {path.name}")


def some(passages: Iterable[str], most: int) -> list[str]:
    """Passages that are prose, each once, at most so many."""
    prose = list(dict.fromkeys(filter(is_prose, passages)))
    return random.Random(1).sample(prose, most) if len(prose) > most else prose


def is_prose(passage: str) -> bool:
    words = passage.split()
    return len(words) >= FEWEST_WORDS and len(_word.findall(passage)) >= 0.7 * len(words)


def wordnet(files: Iterable[Path]) -> dict[str, list[str]]:
    """The synsets, by part of speech, and what belongs together."""
    lemmas: dict[tuple[str, str], list[str]] = {}
    related: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    passages: dict[str, list[str]] = defaultdict(list)
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(" "):
                continue  # the licence
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            part, count = PARTS[fields[2]], int(fields[3], 16)
            synset = (part, fields[0])
            words = [re.sub(r"\(\w+\)$", "", word).replace("_", " ") for word in fields[4 : 4 + 2 * count : 2]]
            lemmas[synset] = words
            pointers = fields[5 + 2 * count :]
            for number in range(int(fields[4 + 2 * count])):
                symbol, offset, kind, _ = pointers[4 * number : 4 * number + 4]
                if symbol in TOGETHER:
                    related[synset].append((PARTS[kind], offset))
            passages[f"wordnet-{part}"].append(f"{', '.join(words[:6])}: {gloss.strip()}")
    chance = random.Random(1)
    for synset, others in related.items():
        if len(others) >= FEWEST_TOGETHER:
            for start in range(0, min(len(others), 10 * MOST_TOGETHER), MOST_TOGETHER):
                chosen = others[start : start + MOST_TOGETHER]
                if len(chosen) >= FEWEST_TOGETHER:
                    names = [chance.choice(lemmas[other]) for other in chosen]
                    passages["wordnet-related"].append(f"{lemmas[synset][0]}: {', '.join(names)}")
    return passages


def sentences(files: Iterable[Path]) -> Iterator[str]:
    for path in filter(Path.is_file, files):
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8", "replace")
        for paragraph in paragraphs(text, path.name):
            yield from joined(_sentence.split(paragraph))


def paragraphs(text: str, name: str) -> Iterator[str]:
    if name.endswith((".dict.dz",)):
        text = re.sub(r"[{}]|<[^>]*>|\(\d{4}-\d\d-\d\d\)", "", text)
        blocks = re.split(r"\n(?=\S)", text)
    elif re.search(r"\.\d\w*\.gz$", name):  # troff
        text = re.sub(r"^[.\'](?:B|I|BR|IR|RB|BI|IB) ", "", text, flags=re.MULTILINE)
        blocks = re.split(r"\n[.'].*", re.sub(r"\\f.|\\-|\\&", "", text))
    else:
        blocks = [html.unescape(_markup.sub(" ", block)) for block in _block.split(_tag.sub(" ", text))]
    for block in blocks:
        yield " ".join(block.split())


def joined(parts: Iterable[str]) -> Iterator[str]:
    """Neighbouring sentences, joined while they have at most 45 words together; longer ones are cut."""
    passage: list[str] = []
    for part in parts:
        words = part.split()
        if passage and len(passage) + len(words) > MOST_WORDS:
            yield " ".join(passage)
            passage = []
        passage = (passage + words)[:MOST_WORDS]
    if passage:
        yield " ".join(passage)


def descriptions() -> Iterator[str]:
    """The first words of each package's description; packages of one source often share the rest."""
    listing = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True).stdout.decode()
    for block in re.findall(r"^Description(?:-en)?: (.*\n(?: .*\n)*)", listing, re.MULTILINE):
        yield next(joined(_sentence.split(" ".join(block.replace("\n .\n", "\n").split()))))


if __name__ == "__main__":
    main()
