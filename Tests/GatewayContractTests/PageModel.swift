import TestSupport

/// What `fetchMessages` answers in a conversation of `count` messages with dense numbers and the
/// ids m1, m2, …, after the sentences of `protocol.md` 3 and nothing else.
enum PageModel {
    struct Request: CustomStringConvertible {
        var before: Int?
        var after: Int?
        var around: Int?
        var limit: Int?
        var order: String?
        /// Whether anchors are named by id.
        var byID = false

        /// Anchors lie inside the conversation and just beyond its ends.
        static func random(count: Int, using random: inout SplitMix64) -> Request {
            var request = Request()
            let byID = Int.random(in: 0..<3, using: &random) == 0
            let places = byID ? 1...count : 0...(count + 3)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: break
            case 1: request.before = .random(in: places, using: &random)
            case 2: request.after = .random(in: places, using: &random)
            case 3: request.around = .random(in: places, using: &random)
            default:
                request.before = .random(in: places, using: &random)
                request.after = .random(in: places, using: &random)
            }
            request.byID = byID
            if Bool.random(using: &random) { request.limit = .random(in: 1...12, using: &random) }
            request.order = [nil, "asc", "desc"].randomElement(using: &random) ?? nil
            return request
        }

        private var anchors: [(String, Int)] {
            [("before", before), ("after", after), ("around", around)]
                .compactMap { name, place in place.map { (name, $0) } }
        }

        func params(conversation: String) -> JSONValue {
            var params: JSONValue = ["conversation": .string(conversation)]
            for (name, place) in anchors {
                params[name] = byID ? .string("m\(place)") : .int(place)
            }
            if let limit { params["limit"] = .int(limit) }
            if let order { params["order"] = .string(order) }
            return params
        }

        var query: String {
            var pairs = anchors.map { "\($0.0)=\(byID ? "id:m" : "")\($0.1)" }
            if let limit { pairs.append("limit=\(limit)") }
            if let order { pairs.append("order=\(order)") }
            return pairs.joined(separator: "&")
        }

        var description: String { query }
    }

    struct Answer {
        var seqs: [Int]
        var hasMoreBefore: Bool
        var hasMoreAfter: Bool

        var covers: JSONValue {
            guard let low = seqs.min(), let high = seqs.max() else { return [] }
            return [[.int(low), .int(high)]]
        }

        var boundaries: JSONValue {
            guard let low = seqs.min(), let high = seqs.max() else { return [] }
            func end(_ seq: Int) -> JSONValue { ["id": .string("m\(seq)"), "seq": .int(seq)] }
            return [["newest": end(high), "oldest": end(low)]]
        }
    }

    static func answer(_ request: Request, count: Int) -> Answer {
        let all = Array(1...count)
        let limit = request.limit ?? 100
        let isAscending = request.order == "asc"
        var page: [Int]
        // Beyond which places there may be more, should the page be empty.
        var (low, high) = (0, count + 1)
        switch (request.before, request.after, request.around) {
        case (_, _, let around?):
            page = all.filter { $0 < around }.suffix(limit) + all.filter { $0 == around }
            page += all.filter { $0 > around }.prefix(limit)
            (low, high) = (around, around)
        case (let before?, let after?, _):
            let inside = all.filter { after < $0 && $0 < before }
            page = isAscending ? Array(inside.prefix(limit)) : inside.suffix(limit)
            (low, high) = (after, before)
        case (let before?, nil, _):
            page = all.filter { $0 < before }.suffix(limit)
            (low, high) = (before, before)
        case (nil, let after?, _):
            page = Array(all.filter { $0 > after }.prefix(limit))
            (low, high) = (after, after)
        case (nil, nil, nil):
            page = all.suffix(limit)
        }
        let oldest = page.first ?? low
        let newest = page.last ?? high
        return Answer(
            seqs: isAscending ? page : page.reversed(),
            hasMoreBefore: all.contains { $0 < oldest }, hasMoreAfter: all.contains { $0 > newest })
    }
}
