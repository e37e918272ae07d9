import Ports
import Wire

/// The kind of answer that each question expects. An upstream's answer is decoded from another
/// process's bytes: an answer of another kind counts as a failure, and is asked for again later.
extension FetchQueue.Question {
    /// The result; a failure if the answer is of another kind.
    func checked(
        _ result: Result<HistoryAnswer, RequestError>
    ) -> Result<HistoryAnswer, RequestError> {
        guard case .success(let answer) = result, !isAnswered(by: answer) else { return result }
        return .failure(.misanswered)
    }

    private func isAnswered(by answer: HistoryAnswer) -> Bool {
        switch self {
        case .heads: answer.isHeads
        case .step(let step, _): step.isAnswered(by: answer)
        case .range, .moment: answer.isPage
        case .proof: answer.isChanges
        case .message: if case .message = answer { true } else { false }
        case .last, .reader: answer.isConversation
        case .list: if case .listed = answer { true } else { false }
        // Its reply is checked against the request.
        case .call: true
        }
    }
}

extension Replica.Step {
    fileprivate func isAnswered(by answer: HistoryAnswer) -> Bool {
        switch self {
        case .compareHead, .forkEpoch: answer.isHeads
        case .conversation: answer.isConversation
        case .catchUp, .backfill: answer.isChanges
        case .latest: answer.isPage
        }
    }
}

extension HistoryAnswer {
    fileprivate var isHeads: Bool { if case .heads = self { true } else { false } }
    fileprivate var isConversation: Bool { if case .conversation = self { true } else { false } }
    fileprivate var isChanges: Bool { if case .changes = self { true } else { false } }
    fileprivate var isPage: Bool { if case .page = self { true } else { false } }
}

extension RequestError {
    /// The origin answered another question.
    static let misanswered = RequestError(
        .originMisanswered, "the origin answered another question than it was asked")
}
