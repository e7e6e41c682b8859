"""The layout of the HTML files that Lycosa writes: self-contained, without scripts or requests."""

from collections.abc import Callable


def html_page(title: str, *, kicker: str, body: str, lead: str = "", footer: str = "Made by Lycosa.") -> str:
    """A whole page; all arguments are HTML.

    kicker: the small line above the title.
    lead: what follows the title.
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n<title>{title}</title>\n<style>{_STYLE}</style></head>\n'
        f'<body>\n<header><p class="kicker">{kicker}</p><h1>{title}</h1>{lead}</header>\n<main>\n'
        f"{body}</main>\n<footer>{footer}</footer>\n</body></html>\n"
    )


def for_each_screen(draw: Callable[[float], str]) -> str:
    """A chart drawn for wide and for narrow screens, of which the page shows one."""
    return f'<div class="wide">{draw(760.0)}</div><div class="narrow">{draw(400.0)}</div>'


def section(heading: str, lead: str, content: str) -> str:
    """A box with a heading, a sentence and content that may be wide."""
    paragraph = f"<p>{lead}</p>" if lead else ""
    return f'<section><h2>{heading}</h2>{paragraph}<div class="scroll">{content}</div></section>\n'


_STYLE = """
:root { --ink: #1f2933; --faint: #5b6670; --line: #dfe3e8; --blue: #0b5394; }
* { box-sizing: border-box; }
body { margin: 0; background: #f5f6f8; color: var(--ink); line-height: 1.5;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, main, footer { max-width: 1000px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 36px; }
.kicker { margin: 0; color: var(--blue); font-size: 13px; font-weight: 600; letter-spacing: .08em;
  text-transform: uppercase; }
h1 { margin: 2px 0 6px; font-size: 34px; line-height: 1.2; overflow-wrap: anywhere; }
.topic { margin: 0; color: var(--faint); font-size: 18px; overflow-wrap: anywhere; }
.cards { display: grid; grid-template-columns: repeat(4, 1fr); gap: 10px; margin: 24px 0; }
.in-3 { grid-template-columns: repeat(3, 1fr); }
.in-5 { grid-template-columns: repeat(5, 1fr); }
.cards div { display: flex; flex-direction: column-reverse; justify-content: flex-end; background: #fff;
  border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; }
.cards dt { color: var(--faint); font-size: 13px; }
.cards dd { margin: 0; font-size: 22px; font-weight: 650; font-variant-numeric: tabular-nums; white-space: nowrap; }
section { background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: 18px 20px; margin: 0 0 16px; }
h2 { margin: 0; font-size: 20px; }
section > p { margin: 2px 0 12px; color: var(--faint); font-size: 14px; }
svg { display: block; width: 100%; height: auto; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 0 16px;
  align-items: start; }
.pair section { min-width: 0; }
.scroll { overflow-x: auto; }
.narrow { display: none; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
th { color: var(--faint); font-weight: 600; text-align: left; border-bottom: 2px solid var(--line);
  padding: 6px 12px 6px 0; }
td { vertical-align: top; border-bottom: 1px solid var(--line); padding: 8px 12px 8px 0; overflow-wrap: anywhere; }
td + td, th + th { padding-left: 4px; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; width: 1%; padding-right: 18px; }
.short { white-space: nowrap; overflow-wrap: normal; width: 1%; padding-right: 18px; }
.claim { margin: 0 0 18px; }
.claim h3 { margin: 0; font-size: 16px; }
.claim p { margin: 2px 0 6px; }
.claim th { width: 90px; vertical-align: top; border-bottom: 1px solid var(--line); padding: 8px 12px 8px 0; }
.title { font-weight: 600; }
.url { color: var(--faint); font-size: 13px; }
.url a { color: var(--blue); text-decoration: none; }
.url a:hover { text-decoration: underline; }
.why { color: var(--faint); font-size: 13px; min-width: 130px; width: 32%; overflow-wrap: anywhere; }
.none { color: var(--faint); }
footer { color: var(--faint); font-size: 13px; padding-bottom: 36px; }
@media (max-width: 640px) { h1 { font-size: 27px; } .cards { grid-template-columns: 1fr 1fr; }
  section { padding: 14px; } section svg { min-width: 560px; }
  .wide { display: none; } .narrow { display: block; } section .narrow svg, .pair svg { min-width: 0; }
  header, main, footer { padding-left: 12px; padding-right: 12px; } }
@media print { body { background: #fff; font-size: 11pt; }
  section, .cards div { border-color: #bbb; break-inside: avoid; }
  .scroll { overflow: visible; } tr { break-inside: avoid; } section:has(table) { break-inside: auto; } }
"""
