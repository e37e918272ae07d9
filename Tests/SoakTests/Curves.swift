import Bench

/// What the gateways took, over time, as SVG: a drawing for each measure, a line for each life of
/// each gateway, and a mark at the foot for what happened.
struct Curves {
    private let samples: [Sample]
    private let marks: [(second: Double, name: String)]
    private let length: Double

    private static let width = 900
    private static let left = 70
    private static let right = 20
    private static let top = 34
    private static let depth = 170
    /// Each is the highest value in its piece of the time, so that no peak is lost.
    private static let points = 300.0
    private static let colours = ["#dd6b20", "#2b6cb0", "#38a169"]

    init(_ samples: [Sample], _ marks: [(second: Double, name: String)]) {
        self.samples = samples
        self.marks = marks
        length = max(1, samples.last?.second ?? 1)
    }

    var picture: String {
        Picture.page(
            Flatness.Measure.all.map { (body($0), Self.top + Self.depth + 20) }, width: Self.width)
    }

    private func body(_ measure: Flatness.Measure) -> String {
        let most = max(samples.map(measure.value).max() ?? 1, 1) * 1.05
        let unit = measure.unit.isEmpty ? "" : ", \(measure.unit)"
        var svg = Picture.text("\(measure.name)\(unit)", x: 8, y: 20, anchor: "start")
        let floor = Self.top + Self.depth
        for part in 0...2 {
            let y = floor - Self.depth * part / 2
            svg +=
                "<path d=\"M\(Self.left) \(y)H\(Self.width - Self.right)\" stroke=\"#cbd5e0\"/>\n"
            let value = (most * Double(part) * 5).rounded() / 10
            svg += Picture.text("\(value)", x: Self.left - 6, y: y + 4, anchor: "end")
            let minute = Int((length * Double(part) / 120).rounded())
            let place = x(length * Double(part) / 2)
            svg += Picture.text("\(minute) min", x: place, y: floor + 16, anchor: "middle")
        }
        let feet = marks.map { "M\(x($0.second)) \(floor)v-4" }.joined()
        svg += "<path d=\"\(feet)\" stroke=\"#718096\"/>\n"
        for (place, gateway) in Set(samples.map(\.gateway)).sorted().enumerated() {
            let colour = Self.colours[place % Self.colours.count]
            let own = samples.filter { $0.gateway == gateway }
            svg +=
                "<path fill=\"none\" stroke=\"\(colour)\" d=\"\(line(own, measure, most))\"/>\n"
            let label = Self.width - 160 + 80 * place
            svg += "<path d=\"M\(label) 16h16\" stroke=\"\(colour)\" stroke-width=\"3\"/>\n"
            svg += Picture.text(gateway, x: label + 20, y: 20, anchor: "start")
        }
        return svg
    }

    /// Each life begins anew.
    private func line(_ own: [Sample], _ measure: Flatness.Measure, _ most: Double) -> String {
        var path = ""
        var last: (piece: Int, life: Int)?
        var highest = 0.0
        func end() {
            guard let last else { return }
            let share = highest / most * Double(Self.depth)
            let y = Double(Self.top + Self.depth) - share
            path += "\(x(Double(last.piece) * length / Self.points)) \((y * 10).rounded() / 10)"
        }
        for sample in own {
            let piece = Int(sample.second / length * Self.points)
            if last?.piece != piece || last?.life != sample.life {
                end()
                path += last?.life == sample.life ? "L" : "M"
                highest = 0
                last = (piece, sample.life)
            }
            highest = max(highest, measure.value(sample))
        }
        end()
        return path
    }

    private func x(_ second: Double) -> Int {
        Self.left + Int(second / length * Double(Self.width - Self.left - Self.right))
    }
}
