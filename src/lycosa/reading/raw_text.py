"""What is no markup though it may look like markup, as regular expressions: comments, and elements of raw text.

Each matches in time linear in the length of the text, up to its end where nothing else ends what has begun.
"""

RAW_TEXT = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")

# Behind a "<": comments, and what the parser takes for such, less those closed before the next "<" or ">", which hide
# nothing.
SPEAKING_COMMENT = (
    "(?:!--(?![^<>]*+-->)(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>)?+)|(?!!--)[!?/](?![^<>]*+>)[^>]*+>?)"
)

# The name of a start tag with raw text behind it; most other tags are told by their first two letters.
_END = "(?=[\\t\\n\\f\\r />])"
_OTHERS = "|".join(name for name in RAW_TEXT if name != "script")
NAME = f"(?=[INSTXinstx][CEFIMOTYcefimoty])(?<!/)(?ai:(?P<script>script)|(?P<raw>{_OTHERS})){_END}"

# A script may hold a comment, which may hold scripts of its own, and these hide their end tags; "-->" ends them all.
_SCRIPT_IN_COMMENT = f"<script{_END}(?:[^<-]++|-(?!->)|<(?!/script{_END}))*+(?:</script{_END})?+"
_COMMENT_IN_SCRIPT = f"<!(?=--)(?:[^<-]++|-(?!->)|<(?!/?script{_END})|{_SCRIPT_IN_COMMENT})*+(?:-->)?+"
_IN_SCRIPT = f"(?:[^<]++|<(?!!--|/script{_END})|{_COMMENT_IN_SCRIPT})*+"
_IN_OTHERS = f"(?:[^<]++|<(?!/(?P=raw){_END}))*+"

# What follows the start tag up to the end tag; nothing if a slash ends the tag, as it may in a drawing.
CONTENT = f"(?(script)(?:(?<=/>)|(?ai:{_IN_SCRIPT})))(?(raw)(?:(?<=/>)|(?ai:{_IN_OTHERS})))"
