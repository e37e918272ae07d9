/// How pages enter a timeline.
extension Timeline {
    /// Applies a page. Ignores it if it is of another conversation or an earlier generation, or if
    /// its anchor is no longer in the list.
    ///
    /// - Parameter visible: the indices that the view shows, to trim what is far from them: for a
    ///   page *before*, the newer messages; *after*, the older ones; *around* another place, the
    ///   runs before the view. Nil to keep everything.
    public mutating func apply(_ page: Page, visible: Range<Int>? = nil) -> Changes {
        guard page.conversation == conversation, (page.generation ?? generation) == generation,
            let proven = proven(by: page)
        else { return Changes() }
        if page.isCached || (page.asOf ?? .max) < changesFrom { return show(page.messages) }

        let opens = page.kind == .initial || !isLoaded
        var edits = Edits()
        if page.kind == .initial {
            coverage = Coverage()
            removeSent(but: page.messages, &edits)
        } else if let visible, isLoaded {
            leave(by: page.kind, visible: visible, &edits)
        }
        for message in page.messages {
            take(message, .fetched, isProven: proven.contains(place(of: message).number), &edits)
        }
        hold(proven, without: page.gaps, floor: page.floor, &edits)
        noteEnds(of: page, proven)
        isLoaded = true
        let changes = commit(edits)
        countUnread(of: page, opens: opens)
        return changes
    }

    /// Shows messages that are not held: from a cached answer, or from the answer to a send, edit
    /// or delete. A value that is held or has a `rev` stays unless the new one has a higher `rev`.
    public mutating func show(_ messages: [Message]) -> Changes {
        var edits = Edits()
        for message in messages where message.conversation == conversation {
            if let held = entry(of: message.id, edits), held.message.rev ?? 0 >= message.rev ?? 0,
                held.isHeld || held.message.rev != nil
            {
                continue
            }
            take(message, .fetched, isProven: false, &edits)
        }
        return commit(edits)
    }

    /// Removes a message that is only shown, such as one that will not be sent after all.
    public mutating func hide(_ id: String) -> Changes {
        var edits = Edits()
        if let entry = entry(of: id, edits), !entry.isHeld { edits.set(id, nil) }
        return commit(edits)
    }

    /// Takes back a shown value that the log, as it turned out, does not have.
    /// - Parameter value: the message's value instead; nil for none.
    public mutating func takeBack(_ message: Message, instead value: Message?) -> Changes {
        var edits = Edits()
        guard let known = entry(of: message.id, edits), known.message.rev == message.rev else {
            return Changes()
        }
        if let value, RecordKey(value.id) == RecordKey(message.id) {
            edits.set(message.id, entry(value, isHeld: known.isHeld))
        } else if !known.isHeld {
            edits.set(message.id, nil)
        }
        return commit(edits)
    }

    /// Whether a page with this anchor can be joined to the list: the anchor is shown, or its place
    /// is held.
    public func shows(_ anchor: Page.Anchor) -> Bool { place(of: anchor) != nil }

    // MARK: What a page proves

    /// What a page proves; nil if its anchor is unknown.
    private func proven(by page: Page) -> Coverage? {
        var anchor: Place?
        switch page.kind {
        case .before(let from), .after(let from):
            guard let known = place(of: from) else { return nil }
            anchor = known
        default: break
        }
        return page.covers ?? provenByRule(page, from: anchor)
    }

    /// The page rule: a page proves what lies between its ends, from there to its anchor, and,
    /// where `hasMore` is false, everything beyond that end.
    private func provenByRule(_ page: Page, from anchor: Place?) -> Coverage {
        let anchor = anchor.flatMap { $0.isGiven ? $0.number : nil }
        let given = page.messages.map { place(of: $0) }.filter(\.isGiven).map(\.number)
        var low = given.min()
        var high = given.max()
        switch (page.kind, anchor) {
        case (.before, let anchor?): high = max(high ?? 0, anchor - 1)
        case (.after, let anchor?) where page.isNextToAnchor:
            low = min(low ?? .max, anchor + 1)
        default: break
        }
        if !page.hasMore.before { low = page.floor }
        if !page.hasMore.after { high = max(high ?? 0, page.head ?? 0) }
        guard let low, let high else { return Coverage() }
        return Coverage(low, high)
    }

    private func place(of anchor: Page.Anchor) -> Place? {
        switch anchor {
        case .id(let id): return rows.place(of: id)
        case .seq(let seq):
            let place = Place(number: seq)
            let at = rows.entries.index(where: { $0.place >= place })
            let isShown = at < rows.entries.count && rows.entries[at].place.number == seq
            return isShown || coverage.contains(seq) ? place : nil
        }
    }

    private mutating func noteEnds(of page: Page, _ proven: Coverage) {
        if !page.hasMore.before, let low = proven.first {
            // Messages that the page is missing still exist.
            floor = max(floor, min(low, page.gaps.first ?? .max))
        }
        if let head = page.head { end = max(end, head + 1) }
        for message in page.messages { noteNewest(place(of: message)) }
        switch page.kind {
        case .initial: followsEnd = !page.hasMore.after
        case .latest: followsEnd = true
        default: followsEnd = followsEnd || !page.hasMore.after
        }
    }
}

// MARK: What pages and deltas have in common

extension Timeline {
    func place(of message: Message) -> Place { Place(message) }

    /// The entry of a message as it will be after `edits`.
    func entry(of id: String, _ edits: Edits) -> Entry? {
        if let edit = edits[id] { return edit.entry }
        return rows.entry(of: id)
    }

    /// Merges one value into `edits`. A proven value replaces one that was only shown, whatever the
    /// `rev`; otherwise the newer of the two stays.
    func take(
        _ message: Message, _ origin: Arrival<Message>.Origin, isProven: Bool, _ edits: inout Edits
    ) {
        let known = entry(of: message.id, edits)
        // Messages keep their place: a late answer of another log can't move a held message.
        if !isProven, let known, known.isHeld, known.place != place(of: message) { return }
        let base = isProven && known?.isHeld != true ? nil : known?.message
        let arrival = Arrival(message, origin)
        guard let value = Message.merged(arrival, onto: base) else { return }
        let isHeld = isProven || known?.isHeld == true
        edits.set(message.id, entry(value, isHeld: isHeld))
    }

    func entry(_ message: Message, isHeld: Bool) -> Entry {
        let place = place(of: message)
        return Entry(
            message: message, place: place, isHeld: isHeld, isUnread: isUnread(message, at: place))
    }

    /// Holds what was proven. Removes messages that were only shown there and did not come; marks
    /// those in `gaps` as only shown; drops what lies below the floor.
    mutating func hold(
        _ proven: Coverage, without gaps: Coverage, floor number: Int, _ edits: inout Edits
    ) {
        for run in proven.runs {
            for index in rows.indices(of: run) {
                let entry = rows.entries[index]
                if !entry.isHeld, edits[entry.message.id] == nil {
                    edits.set(entry.message.id, nil)
                }
            }
        }
        for run in proven.runs { coverage.insert(run.low, run.high) }
        if number > floor {
            floor = number
            coverage.remove(.min, floor - 1)
            for index in 0..<rows.firstIndex(from: floor) {
                edits.set(rows.entries[index].message.id, nil)
            }
        }
        lose(gaps, &edits)
    }

    /// Takes places out of what is held; their messages are only shown from then on.
    mutating func lose(_ lost: Coverage, _ edits: inout Edits) {
        guard !lost.isEmpty else { return }
        coverage = coverage.subtracting(lost)
        for run in lost.runs {
            for index in rows.indices(of: run) {
                let id = rows.entries[index].message.id
                if edits[id] == nil { edits.set(id, rows.entries[index]) }
            }
        }
        edits.demote { lost.contains($0.number) }
    }

    mutating func noteNewest(_ place: Place) {
        if place.isGiven { end = max(end, place.number + 1) }
    }

    /// Removes all messages except those that come again, whose value here may be newer, and those
    /// still being sent, which stay until they arrive.
    func removeSent(but messages: [Message], _ edits: inout Edits) {
        let kept = Set(messages.map { RecordKey($0.id) })
        for entry in rows.entries.all where entry.place.isGiven {
            if !kept.contains(RecordKey(entry.message.id)) { edits.set(entry.message.id, nil) }
        }
    }
}
