"""`lycosa trust`: lets a collection that was made elsewhere name code, files outside of it, proxies and headers."""

import typer

from lycosa.run.trust import trust_collection
from lycosa.vocabulary.text import printable

from .options import Name


def trust(name: Name) -> None:
    """Trust a collection that was made elsewhere. Its recipe may then use code, files outside, proxies and headers."""
    accepted = trust_collection(name)
    if not accepted:
        typer.echo(f"{name} is trusted; its recipe names no code, no file outside, no proxy and no header")
        return
    typer.echo(f"{name} is trusted as it is now; its recipe names")
    for entry in accepted:
        typer.echo(f"- {printable(entry, 300)}")
