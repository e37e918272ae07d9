import Testing

/// How many files of a type may know each other: of more than that, nobody can read one alone.
@Suite struct TypeCycleTests {
    static let cycleLimit = 4

    @Test func fewFilesOfATypeReachEachOther() {
        let types = TypeCycles.all(in: Repository.sources)
        #expect(types.count > 500)
        for (name, type) in types {
            #expect(type.largestCycle <= Self.cycleLimit, "\(name): files in a cycle")
        }
    }

    // MARK: - The measure itself

    private static let sample = [
        Repository.File(
            path: "Sources/Engine/A.swift",
            text: """
                final class A {
                    struct B {
                        let other: Int
                    }
                    private(set) var one = 1
                    func first() {
                        var local = one
                        second()
                    }
                }
                """),
        Repository.File(
            path: "Sources/Engine/A+Second.swift",
            text: "extension A {\n    func second() { first() }\n}"),
        Repository.File(
            path: "Sources/Engine/A+Third.swift",
            text: "extension A {\n    func third() { first() }\n}"),
    ]

    @Test func theMeasureCountsWhatItSays() {
        // Nobody uses the third.
        #expect(TypeCycles.all(in: Self.sample)["Engine/A"]?.largestCycle == 2)
    }
}
