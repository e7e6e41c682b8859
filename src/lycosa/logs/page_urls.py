"""URLs of logs in the normal form of the crawler, without secrets: credentials, tokens, sessions."""

import re
from collections.abc import Set

from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import Joiner, path_of

from .entries import DropReason

MAX_URL_LENGTH = 2048  # characters
_EXTENSIONS = """
    7z aac apk atom avi avif bin bmp bz2 cab class css csv cur deb dat dll dmg doc docx eot eps exe flac flv gif
    gz ico iso jar jpe jpeg jpg js json jsonp less m3u m3u8 m4a m4v map md5 mid mov mp2 mp3 mp4 mpeg mpg msi odp
    ods odt oga ogg ogv otf pac pdf pkg png ppt pptx ps rar rpm rss scss sig sqlite svg svgz swf tar tgz tif
    tiff torrent ts ttf txt wasm wav wbmp webm webmanifest webp wma wmv woff woff2 xbm xls xlsx xml xpm xz zip zst
"""
_NOT_PAGE_EXTENSIONS = frozenset(_EXTENSIONS.split())
_NON_ASCII = re.compile(rb"[\x80-\xff]")
_ESCAPED = re.compile(rb'\\(?:x([0-9A-Fa-f]{2})|([\\"]))')
_SECRET_NAME = re.compile(
    r"""(?x)
    .*(?: token | passw | passwd | secret | session | signature | credential | api[_.-]?key | auth(?!or) ).*
    | (?:[a-z]*[_.-])?
      (?: sid | sess | sessid | key | sig | pw | pwd | pass | pin | otp | jwt | saml\w* | ticket | nonce )
    | (?:php|jsp?|asp|cf|j|ph)?sess?(?:ion)?_?id | aspsessionid\w* | cfid | cftoken | zenid | oscsid
    | (?:e[_-]?)?mail | user | username | user_?id | uid | login
    | gclid | fbclid | msclkid | dclid | yclid | mc_eid | _ga | _gl | igshid
    """,
    re.IGNORECASE,
).fullmatch
_SECRET_VALUE = re.compile(
    r"eyJ[\w-]{8,}\.[\w.-]+ | [^@=]+(?:@|%40)[\w-]+(?:\.[\w-]+)+ | [^:/]*://[^/]*@.*", re.VERBOSE
).fullmatch
_PATH_PARAMETER = re.compile(r";([^/;=]+)=[^/;]*+")
_normalised = Joiner("http://localhost/")  # faster than `normalise` for URLs in normal form, as most are
_BRACKETS = re.compile(r"\[|\]|%5B|%5D", re.IGNORECASE)
# How ASP.NET writes sessions into paths.
_COOKIELESS_SESSION = re.compile(r"/\((?:[A-Z]\([^()/]*+\))+\)", re.IGNORECASE)


def page_url(raw: bytes, *, site: str | None, by_extension: bool) -> Url | DropReason:
    """The normalised URL of a page, from a URL in a log or a path of `site`; or the reason to drop it.

    by_extension: whether URLs with the extension of another file type are dropped.
    """
    if len(raw) > 4 * MAX_URL_LENGTH:
        return DropReason.LONG_URL
    if b"\\" in raw:
        raw = _ESCAPED.sub(lambda found: b"%" + (found[1] or b"%X" % found[2][0]), raw)
    if not raw.isascii():
        raw = _NON_ASCII.sub(lambda found: b"%%%02X" % found[0][0], raw)
    text = raw.decode("ascii")
    if text.startswith("/"):
        if site is None:
            return DropReason.NO_HOST
        text = site + text
    elif not text[:8].lower().startswith(("http://", "https://")):
        return DropReason.SCHEME if "://" in text[:20] else DropReason.BAD_URL
    url = _normalised(text)
    if url is None:
        return DropReason.BAD_URL
    if len(url) > MAX_URL_LENGTH:
        return DropReason.LONG_URL
    if by_extension and not may_be_page(url):
        return DropReason.NOT_A_PAGE
    return without_secrets(url)


def may_be_page(url: Url) -> bool:
    """Whether the URL has no extension of a picture, a style sheet, a script, an archive …"""
    path = path_of(url).partition("?")[0].partition(";")[0]
    last = path[path.rfind("/") + 1 :]
    return last.rpartition(".")[2].lower() not in _NOT_PAGE_EXTENSIONS if "." in last else True


def without_secrets(url: Url) -> Url:
    """The URL without parameters that identify or authenticate a user.

    >>> without_secrets(Url("http://a.org/b;jsessionid=1F?page=2&access_token=xyz"))
    'http://a.org/b?page=2'
    """
    if "?" not in url and ";" not in url and "(" not in url:
        return url
    path, mark, query = url.partition("?")
    start = len(path) - len(path_of(Url(path)))
    local_path = path[start:] or "/"
    if ";" in local_path:
        local_path = _PATH_PARAMETER.sub(lambda found: "" if _SECRET_NAME(found[1]) else found[0], local_path)
    local_path = _COOKIELESS_SESSION.sub("", local_path) or "/"
    kept = _without_secret_parameters(query) if query else ""
    return Url(path[:start] + local_path + (mark + kept if kept else ""))


def _without_secret_parameters(query: str) -> str:
    separator = "&" if "&" in query or ";" not in query else ";"
    parts = query.split(separator)
    names = {_name_of(parameter) for parameter in re.split("[&;]", query)}
    oauth = {"code", "state"} if {"code", "state"} <= names else set()  # which grant access
    kept = [without for part in parts if (without := _before_secret(part, oauth)) is not None]
    return query if kept == parts else separator.join(kept)


def _before_secret(part: str, secret_names: Set[str]) -> str | None:
    """The parameters before the first secret one: after a semicolon, its value may go on. None if it is the first."""
    if _is_secret(part):
        return None
    parameters = part.split(";")
    for number, parameter in enumerate(parameters):
        if _is_secret(parameter) or _name_of(parameter) in secret_names:
            return ";".join(parameters[:number]) if number else None
    return part


def _name_of(parameter: str) -> str:
    return parameter.partition("=")[0].lower()


def _is_secret(part: str) -> bool:
    name, _, value = part.partition("=")
    named = any(_SECRET_NAME(each[:100]) for each in _BRACKETS.split(name) if each)
    return named or bool(value and _SECRET_VALUE(value))
