"""Where others may send this machine to: to the public network, and not to this machine or what stands beside it.

A name is looked up once, and what was looked up is what is connected to: a name that leads elsewhere a moment later
leads nowhere.
"""

import ipaddress
import socket
from typing import Any, NamedTuple

from palestra.errors import PalestraError
from palestra.text import say

GLOBAL = ipaddress.IPv6Network("2000::/3")  # all else of IPv6 is local, reserved or for many
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # an address of IPv4 in the last 32 bits
TEREDO = ipaddress.IPv6Network("2001::/32")  # leads to whatever IPv4 address stands in it
METADATA = (ipaddress.IPv4Network("168.63.129.16"), ipaddress.IPv4Network("192.88.99.0/24"))  # look public, are not


class Place(NamedTuple):
    """Where to connect to, as sockets take it."""

    family: int
    address: Any

    @property
    def ip(self) -> str:
        return str(self.address[0])


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public network. A tunnel's is as public as what it leads to."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv4Address):
        return found.is_global and not found.is_multicast and not any(found in net for net in METADATA)
    if inner := found.ipv4_mapped or found.sixtofour or _translated(found):
        return is_public(str(inner))
    return found in GLOBAL and found.is_global and found not in TEREDO


def _translated(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF) if address in NAT64 else None


def places_of(host: str, port: int, private: bool = False) -> list[Place]:
    """Where a host is, looked up now. Refused where it is on no public address, unless private ones are allowed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise PalestraError(say("There is no host {host!r}: {strerror}.", host=host, strerror=why)) from None
    places = [Place(family, address) for family, _, _, _, address in found]
    if private:
        return places
    public = [place for place in places if is_public(place.ip)]
    if not public:
        raise PalestraError(
            say(
                "{host} leads to {address}, which is not a public address. "
                "To allow it, start the server with --private-addresses.",
                host=host,
                address=places[0].ip if places else "-",
            )
        )
    return public
