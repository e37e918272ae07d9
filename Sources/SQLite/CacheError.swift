/// Why the store could not do what was asked. Created where a file or SQLite refuses, and thrown by
/// every type that keeps a file; the message names the action, the file and what was seen, and
/// never carries a value that a user wrote.
@usableFromInline package struct CacheError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure, as far as somebody can act on them.
    package enum Code: String, Sendable, Hashable {
        /// The directory of the file does not exist.
        case missingDirectory
        /// The directory or the file can't be written.
        case notWritable
        /// Another process owns the file, or holds a lock on it.
        case inUse
        /// Another program removed, replaced or wrote to the file while it was open.
        case foreign
        /// The file is not a SQLite database.
        case notADatabase
        /// The file is a database, but damaged.
        case damaged
        /// The file was written by a newer version of this program.
        case newerVersion
        /// The file is a database of another program.
        case otherProgram
        /// The file holds the messages of another kind of upstream.
        case otherOrigin
        /// The disk is full.
        case full
        /// The disk failed.
        case disk
        /// The new value contradicts what is held: one of the two is of another log. In a cache,
        /// only dropping the `conversation` helps.
        case contradiction
        /// Anything else: a fault of this program.
        case failed
    }

    package let code: Code
    /// `<doing what> <on what>: <what was seen> (<limit or code>)`
    @usableFromInline package let description: String
    /// The conversation whose write failed, in a cache. Not in the description: its id may be a
    /// user's words.
    package private(set) var conversation: String?

    package init(_ code: Code, doing: String, on path: String, seen: String, detail: String) {
        self.code = code
        description = "\(doing) \(path): \(seen) (\(detail))"
    }

    /// The same error, with its conversation.
    package func about(_ conversation: String) -> CacheError {
        var error = self
        error.conversation = conversation
        return error
    }

    /// Whether the disk, or another process, is the cause: the same write may succeed later, and
    /// until then nothing can be stored.
    @usableFromInline package var isOfTheDisk: Bool {
        switch code {
        case .notWritable, .damaged, .full, .disk, .inUse, .foreign: true
        default: false
        }
    }
}
