/// Why the store could not do what it was asked for. Made where a file or SQLite refuses, thrown
/// through whoever keeps a file; the message names what was done, to which file, and what was seen,
/// and never carries a value that a user wrote.
package struct CacheError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong, as far as somebody can act on it.
    package enum Code: String, Sendable, Hashable {
        /// The directory of the file is not there.
        case missingDirectory
        /// The directory or the file can't be written.
        case notWritable
        /// Another process owns the file.
        case inUse
        /// The file is something else than a SQLite database.
        case notADatabase
        /// The file is a database, but broken.
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
        /// What is to be written can't stand beside what is held: one of the two is of another log.
        /// In a cache, dropping the `conversation` helps and nothing else does.
        case contradiction
        /// Anything else: a fault of this program.
        case failed
    }

    package let code: Code
    /// `<doing what> <on what>: <what was seen> (<limit or code>)`
    package let description: String
    /// The conversation whose write failed, where it was one of a cache's. Not in the description:
    /// its id may be a user's words.
    package private(set) var conversation: String?

    package init(_ code: Code, doing: String, on path: String, seen: String, detail: String) {
        self.code = code
        description = "\(doing) \(path): \(seen) (\(detail))"
    }

    /// The same error, as one of this conversation.
    package func about(_ conversation: String) -> CacheError {
        var error = self
        error.conversation = conversation
        return error
    }

    /// Whether the disk is to blame: the same write may succeed later, and until one does nothing
    /// can be stored.
    package var isOfTheDisk: Bool {
        switch code {
        case .notWritable, .damaged, .full, .disk: true
        default: false
        }
    }
}
