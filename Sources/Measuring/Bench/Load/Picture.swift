/// The common parts of SVG drawings: the page with its parts, and text in it.
package enum Picture {
    /// Parts one below the other, on white.
    package static func page(_ parts: [(body: String, height: Int)], width: Int) -> String {
        var y = 0
        var groups = ""
        for part in parts {
            groups += "<g transform=\"translate(0 \(y))\">\n\(part.body)</g>\n"
            y += part.height + 24
        }
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(y)\" "
            + "viewBox=\"0 0 \(width) \(y)\" font-family=\"sans-serif\" font-size=\"12\">\n"
            + "<rect width=\"\(width)\" height=\"\(y)\" fill=\"white\"/>\n" + groups + "</svg>\n"
    }

    /// One line of text that begins, ends (`end`) or is centred (`middle`) at the position.
    package static func text(_ text: String, x: Int, y: Int, anchor: String) -> String {
        "<text x=\"\(x)\" y=\"\(y)\" text-anchor=\"\(anchor)\">\(escaped(text))</text>\n"
    }

    package static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, letter in
            switch letter {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(letter)
            }
        }
    }
}
