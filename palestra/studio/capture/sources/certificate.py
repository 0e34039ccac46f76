"""A certificate for one recording: browsers let a page use a phone's camera only over an encrypted connection."""

import ipaddress
import socket
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LASTS = timedelta(days=2)


def write_certificate(folder: Path, host: str) -> tuple[Path, Path, str]:
    """Write a key and its certificate; their files, and the fingerprint that a browser shows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Palestra recording")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LASTS)
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .sign(key, hashes.SHA256())
    )
    key_file, file = folder / "key.pem", folder / "certificate.pem"
    key_file.touch(0o600)
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return key_file, file, made.fingerprint(hashes.SHA256()).hex(":")


def _names(host: str) -> list[x509.GeneralName]:
    with suppress(ValueError):
        return [x509.IPAddress(ipaddress.ip_address(host))]
    return [x509.DNSName(host)]


def address_seen_from_outside() -> str:
    """The address of this machine in its network, as far as it can be told; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])
