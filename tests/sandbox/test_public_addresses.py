"""Where nobody else may send the server to."""

import socket
import threading
from contextlib import ExitStack

import pytest

from palestra.entrants.http_agent import AgentLine
from palestra.entrants.open import Called, Terms, open_entry
from palestra.errors import PalestraError
from palestra.sandbox import public_addresses
from palestra.sandbox.launch import Limits
from palestra.sandbox.public_addresses import is_public, places_of
from tests.entrants.test_http_agent import Agent

PRIVATE = {
    "loopback": ["127.0.0.1", "127.255.0.9", "::1"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd00::1", "fec0::1"],
    "link-local": ["169.254.1.1", "fe80::1", "fe80::1%eth0"],
    "metadata": ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"],
    "cgnat": ["100.64.0.1", "100.127.255.255"],
    "multicast": ["224.0.0.1", "224.0.1.1", "239.1.1.1", "ff02::1", "ff0e::1"],
    "nowhere": ["0.0.0.0", "0.1.2.3", "255.255.255.255", "240.0.0.1", "::", "192.0.2.1", "198.18.0.1", "2001:db8::1"],
    "in another": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "2001::1"],
    "no address": ["", "localhost", "1", "0x7f000001"],
}


@pytest.mark.parametrize("address", [one for some in PRIVATE.values() for one in some])
def test_no_address_of_our_own_network_is_public(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::808:808"]
)
def test_addresses_of_the_public_network_are_public(address):
    assert is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "::1", "0"])
def test_ways_to_write_an_address_are_all_looked_up(host):
    with pytest.raises(PalestraError, match=r"is not a public address|There is no host"):
        places_of(host, 80)
    assert places_of("127.0.0.1", 80, private=True)[0].address == ("127.0.0.1", 80)


def test_of_a_name_with_several_addresses_only_public_ones_are_connected_to(monkeypatch):
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("10.0.0.1", "93.184.216.34")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked, **how: found)
    assert [place.ip for place in places_of("both.example.org", 80)] == ["93.184.216.34"]


@pytest.mark.parametrize("url", ["ws://127.0.0.1:9", "http://127.0.0.1:9", "ws://localhost:9/policy"])
def test_an_entrant_beside_the_server_is_dialled_only_where_that_is_allowed(url):
    terms = Terms(Limits(), 1.0, private=False)
    with ExitStack() as stack, pytest.raises(PalestraError, match="is not a public address"):
        open_entry(Called("red", url), {}, terms, stack).line.require_ready(1.0)


def test_an_agent_is_called_where_it_was_when_its_name_was_looked_up(monkeypatch):
    """And not where the name leads later."""
    seen, find = [], socket.getaddrinfo

    def looked_up(host, *more, **how):
        return find("127.0.0.1" if host == "rebinds.example.org" and not seen else host, *more, **how)

    monkeypatch.setattr(public_addresses, "is_public", lambda address: not seen.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with Agent(lambda body: []) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        line = AgentLine("red", f"http://rebinds.example.org:{server.server_port}", 20.0, private=False)
        line.require_ready()
        line.close()
        server.shutdown()
        thread.join()
    assert seen == ["127.0.0.1"] and len(server.calls) == 1
