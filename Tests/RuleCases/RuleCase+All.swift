extension RuleCase {
    /// Every case.
    package static let all = sizes + creations + conditions + people + rights + reactions + mentions
}
