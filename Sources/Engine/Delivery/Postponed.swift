import Wire

/// A postponed request: backpressure on a client that asks without reading the answers.
///
/// Replies can't be shed, and a client may ask for any number of them. So above the soft limit its
/// requests wait until it has read, and so do its later frames, since its socket is not read
/// either. Thus no request brings a client above the hard limit, however large its answer; only
/// events can. `Delivery` says which sessions may go on (`takeResumable`).
enum Postponed {
    /// A frame as it came in.
    case frame(RequestFrame)
    /// An admitted call whose question must be asked again.
    case call(Call)
}
