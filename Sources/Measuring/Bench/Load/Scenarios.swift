/// The scenarios of `gapless-bench`. Apart from `Scenario`, which knows none of them.
package enum Scenarios {
    package static let all: [Scenario] = [
        .fanout, .rooms, .idle, .pages, .resume, .allocations, .start, .flat,
    ]
}
