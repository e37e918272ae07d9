/// The state of all clients: queried while a drill waits for its end, and at the end for the
/// report.
extension Crowd {
    /// Whether every client holds everything in its newest version.
    var isEverybodyWhole: Bool { isWhole(members.indices) }

    func isWhole(_ clients: Range<Int>) -> Bool {
        clients.allSatisfy { index in
            zip(holdings(of: index), members[index].rooms).allSatisfy {
                holdings[$0].isWhole(rooms[$1])
            }
        }
    }

    func account() -> DrillReport.Account {
        var account = DrillReport.Account()
        for (index, member) in members.enumerated() {
            var isWhole = true
            for (place, number) in zip(holdings(of: index), member.rooms) {
                let room = rooms[number]
                account.expected += room.top
                account.held += holdings[place].runs.count
                account.declared += holdings[place].declared.count
                account.unaccounted += holdings[place].unaccounted(room, asOf: room.rev)
                isWhole = isWhole && holdings[place].isWhole(room)
            }
            if !isWhole { account.behind += 1 }
        }
        return account
    }
}
