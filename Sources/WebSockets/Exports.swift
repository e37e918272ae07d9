/// A target that serves sockets also owns the loop on which they live.
@_exported import SocketLoop
