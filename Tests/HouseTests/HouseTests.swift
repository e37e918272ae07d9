import Foundation
import Testing

/// The rules of the house, applied to the repository as it lies here. `RuleTests` shows that each
/// of them can fail.
@Suite struct HouseTests {
    private func expectNone(_ faults: [String], _ location: SourceLocation = #_sourceLocation) {
        #expect(
            faults.isEmpty, "\(faults.count) faults:\n\(faults.joined(separator: "\n"))",
            sourceLocation: location)
    }

    private var manifest: String {
        Repository.files.first { $0.path == "Package.swift" }?.text ?? ""
    }

    @Test func theRepositoryIsFound() {
        #expect(Repository.sources.count > 20)
        #expect(!manifest.isEmpty)
    }

    @Test func importsPointDownward() { expectNone(Repository.sources.flatMap(ImportRules.check)) }

    @Test func theManifestsArrowsPointDownward() {
        expectNone(ImportRules.check(manifest: manifest))
        expectNone(ImportRules.undeclared(Repository.sources, manifest: manifest))
    }

    @Test func unsafePointersStayInTheirFiles() {
        expectNone(Repository.sources.flatMap(SafetyRules.pointers))
    }

    @Test func theTablesNameOnlyFilesThatAreThere() {
        let paths = Set(Repository.sources.map(\.path))
        let named = House.pointerFiles.union(House.threadOwners).union(House.callsUnderLock)
        expectNone(named.subtracting(paths).sorted())
        let targets = Set(Repository.files.compactMap(\.target)).subtracting(["Browser", "Page"])
        #expect(targets == Set(House.rows.joined()))
    }

    @Test func uncheckedSendableHasItsReason() {
        expectNone(Repository.sources.flatMap(SafetyRules.unchecked))
    }

    @Test func aMutexHoldsNoBareClosure() {
        expectNone(Repository.sources.flatMap(SafetyRules.lockedClosures))
    }

    @Test func nothingIsCalledUnderALock() {
        expectNone(Repository.sources.flatMap(SafetyRules.callsUnderLock))
    }

    @Test func nothingTraps() { expectNone(Repository.sources.flatMap(SafetyRules.traps)) }

    @Test func switchesOverTheProtocolNameEveryCase() {
        let enums = SwitchRules.enums(
            in: Repository.sources.filter {
                $0.path.hasPrefix("Sources/Ports/") || $0.path.hasPrefix("Sources/Wire/")
                    || $0.path == "Sources/Upstream/Upstream.swift"
            })
        #expect(enums["Request"]?.count == 30 && enums["FeedEvent"]?.contains("typing") == true)
        expectNone(
            Repository.sources.filter { !$0.path.hasPrefix("Sources/Measuring/") }
                .flatMap { SwitchRules.defaults($0, enums) })
    }

    @Test func noLineIsTooWide() {
        expectNone(
            Repository.files.filter { $0.path.hasSuffix(".swift") }.flatMap(TextRules.columns))
    }

    @Test func everyFileSaysWhatItIs() { expectNone(Repository.sources.flatMap(TextRules.opening)) }

    @Test func nothingIsLeftForLater() {
        expectNone(Repository.sources.flatMap(TextRules.unfinished))
    }

    @Test func namesAreNouns() { expectNone(Repository.sources.flatMap(TextRules.names)) }

    @Test func typesHaveTheFieldsWords() {
        expectNone(Repository.sources.flatMap(TextRules.retiredWords))
    }

    @Test func sentencesArePlain() {
        let read = Repository.files.filter { !$0.path.contains("/HouseTests/RuleTests") }
        expectNone(read.flatMap(TextRules.phrases))
    }

    @Test func thereIsNoEmojiInTheSources() {
        expectNone(Repository.sources.flatMap(TextRules.emoji))
    }

    @Test func noFileTellsOfAMachine() {
        let read = Repository.files.filter { !$0.path.contains("/HouseTests/RuleTests") }
        expectNone(read.flatMap(TextRules.machinePaths))
    }

    @Test func theTopLevelHoldsNothingElse() throws {
        let names = Set(try Repository.topLevel()).subtracting(House.unread)
        expectNone(names.subtracting(House.topLevel).sorted())
    }
}
