"""The identity of a peer: a key pair, and the certificate that carries the public key.

The name of a peer is a hash of its public key, so nobody can use another's name without the private key, which never
leaves its folder. In an open network, certificates are self-signed; in a closed group, they are signed by the group's
authority, whose private key is the secret that the members share: members sign their own certificates with it, and
nobody else can connect. Uses Ed25519 keys, X.509 certificates and TLS 1.3.
"""

import base64
import hashlib
import secrets
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import NameOID
from OpenSSL import SSL, crypto

from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.files import read_user_file
from lycosa.vocabulary.text import quoted

from .peer_folder import PeerFolder

KEY_FILE = "key.pem"
NAME_LENGTH = 32  # letters: 160 bits of the hash of a public key
_SECRET_PREFIX = "lycosa-group-1:"
_MAX_SECRET_BYTES = 1_000  # of a file
_VALID_FROM = datetime(2000, 1, 1, tzinfo=UTC)  # keys do not expire, so clocks need not agree
_VALID_UNTIL = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
_RAW_FORMAT = serialization.Encoding.Raw, serialization.PublicFormat.Raw


class Group:
    """A closed group, determined by its secret.

    >>> group = Group.new()
    >>> Group.from_secret(group.secret).name == group.name
    True
    """

    def __init__(self, key: Ed25519PrivateKey):
        self._key = key
        self.name = _key_name(key.public_key())
        self.certificate = _sign_certificate(
            key.public_key(), subject="group", issuer="group", signing_key=key, is_authority=True
        )

    @classmethod
    def new(cls) -> "Group":
        return cls(Ed25519PrivateKey.from_private_bytes(secrets.token_bytes(32)))

    @classmethod
    def from_secret(cls, text: str) -> "Group":
        """The group of a secret."""
        prefix, _, rest = text.strip().partition(":")
        try:
            data = base64.b32decode(rest.upper() + "=" * (-len(rest) % 8))
        except ValueError:
            data = b""
        if prefix + ":" != _SECRET_PREFIX or len(data) != 32:
            raise UsageError(
                f"not the secret of a group: it is one line that begins with {_SECRET_PREFIX} and is made by:"
                " lycosa peer group FILE"
            )
        return cls(Ed25519PrivateKey.from_private_bytes(data))

    @classmethod
    def from_file(cls, path: Path) -> "Group":
        try:
            text = read_user_file(path, _MAX_SECRET_BYTES).decode("ascii")
        except OSError as error:
            raise UsageError(
                f"cannot read the group's secret {path}: {error.strerror};"
                f" make one with: lycosa peer group {quoted(path)}"
            ) from error
        except UnicodeDecodeError:
            text = ""
        try:
            return cls.from_secret(text)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error

    @property
    def secret(self) -> str:
        """The text that makes a peer a member; share it only with members."""
        raw = self._key.private_bytes(
            serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
        )
        return _SECRET_PREFIX + base64.b32encode(raw).decode().rstrip("=").lower()

    def sign(self, member: Ed25519PublicKey) -> x509.Certificate:
        return _sign_certificate(member, subject="peer", issuer="group", signing_key=self._key)


class Identity:
    """The key of a peer, and the TLS context that presents it."""

    def __init__(self, key: Ed25519PrivateKey, group: Group | None = None):
        self._key = key
        self.group = group
        self.name = _key_name(key.public_key())

    @classmethod
    def new(cls, group: Group | None = None) -> "Identity":
        return cls(Ed25519PrivateKey.generate(), group)

    @classmethod
    def load(cls, folder: PeerFolder, group: Group | None = None) -> "Identity":
        """The identity in a peer's folder, created the first time."""
        pem = folder.read(KEY_FILE)
        if pem is None:
            made = cls.new(group)
            folder.write(KEY_FILE, made._pem())
            return made
        try:
            key = serialization.load_pem_private_key(pem, None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            key = None
            reason: Exception | None = error
        else:
            reason = None
        if not isinstance(key, Ed25519PrivateKey):
            path = folder.path(KEY_FILE)
            raise CollectionError(f"{path} is no key of a peer; put it back, or remove it to be a new peer") from reason
        return cls(key, group)

    def context(self) -> SSL.Context:
        """A context of TLS 1.3 with certificates on both sides, for either side of a connection."""
        if self.group:
            certificate = self.group.sign(self._key.public_key())
        else:
            certificate = _sign_certificate(
                self._key.public_key(), subject="peer", issuer="peer", signing_key=self._key
            )
        context = SSL.Context(SSL.TLS_METHOD)
        context.set_min_proto_version(SSL.TLS1_3_VERSION)
        context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
        context.use_certificate(certificate)
        context.use_privatekey(self._key)
        context.check_privatekey()
        context.set_verify_depth(1)
        required = SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT
        if self.group:
            store = context.get_cert_store()
            assert store is not None
            store.add_cert(crypto.X509.from_cryptography(self.group.certificate))
            context.set_verify(required, _accept_verified)
        else:
            context.set_verify(required, _any_key)
        return context

    def _pem(self) -> bytes:
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def peer_name_of(connection: SSL.Connection) -> str | None:
    """The name of the peer at the other end, which has proved possession of its key; None for other key types."""
    certificate = connection.get_peer_certificate(as_cryptography=True)
    key = certificate.public_key() if certificate is not None else None
    return _key_name(key) if isinstance(key, Ed25519PublicKey) else None


def is_peer_name(text: str) -> bool:
    return len(text) == NAME_LENGTH and text.isascii() and text.isalnum() and text == text.lower()


def _accept_verified(
    connection: SSL.Connection, certificate: crypto.X509, error: int, depth: int, is_good: int
) -> bool:
    return bool(is_good)


def _any_key(connection: SSL.Connection, certificate: crypto.X509, error: int, depth: int, is_good: int) -> bool:
    """Accepts any key, as in an open network; the name is compared with the expected one elsewhere."""
    return depth == 0


def _key_name(key: Ed25519PublicKey) -> str:
    digest = hashlib.sha256(key.public_bytes(*_RAW_FORMAT)).digest()
    return base64.b32encode(digest[:20]).decode().lower()


def _sign_certificate(
    key: Ed25519PublicKey, *, subject: str, issuer: str, signing_key: Ed25519PrivateKey, is_authority: bool = False
) -> x509.Certificate:
    return (
        x509.CertificateBuilder()
        .subject_name(_x509_name(subject))
        .issuer_name(_x509_name(issuer))
        .public_key(key)
        .serial_number(int.from_bytes(hashlib.sha256(key.public_bytes(*_RAW_FORMAT)).digest()[:16]) or 1)
        .not_valid_before(_VALID_FROM)
        .not_valid_after(_VALID_UNTIL)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), critical=True)
        .sign(signing_key, None)
    )


def _x509_name(owner: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"lycosa {owner}")])
