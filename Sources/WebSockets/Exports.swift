/// Whoever serves sockets also owns the loop that they live on.
@_exported import SocketLoop
