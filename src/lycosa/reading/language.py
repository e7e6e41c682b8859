"""The language a page is written in, as an ISO 639-1 code."""

import re
from collections.abc import Callable
from functools import cache

_SAMPLE_LENGTH = 800  # characters used for detection
_MIN_PROBABILITY = 0.5  # of the result of py3langid; for 800 characters, it is then as accurate as CLD 2
_PRIMARY_SUBTAG = re.compile(r"[a-z]{2,3}(?![a-z])")

# Pairs of a code and the ISO 639-1 code of its language: the terminological codes of ISO 639-2, the bibliographic ones
# that differ from them, and withdrawn codes.
_ISO_639_2T = """
aar aa abk ab afr af aka ak amh am ara ar arg an asm as ava av ave ae aym ay aze az bak ba bam bm bel be ben bn bih bh
bis bi bod bo bos bs bre br bul bg cat ca ces cs cha ch che ce chu cu chv cv cor kw cos co cre cr cym cy dan da deu de
div dv dzo dz ell el eng en epo eo est et eus eu ewe ee fao fo fas fa fij fj fin fi fra fr fry fy ful ff gla gd gle ga
glg gl glv gv grn gn guj gu hat ht hau ha heb he her hz hin hi hmo ho hrv hr hun hu hye hy ibo ig ido io iii ii iku iu
ile ie ina ia ind id ipk ik isl is ita it jav jv jpn ja kal kl kan kn kas ks kat ka kau kr kaz kk khm km kik ki kin rw
kir ky kom kv kon kg kor ko kua kj kur ku lao lo lat la lav lv lim li lin ln lit lt ltz lb lub lu lug lg mah mh mal ml
mar mr mkd mk mlg mg mlt mt mon mn mri mi msa ms mya my nau na nav nv nbl nr nde nd ndo ng nep ne nld nl nno nn nob nb
nor no nya ny oci oc oji oj ori or orm om oss os pan pa pli pi pol pl por pt pus ps que qu roh rm ron ro run rn rus ru
sag sg san sa sin si slk sk slv sl sme se smo sm sna sn snd sd som so sot st spa es sqi sq srd sc srp sr ssw ss sun su
swa sw swe sv tah ty tam ta tat tt tel te tgk tg tgl tl tha th tir ti ton to tsn tn tso ts tuk tk tur tr twi tw uig ug
ukr uk urd ur uzb uz ven ve vie vi vol vo wln wa wol wo xho xh yid yi yor yo zha za zho zh zul zu
"""
_ISO_639_2B = """
alb sq arm hy baq eu bur my chi zh cze cs dut nl fre fr geo ka ger de gre el ice is mac mk mao mi may ms per fa rum ro
slo sk tib bo wel cy
"""
_WITHDRAWN = "iw he in id ji yi jw jv mo ro"


def _parse_pairs(names: str) -> dict[str, str]:
    words = names.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_CODES = _parse_pairs(_ISO_639_2T)
_CODES |= {code: code for code in _CODES.values()} | _parse_pairs(_ISO_639_2B) | _parse_pairs(_WITHDRAWN)


def iso_639_1(code: str) -> str:
    """The ISO 639-1 code of a language named by two or three letters; empty if it has none.

    >>> iso_639_1("ger"), iso_639_1("iw"), iso_639_1("haw")
    ('de', 'he', '')
    """
    return _CODES.get(code, "")


def language_of(text: str, declared: str = "", *, prefer_detected: bool = False) -> str:
    """The declared language of a page, else the one detected in its text; `prefer_detected`: the other way round."""
    if prefer_detected:
        return _detected(text[:_SAMPLE_LENGTH]) or _primary_code(declared)
    return _primary_code(declared) or _detected(text[:_SAMPLE_LENGTH])


def _detected(sample: str) -> str:
    """The language detected in a text; empty if uncertain."""
    if not sample.isprintable():
        sample = "".join(character if character.isprintable() else " " for character in sample)
    return _primary_code(_detector()(sample)) if sample and not sample.isspace() else ""


@cache
def _detector() -> Callable[[str], str]:
    """A function that detects the language of a text, empty if uncertain: CLD 2, or py3langid, which runs anywhere."""
    try:
        import pycld2
    except ImportError:
        return _langid_detector()

    def detect(sample: str) -> str:
        try:
            is_reliable, _, guesses = pycld2.detect(sample.encode("utf-8", "replace"), isPlainText=True)
        except pycld2.error:
            return ""
        return str(guesses[0][1]) if is_reliable else ""

    return detect


def _langid_detector() -> Callable[[str], str]:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)  # takes 0.5 s

    def detect(sample: str) -> str:
        language, probability = identifier.classify(sample)
        return str(language) if probability >= _MIN_PROBABILITY else ""

    return detect


def _primary_code(tag: str) -> str:
    """The ISO 639-1 code of a language tag, such as "de" of "de-AT"; empty if it has none."""
    match = _PRIMARY_SUBTAG.match(tag.strip().lower())
    return iso_639_1(match[0]) if match else ""
