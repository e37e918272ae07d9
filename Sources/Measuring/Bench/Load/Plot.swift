/// One figure of all cases as an SVG bar chart, medians with their range: a group for each load, a
/// bar for each server, on one linear scale from zero.
struct Plot {
    private struct Bar {
        let server: String
        let spread: Spread
    }

    private let title: String
    private let unit: String
    private let groups: [(name: String, bars: [Bar])]

    private static let width = 980
    private static let left = 310
    private static let bar = 18
    private static let head = 48
    private static let colours = ["#2b6cb0", "#63b3ed", "#dd6b20", "#718096", "#38a169", "#805ad5"]

    /// - Parameter figure: its name in the trials.
    init(_ title: String, figure: String, _ cases: [Scenario.Case], _ trials: [[Trial]]) {
        self.title = title
        var groups: [(name: String, bars: [Bar])] = []
        var unit = ""
        for (one, trials) in zip(cases, trials) {
            guard let spread = Spread.all(of: trials).first(where: { $0.name == figure }) else {
                continue
            }
            unit = spread.unit
            if groups.last?.name != one.name { groups.append((one.name, [])) }
            groups[groups.count - 1].bars.append(Bar(server: one.server, spread: spread))
        }
        self.unit = unit
        self.groups = groups
    }

    /// The plots of a scenario, one below the other, in one picture.
    static func page(_ plots: [Plot]) -> String {
        let parts = plots.filter { !$0.groups.isEmpty }.map { ($0.body, $0.height) }
        return Picture.page(parts, width: width)
    }

    private var servers: [String] {
        groups.flatMap(\.bars).reduce(into: []) { names, bar in
            if !names.contains(bar.server) { names.append(bar.server) }
        }
    }

    private var height: Int {
        groups.reduce(Self.head) { $0 + 14 + Self.bar * $1.bars.count }
    }

    private var body: String {
        let most = groups.flatMap(\.bars).flatMap(\.spread.values).max() ?? 1
        let scale = Double(Self.width - Self.left - 110) / max(most, 1e-9)
        let servers = servers
        var svg = "<text x=\"8\" y=\"22\" font-size=\"15\">\(Picture.escaped(title))</text>\n"
        var y = Self.head
        for group in groups {
            for bar in group.bars {
                let label = "\(group.name) \(bar.server)"
                svg += Picture.text(label, x: Self.left - 8, y: y + 13, anchor: "end")
                let colour = Self.colours[
                    (servers.firstIndex(of: bar.server) ?? 0) % Self.colours.count]
                let end = Self.left + Int(bar.spread.median * scale)
                svg +=
                    "<rect x=\"\(Self.left)\" y=\"\(y + 2)\" width=\"\(max(1, end - Self.left))\" "
                    + "height=\"\(Self.bar - 4)\" fill=\"\(colour)\"/>\n"
                let low = Self.left + Int((bar.spread.values.min() ?? 0) * scale)
                let high = Self.left + Int((bar.spread.values.max() ?? 0) * scale)
                let middle = y + Self.bar / 2
                svg += "<path d=\"M\(low) \(middle)H\(high)\" stroke=\"black\"/>\n"
                let value = Self.words(bar.spread.median)
                svg += Picture.text(
                    "\(value) \(unit)", x: max(end, high) + 6, y: y + 13, anchor: "start")
                y += Self.bar
            }
            y += 14
        }
        return svg
    }

    private static func words(_ value: Double) -> String {
        if value < 100 {
            let tenths = Int((value * 10).rounded())
            return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
        }
        return value < 10_000 ? "\(Int(value.rounded()))" : "\(Int((value / 1000).rounded())) k"
    }
}
