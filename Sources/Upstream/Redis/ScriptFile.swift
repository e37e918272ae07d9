import CScripts

/// A script of `Sources/CScripts/lua`, with the files that it includes: a line `-- include NAME…`
/// stands for the files of these names, each once. Redis gets the code without its comments.
struct ScriptFile {
    private(set) var text = ""
    /// The names of the files in it.
    private(set) var parts: Set<String> = []
    // Asked for each command or reply, so not looked up among the parts.
    private(set) var isWrite = false
    private(set) var proves = false
    private(set) var tells = false
    private(set) var reacts = false

    init(_ name: String) {
        add(name)
        isWrite = parts.contains("permitted")
        proves = parts.contains("proving")
        tells = parts.contains("publishing")
        reacts = parts.contains("reacting")
    }

    private mutating func add(_ name: String) {
        guard parts.insert(name).inserted else { return }
        guard let file = embedded_text("lua/\(name).lua") else {
            preconditionFailure("no file lua/\(name).lua")
        }
        for line in String(cString: file).split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.split(separator: " ")
            if words.starts(with: ["--", "include"]) {
                for name in words.dropFirst(2) { add(String(name)) }
            } else if words.first != "--" {
                text += line + "\n"
            }
        }
    }

    /// The commands that it calls, but for the publishing one, which is an argument.
    var calls: Set<String> {
        Set(text.matches(of: /redis\.call\(\s*'([A-Z]+)'/).map { String($0.1) })
    }
}
