import Chat
import Engine
import Ports
import Wire

/// Damaged logs at the origin, as a gateway learns of them: with each answer, by the adapter that
/// asked.
extension Backend {
    /// Damages a part of a log, or repairs one. It has random draws of its own: a seed must still
    /// give the same world.
    func damageSomething() {
        guard run.faults.contains(.damages), !scenario.isRinging else { return }
        for conversation in conversations where origin.damage(of: conversation) != nil {
            if damageRandom.chance(8) { mend(conversation) }
        }
        guard damageRandom.chance(4), let id = damageRandom.pick(conversations),
            origin.log(id) != nil, origin.damage(of: id) == nil,
            let part = damageRandom.pick(Damage.Part.allCases),
            let harm = damageRandom.pick(Damage.Harm.allCases)
        else { return }
        run.count(.damages)
        run.say("the part \(part.rawValue) of \(id) is \(harm.rawValue)")
        origin.harm(id, Damage(part, harm))
    }

    /// Enables damage in this world.
    /// - Parameter looks: whether the origin checks before it answers; otherwise it serves what is
    ///   left, which the oracle must detect.
    func damages(looks: Bool) {
        run.faults.insert(.damages)
        origin.looks = looks
    }

    func mendEverything() { for conversation in conversations { mend(conversation) } }

    private func mend(_ conversation: String) {
        guard origin.damage(of: conversation) != nil else { return }
        run.say("\(conversation) is mended")
        let commit = origin.commit
        origin.mend(conversation)
        if origin.commit > commit { lose(conversation) }
    }
}
