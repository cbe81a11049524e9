import Membership

/// The version of the program.
package enum WaymarkVersion {
  package static let text = "0.1.0"
  /// When it was made.
  package static let date = "2026-11-22"

  /// The build traits that this program was made with.
  package static var traits: [String] {
    (BuildTraits.allFeatures ? ["AllFeatures"] : []) + (BuildTraits.mockPurchases ? ["MockPurchases"] : [])
  }
}
