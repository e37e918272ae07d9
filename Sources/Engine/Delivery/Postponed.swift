import Wire

/// A request that waits for its session to take what it was sent: the backpressure on a client that
/// asks and does not read.
///
/// Replies can't be shed, and a client may ask for any number of them: past the soft limit its
/// requests wait until it has read, and with them, since its socket is not read either, whatever
/// else it has to say. So no request, however large its answer, brings a client over the hard
/// limit; only events can. `Delivery` says who may go on (`takeResumable`).
enum Postponed {
    /// As it came.
    case frame(RequestFrame)
    /// Taken, and to be asked for again.
    case call(Call)
}
