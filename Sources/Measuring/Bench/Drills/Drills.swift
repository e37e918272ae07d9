/// The drills of `gapless bench`. Apart from `Drill`, which knows none of them.
package enum Drills {
    package static let all: [Drill] = [
        .jitter, .avalanche, .drain, .slow, .storm, .fanout, .flood, .worst, .client,
    ]
}
