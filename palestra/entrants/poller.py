"""One descriptor to wait on for several sockets."""

import select
import socket


class Bell:
    """It can be read when one of its sockets can be, or takes more."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._watched: dict[int, int] = {}

    def watch(self, sock: socket.socket, writing: bool = False) -> None:
        number, events = sock.fileno(), select.EPOLLIN | (select.EPOLLOUT if writing else 0)
        known = self._watched.get(number)
        if known == events:
            return
        if known is None:
            self._epoll.register(number, events)
        else:
            self._epoll.modify(number, events)
        self._watched[number] = events

    def forget(self, sock: socket.socket) -> None:
        if self._watched.pop(sock.fileno(), None) is not None:
            self._epoll.unregister(sock.fileno())

    def add(self, other: "Bell") -> None:
        """Ring whenever that one does."""
        self._epoll.register(other.fileno(), select.EPOLLIN)

    def rung(self) -> set[int]:
        """The numbers of those that can be read or take more now."""
        return {number for number, _ in self._epoll.poll(0)}

    def fileno(self) -> int:
        return -1 if self._epoll.closed else self._epoll.fileno()

    def close(self) -> None:
        self._epoll.close()
