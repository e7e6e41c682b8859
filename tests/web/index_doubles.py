"""Servers that answer as SearXNG and the indexes of Common Crawl and of the Wayback Machine do, by the same formats."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE_SIZE = 3  # captures on a page of an index


class IndexDoubles:
    """Every host at one address, told apart by the header Host, as `--resolve` sends them there.

    captured: URLs that the indexes know.
    results: URLs that SearXNG finds, for any words.
    files: other content, by host and path.
    broken: hosts that answer 503; SearXNG with `no_json` answers 403, as where JSON is not enabled.
    """

    def __init__(self, *, captured: list[str], results: list[str], files: dict[str, str]):
        self.captured = captured
        self.results = results
        self.files = files
        self.broken: set[str] = set()
        self.no_json = False
        self.asked: list[str] = []
        doubles = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                doubles.asked.append(f"{self.headers['Host']}{self.path}")
                status, kind, body = doubles.answer(self.headers["Host"], self.path)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "IndexDoubles":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def resolve(self) -> str:
        return f"*=127.0.0.1:{self.port}"

    def answer(self, host: str, target: str) -> tuple[int, str, bytes]:
        parts = urlsplit(target)
        query = parse_qs(parts.query)
        if host in self.broken:
            return 503, "text/html", b"<html>overloaded</html>"
        if host == "index.example":
            return self._common_crawl(parts.path, query)
        if host == "wayback.example":
            return self._wayback(query)
        if host.startswith(("searxng.example", "127.0.0.1")):
            return self._searxng(query)
        if f"{host}{parts.path}" in self.files:
            return 200, "text/plain", self.files[f"{host}{parts.path}"].encode("utf-8", "surrogateescape")
        return 404, "text/html", b"<html>not found</html>"

    def _of_host(self, query: dict[str, list[str]]) -> list[str]:
        host = query["url"][0].removesuffix("/*")
        return [url for url in self.captured if urlsplit(url).netloc == host]

    def _common_crawl(self, path: str, query: dict[str, list[str]]) -> tuple[int, str, bytes]:
        if path == "/collinfo.json":
            ids = ["CC-MAIN-2026-42", "CC-MAIN-2026-38"]
            listed = [
                {
                    "id": each,
                    "name": "October 2026 Index",
                    "timegate": f"http://index.example/{each}/",
                    "cdx-api": f"http://index.example/{each}-index",
                    "from": "2026-10-05T00:00:00",
                    "to": "2026-10-18T00:00:00",
                }
                for each in ids
            ]
            return 200, "application/json", json.dumps(listed).encode()
        assert path == "/CC-MAIN-2026-42-index"
        assert query["output"] == ["json"] and query["fl"] == ["url"]
        assert query["filter"] == ["=status:200", "=mime-detected:text/html"]
        urls = self._of_host(query)
        pages = [urls[start : start + PAGE_SIZE] for start in range(0, len(urls), PAGE_SIZE)]
        if "showNumPages" in query:
            count = {"pages": len(pages), "pageSize": 5, "blocks": len(pages)}
            return 200, "application/json", json.dumps(count).encode()
        if not urls:
            message = {"message": f"No Captures found for: {query['url'][0]}"}
            return 404, "application/json", json.dumps(message).encode()
        lines = "".join(json.dumps({"url": url}) + "\n" for url in pages[int(query["page"][0])])
        return 200, "text/x-ndjson", lines.encode()

    def _wayback(self, query: dict[str, list[str]]) -> tuple[int, str, bytes]:
        assert query["output"] == ["json"] and query["fl"] == ["original"] and query["collapse"] == ["urlkey"]
        assert query["filter"] == ["statuscode:200", "mimetype:text/html"]
        urls, size = self._of_host(query), min(PAGE_SIZE, int(query["limit"][0]))
        start = int(query.get("resumeKey", ["com,example)/ 0"])[0].rpartition(" ")[2])
        rows: list[list[str]] = [["original"], *([url] for url in urls[start : start + size])]
        if start + size < len(urls):
            rows += [[], [f"com%2Cexample%29%2F+{start + size}"]]
        return 200, "application/json", json.dumps(rows if urls else []).encode()

    def _searxng(self, query: dict[str, list[str]]) -> tuple[int, str, bytes]:
        if self.no_json or query.get("format") != ["json"]:
            return 403, "text/html", b"<html>Forbidden</html>"
        start = PAGE_SIZE * (int(query["pageno"][0]) - 1)
        results = [
            {"url": url, "title": "A title", "content": "…", "engine": "brave", "score": 1.0, "category": "general"}
            for url in self.results[start : start + PAGE_SIZE]
        ]
        answer = {"query": query["q"][0], "number_of_results": 0, "results": results, "answers": [], "suggestions": []}
        return 200, "application/json", json.dumps(answer).encode()
