import Wire

/// What a gateway asks of an origin about who is there, in one call and at one moment of the
/// origin's clock: first it says users, then it renews its lease, then it reads users.
///
/// The origin keeps, of each user and gateway, how the user is there, and of each gateway when it
/// last renewed its lease. It keeps moments and no durations, and judges nothing: `PresenceRule`
/// does, on what was read.
package struct PresenceCall: Sendable, Hashable {
    /// Whether the lease is renewed with the call.
    package enum Renewal: String, Sendable, Hashable {
        case none
        /// If it has not lapsed, and the origin is the one that `era` names.
        case ifHeld
        /// With this call all users of the gateway have been said in the era that it names.
        case allSaid
        /// This call says all users of the gateway, to whatever origin it comes.
        case whole
    }

    /// The gateway's instance: letters and digits.
    package var gateway: String
    /// Counts the gateway's calls. One that the origin executes after a later one says and renews
    /// nothing: what it said was said again.
    package var number: Int64
    /// The era that the latest answer named; empty before the first.
    package var era: String
    package var renewal: Renewal
    /// Users whose state at this gateway changed.
    package var says: [PresenceSaying]
    package var reads: [String]
    /// Milliseconds: for how long a renewal holds, for how long after that its users are unknown,
    /// and for how long moments of the absent are kept.
    package var lease: Int64
    package var grace: Int64
    package var retain: Int64

    package init(
        gateway: String = "", number: Int64 = 0, era: String = "", renewal: Renewal = .none,
        says: [PresenceSaying] = [], reads: [String] = [], lease: Int64, grace: Int64,
        retain: Int64
    ) {
        self.gateway = gateway
        self.number = number
        self.era = era
        self.renewal = renewal
        self.says = says
        self.reads = reads
        self.lease = lease
        self.grace = grace
        self.retain = retain
    }
}

/// How a user is there by one gateway, or was until an end.
package struct PresenceSaying: Sendable, Hashable {
    package var user: String
    package var isAway: Bool
    /// How many milliseconds ago that began.
    package var begun: Int64
    /// If it has ended: how many milliseconds ago, and for how many from now on it still counts.
    package var ended: Int64?
    package var lasts: Int64

    package init(
        user: String, isAway: Bool, begun: Int64, ended: Int64? = nil, lasts: Int64 = 0
    ) {
        self.user = user
        self.isAway = isAway
        self.begun = begun
        self.ended = ended
        self.lasts = lasts
    }
}

/// What the origin keeps of a user at one gateway. Moments are milliseconds of its clock.
package struct PresenceEntry: Sendable, Hashable {
    package var gateway: String
    package var isAway: Bool
    package var since: Int64
    /// When the gateway said it.
    package var said: Int64
    /// Whether it said that in an earlier era, and has renewed its lease in this one: it no longer
    /// has the user. Eras have clocks of their own, so moments don't tell it.
    package var isForgotten: Bool
    /// When it ended, and until when it counts nevertheless; nil while it has not ended.
    package var end: End?
    /// When the gateway last renewed its lease; nil if that is not known.
    package var renewed: Int64?

    package struct End: Sendable, Hashable {
        package var at: Int64
        package var until: Int64

        package init(at: Int64, until: Int64) {
            self.at = at
            self.until = until
        }
    }

    package init(
        gateway: String, isAway: Bool, since: Int64, said: Int64, isForgotten: Bool = false,
        end: End? = nil, renewed: Int64? = nil
    ) {
        self.gateway = gateway
        self.isAway = isAway
        self.since = since
        self.said = said
        self.isForgotten = isForgotten
        self.end = end
        self.renewed = renewed
    }
}

/// The answer to a `PresenceCall`.
package struct PresenceReading: Sendable, Hashable {
    /// The origin's clock.
    package var now: Int64
    /// Names the origin's process and data: what was said in another era may be lost.
    package var era: String
    /// When the era began.
    package var eraBegan: Int64
    /// Until then who is not known to be there may be there.
    package var isYoungUntil: Int64
    /// Whether the lease was renewed.
    package var isRenewed: Bool
    /// When gateways last renewed their leases, as far as that is not long ago.
    package var leases: [String: Int64]
    /// What was read; a user of whom the origin has nothing is not in it.
    package var users: [ID: [PresenceEntry]]

    package init(
        now: Int64, era: String, eraBegan: Int64, isYoungUntil: Int64, isRenewed: Bool,
        leases: [String: Int64], users: [ID: [PresenceEntry]]
    ) {
        self.now = now
        self.era = era
        self.eraBegan = eraBegan
        self.isYoungUntil = isYoungUntil
        self.isRenewed = isRenewed
        self.leases = leases
        self.users = users
    }
}
