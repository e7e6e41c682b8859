"""Sockets of the file system."""

import os
import socket


def private_unix_socket(path: str) -> socket.socket:
    """A Unix socket in the file system that only its owner can connect to.

    It is bound without the event loop, as the umask counts for whatever else runs meanwhile.
    """
    listener = socket.socket(socket.AF_UNIX)
    previous_umask = os.umask(0o177)
    try:
        listener.bind(path)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(previous_umask)
    return listener
