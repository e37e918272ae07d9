import Configuration
import Crypto
import Glibc

/// The browser client and its page: all files of a directory, read into memory at the start.
/// Serving them reads no disk, and no path of a request reaches the file system.
struct PageFiles: Sendable {
    struct File: Sendable {
        let contentType: String
        let bytes: [UInt8]
        /// For `If-None-Match`.
        let tag: String
        /// The same bytes compressed, from a file beside it with the suffix `.gz`.
        var packed: [UInt8]?

        /// The tag of the compressed bytes: they are another representation.
        var packedTag: String { "\(tag.dropLast())-gzip\"" }
    }

    /// By URL path, from `/`.
    private let files: [String: File]

    /// Places of the page beside the program: bundled, in the source tree, installed.
    private static let places = ["gapless-page", sources, "share/gapless/page"]
    /// In the source tree the page imports the client from the folder beside its own. Served, both
    /// lie in one folder, as `deploy/bundle-page` lays them.
    private static let sources = "Sources/Page"
    private static let client = "Sources/Browser"
    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml", "png": "image/png",
        "json": "application/json", "ico": "image/x-icon",
        "webmanifest": "application/manifest+json",
    ]

    /// Reads the files below the directory; types that a page does not need are skipped.
    /// - Parameter client: the folder beside it that its modules import.
    init(directory: String, client: String? = nil) {
        var files: [String: File] = [:]
        if let client { Self.read(client, "/", into: &files) }
        Self.read(directory, "/", into: &files, joinsClient: client != nil)
        files["/"] = files["/index.html"]
        self.files = files
    }

    /// The page of this program: looked for from the program's own folder upwards.
    /// - Parameter part: a subfolder with a page of its own.
    static func installed(_ part: String = "") -> PageFiles? {
        guard let program = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(program) }
        var folder = String(cString: program)
        while let slash = folder.lastIndex(of: "/") {
            folder = String(folder[..<slash])
            for place in places {
                let directory = "\(folder)/\(place)" + (part.isEmpty ? "" : "/\(part)")
                guard access("\(directory)/index.html", R_OK) == 0 else { continue }
                let hasClient = place == sources && part.isEmpty
                return PageFiles(
                    directory: directory, client: hasClient ? "\(folder)/\(client)" : nil)
            }
        }
        return nil
    }

    subscript(path: String) -> File? { files[path] }

    private static func read(
        _ directory: String, _ prefix: String, into files: inout [String: File],
        joinsClient: Bool = false, depth: Int = 0
    ) {
        // A link may lead back to where it lies.
        guard depth < 8 else { return }
        guard let handle = opendir(directory) else { return }
        defer { closedir(handle) }
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !name.hasPrefix(".") else { continue }
            let path = "\(directory)/\(name)"
            // Not every file system says in the entry what it is, and a link says that it is one.
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                read(
                    path, "\(prefix)\(name)/", into: &files, joinsClient: joinsClient,
                    depth: depth + 1)
            } else if let ending = name.split(separator: ".").last,
                let type = types[String(ending)],
                var bytes = try? Files.read(path, limit: 4 << 20)
            {
                if joinsClient, ending == "js" {
                    let text = String(decoding: bytes, as: UTF8.self)
                    bytes = Array(text.replacing("../Browser/", with: "./").utf8)
                }
                let digest = SHA256.hash(bytes).prefix(12).map { byte in
                    String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
                }
                files["\(prefix)\(name)"] = File(
                    contentType: type, bytes: bytes, tag: "\"\(digest.joined())\"",
                    packed: try? Files.read("\(path).gz", limit: 4 << 20))
            }
        }
    }
}
