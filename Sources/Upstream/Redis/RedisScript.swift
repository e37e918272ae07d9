import Ports
import Wire

/// Our scripts, which run inside Redis: each reads one conversation at one moment; what it writes
/// is there completely, with its event, or not at all. Their texts are the files of
/// `Sources/CScripts/lua`: the keys of a conversation are described in `log.lua`, those of a user's
/// list in `tagging.lua` and `departures.lua`.
enum RedisScript: String, Sendable, Hashable, CaseIterable {
    case append, replace, record, remove, read, forkEpoch
    case look, reactors, view, page, changes, message, reactions, own, mentions, head, listed
    case people
    case enter, forget, adopt, vouch, relist, seek, roster, depart
    case claim, disconnect, disconnects, presence, expiring, repair, attempt

    /// The scores of tags of lists begin here, above every time.
    static let tagMoment = 1 << 52

    private static let files = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0, ScriptFile($0.rawValue)) })

    private var file: ScriptFile { Self.files[self] ?? ScriptFile(rawValue) }

    /// What Redis runs. A script that writes first asks whether it may call its commands.
    var text: String {
        file.text.replacing("{calls}", with: calls.sorted().joined(separator: " "))
    }

    /// The commands that the script may call, but for the publishing one. An attempt calls none: it
    /// shows whether the server would refuse any write.
    private var calls: Set<String> {
        guard self == .attempt else { return file.calls }
        return Self.allCases.filter(\.isWrite).reduce(into: []) { $0.formUnion($1.file.calls) }
    }

    /// Whether the script writes, and so must not be repeated unasked.
    var isWrite: Bool { file.isWrite }

    /// Whether the script answers only for a log that has a change: its first two arguments are the
    /// rev and the mark, or empty.
    var proves: Bool { file.proves }

    /// Whether the script publishes to the feed, and so takes the publishing command and channel.
    var tells: Bool { file.tells }

    /// Whether the script takes the key of a conversation's reactions, the last of its keys.
    var reacts: Bool { file.reacts }

    /// Whether an answer that is no refusal shows that the parts of the conversation's log agree.
    func shows(_ answer: RedisScripts.Answer) -> Bool {
        switch self {
        case .append, .replace, .record, .remove, .read, .forkEpoch, .look, .reactors, .page,
            .changes, .message, .reactions, .own, .mentions, .head, .listed, .people:
            true
        // One without its members may be shown, to be mended.
        case .view: answer[7].int != 1
        // Of the steps of a repair, the last one shows it.
        case .repair: answer.word == "whole" || Head(answer[1]) != nil
        case .enter, .forget, .adopt, .vouch, .relist, .seek, .roster, .depart, .claim,
            .disconnect, .disconnects, .presence, .expiring, .attempt:
            false
        }
    }
}
