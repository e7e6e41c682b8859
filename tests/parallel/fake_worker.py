"""A worker without a crawl, for tests of the coordinator: `python fake_worker.py BEHAVIOUR`."""

import asyncio
import os
import sys
import time

from lycosa.parallel.messages import (
    Ended,
    FromWorker,
    Lease,
    Parcel,
    Report,
    SendSample,
    Start,
    Stop,
    ToWorker,
    decode_to_worker,
    framed,
    packed,
    read_frame,
)


class FakeWorker:
    """Does at once what the coordinator says; each page of a lease is found the moment that it comes."""

    def __init__(self, behaviour: str):
        self.behaviour = behaviour
        self.number = self.shards = 0
        self.pages = self.leases = self.received = 0
        self.has_more = behaviour in ("endless",)

    def send(self, *messages: FromWorker) -> None:
        os.write(1, b"".join(map(framed, messages)))

    def report(self) -> None:
        waiting = int(self.has_more)
        best = 0.5 if waiting else None
        is_idle = not waiting
        self.send(Report(self.pages, 0, 0, waiting, 0, best, is_idle, self.received, self.leases))

    def handle(self, message: ToWorker) -> bool:
        """Handles a message; returns whether to go on."""
        if self.behaviour == "silent":
            return True
        match message:
            case Start(number=number, shards=shards):
                self.number, self.shards = number, shards
                self.begin()
            case Lease(pages=pages):
                self.leases += 1
                if self.has_more:
                    self.pages = pages
                    self.has_more = self.behaviour != "relay"
                    self.pass_on()
            case Parcel():
                time.sleep(0.3)  # it is under way for a while
                self.received += 1
                self.has_more = True
            case Stop():
                if self.behaviour == "late failure":
                    self.send(Ended("the disk is full"))
                elif self.behaviour == "hanging":
                    time.sleep(600)
                else:
                    self.send(Ended())
                return False
            case SendSample():
                pass
        self.report()
        return True

    def begin(self) -> None:
        match self.behaviour:
            case "relay":
                self.has_more = self.number == 0
            case "garbage":
                os.write(1, b"\xff" * 1_000)
            case "other form":
                os.write(1, b"\x03\0\0\0abc")
            case "stranger":
                self.send(Parcel(self.number, 900, 1, packed([])))
            case "impostor":
                self.send(Parcel(1 - self.number, 0, 1, packed([])))
            case "failing":
                self.send(Ended("the disk is full"))
            case "dying":
                os._exit(9)

    def pass_on(self) -> None:
        """Sends one URL to the next worker, once around."""
        if self.behaviour == "relay" and self.number + 1 < self.shards:
            self.send(Parcel(self.number, self.number + 1, 1, packed([])))


async def main(behaviour: str) -> None:
    stream, worker = asyncio.StreamReader(), FakeWorker(behaviour)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), sys.stdin)
    while (frame := await read_frame(stream)) is not None and worker.handle(decode_to_worker(frame)):
        pass


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
