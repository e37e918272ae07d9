"""A way to a server of the loopback that can stop reading while its connections stand."""

import socket
import threading

#: What the kernel may keep of the server's bytes, so that little stands between the server and a
#: reader that has stopped. It must be set before the connection is made.
RECEIVE_BUFFER = 32 << 10
PIECE = 4 << 10


class TCPProxy:
    """Carries connections to `target`, a `host:port`, with two threads for each, until `close`.

    `port` is where it listens; without it the system chooses one. `note` is called with each piece
    of what clients send."""

    def __init__(self, target, port=0, note=lambda piece: None):
        host, target_port = target.split(":")
        self._target = (host, int(target_port))
        self._note = note
        self._listener = socket.create_server(("127.0.0.1", port))
        self._reads = threading.Event()
        self._reads.set()
        self._always = threading.Event()
        self._always.set()
        self._sockets = [self._listener]
        self._threads = []
        #: Where it listens.
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._begin(self._accept)

    @property
    def is_open(self):
        """Whether it takes what the server says."""
        return self._reads.is_set()

    def stop_reading(self):
        """Takes nothing more from the server, but for the piece that a connection waits for."""
        self._reads.clear()

    def go_on(self):
        """Reads again."""
        self._reads.set()

    def cut(self):
        """Ends all connections; it lets in clients that come back."""
        for end in self._sockets[1:]:
            _end(end)

    def close(self):
        """Ends all connections and threads."""
        self.go_on()
        # The listener first: then its thread adds nothing more to the two lists.
        _end(self._listener)
        self._threads[0].join()
        for end in self._sockets:
            _end(end)
        for thread in self._threads:
            thread.join()
        for end in self._sockets:
            end.close()

    def _begin(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket()
            self._sockets += [client, server]
            try:
                server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
                server.connect(self._target)
            except OSError:
                _end(client)
                continue
            self._begin(_carry, client, server, self._always, self._note)
            self._begin(_carry, server, client, self._reads)


def _carry(source, sink, reads, note=lambda piece: None):
    """Carries bytes one way, while `reads` is set, until either side ends."""
    try:
        while True:
            reads.wait()
            piece = source.recv(PIECE)
            if not piece:
                break
            note(piece)
            sink.sendall(piece)
    except OSError:
        # The other side is gone, which is how connections end.
        pass
    _end(source)
    _end(sink)


def _end(end):
    """Wakes the threads that wait for this socket; it is closed when the last one leaves it."""
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        # It has ended already.
        pass
