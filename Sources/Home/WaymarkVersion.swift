import Membership

/// The version of the program.
package enum WaymarkVersion {
  package static let text = "0.1.0"
  /// The date of the release.
  package static let date = "2026-11-22"

  /// The traits that this program was built with.
  package static var traits: [String] {
    (BuildTraits.allFeatures ? ["AllFeatures"] : []) + (BuildTraits.mockPurchases ? ["MockPurchases"] : [])
  }
}
