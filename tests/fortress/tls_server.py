"""A TLS 1.3 server written by hand, which sends whatever messages a test wants sent.

Of RFC 8446 it has what these tests need: one cipher suite (AES-128-GCM, SHA-256), one group (X25519), and a
certificate that it signs itself.
"""

import hashlib
import hmac
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.x509.oid import NameOID

ALERT, HANDSHAKE, DATA = 21, 22, 23  # types of records
_TICKET, _KEY_UPDATE = 4, 24  # types of handshake messages
_VERSIONS, _KEY_SHARE, _X25519 = 43, 51, 29
_HASH_SIZE = 32


def message(kind: int, body: bytes) -> bytes:
    """A handshake message."""
    return bytes([kind]) + len(body).to_bytes(3) + body


TICKET = message(_TICKET, struct.pack("!II", 3600, 1) + b"\0" + b"\0\1t" + b"\0\0")
KEY_UPDATE = message(_KEY_UPDATE, b"\0")


def plain_record(kind: int, data: bytes) -> bytes:
    return struct.pack("!BHH", kind, 0x0303, len(data)) + data


class Certificate:
    """A certificate for a host that only its own key vouches for."""

    def __init__(self, host: str, *, is_rsa: bool = False):
        self.key = rsa.generate_private_key(65_537, 2048) if is_rsa else ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.now(UTC) - timedelta(days=1))
            .not_valid_after(datetime.now(UTC) + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


class TlsConnection:
    """The server's side of one connection; `read` and `send` are for what comes after the handshake."""

    def __init__(self, connection: socket.socket, certificate: Certificate):
        self.socket = connection
        self._unread = b""
        self._handshake(certificate)

    def read(self) -> bytes:
        """The next record, still encrypted; empty at the end of the connection."""
        try:
            return self._record()
        except EOFError:
            return b""

    def send(self, kind: int, data: bytes) -> None:
        self.socket.sendall(self.record(kind, data))

    def record(self, kind: int, data: bytes) -> bytes:
        nonce = (self._nonce ^ self._sent).to_bytes(12)
        self._sent += 1
        head = struct.pack("!BHH", DATA, 0x0303, len(data) + 1 + 16)
        return head + self._cipher.encrypt(nonce, data + bytes([kind]), head)

    def next_key(self) -> None:
        """Encrypts with the next key from now on, as after an update of keys."""
        self._encrypt_with(_expanded(self._secret, b"traffic upd"))

    def _encrypt_with(self, secret: bytes) -> None:
        self._secret = secret
        self._cipher = AESGCM(_expanded(secret, b"key", size=16))
        self._nonce, self._sent = int.from_bytes(_expanded(secret, b"iv", size=12)), 0

    def _handshake(self, certificate: Certificate) -> None:
        hello = self._record()
        session_id = hello[39 : 39 + hello[38]]
        key = X25519PrivateKey.generate()
        shared = key.exchange(X25519PublicKey.from_public_bytes(_offered_key(hello)))
        public = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        extensions = struct.pack("!HHH", _VERSIONS, 2, 0x0304)
        extensions += struct.pack("!HHHH", _KEY_SHARE, 4 + len(public), _X25519, len(public)) + public
        answer = message(
            2,
            struct.pack("!H", 0x0303)
            + os.urandom(32)
            + bytes([len(session_id)])
            + session_id
            + struct.pack("!HBH", 0x1301, 0, len(extensions))
            + extensions,
        )
        self.socket.sendall(plain_record(HANDSHAKE, answer))
        said = hello + answer
        derived = _expanded(_extracted(bytes(_HASH_SIZE), bytes(_HASH_SIZE)), b"derived", b"")
        handshake_secret = _extracted(derived, shared)
        secret = _expanded(handshake_secret, b"s hs traffic", said)
        self._encrypt_with(secret)
        encoded = certificate.certificate.public_bytes(serialization.Encoding.DER)
        listed = len(encoded).to_bytes(3) + encoded + b"\0\0"
        flight = message(8, b"\0\0") + message(11, b"\0" + len(listed).to_bytes(3) + listed)
        assert isinstance(certificate.key, ec.EllipticCurvePrivateKey)
        to_sign = b" " * 64 + b"TLS 1.3, server CertificateVerify\0" + hashlib.sha256(said + flight).digest()
        signature = certificate.key.sign(to_sign, ec.ECDSA(hashes.SHA256()))
        flight += message(15, struct.pack("!HH", 0x0403, len(signature)) + signature)
        digest = hashlib.sha256(said + flight).digest()
        flight += message(20, hmac.digest(_expanded(secret, b"finished"), digest, "sha256"))
        self.send(HANDSHAKE, flight)
        master = _extracted(_expanded(handshake_secret, b"derived", b""), bytes(_HASH_SIZE))
        self._encrypt_with(_expanded(master, b"s ap traffic", said + flight))
        while self._type_of_next() != DATA:  # a change of ciphers, which means nothing
            self._record()
        self._record()  # its Finished, which is not checked

    def _type_of_next(self) -> int:
        self._fill(5)
        return self._unread[0]

    def _record(self) -> bytes:
        self._fill(5)
        (length,) = struct.unpack("!H", self._unread[3:5])
        self._fill(5 + length)
        data, self._unread = self._unread[5 : 5 + length], self._unread[5 + length :]
        return data

    def _fill(self, size: int) -> None:
        while len(self._unread) < size:
            data = self.socket.recv(65_536)
            if not data:
                raise EOFError
            self._unread += data


def tls(
    certificate: Certificate, behaviour: Callable[[TlsConnection], None]
) -> Callable[[socket.socket], socket.socket]:
    """What a `LoopbackServer` wraps a connection in, so that it is had by a behaviour after the handshake."""

    def wrap(connection: socket.socket) -> socket.socket:
        with suppress(EOFError):
            behaviour(TlsConnection(connection, certificate))
        raise ConnectionAbortedError

    return wrap


def _offered_key(hello: bytes) -> bytes:
    """The client's key for X25519 in its first message."""
    place = 39 + hello[38]
    place += 2 + int.from_bytes(hello[place : place + 2])  # cipher suites
    place += 1 + hello[place] + 2
    while place < len(hello):
        kind, length = struct.unpack("!HH", hello[place : place + 4])
        if kind == _KEY_SHARE:
            share = place + 6
            while share < place + 4 + length:
                group, size = struct.unpack("!HH", hello[share : share + 4])
                if group == _X25519:
                    return hello[share + 4 : share + 4 + size]
                share += 4 + size
        place += 4 + length
    raise AssertionError("no key for X25519")


def _extracted(salt: bytes, secret: bytes) -> bytes:
    return hmac.digest(salt, secret, "sha256")


def _expanded(secret: bytes, label: bytes, said: bytes | None = None, *, size: int = _HASH_SIZE) -> bytes:
    """HKDF-Expand-Label, of one block; `said`: the messages whose hash is its context."""
    label, context = b"tls13 " + label, b"" if said is None else hashlib.sha256(said).digest()
    information = struct.pack("!HB", size, len(label)) + label + bytes([len(context)]) + context
    return hmac.digest(secret, information + b"\1", "sha256")[:size]
