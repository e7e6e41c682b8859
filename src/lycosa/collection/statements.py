"""How a catalog writes: one statement for each kind of row, carried out for many rows at a time in this order."""

from .queries import FIRST_COLUMNS

_KEPT = {"number", "url"}  # what a page keeps when it is fetched again
_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in FIRST_COLUMNS.split(", ") if name.strip() not in _KEPT)
FIRST_LOOK = (  # at a page that is seen again: how it was until then
    "INSERT OR IGNORE INTO looks SELECT number, 1, at, 'new', status, digest, bytes,"
    " (SELECT count(*) FROM links WHERE source = number), 0, file, place, length FROM pages WHERE url = ?"
)
WRITES = {
    "pages": f"INSERT INTO pages ({FIRST_COLUMNS}) VALUES ({', '.join('?' * 24)})"
    f" ON CONFLICT (url) DO UPDATE SET {_UPDATES}",
    "versions": "UPDATE pages SET title = ?, language = ?, relevance = ?, digest = ?, fingerprint = ?, at = ?,"
    " bytes = ?, duplicate_of = ?, status = ?, file = ?, place = ?, length = ?, etag = ?, last_modified = ?,"
    " truncated = ?, standing = ? WHERE url = ?",
    "fetches": "INSERT INTO fetches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "links": "INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?, ?)",
    "skips": "INSERT OR IGNORE INTO skips VALUES (?, ?, ?, ?, ?)",
    "visited": "DELETE FROM skips WHERE key = ?",  # evicted once, or not to be followed from elsewhere
    "examples": "INSERT OR REPLACE INTO examples VALUES (?, ?, ?, ?, ?, ?, ?)",
    "first_looks": FIRST_LOOK,
    "looks": "INSERT INTO looks SELECT number, 1 + (SELECT coalesce(max(look), 0) FROM looks WHERE page = number),"
    " ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM pages WHERE url = ?",
    "looked": "UPDATE pages SET looked_at = ?, etag = coalesce(?, etag), last_modified = coalesce(?, last_modified)"
    " WHERE url = ?",
    "states": "UPDATE pages SET vanished_at = ?, vanished_why = ? WHERE url = ?",
    "stale": "INSERT OR IGNORE INTO stale SELECT number FROM pages WHERE url = ?",
    "new_links": "INSERT OR IGNORE INTO new_links VALUES (?, ?, ?)",
}
