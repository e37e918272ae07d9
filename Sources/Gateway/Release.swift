/// What this program is.
package enum Release {
    package static let name = "gapless"
    package static let version = "0.1.0"
}
