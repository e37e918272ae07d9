import Engine

/// A gateway's process: its engine, and what runs its turns. Owned by the world.
class EngineProcess {
    let place: Int
    /// Nil while it is not running.
    var engine: Engine? {
        didSet {
            turns = engine.map { TurnRunner($0) }
            fairness = Fairness()
            turns?.watcher = fairness
        }
    }
    private(set) var turns: TurnRunner?
    private(set) var fairness = Fairness()

    init(place: Int) { self.place = place }
}
