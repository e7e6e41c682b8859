"""Escapes text and links for Markdown, so that untrusted text renders literally.

>>> print(escape_markdown("2 * 3 <b> [x](y) snake_case"))
2 \\* 3 \\<b> \\[x\\](y) snake_case
"""

import re

CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1b\x7f-\x84\x86-\x9f]+")  # except white space
SPACES = re.compile(r"\s+")
_SPECIAL = re.compile(
    r"[\\`*\[\]<~]"
    r"|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])"  # inside a word it has no meaning
    r"|&(?=\#?[0-9A-Za-z]+;)"  # a character reference
    r"|!$"  # a link may follow
)
_LINE_START = re.compile(r"[#>+=|:-]|[0-9]+(?=[.)])")
_UNSAFE_IN_URL = re.compile(r"[^A-Za-z0-9._~:/?#@!$&'+,;=%\[\]-]")
_REFERENCE_IN_URL = re.compile(r"&(?=\#?[0-9A-Za-z]+;)")


def escape_markdown(text: str) -> str:
    """The text in one line that Markdown renders literally, also at the start of a line."""
    return escape_line_start(escape_within_line(text).strip())


def escape_within_line(text: str) -> str:
    """The same for text that is not at the start of a line; white space at its ends becomes a single blank."""
    return _SPECIAL.sub(lambda match: "\\" + match[0], SPACES.sub(" ", CONTROLS.sub("", text)))


def escape_line_start(line: str) -> str:
    """A line of Markdown, escaped so that it begins no heading, list, quotation, table or rule."""
    match = _LINE_START.match(line)
    if not match:
        return line
    end = match.end() if match[0][0].isdigit() else 0
    return f"{line[:end]}\\{line[end:]}"


def markdown_link(text: str, url: str) -> str:
    """A link; nothing in its text or URL can end it early."""
    return f"[{escape_within_line(text).strip()}]({link_target(url)})"


def link_target(url: str) -> str:
    """A URL as the target of a link, percent-encoded where it could end the link."""
    quoted = _UNSAFE_IN_URL.sub(_percent_encoded, url)
    return _REFERENCE_IN_URL.sub("&amp;", quoted)


def _percent_encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))
