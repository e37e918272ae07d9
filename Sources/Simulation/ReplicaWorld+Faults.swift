import Engine
import Ports
import Wire

/// What goes wrong in a world of replicas, at random.
extension ReplicaWorld {
    /// Random faults.
    func goWrong() throws(Violation) {
        for gateway in gateways {
            guard gateway.engine != nil else {
                if run.random.chance(30) { shell.start(gateway) }
                continue
            }
            if run.random.chance(scenario.rate) {
                gateway.toTidy = run.random.pick(gateway.store.untrimmed)
            }
            if run.strikes(.restarts, 2) {
                if run.random.chance(50) {
                    try shell.stop(gateway)
                } else {
                    gateway.act.last = run.random.number(0...3)
                }
                continue
            }
            if gateway.link.isUp, run.strikes(.lapses, scenario.rate / 2) { backend.cut(gateway) }
            if run.strikes(.stalls, 2) {
                gateway.link.stalledUntil = run.turn + run.random.number(1...10)
            }
        }
        if run.strikes(.failovers, 3) {
            if scenario.isRinging {
                backend.replacePrimary { backend.loseNewest() }
            } else {
                backend.loseNewest()
            }
            run.say("another master takes over")
            if !scenario.isRinging {
                for gateway in gateways where gateway.link.isUp { backend.cut(gateway) }
            }
        }
        if run.strikes(.empties, 1) {
            run.say("the origin is emptied")
            backend.origin.empty()
            for conversation in conversations { backend.lose(conversation) }
        }
        for place in clients.indices
        where connections.open[place] != nil && run.strikes(.readers, 2) {
            try connections.disconnect(place)
        }
        // A burst makes a long chain: clients join, resume or are removed in the middle of it.
        if run.random.chance(scenario.load.bursts), gateways.contains(where: { !$0.link.isUp }) {
            for _ in 0..<run.random.number(20...80) { backend.writeAsBackend() }
        }
        if run.random.chance(3) {
            for conversation in conversations {
                backend.origin.forgetMarks(
                    butFor: run.random.pick([1, 5, 50]) ?? 1, of: conversation)
            }
        }
    }
}
