import CRelease

/// Name, version and commit of this program.
package enum Release {
    package static let name = "gapless"
    /// As in `CHANGELOG.md`: `0.2.0`.
    package static let version = String(cString: gapless_version())
    /// The first 12 digits of the commit that was built; `unknown` if the build did not say it.
    package static let commit = String(cString: gapless_commit())
}
