/// What tests of the applications used to leave behind, told by the names of trips.
enum TestLeftovers {
  static let marks = [
    "test trip", "debug", "sample", "demo", "Trip 0", "Trip 1", "Performance Test", "unprotected trip",
    "protected trip",
  ]

  /// The mark that a name bears, in whatever case; nil if it bears none.
  static func mark(in name: String) -> String? {
    let name = name.lowercased()
    return marks.first { name.contains($0.lowercased()) }
  }
}
